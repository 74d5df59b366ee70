"""Which changes `./run --what-if` tries for a call, as text of the program."""

from __future__ import annotations

import re

import pytest
from ttnn_shim.reports.calls import Call, Run

from alchemist.tools.changes import shape_of, suggestions
from alchemist.tools.program_text import Source, edited

MAIN = """\
import ttnn

DRAM = ttnn.DRAM_MEMORY_CONFIG
CONV = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16)
PLACED = ttnn.Conv2dConfig(shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED)


def layer(x, weights):
    a = ttnn.linear(x, weights["up"], memory_config=DRAM)
    b = ttnn.matmul(a, weights["down"], dtype=ttnn.bfloat16, core_grid=GRID, memory_config=ttnn.L1_MEMORY_CONFIG)
    c = ttnn.conv2d(b, weights["window"], conv_config=CONV, memory_config=DRAM)
    d = ttnn.conv2d(c, weights["window"], conv_config=PLACED, compute_config=HIFI4)
    e = ttnn.rms_norm(d, weight=weights["scale"], memory_config=DRAM)
    return ttnn.add(e, x, memory_config=DRAM)
"""
CONSTEVAL = """\
import ttnn


def layer(weights):
    weights["up"] = ttnn.to_layout(weights["raw"], ttnn.TILE_LAYOUT)


def prepare(weights):
    weights["down"] = ttnn.typecast(weights["raw"], ttnn.bfloat16)
    weights["scale"] = ttnn.typecast(weights["raw"], ttnn.bfloat8_b)


def other(weights):
    weights["window"] = weights["raw"]
"""
SOURCES = {"main.py": Source("main.py", MAIN), "consteval.py": Source("consteval.py", CONSTEVAL)}


def call(op: str, line: int, ns: float, fidelity: str = "HiFi4", cores: str = "8", dtype: str = "bfloat16", programs: tuple[str, ...] = ("P",)) -> Call:
    setup = {"inputs": f"[1, 256, 512] {dtype} tile dram", "outputs": "[1, 256, 512] bfloat16 tile dram", "fidelity": fidelity, "cores": cores}
    return Call(op, f"main.py:{line}", "", ("layer",), ns, 0.0, programs, "compute", setup)


CALLS = [
    *[call("ttnn.linear", 9, 9e3, programs=("A", "B"))] * 2, call("ttnn.matmul", 10, 8e3, "", dtype="float32"), call("ttnn.conv2d", 11, 7e3, "LoFi"),
    call("ttnn.conv2d", 12, 6e3), call("ttnn.rms_norm", 13, 5e3, "HiFi4", "2"), call("ttnn.add", 14, 4e3, ""), call("ttnn.add", 99, 1e5),
    Call("ttnn.other", "?", "", (), 1e5, 0.0, (), "", {}),
]  # fmt: skip


def compute(fidelity: str) -> str:
    return f"ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.{fidelity}, math_approx_mode=False, fp32_dest_acc_en=False, packer_l1_acc=True)"


def shards(layout: str) -> str:
    config = f"ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat16, shard_layout=ttnn.TensorMemoryLayout.{layout}_SHARDED)"
    return f'c = ttnn.conv2d(b, weights["window"], conv_config={config}, memory_config=DRAM)'


def blocks(height: int, width: int, x: int, y: int) -> list[str]:
    name = f"BLOCK_{height // 32}X{width // 32}_ON_{y}X{x}"
    return [
        f"{name} = ttnn.create_sharded_memory_config(",
        f"({height}, {width}), ttnn.CoreGrid(x={x}, y={y}), ttnn.ShardStrategy.BLOCK, use_height_and_width_as_shard_shape=True",
        ")",
        f'e = ttnn.to_memory_config(ttnn.rms_norm(ttnn.to_memory_config(d, {name}), weight=weights["scale"], memory_config={name}), DRAM)',
    ]


