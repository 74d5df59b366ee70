"""Probes drawn at random, with a fixed seed per callee: ranks 0 to 6, empty tensors, mixed dtypes and layouts, sharded operands and results,
preallocated results, and arguments that are wrong. Rows as in `rule_rows.py`.

A callee's rows do not change when another is added; COUNTS says how many rows a family draws per callee.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

import rule_rows

Shape = tuple[int, ...]
Input = tuple[Shape, str, str, str]
_D = "ttnn.DRAM_MEMORY_CONFIG"
_L1 = "ttnn.L1_MEMORY_CONFIG"
SHAPES: tuple[Shape, ...] = (
    (), (1,), (7,), (32,), (1056,), (0,), (0, 32), (3, 0), (1, 1), (32, 32), (64, 96), (31, 33), (5, 1), (1, 5), (96, 128), (2, 32, 32),
    (3, 17, 40), (4, 1, 64), (1, 1, 32, 32), (2, 3, 32, 64), (1, 2, 31, 65), (2, 0, 32, 32), (1, 1, 256, 64), (1, 1, 1, 64, 32),
    (2, 3, 4, 5, 6), (1, 1, 1, 1, 32, 32), (2, 1, 3, 1, 16, 48), (1, 1, 1, 1, 2, 32, 32),
)  # fmt: skip
DTYPES = ("bfloat16",) * 5 + ("float32",) * 3 + ("bfloat8_b", "bfloat4_b", "int32", "int32", "uint32", "uint16", "uint8", "fp8_e4m3")
COUNTS = {"unary": 12, "binary": 24, "ternary": 30, "reduce": 40, "shape": 60, "norm": 40, "matmul": 150, "create": 60, "core": 60, "wrong": 1}


_salt = ""


def salt(seed: int) -> None:
    """Other draws than the committed ones: seed 0 is those."""
    global _salt
    _salt = f"{seed} " if seed else ""


def _random(name: str) -> random.Random:
    return random.Random(_salt + name)


def draw_shard(rng: random.Random, shape: Shape) -> str:
    """A memory config with shards of `shape`: often even, sometimes with an uneven last shard, in DRAM, column-major, or one that cannot be."""
    width = shape[-1] if shape else 1
    height = max(math.prod(shape[:-1]), 1) if shape else 1
    rows, columns = -(-height // 32), -(-width // 32)
    kind = rng.choice(("HEIGHT", "WIDTH", "BLOCK"))
    y = rng.choice((1, 2, 3, 4)) if kind != "WIDTH" else 1
    x = rng.choice((1, 2, 3, 4)) if kind != "HEIGHT" else 1
    shard = (max(-(-rows // y), 1) * 32, max(-(-columns // x), 1) * 32)
    if rng.random() < 0.15:
        shard = (max(-(-height // y), 1), max(-(-width // x), 1))
    cores = (x, y) if kind == "BLOCK" else rng.choice(((x * y, 1), (1, x * y)))
    orientation = "COL_MAJOR" if rng.random() < 0.15 else "ROW_MAJOR"
    if kind == "BLOCK" and orientation == "COL_MAJOR":
        cores = (y, x)
    buffer = "DRAM" if rng.random() < 0.08 else "L1"
    grid = f"ttnn.CoreRangeSet({{ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord({cores[0] - 1}, {cores[1] - 1}))}})"
    spec = f"ttnn.ShardSpec({grid}, {list(shard)}, ttnn.ShardOrientation.{orientation})"
    return f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.{kind}_SHARDED, ttnn.BufferType.{buffer}, {spec})"


def draw_place(rng: random.Random, shape: Shape, hosts: bool = False) -> str:
    roll = rng.random()
    if roll < 0.55:
        return _D
    if roll < 0.67:
        return _L1
    return "host" if hosts and roll < 0.70 else draw_shard(rng, shape)


def draw(rng: random.Random, shapes: Sequence[Shape] = SHAPES, dtypes: Sequence[str] = DTYPES) -> Input:
    shape, dtype = rng.choice(shapes), rng.choice(dtypes)
    layout = "row_major" if rng.random() < 0.25 and not dtype.startswith("bfloat8") else "tile"
    return shape, dtype, layout, draw_place(rng, shape)


def result_arguments(rng: random.Random, like: Input, output: str = "output_tensor", dtype: bool = False) -> tuple[list[Input], str]:
    """Further inputs and the text of arguments that say where the result goes."""
    roll = rng.random()
    if roll < 0.55:
        return [], ""
    if roll < 0.75:
        return [], f", memory_config={draw_place(rng, like[0])}"
    if roll < 0.85 and dtype:
        return [], f", dtype=ttnn.{rng.choice(DTYPES)}"
    if not output:
        return [], ""
    given = like if rng.random() < 0.4 else draw(rng, (like[0],) if rng.random() < 0.7 else SHAPES, (like[1], "float32", "bfloat16"))
    return [given], f", {output}=a[{{n}}]"


def at(text: str, index: int) -> str:
    """The text with the place of the preallocated result."""
    return text.replace("{n}", str(index))


def partner(rng: random.Random, first: Input) -> Input:
    """A second operand: the same, broadcast, of other dtype or layout, or one that does not fit."""
    shape, dtype, layout, _place = first
    roll = rng.random()
    if roll < 0.3:
        return first
    if roll < 0.65 and shape:
        shape = tuple(1 if rng.random() < 0.5 else extent for extent in shape)
        if rng.random() < 0.4:
            shape = shape[rng.randrange(len(shape)) :]
    elif roll < 0.72:
        shape = rng.choice(SHAPES)
    if rng.random() < 0.3:
        dtype = rng.choice(DTYPES)
    if rng.random() < 0.15:
        layout = "row_major" if layout == "tile" else "tile"
    return shape, dtype, layout, draw_place(rng, shape)


BINARY = (*rule_rows.BINARY, "add", "subtract", "multiply", "divide", "eq", "ne", "lt", "ge", "gt", "le", "maximum", "minimum", "pow", "remainder", "atan2",
          "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
          "logical_left_shift", "logical_right_shift", "div", "polyval([1.0,2.0])", "rpow(2.0)")  # fmt: skip
UNARY = (*rule_rows.UNARY, "abs", "acos", "asin", "asinh", "atan", "bitwise_not", "cbrt", "ceil", "cos", "erf", "erfc", "exp", "expm1", "floor", "gelu",
         "hardsigmoid", "isfinite", "log", "log1p", "logical_not", "mish", "neg", "reciprocal", "relu", "relu6", "rsqrt", "sigmoid", "sign", "silu",
         "sin", "sqrt", "tan", "tanh", "experimental.dropout(0.1,1.0,1)", "softplus(beta=2.0,threshold=10.0)", "clone", "abs_")  # fmt: skip
# callee: {d} a dimension
REDUCE = ("sum(a[0], dim={d})", "mean(a[0], dim={d}, keepdim=True)", "max(a[0], dim={d})", "min(a[0], {d}, True)", "std(a[0], dim={d})", "var(a[0], {d}, True)",
          "sum(a[0])", "prod(a[0], dim={d})", "prod(a[0])", "cumsum(a[0], dim={d})", "cumprod(a[0], dim={d})", "argmax(a[0], dim={d})",
          "argmax(a[0], dim={d}, keepdim=True)", "topk(a[0], 8, dim={d})", "topk(a[0], k=32, dim={d}, largest=False, sorted=True)", "sort(a[0], dim={d})",
          "sort(a[0], dim={d}, descending=True)", "softmax(a[0], dim={d})",
          "max(a[0], dim=[{d}, {e}])", "sum(a[0], dim=[{d}, {e}], keepdim=True)")  # fmt: skip
SHAPING = ("reshape(a[0], {to})", "view(a[0], {to})", "permute(a[0], {dims})", "transpose(a[0], {d}, {e})", "squeeze(a[0], {d})", "unsqueeze(a[0], {d})",
           "repeat(a[0], {times})", "repeat_interleave(a[0], {k}, dim={d})", "expand(a[0], {wide})", "concat([a[0], a[0]], dim={d})",
           "slice(a[0], {starts}, {ends}, {steps})", "slice(a[0], {starts}, {ends})", "pad(a[0], {pads}, 0.5)", "pad(a[0], {pads}, value=1.0)", "split(a[0], {k}, {d})",
           "split(a[0], [{k}, {k}], dim={d})", "chunk(a[0], {k}, {d})", "roll(a[0], {k}, {d})", "stack([a[0], a[0]], dim={d})", "tilize(a[0])",
           "tilize_with_zero_padding(a[0])", "untilize(a[0])", "to_layout(a[0], ttnn.TILE_LAYOUT)", "to_layout(a[0], ttnn.ROW_MAJOR_LAYOUT)",
           "to_layout(a[0], ttnn.TILE_LAYOUT, dtype=ttnn.float32)", "typecast(a[0], ttnn.{dtype})", "clone(a[0], dtype=ttnn.{dtype})", "to_memory_config(a[0], {place})",
           "interleaved_to_sharded(a[0], {place})", "sharded_to_interleaved(a[0], {place})", "sharded_to_interleaved(a[0])", "reshard(a[0], {place})",
           "unsqueeze_to_4D(a[0])", "move(a[0])", "move(a[0], memory_config={place})", "reallocate(a[0], memory_config={place})", "tril(a[0], {k})", "triu(a[0], diagonal={d})",
           "narrow(a[0], {d}, 0, {k})", "to_dtype(a[0], ttnn.{dtype})", "from_device(a[0])", "assign(a[0], memory_config={place})", "assign(a[0], {place}, ttnn.{dtype})",
           "to_device(ttnn.from_device(a[0]), device, memory_config={place})", "zeros_like(a[0], dtype=ttnn.{dtype})", "full_like(a[0], 2.5, layout=ttnn.TILE_LAYOUT)",
           "ones_like(a[0], memory_config={place})", "empty_like(a[0], dtype=ttnn.{dtype})", "fill(a[0], 3.0, memory_config={place})", "is_sharded(a[0])", "nonzero(a[0])",
           "bitcast(a[0], ttnn.{dtype})", "squeeze(a[0])", "untilize_with_unpadding(a[0], {ends_inclusive})", "tilize_with_val_padding(a[0], {padded}, 1.0)",
           "experimental.view(a[0], {to})", "fill_implicit_tile_padding(a[0], 2.0)", "upsample(a[0], {k})", "global_avg_pool2d(a[0])")  # fmt: skip
NORM = ("layer_norm(a[0], weight=a[1], bias=a[1])", "rms_norm(a[0], weight=a[1])", "layer_norm(a[0])", "rms_norm(a[0], epsilon=1e-5)",
        "layer_norm(a[0], residual_input_tensor=a[2])", "softmax(a[0], -1)", "softmax(a[0], dim=-1, numeric_stable=True)", "softmax_in_place(a[0])",
        "scale_mask_softmax(a[0], 0.5, a[2])", "scale_mask_softmax_in_place(a[0], 0.5, a[2], is_causal_mask=True)", "scale_causal_mask_hw_dims_softmax_in_place(a[0], 0.5, a[2])",
        "embedding(a[3], a[0])", "embedding(a[3], a[0], layout=ttnn.TILE_LAYOUT)", "group_norm(a[0], num_groups=2, core_grid=ttnn.CoreGrid(y=1, x=1), inplace=False)",
        "batch_norm(a[0], running_mean=a[4], running_var=a[4])", "batch_norm(a[0], training=True)", "normalize_global(a[0])", "normalize_hw(a[0])",
        "where(a[0], a[2], 1.0)", "gather(a[0], -1, a[5])", "scatter(a[0], -1, a[5], a[2])", "bcast(a[0], a[1], ttnn.BcastOpMath.ADD, ttnn.BcastOpDim.H)")  # fmt: skip


def fill(rng: random.Random, text: str, given: Input) -> str:
    """A call with its holes filled: mostly right for the tensor, sometimes not."""
    shape = given[0]
    rank = len(shape)

    def dim() -> int:
        return rng.randrange(-rank, rank) if rank and rng.random() < 0.88 else rng.choice((-rank - 1, rank, 0, 7))

    volume = math.prod(shape)
    dims = list(range(rank))
    rng.shuffle(dims)
    starts = [rng.choice((0, 0, 0, extent // 2, -extent)) for extent in shape]
    ends = [rng.choice((extent, extent, extent // 2 + 1, max(extent - 1, 0), extent + 1, -1)) for extent in shape]
    choices = [[volume], [1, volume], [-1], [*shape[:-2], -1], [volume // 2, 2], [volume // 32, 32], [-1, 32], [*shape, 1], [1, *shape], [volume + 1], [2, -1, 16], [0, -1]]
    values = {
        "d": dim(), "e": dim(), "k": rng.choice((1, 2, 3, 16, 32, 0, -1)), "to": rng.choice(choices), "dims": dims if rng.random() < 0.9 else [0, 1, 2],
        "times": [rng.choice((1, 1, 2, 3, 0)) for _ in range(rank if rng.random() < 0.85 else rank + 1)],
        "wide": [rng.choice((extent, -1, 4)) for extent in shape] if rng.random() < 0.8 else [2, *shape], "starts": starts, "ends": ends,
        "steps": [rng.choice((1, 1, 1, 2)) for _ in shape], "pads": [(rng.choice((0, 0, 0, 1, 32)), rng.choice((0, 0, 1, 31, 32))) for _ in shape],
        "dtype": rng.choice(DTYPES), "place": draw_place(rng, shape), "ends_inclusive": [max(extent - 1, 0) for extent in shape],
        "padded": [*shape[:-2], *(-(-extent // 32) * 32 for extent in shape[-2:])],
    }  # fmt: skip
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _unary() -> Iterator[rule_rows.Row]:
    for text in UNARY:
        rng = _random("unary " + text)
        for _ in range(COUNTS["unary"]):
            given = draw(rng)
            added, tail = result_arguments(rng, given)
            yield [given, *added], rule_rows.call_of(text, 1).removesuffix(")") + at(tail, 1) + ")"


def _binary() -> Iterator[rule_rows.Row]:
    for text in BINARY:
        rng = _random("binary " + text)
        for _ in range(COUNTS["binary"]):
            first = draw(rng)
            if rng.random() < 0.2:
                scalar = rng.choice(("2", "-1", "1.5", "0", "True", "1e30"))
                added, tail = result_arguments(rng, first, dtype=True)
                name = text.partition("(")[0]
                yield [first, *added], f"ttnn.{name}(a[0], {scalar}{at(tail, 1)})"
                continue
            second = partner(rng, first)
            added, tail = result_arguments(rng, first, dtype=True)
            yield [first, second, *added], rule_rows.call_of(text, 2).removesuffix(")") + at(tail, 2) + ")"


def _ternary() -> Iterator[rule_rows.Row]:
    for text in ("addcmul(a[0], a[1], a[2], value=0.5", "addcdiv(a[0], a[1], a[2]", "lerp(a[0], a[1], a[2]", "lerp(a[0], a[1], 0.25", "mac(a[0], a[1], a[2]",
                 "where(a[0], a[1], a[2]", "where(a[0], 1.0, a[2]", "where(a[0], a[1], 2", "where(a[0], 1.0, 2.0", "clamp(a[0], a[1], a[2]", "clamp(a[0], min=a[1]",
                 "concat([a[0], a[1], a[2]], dim=0", "concat([a[0], a[1]], dim=-1", "isclose(a[0], a[1], equal_nan=True"):  # fmt: skip
        rng = _random("ternary " + text)
        for _ in range(COUNTS["ternary"]):
            first = draw(rng)
            second, third = (partner(rng, first) if rng.random() < 0.6 else first for _ in range(2))
            added, tail = result_arguments(rng, first, "" if text.startswith(("mac", "lerp", "isclose")) else "output_tensor")
            yield [first, second, third, *added], "ttnn." + text + at(tail, 3) + ")"


def _templates(family: str, texts: Sequence[str], shapes: Sequence[Shape] = SHAPES) -> Iterator[rule_rows.Row]:
    for text in texts:
        rng = _random(f"{family} {text}")
        for _ in range(COUNTS[family]):
            given = draw(rng, shapes)
            call = "ttnn." + fill(rng, text, given)
            if family == "reduce" and rng.random() < 0.2:
                call = call[:-1] + f", memory_config={draw_place(rng, given[0])})"
            yield [given], call


def _norm() -> Iterator[rule_rows.Row]:
    shapes = ((32, 64), (31, 33), (2, 32, 64), (1, 1, 64, 96), (2, 3, 32, 32), (1, 1, 256, 64), (2, 64, 7, 9), (64,), (0, 32), (1, 2, 3, 32, 32))
    for text in NORM:
        rng = _random("norm " + text)
        for _ in range(COUNTS["norm"]):
            given = draw(rng, shapes)
            shape, dtype, layout, _place = given
            width = shape[-1]
            row = rng.choice(((width,), (1, width), (1, 1, 1, width), (1, 1, width // 32, 32), (1, width + 1)))
            channels = shape[1] if len(shape) > 1 else 1
            others: list[Input] = [
                (row, rng.choice((dtype, "bfloat16", "float32")), rng.choice((layout, "row_major")), _D),
                partner(rng, given),
                ((1, 32), rng.choice(("uint32", "uint32", "int32", "bfloat16")), "row_major", _D),
                ((1, channels, 1, 1), dtype, "tile", _D),
                (shape, rng.choice(("uint32", "uint16", "int32")), layout, _D),
            ]
            memory = f", memory_config={draw_place(rng, shape)}" if rng.random() < 0.25 and "in_place" not in text else ""
            yield [given, *others], f"ttnn.{text[:-1]}{memory})"


def _matmul() -> Iterator[rule_rows.Row]:
    for name in ("matmul", "linear", "addmm"):
        rng = _random(name)
        for _ in range(COUNTS["matmul"]):
            m, k, n = (rng.choice((1, 32, 64, 96, 31, 128, 0, 256) if rng.random() < 0.9 else (5, 33)) for _ in range(3))
            lead: Shape = rng.choice(((), (), (1,), (2,), (1, 1), (2, 3), (1, 2, 3)))
            other: Shape = rng.choice(((), lead, (1,) * len(lead), (2, 1)))
            left, right = (*lead, m, k), (*other, k if rng.random() < 0.95 else k + 1, n)
            tail = rng.choice(("", "", "", ", transpose_a=True", ", transpose_b=True", ", dtype=ttnn.bfloat8_b", ", dtype=ttnn.float32", ", core_grid=ttnn.CoreGrid(y=4, x=4)"))
            if name != "addmm":
                tail += rng.choice(("", "", "", ', activation="relu"', ', activation="gelu"', ', activation="nothing"'))
            if "transpose_a" in tail:
                left = (*left[:-2], k, m)
            if "transpose_b" in tail:
                right = (*right[:-2], n, k)
            first, second = draw(rng, (left,)), draw(rng, (right,))
            if rng.random() < 0.5:
                second = (second[0], first[1], "tile", _D)
            if rng.random() < 0.25:
                tail += f", memory_config={draw_place(rng, (*lead, m, n))}"
            if name == "matmul":
                yield [first, second], f"ttnn.matmul(a[0], a[1]{tail})"
            elif name == "linear":
                bias = rng.choice(((n,), (1, n), (1, 1, 1, n), (m, n)))
                yield [first, second, draw(rng, (bias,), (first[1], "bfloat16"))], f"ttnn.linear(a[0], a[1], bias=a[2]{tail})"
            else:
                tail = "" if "transpose" in tail else tail
                yield [draw(rng, (((*lead, m, n)), (1, n)), (first[1],)), first, second], f"ttnn.addmm(a[0], a[1], a[2]{tail})"


def _create() -> Iterator[rule_rows.Row]:
    for name in ("zeros({s}", "ones({s}", "full({s}, 1.5", "full({s}, fill_value=3", "empty({s}", "rand({s}", "arange(0, {k}, 1", "arange(2, {k}, 3", "full({s}, -1"):
        rng = _random("create " + name)
        for _ in range(COUNTS["create"]):
            shape = rng.choice(SHAPES)
            text = name.replace("{s}", str(list(shape)) if rng.random() < 0.7 else f"ttnn.Shape({list(shape)})").replace("{k}", str(rng.choice((0, 1, 10, 33, 64, -4))))
            if rng.random() < 0.85:
                text += f", dtype=ttnn.{rng.choice(DTYPES)}"
            if rng.random() < 0.6:
                text += f", layout=ttnn.{rng.choice(('TILE', 'ROW_MAJOR'))}_LAYOUT"
            if rng.random() < 0.85 or name.startswith(("rand", "empty")):
                text += ", device=device"
            if rng.random() < 0.4:
                text += f", memory_config={draw_place(rng, shape)}"
            yield [], f"ttnn.{text})"


def _narrow() -> Iterator[rule_rows.Row]:
    """int8, and fp8_e4m3, which only Blackhole has."""
    for text in (*UNARY, *BINARY, *REDUCE, *SHAPING):
        rng = _random("narrow " + text)
        for dtype, layout in (("int8", "tile"), ("int8", "row_major"), ("fp8_e4m3", "row_major")):
            shape = rng.choice(SHAPES)
            given = (shape, dtype, layout, draw_place(rng, shape) if rng.random() < 0.3 else _D)
            call = f"ttnn.{fill(rng, text, given)}" if "{" in text or "a[0]" in text else rule_rows.call_of(text, 2 if text in BINARY else 1)
            yield [given, given], call


def _wrong() -> Iterator[rule_rows.Row]:
    """Arguments of wrong number, kind or name."""
    one: list[Input] = [((32, 64), "bfloat16", "tile", _D)]
    two = one * 2
    names = sorted({text.partition("(")[0] for text in (*UNARY, *BINARY)} | {"softmax", "sum", "mean", "max", "matmul", "linear", "layer_norm", "reshape", "permute", "transpose",
                    "concat", "pad", "slice", "repeat", "embedding", "where", "topk", "argmax", "typecast", "to_layout", "to_memory_config", "split", "cumsum", "upsample"})  # fmt: skip
    for name in names:
        yield one, f"ttnn.{name}(a[0], no_such_argument=1)"
        yield one, f"ttnn.{name}()"
        yield one, f"ttnn.{name}(None)"
        yield one, f"ttnn.{name}('text', a[0])"
        yield two, f"ttnn.{name}(a[0], a[1], a[0], a[1], a[0], a[1], a[0])"
        yield one, f"ttnn.{name}(a[0], memory_config='L1')"
        yield one, f"ttnn.{name}(a[0], 1j)"
        yield two, f"ttnn.{name}(ttnn.from_device(a[0]), a[1])"
        yield one, f"(ttnn.deallocate(a[0]), ttnn.{name}(a[0]))"


FAMILIES: tuple[Callable[[], Iterator[rule_rows.Row]], ...] = (
    _unary, _binary, _ternary, lambda: _templates("reduce", REDUCE), lambda: _templates("shape", SHAPING), _norm, _matmul, _create, _narrow, _wrong,
)  # fmt: skip


def rows() -> Iterator[rule_rows.Row]:
    for family in FAMILIES:
        yield from family()
