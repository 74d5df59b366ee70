"""`ttnn_jit` on the simulator: values and layouts of results, errors, cache, fallback, modules, and the two clocks."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ttnn
import ttnn_jit
from ttnn_jit import api

from tests.tables import table

from .jit_functions import FUNCTIONS, cosh, fusion_test, mul_add

SHAPE = (64, 128)
FUSED = "enable-elementwise-fusion=true"
BLOCKS, HEIGHTS = ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.TensorMemoryLayout.HEIGHT_SHARDED


@pytest.fixture(autouse=True)
def _dumps_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A decorated function makes its `generated/ttnn-jit/<name>` at once."""
    monkeypatch.chdir(tmp_path)


def cores(x: int, y: int, start: int = 0) -> Any:
    return ttnn.CoreRange(ttnn.CoreCoord(start, start), ttnn.CoreCoord(start + x - 1, start + y - 1))


def sharded(layout: Any, grid: list[Any], shape: list[int], orientation: Any = ttnn.ShardOrientation.ROW_MAJOR, buffer: Any = ttnn.BufferType.L1) -> Any:
    return ttnn.MemoryConfig(layout, buffer, ttnn.ShardSpec(ttnn.CoreRangeSet(grid), shape, orientation))


def tensor(device: Any, seed: int, dtype: str = "bfloat16", shape: tuple[int, ...] = SHAPE, memory: Any = None, layout: Any = ttnn.TILE_LAYOUT) -> Any:
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 1000, shape, dtype=np.int32) if dtype == "int32" else generator.uniform(0.1, 2, shape).astype(np.float32)
    return ttnn.Tensor(values, getattr(ttnn, dtype), device, layout, memory)


def values(result: Any) -> Any:
    return result.cpu().to_numpy().copy()


@table("options", ["", FUSED], ids=["op by op", "fused"])
@table("name", FUNCTIONS)
def test_equal_to_the_plain_function(name: str, options: str, device: Any) -> None:
    """Bit for bit, and block-sharded over L1 on the largest grid that divides the result's tiles."""
    function, count, dtype = FUNCTIONS[name]
    inputs = [tensor(device, seed, dtype) for seed in range(count)]
    plain = function(*inputs)
    result = ttnn_jit.jit(extra_pipeline_options=options)(function)(*inputs)
    assert result.dtype == plain.dtype and result.shape == plain.shape
    assert values(result).tobytes() == values(plain).tobytes()
    rows, columns = (int(side) // 32 for side in tuple(result.padded_shape)[-2:])  # both small enough for a grid of 8 x 8
    assert result.memory_config() == sharded(BLOCKS, [cores(columns, rows)], [32, 32])


def test_enough_functions() -> None:
    assert len(FUNCTIONS) >= 60


@pytest.mark.parametrize(
    ("shape", "grid", "shard"),
    [((1024, 1024), (8, 8), [128, 128]), ((512, 2048), (8, 8), [64, 256]), ((96, 576), (6, 3), [32, 96]), ((4, 4, 32, 32), (1, 8), [64, 32])],
)
def test_layout_of_the_result(shape: tuple[int, ...], grid: tuple[int, int], shard: list[int], device: Any) -> None:
    a = tensor(device, 0, shape=shape)
    result = ttnn_jit.jit()(lambda a: ttnn.abs(a))(a)
    assert result.memory_config() == sharded(BLOCKS, [cores(*grid)], shard)
    in_dram = ttnn_jit.jit(memory_config=ttnn.DRAM_MEMORY_CONFIG)(lambda a: ttnn.abs(a, memory_config=ttnn.L1_MEMORY_CONFIG))(a)
    assert in_dram.memory_config() == ttnn.DRAM_MEMORY_CONFIG


@pytest.mark.parametrize("options", ["", FUSED])
def test_sharded_operands(options: str, device: Any) -> None:
    memory = sharded(HEIGHTS, [cores(2, 1)], [32, 128])
    a, b = (tensor(device, seed, memory=memory) for seed in (0, 1))
    result = ttnn_jit.jit(extra_pipeline_options=options, memory_config=memory)(fusion_test)(a, b)
    assert result.memory_config() == memory and values(result).tobytes() == values(fusion_test(a, b)).tobytes()
    other = tensor(device, 1, memory=sharded(HEIGHTS, [cores(1, 2)], [32, 128]))
    with pytest.raises(ValueError, match="same shard spec"):
        ttnn_jit.jit()(fusion_test)(a, other)


ND = ttnn.NdShardSpec(ttnn.Shape([32, 64]), ttnn.CoreRangeSet([cores(4, 1)]), ttnn.ShardOrientation.ROW_MAJOR, ttnn.ShardDistributionStrategy.GRID_2D)
LAYOUT_ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "row major": ({"layout": ttnn.ROW_MAJOR_LAYOUT}, "Only Layout.Tile tensors are supported. Found layout: Layout.ROW_MAJOR"),
    "sharded DRAM": ({"memory": sharded(HEIGHTS, [cores(2, 1)], [32, 128], buffer=ttnn.BufferType.DRAM)}, "Sharded DRAM tensors are not supported."),
    "by columns": (
        {"memory": sharded(BLOCKS, [cores(2, 2)], [32, 64], ttnn.ShardOrientation.COL_MAJOR)},
        "Column major sharding is not supported.",
    ),
    "grid 2d": ({"memory": ttnn.MemoryConfig(ttnn.BufferType.L1, ND)}, "Grid2D distribution strategy is not supported."),
    "L1": ({"memory": ttnn.L1_MEMORY_CONFIG}, "Interleaved L1 tensors are not supported."),
    "two ranges": (
        {"memory": sharded(HEIGHTS, [cores(1, 1), cores(1, 1, 2)], [32, 128])},
        "Tensor grids with more than one CoreRange are not supported",
    ),
    "no whole tiles": ({"shape": (40, 64)}, "Only tile-aligned tensors are supported"),
}