LINEAR, MATMUL, CONV, NORM, ADD = (MAIN.splitlines()[number].strip() for number in (8, 9, 10, 12, 13))
IN_L1 = [line.replace("=DRAM", "=ttnn.L1_MEMORY_CONFIG") for line in (LINEAR, CONV, NORM, ADD)]
UP = 'weights["up"] = ttnn.typecast(ttnn.to_layout(weights["raw"], ttnn.TILE_LAYOUT), ttnn.bfloat8_b)'
DOWN = 'weights["down"] = ttnn.typecast(ttnn.typecast(weights["raw"], ttnn.bfloat16), ttnn.bfloat8_b)'


def lower(line: str, fidelity: str) -> str:
    return f"{line[:-1]}, {'compute_config' if 'conv2d' in line else 'compute_kernel_config'}={compute(fidelity)})"


OF_LINEAR = [
    ("ttnn.linear: its output in L1 (2 calls)", 9, IN_L1[:1], ["memory_config"]),
    ("ttnn.linear: math fidelity HiFi2 instead of HiFi4 (2 calls)", 9, [lower(LINEAR, "HiFi2")], ["compute_kernel_config"]),
    ("ttnn.linear: math fidelity LoFi instead of HiFi4 (2 calls)", 9, [lower(LINEAR, "LoFi")], ["compute_kernel_config"]),
    ("ttnn.linear: matmul, bias and activation as one device program over 56 cores (now 8) (2 calls)", 9,
     [lower(f"{LINEAR[:-1]}, core_grid=ttnn.CoreGrid(y=7, x=8))", "HiFi4")], ["compute_kernel_config", "core_grid"]),
    ("ttnn.linear: its output as bfloat8_b (2 calls)", 9, [f"{LINEAR[:-1]}, dtype=ttnn.bfloat8_b)"], ["dtype"]),
    ("ttnn.linear: its weight as bfloat8_b (2 calls)", 9, [UP], None),
]  # fmt: skip
OF_OTHERS = [
    ("ttnn.matmul: math fidelity HiFi2 instead of the default", 10, [lower(MATMUL, "HiFi2")], ["compute_kernel_config"]),
    ("ttnn.matmul: math fidelity LoFi instead of the default", 10, [lower(MATMUL, "LoFi")], ["compute_kernel_config"]),
    ("ttnn.matmul: its weight as bfloat8_b", 10, [DOWN], None),
    ("ttnn.conv2d: its output in L1", 11, IN_L1[1:2], ["memory_config"]),
    ("ttnn.conv2d: math fidelity HiFi2 instead of LoFi", 11, [lower(CONV, "HiFi2")], ["compute_config"]),
    *((f"ttnn.conv2d: computed on {layout.lower()} shards", 11, [shards(layout)], ["conv_config"]) for layout in ("HEIGHT", "BLOCK", "WIDTH")),
    ("ttnn.conv2d: its result left in its shards", 11, [CONV.replace(", memory_config=DRAM", "")], ["memory_config"]),
    ("ttnn.rms_norm: its output in L1", 13, IN_L1[2:3], ["memory_config"]),
    ("ttnn.rms_norm: block-sharded over 16 cores (now 2)", 13, blocks(64, 128, 4, 4), ["memory_config"]),
    ("ttnn.rms_norm: block-sharded over 32 cores (now 2)", 13, blocks(64, 64, 8, 4), ["memory_config"]),
    ("ttnn.add: its output in L1", 14, IN_L1[3:], ["memory_config"]),
]
OF_ALL = [
    ("all outputs in L1 (4 lines)", 0, IN_L1, None),
    ("math fidelity HiFi2 everywhere (3 lines)", 0, [lower(line, "HiFi2") for line in (LINEAR, MATMUL, CONV)], None),
    ("math fidelity LoFi everywhere (3 lines)", 0, [lower(line, "LoFi") for line in (LINEAR, MATMUL, CONV)], None),
    ("all matmul weights as bfloat8_b (2 lines)", 0, [UP, DOWN], None),
]


