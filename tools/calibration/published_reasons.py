"""Why the clock is more than 1.5 times off a published call: what was found by reading the source of the row and the kernels it runs."""

from __future__ import annotations

from collections.abc import Mapping

_CONTRADICTING = (
    "the rows of this source contradict one another: grids that select the same program and cores are published 1.6 times apart "
    "(8x8 and 10x8 at 15.1 and 9.2 us, 10x8 and 10x10 at 26.0 and 42.6 us)"
)
_FOUR_ROWS = (
    "the time is that of four rows of tiles per core (128 rows: 11.7 us, one each); the package gives each of the 32 rows a core of its own, "
    "so more rows were normed than the shape says, or on eight cores"
)
_TURNS_OF_BLOCKS = (
    "block sharded without second buffers: by this row and the 3 x 3 of the same source a turn of eight cores, which send and multiply a block each, takes "
    "2.7 us beside reads and products; the clock has 7.7"
)
_OWN_ROWS = "the length of this SFPU program is measured by its own two rows: out of fold it is unknown"
_FEW_NORMS = "two of the three constants of this program are measured by rows of this group alone: out of fold they are unknown"

EXPLAINED: Mapping[str, str] = {
    "407ea1024f34": _FOUR_ROWS,
    "e6c79646d0be": _FOUR_ROWS,
    "a0c61f46699da": _TURNS_OF_BLOCKS,
    "c4f6b576e9c2a": _CONTRADICTING,
    "ab0a8b737924b": _CONTRADICTING,
    "e75b845870c4a": _CONTRADICTING,
    "df9a7010f73aa": _CONTRADICTING,
    "df9a7010f73ab": _CONTRADICTING,
    "cad640f52c3e": _FEW_NORMS,
    "f02a6f0db501a": _FEW_NORMS,
    "94eddd52b335": _FEW_NORMS,
    "9b62e9dacf7f": "windows of four input channels: a read is 48 bytes at most, and beside what else the program does the measured time leaves some 30 cycles "
    "more per read than the model has, whose cost per read is that of longer lines",
    "ad264c3faf18": "with activation reuse a core gathers each line of the image once and sets its units up once per line: reader (117 us) and "
    "compute (115 us) are priced per row of tiles, each alone above the measured time",
    "2ef35a4474ef": "the time is that of 18 tiles per core, one entry of the batch on each of 32 cores; the package spreads the 576 tiles over 70",
    "9c2f4f07a971": "the same call is published at 2.49 and 2.61 us in the layers of the same models",
    "7a0e5f5a1124": "the mask is inferred by the table: its shape and whether it is read for every head are not stated",
    "4f06b571d04f": _OWN_ROWS,
    "35286a4f126a": _OWN_ROWS,
}
"""By the id of the row of singles.train.csv."""