@pytest.mark.parametrize("name", LAYOUT_ERRORS)
def test_layout_errors(name: str, device: Any) -> None:
    options, text = LAYOUT_ERRORS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        ttnn_jit.jit()(cosh)(tensor(device, 0, **options))


def two_results(a: Any) -> Any:
    return ttnn.exp(a), a


def by_operator(a: Any) -> Any:
    return a * a


def by_values(a: Any) -> Any:
    return ttnn.exp(a) if ttnn.gt(a, 0.0) else a


OUTSIDE = ttnn.Tensor(np.ones(SHAPE, np.float32), ttnn.bfloat16, None, ttnn.TILE_LAYOUT)
CALL_ERRORS: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "two results": (two_results, ValueError, "Only one output tensor is supported"),
    "an operator": (by_operator, TypeError, "unsupported operand type"),
    "a condition": (by_values, TypeError, "truth value"),
    "softmax": (lambda a: ttnn.softmax(a, dim=-1), TypeError, "incompatible function arguments"),
    "missing argument": (mul_add, ValueError, "Invalid arguments for function mul_add"),
    "no result": (lambda a: None, ValueError, "Only one output tensor is supported: the function returned NoneType"),
    "a tensor from outside": (
        lambda a: ttnn.add(a, OUTSIDE),
        ValueError,
        "ttnn_jit.add: a tensor from outside the function cannot be traced; pass it as an argument",
    ),
    "rank 3": (
        lambda a: ttnn.matmul(ttnn.reshape(a, (1, 64, 128)), ttnn.reshape(a, (1, 128, 64))),
        ValueError,
        "ttnn_jit.matmul: expected tensors of rank 2, got shape [[]1, 64, 128]",
    ),
    **{
        f"rearrange {pattern}": (lambda a, pattern=pattern: ttnn.rearrange(a, pattern), ValueError, "rearrange: expected a pattern like .* with 2 axes")
        for pattern in ("a b", "a b -> a", "a b -> a c", "a a -> a a", "a b c -> a b c", "(a b) -> a b", "a -> a")
    },
    "dtype": (lambda a: ttnn.bitwise_not(a), ValueError, "expected dtype INT32, got BFLOAT16"),
}