def test_every_change_as_text() -> None:
    found = suggestions(Run("", "m", "n150", CALLS), SOURCES, (8, 7), len(CALLS))
    for one, (what, line, written, names) in zip(found, [*OF_LINEAR, *OF_OTHERS, *OF_ALL], strict=True):
        texts = {name: edited(source.text, [edit for edit in one.edits if edit.file == name]).splitlines() for name, source in SOURCES.items()}
        changed = [row.strip() for name, rows in texts.items() for row in rows if row not in SOURCES[name].text.splitlines()]
        assert (one.what, one.line, changed) == (what, f"main.py:{line}" if line else "", written)
        if names is not None:
            assert sorted(one.touches) == [f"main.py:{line} {name}" for name in names]


def test_changes_of_everything_touch_what_they_are_made_of() -> None:
    """So that of two that change one argument only the better one is told."""
    found = {one.what: one for one in suggestions(Run("", "m", "n150", CALLS), SOURCES, (8, 7), len(CALLS))}
    for whole, part in (("all outputs in L1 (4 lines)", "its output in L1"), ("all matmul weights as bfloat8_b (2 lines)", "its weight as bfloat8_b")):
        parts = [one.touches for what, one in found.items() if part in what]
        assert found[whole].touches == frozenset().union(*parts)
    assert len(found["math fidelity LoFi everywhere (3 lines)"].touches) == 3


def test_one_line_is_not_everywhere() -> None:
    """Its own change says the same."""
    source = Source("main.py", f"import ttnn\n\n\ndef forward(x, w):\n    y = {MATMUL}\n    return y\n")
    found = suggestions(Run("", "m", "n150", [call for call in CALLS if call.op == "ttnn.matmul"]), {"main.py": source}, (8, 7), 9)
    assert not [one.what for one in found if "everywhere" in one.what or one.what.startswith("all ")]


def test_only_the_slowest_lines_are_looked_at() -> None:
    found = [one.what for one in suggestions(Run("", "m", "n150", CALLS), SOURCES, (8, 7), 3)]
    assert found == [what for what, *_ in (*OF_LINEAR, *OF_ALL)]


@pytest.mark.parametrize(
    ("spelled", "shape"),
    [("[1, 256, 512] bfloat16 tile dram", (1, 256, 512)), ("[64] float32", (64,)), ("[] float32", ()), ("2.0", ()), ("", ()), ("[7, 8], [9]", (7, 8))],
)
def test_shapes_of_calls(spelled: str, shape: tuple[int, ...]) -> None:
    assert shape_of(spelled) == shape


@pytest.mark.parametrize(
    ("shape", "cores", "grids"),
    [
        ("[1, 256, 512]", "2", [(64, 128, 4, 4), (64, 64, 8, 4)]),
        ("[1, 256, 512]", "16", [(64, 64, 8, 4)]),
        ("[1, 256, 512]", "32", []),
        ("[2, 250, 500]", "1", [(128, 128, 4, 4), (128, 64, 8, 4)]),
        ("[64, 96]", "1", [(32, 32, 3, 2)]),
        ("[40]", "1", [(32, 32, 2, 1)]),
        ("[2, 3, 33, 224]", "1", [(64, 224, 1, 6), (64, 32, 7, 6)]),
    ],
)
def test_blocks_of_norms(shape: str, cores: str, grids: list[tuple[int, int, int, int]]) -> None:
    """Tile rows over as many rows of cores as divide them, tile columns over as many columns as divide them, of all and of half of the grid."""
    setup = {"inputs": f"{shape} bfloat16 tile dram", "outputs": f"{shape} bfloat16 tile dram", "fidelity": "HiFi4", "cores": cores}
    norm = Call("ttnn.rms_norm", "main.py:13", "", ("layer",), 5e3, 0.0, ("P",), "compute", setup)
    found = [one for one in suggestions(Run("", "m", "n150", [norm]), SOURCES, (8, 7), 1) if "block-sharded" in one.what]
    assert [tuple(map(int, re.findall(r"\d+", one.write.partition("(\n")[2])[:4])) for one in found] == grids
