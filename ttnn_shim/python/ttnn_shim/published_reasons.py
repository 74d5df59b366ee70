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
_SPLIT_OPERATION = (
    "its source lists operations of a profile, whose convolution is one program of several; the row does not say whether halo and the move into shards count"
)
_FEW_NORMS = "two of the three constants of this program are measured by rows of this group alone: out of fold they are unknown"

EXPLAINED: Mapping[str, str] = {
    "407ea1024f34": _FOUR_ROWS,
    "e6c79646d0be": _FOUR_ROWS,
    "a0c61f46699da": _SPLIT_OPERATION,
    "a0c61f46699db": _SPLIT_OPERATION,
    "c4f6b576e9c2a": _CONTRADICTING,
    "ab0a8b737924b": _CONTRADICTING,
    "e75b845870c4a": _CONTRADICTING,
    "df9a7010f73aa": _CONTRADICTING,
    "df9a7010f73ab": _CONTRADICTING,
    "cad640f52c3e": _FEW_NORMS,
    "f02a6f0db501a": _FEW_NORMS,
    "94eddd52b335": _FEW_NORMS,
    "9b62e9dacf7f": "not found: windows of four input channels, whose lines are shorter than any other measured row has",
    "ad264c3faf18": "not found: the only measured row with activation reuse",
    "2ef35a4474ef": "not found: the only measured concat of tiles in L1",
    "45ce35349a97": "not found: one row of tiles in L1, where starting the program is most of the time",
    "9c2f4f07a971": "the same call is published at 2.49 and 2.61 us in the layers of the same models",
    "10ccf047e51ab": "not found: the only measured concat of heads in L1",
    "7a0e5f5a1124": "the mask is inferred by the table: its shape and whether it is read for every head are not stated",
    "4f06b571d04f": "the length of this SFPU program is measured by its own two rows: out of fold it is unknown",
}
"""By the id of the row of singles.train.csv."""
