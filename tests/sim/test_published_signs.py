"""Signs of published pairs: what is read into what they leave open, when the clock is right, and the bar over the calibration's table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ttnn_shim.published_ops import transposed_size
from ttnn_shim.published_words import Unreadable

from tools.calibration.published_open import readings, runs_as_stated
from tools.calibration.published_signs import END, START, Pair, main, section

CONV = {"op": "conv2d", "kernel": [3, 3], "stride": [1, 1]}
DECODE = {"op": "matmul", "M": 32, "K": 8192, "N": 1024, "dtypes": "not stated"}
PRODUCT = {"op": "matmul", "in1": "dram interleaved", "out": "dram interleaved"}
LAYER = {"layer": "dense", "model": "a decoder layer, hidden 2048, dense ffn 3072", "batch": 32}


@pytest.mark.parametrize(
    ("a", "b", "count", "field", "values"),
    [
        ({"op": "matmul", "M": 32}, {"op": "matmul", "M": 64}, 0, "M", []),
        ({**CONV, "pad": [1, 1]}, {**CONV, "pad": [1, 1]}, 0, "pad", []),
        (CONV, CONV, 2, "pad", [[0, 0], [1, 1]]),
        ({**DECODE, "program": "DRAMSharded"}, {**DECODE, "program": "1d_mcast"}, 12, "in1_dtype", ["bfloat16", "bfloat4_b", "bfloat8_b"]),
        ({"op": "matmul", "mem": "all dram"}, {"op": "matmul", "mem": "an l1 operand or output"}, 3, "mem", [""]),
        ({**LAYER, "down": "interleaved"}, {**LAYER, "down": "DRAM width sharded"}, 3, "K", [3072]),
        ({"op": "paged sdpa decode", "k_chunk": 256}, {"op": "paged sdpa decode", "k_chunk": 128}, 3, "block_size", [32, 64, 128]),
        (PRODUCT, PRODUCT, 2, "in0_mem", ["dram interleaved", "l1 interleaved"]),
        ({**PRODUCT, "note": "falls to x"}, {**PRODUCT, "note": "auto 2D mcast"}, 1, "in0_mem", ["dram interleaved"]),
    ],
)
def test_open_fields_are_filled_alike_on_both_sides(a: dict[str, Any], b: dict[str, Any], count: int, field: str, values: list[Any]) -> None:
    found = readings(a, b)
    assert len(found) == count
    assert sorted({str(each.b[field]) for each in found}) == sorted(map(str, values))
    if field != "mem":
        assert all(each.a[field] == each.b[field] for each in found)
    if "k_chunk" in a:
        assert all((each.a["k_chunk"], each.b["k_chunk"]) == (256, 128) for each in found), "what is stated stays"


def test_a_reading_under_which_the_library_runs_something_else_is_none() -> None:
    assert runs_as_stated({"note": "auto 2D mcast, HiFi2"}, ["MatmulMultiCoreReuseMcast2DProgramFactory 5 ns"])
    assert not runs_as_stated({"note": "auto 2D mcast, HiFi2"}, ["MatmulMultiCoreProgramFactory 5 ns"])


def test_the_input_of_a_transposed_convolution_follows_from_its_product() -> None:
    config = {"batch": 1, "in_ch": 256, "matmul_view": "16384x1024x128"}
    assert transposed_size(config, [2, 2], [2, 2]) == {"h": 64, "w": 64, "pad": [0, 0]}
    for other in ({**config, "matmul_view": "16384x512x128"}, {**config, "batch": 2}, {"batch": 1, "in_ch": 256}):
        with pytest.raises(Unreadable):
            transposed_size(other, [2, 2], [2, 2])


@pytest.mark.parametrize(
    ("measured", "priced", "right"),
    [(1.5, (1.1,), True), (0.5, (0.9, 0.4), True), (1.5, (1.1, 0.9), False), (1.5, (1.0,), False), (1.5, (), False), (0.5, (2.0,), False)],
)
def test_right_where_all_readings_agree(measured: float, priced: tuple[float, ...], right: bool) -> None:
    assert Pair("matmul", "n150", "grid", "x: 1 / 2", measured, priced).is_right == right


def test_nine_of_ten_published_pairs_have_the_right_sign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"head\n{START}\nold\n{END}\ntail\n")
    assert main(["--docs", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("head\n")
    assert text.endswith("tail\n")
    assert "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    right = sum("| right" in row for row in rows)
    found = re.search(r"of (\d+) published pairs.*?prices\n(\d+) and prefers the faster side in \*\*(\d+)", text, re.DOTALL)
    assert found
    assert (int(found[1]), int(found[3])) == (len(rows), right)
    assert int(found[2]) == sum(row.split(" | ")[5] != "-" for row in rows)
    assert right >= 0.9 * len(rows)
    assert main(["--ratio", "3"]) == 0
    assert 0 < capsys.readouterr().out.count("\n|") < len(rows)


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    with pytest.raises(SystemExit):
        main(["--docs", str(page)])
    assert page.read_text() == "nothing\n"


def test_the_table_of_pairs() -> None:
    """Those without a price, wrong ones, right ones, each by op."""
    pairs = [
        Pair("softmax", "n150", "one grid | another", "x: 1 / 2", 1.5, (1.1,)),
        Pair("matmul", "p150", "grid", "g: 8x8 / 4x4", 0.5, (0.9, 0.4), readings=2),
        Pair("matmul", "n150", "grid", "y: 1 / 2", 2.0, (1.0, 0.5), readings=1),
        Pair("conv2d", "n150", "blocks", "h: 1 / 2", 3.0, (), reason="config: a | b is not stated"),
        Pair("add", "n150", "blocks", "h: 1 / 2", 3.0, (), reason="x" * 200),
    ]
    text = section(pairs, 1.25)
    assert (
        "of 5 published pairs of configurations whose times differ by more than 1.25x the clock prices\n3 and prefers the faster side in **2 (67 %)**; 40 % of all,"
        in text
    )
    assert "\n2 of them leave something open" in text
    assert [line for line in text.splitlines() if line.startswith("|")][2:] == [
        f"| add | n150 | blocks | h: 1 / 2 | 3.00 | - | {'x' * 60} |",
        "| conv2d | n150 | blocks | h: 1 / 2 | 3.00 | - | config: a / b is not stated |",
        "| matmul | n150 | grid | y: 1 / 2 | 2.00 | 0.50 to 1.00 | **wrong**, 1 reading |",
        "| matmul | p150 | grid | g: 8x8 / 4x4 | 0.50 | 0.40 to 0.90 | right, 2 readings |",
        "| softmax | n150 | one grid / another | x: 1 / 2 | 1.50 | 1.10 | right |",
    ]
    assert "**0 (0 %)**; 0 % of all" in section([], 2)