@table("name", CALL_ERRORS)
def test_refused_functions_and_fallback(name: str, device: Any) -> None:
    function, kind, text = CALL_ERRORS[name]
    a = tensor(device, 0)
    with pytest.raises(kind, match=text):
        ttnn_jit.jit()(function)(a)
    if name in ("two results", "an operator", "softmax"):
        falls_back = ttnn_jit.jit(fallback=True)(function)
        result, plain = falls_back(a), function(a)
        first, expected = (result[0], plain[0]) if name == "two results" else (result, plain)
        assert falls_back.fallback_used and values(first).tobytes() == values(expected).tobytes()


def test_arguments_of_the_decorator(device: Any) -> None:
    with pytest.raises(ValueError, match="exclude"):
        ttnn_jit.jit(compile_only=True, fallback=True)
    for options, text in (("fuse", "key=value"), ("enable-elementwise-fuson=true", "did you mean enable-elementwise-fusion"), (f"{FUSED}x", "true or false")):
        with pytest.raises(ValueError, match=text):
            ttnn_jit.jit(extra_pipeline_options=options)
    for bad in ((7,), (7, -1), (7.0, 7)):
        with pytest.raises(ValueError, match="max_grid: expected two numbers"):
            ttnn_jit.jit(max_grid=bad)
    works = ttnn_jit.jit(fallback=True, enable_cache=False)(cosh)
    works(tensor(device, 0))
    assert not works.fallback_used and works.func is cosh and works.out_dir == Path("generated/ttnn-jit/cosh") and works.out_dir.is_dir()
    with pytest.raises(ValueError, match="Device is required"):
        works.__class__(cosh, False, False, False)(ttnn.Tensor(np.zeros(SHAPE, np.float32), ttnn.bfloat16, None, ttnn.TILE_LAYOUT))
    with pytest.raises(AssertionError, match="Cache is not enabled"):
        works.num_entries  # noqa: B018


def _second(a: Any, other: Any) -> Any:
    return ttnn.add(a, other)


