"""The reading layer: what was written is read back; a damaged or foreign file is a short error with its byte."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from alchemist.errors import FlatbufferError
from alchemist.toolchain import flatbuffer as fb

DIM = fb.Struct("ii", 4, ("y", "x"))
ROUTE = fb.Struct("IQ", 8)
CHIP = fb.Table("Chip", (("arch", fb.Scalar("I", ("old", "new"))), ("grid", DIM), ("l1", fb.U64), ("gap", None), ("cores", fb.Vector(DIM)), ("types", fb.Vector(fb.Scalar("H", ("f32", "bf16"))))))  # fmt: skip
ROOT = fb.Table("Root", (("version", fb.Struct("HHI", 4)), ("name", fb.TEXT), ("chips", fb.Vector(CHIP)), ("raw", fb.Vector(fb.U8)), ("names", fb.Vector(fb.TEXT)), ("private", fb.BOOL)))  # fmt: skip
SCHEMAS = {fb.TTSYS: ROOT}
VALUES: dict[str, Any] = {
    "version": (1, 2, 3), "name": "höher", "raw": b"\0\1\2", "names": ("a", "", "b"), "private": True,
    "chips": ({"arch": "new", "grid": (8, 9), "l1": 1 << 40, "cores": ((1, 2), (3, -4)), "types": ("bf16", "f32", 9)}, {"cores": ()}),
}  # fmt: skip


def test_what_is_written_is_read_back() -> None:
    data = fb.write(ROOT, VALUES, fb.TTSYS)
    assert data[8:12] == b"TTSY"
    found, root = fb.read(data, "f", SCHEMAS)
    assert (found, root) == (fb.TTSYS, VALUES)
    assert fb.as_json(root)["chips"][0]["grid"] == {"y": 8, "x": 9}


def test_the_age_of_a_table_follows_its_slots() -> None:
    old = fb.Table("Old", (("name", fb.TEXT),))
    ages = fb.Ages("Root", ((1, old), (2, ROOT)))
    _, root = fb.read(fb.write(old, {"name": "x"}, fb.TTSYS), "f", {fb.TTSYS: ages})
    assert root == {"name": "x"}
    assert root.table is old


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "this is an empty file"),
        (b'{\n "chips": []}', "this is JSON"),
        (b"\x7fELF" + bytes(40), "this is an ELF object"),
        (b"module {}", "this is text"),
        (bytes(8) + b"ABCD" + bytes(40), "identifier b'ABCD'"),
        (bytes(8) + b"TTM0" + bytes(40), "only a card runs it"),
        (bytes(8) + b"TTNN" + bytes(40), "expected a system descriptor (.ttsys)"),
        (fb.write(ROOT, VALUES, fb.TTSYS)[:-5], "truncated"),
        (fb.write(ROOT, VALUES, fb.TTSYS) + b"x", "longer than its header says"),
    ],
)
def test_other_files_are_named(data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "f.ttsys").write_bytes(data)
    with pytest.raises(FlatbufferError) as raised:
        fb.read_file(tmp_path / "f.ttsys", SCHEMAS)
    assert words in str(raised.value)
    assert "f.ttsys: byte" in raised.value.location
    assert raised.value.hint


def test_an_offset_out_of_bounds_names_field_and_byte() -> None:
    data = bytearray(fb.write(fb.Table("Root", (("name", fb.TEXT),)), {"name": "x" * 9}, fb.TTSYS))
    at = next(at for at in range(12, len(data) - 4) if data[at : at + 4] == b"\x09\0\0\0")  # the text's length
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    with pytest.raises(FlatbufferError, match=r"Root.version|Root.name") as raised:
        fb.read(bytes(data), "f", {fb.TTSYS: fb.Table("Root", (("name", fb.TEXT),))})
    assert raised.value.location == f"f: byte {at}"


@pytest.mark.parametrize("count", [50, pytest.param(400, marks=pytest.mark.slow)])
def test_damaged_files_end_with_an_error_and_little_memory(count: int) -> None:
    whole = fb.write(ROOT, {**VALUES, "chips": VALUES["chips"] * 200, "name": "n" * 200_000}, fb.TTSYS)
    source = random.Random(7)
    refused = 0
    tracemalloc.start()
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(source.randrange(1, 8)):
            at = source.choice((source.randrange(len(data)), source.randrange(400)))
            data[at] = source.choice((0, 1, 4, 127, 255, source.randrange(256)))
        tracemalloc.reset_peak()
        try:
            fb.read(bytes(data), "f", SCHEMAS)
        except FlatbufferError:
            refused += 1
        assert tracemalloc.get_traced_memory()[1] < 10 * len(whole)
    tracemalloc.stop()
    assert refused > 0.3 * count


def test_a_file_that_refers_to_itself_is_no_explosion() -> None:
    """A vector of 10,000 offsets to one table that holds 10,000 numbers."""
    data = bytearray(fb.write(ROOT, {"chips": [{}] * 10_000, "raw": b"\0" * 400}, fb.TTSYS))
    chips = next(at for at in range(len(data) - 4) if data[at : at + 4] == (10_000).to_bytes(4, "little"))
    table = chips + 4 + 40_000 - 4 + int.from_bytes(data[chips + 40_000 : chips + 40_004], "little")
    for index in range(10_000):
        at = chips + 4 + 4 * index
        data[at : at + 4] = (table - at).to_bytes(4, "little")
    with pytest.raises(FlatbufferError, match="too often"):
        fb.read(bytes(data), "f", SCHEMAS)