def test_a_grid_may_be_limited(device: Any) -> None:
    a = tensor(device, 0, shape=(256, 256))
    for limit, side in ((None, 8), ((7, 7), 8), ((3, 1), (4, 2))):
        down, across = (side, side) if isinstance(side, int) else side
        spec = ttnn_jit.jit(max_grid=limit)(cosh)(a).memory_config().shard_spec
        assert list(spec.shape) == [256 // down, 256 // across]


def test_a_plain_decorator_traces_and_keeps_traces(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    works = ttnn_jit.jit()(cosh)
    a = tensor(device, 0)
    assert values(works(a)).tobytes() == values(cosh(a)).tobytes()
    assert capsys.readouterr().out == "" and not list(works.out_dir.iterdir()) and not works.debug
    assert works.num_entries == 1
    with pytest.raises(ValueError, match="Invalid arguments for function cosh"):
        works(a, a)
    with pytest.raises(ValueError, match="positional argument 1 must be a tensor, got float"):
        ttnn_jit.jit()(_second)(a, 2.0)
    with pytest.raises(ValueError, match="tensors are passed by position, other is a keyword"):
        ttnn_jit.jit()(_second)(a, other=a)


def power(a: Any, exponent: int = 2) -> Any:
    result = a
    for _ in range(exponent - 1):
        result = ttnn.multiply(result, a)
    return result


def test_cache(device: Any) -> None:
    """A trace per shape, dtype, memory and keywords: the real key lacks keywords, and returns another trace's result."""
    cached = ttnn_jit.jit()(power)
    memory = sharded(HEIGHTS, [cores(2, 1)], [32, 128])
    entries = []
    for seed, options in enumerate(({}, {}, {"dtype": "float32"}, {"shape": (32, 64)}, {"memory": memory}, {})):
        cached(tensor(device, seed, **options))
        entries.append(cached.num_entries)
    assert entries == [1, 1, 2, 3, 4, 4]
    a = tensor(device, 1)
    for exponent in (3, 4, 3):
        assert values(cached(a, exponent=exponent)).tobytes() == values(power(a, exponent)).tobytes()
    assert cached.num_entries == 6
    for width in range(1, 70):
        cached(tensor(device, 0, shape=(32, 32 * width)))
    assert cached.num_entries == 64


def test_random_calls_share_traces(device: Any) -> None:
    functions = [ttnn_jit.jit(enable_cache=True)(FUNCTIONS[name][0]) for name in ("exp", "add", "mul_add")]
    inputs = [tensor(device, seed, shape=(32, 32)) for seed in range(3)]
    order = random.Random(0)
    for _ in range(100):
        index = order.randrange(3)
        functions[index](*inputs[: index + 1])
    assert [function.num_entries for function in functions] == [1, 1, 1]


@table("name", ["cosh", "mul_add", "matmul", "permute", "transpose", "reshape", "concat", "repeat", "clamp", "softmax_by_hand", "bitwise_and",
                                  "sum over rows", "add bfloat8_b"])  # fmt: skip
def test_compile_only_gives_a_module_that_the_compiler_reads(name: str, device: Any) -> None:
    from alchemist.ir.parser import parse
    from alchemist.toolchain.ttnn_file import read_module_text

    function, count, dtype = FUNCTIONS[name]
    compiled = ttnn_jit.jit(compile_only=True)(function)
    module = compiled(*(tensor(device, seed, dtype) for seed in range(count)))
    ops = [op.name for op in parse(str(module)).walk() if op.name.startswith("ttir.")]
    assert ops and [path.read_text() for path in compiled.out_dir.glob("*.mlir")] == [str(module)]
    binaries = list(compiled.out_dir.glob("*.ttnn"))
    assert ["ttnn." in read_module_text(binary) for binary in binaries] == ([] if "bfloat8" in name else [True])  # block formats are not lowered


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2.5, "2.500000000e+00 : f32"),
        (-3.0, "-3.000000000e+00 : f32"),
        (float("inf"), "0x7F800000 : f32"),
        (float("-inf"), "0xFF800000 : f32"),
        (1e-3, "1.000000000e-03 : f32"),
    ],
)
def test_numbers_in_a_module(number: float, text: str, device: Any) -> None:
    def bounded(a: Any) -> Any:
        return ttnn.clamp(a, -1.0 if number > 0 else number, number if number > 0 else 1.0)

    assert text in str(ttnn_jit.jit(compile_only=True)(bounded)(tensor(device, 0)))


def test_what_differs_from_the_real_jit_is_said_once(device: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(api, "_told", set())
    fused = "modelled fused kernel, no C++ is compiled"
    for options, expected in (
        ("", []),
        (FUSED, [fused]),
        (FUSED, []),
        ("use-tile-matmul=true", ["the pipeline option use-tile-matmul has no effect on the simulator"]),
        ("use-tile-matmul=false ttnn-mode=true", ["the pipeline option ttnn-mode has no effect on the simulator"]),
    ):
        caplog.clear()
        ttnn_jit.jit(extra_pipeline_options=options)(cosh)(tensor(device, 0))
        assert [record.getMessage().partition(": ")[2].partition(";")[0] for record in caplog.records] == expected


def test_debug_prints_the_module(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ttnn_jit.jit(debug=True, extra_pipeline_options=FUSED)(cosh)(tensor(device, 0))
    printed = capsys.readouterr().out
    assert "IR Dump after TracingCompiler (Tracing-based)" in printed and '"ttir.exp"(%arg0)' in printed
    assert "// exp -> neg -> exp -> add -> multiply" in printed


def rearranged(a: Any) -> Any:
    return ttnn.rearrange(a, "b h w -> h (b w)")


def test_rearrange(device: Any) -> None:
    """TT-NN has no such op; ttnn.jit does."""
    a = tensor(device, 0, shape=(2, 32, 64))
    assert values(ttnn_jit.jit()(rearranged)(a)).tobytes() == values(a).transpose(1, 0, 2).reshape(32, 128).tobytes()


def test_embedding(device: Any) -> None:
    ids = ttnn.Tensor(np.arange(1024, dtype=np.uint32).reshape(32, 32) % 64, ttnn.uint32, device, ttnn.TILE_LAYOUT)
    weights = tensor(device, 0)
    result = ttnn_jit.jit()(lambda ids, weights: ttnn.embedding(ids, weights))(ids, weights)
    assert values(result).tobytes() == values(ttnn.embedding(ids, weights)).tobytes()


def programs(device: Any, call: Callable[[], Any]) -> list[dict[str, Any]]:
    device.events_enable(True)
    device.clock_reset()
    try:
        call()
        return list(device.events())
    finally:
        device.events_enable(False)
        device.clock_reset()


@pytest.mark.parametrize(("name", "count_fused"), [("cosh", 1), ("fusion_test", 1), ("long_unary_chain", 1), ("gate_up", 2), ("digamma", 9)])
def test_clock(name: str, count_fused: int, device: Any) -> None:
    """A program per op as without the decorator; fused, one for all between values with two readers: faster, but slower than the traffic."""
    function, count, dtype = FUNCTIONS[name]
    shape = (512, 1024)
    inputs = [tensor(device, seed, dtype, shape) for seed in range(count)]
    dram = ttnn.DRAM_MEMORY_CONFIG
    plain = programs(device, lambda: function(*inputs))
    by_op = programs(device, lambda: ttnn_jit.jit(memory_config=dram)(function)(*inputs))
    fused = programs(device, lambda: ttnn_jit.jit(memory_config=dram, extra_pipeline_options=FUSED)(function)(*inputs))
    assert [(event["name"], event["ns"]) for event in by_op] == [(event["name"], event["ns"]) for event in plain]
    assert len(fused) == count_fused
    assert any(event["name"] == "GenericOpDeviceOperation" and event["modelled"] for event in fused)
    traffic_bytes = (count + 1) * 2 * shape[0] * shape[1]
    unfused_ns = sum(event["ns"] for event in plain)
    assert traffic_bytes / 288 < sum(event["ns"] for event in fused) < unfused_ns  # 288 GB/s: the peak of a Wormhole card


def test_groups_of_a_fused_trace(device: Any) -> None:
    """Nothing is fused across matmuls, reductions, values with two readers, or beyond the circular buffers."""

    def counted(name: str, dtype: str | None = None) -> int:
        function, count, usual = FUNCTIONS[name]
        inputs = [tensor(device, seed, dtype or usual) for seed in range(count)]
        fused = ttnn_jit.jit(memory_config=ttnn.DRAM_MEMORY_CONFIG, extra_pipeline_options=FUSED)(function)
        return len(programs(device, lambda: fused(*inputs)))

    assert counted("shared_value") == 2 and counted("matmul_then_relu") == 2 and counted("add_tree") == 1
    assert counted("softmax_by_hand") == 4  # max, subtract with exp, sum, divide

    def many(*inputs: Any) -> Any:
        total = inputs[0]
        for each in inputs[1:]:
            total = ttnn.add(total, each)
        return total

    for dtype, expected in (("bfloat16", 1), ("float32", 2)):
        inputs = [tensor(device, seed, dtype, (32, 32)) for seed in range(10)]
        fused = ttnn_jit.jit(memory_config=ttnn.DRAM_MEMORY_CONFIG, extra_pipeline_options=FUSED)(many)
        assert len(programs(device, lambda fused=fused, inputs=inputs: fused(*inputs))) == expected
