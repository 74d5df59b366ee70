"""Probes made by rules: ops without a record or with few samples, integer and scalar forms, sharded inputs. Grouped by callee.

A row is ([(shape, dtype, layout, memory)], call), as in `written_rows.py`; trailing fields of an input may be left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Row = tuple[list[Any], str]
_RM, _HOST, _D = "row_major", "host", "ttnn.DRAM_MEMORY_CONFIG"
_INTEGERS = ("int32", "uint32", "uint16", "uint8")

# op(arguments after the first tensor)
UNARY = (
    "acosh atanh cosh sinh digamma eqz erfinv exp2 frac gez gtz hardmish hardswish i0 i1 identity isinf isnan isneginf isposinf lez lgamma "
    "log10 log2 log_sigmoid ltz nez rad2deg deg2rad sigmoid_accurate signbit softsign square swish tanhshrink trunc selu relu_max(2.0) "
    "relu_min(2.0) celu(alpha=1.0) elu(alpha=1.0) fill(2.0) hardshrink(lambd=0.5) softshrink(lambd=0.5) hardtanh heaviside(0.5) "
    "logit(eps=0.1) polygamma(2) round(decimals=1) rpow(2.0) rdiv(2.0) rsub(2.0) softplus threshold(0.5,1.0) xielu polyval([1.0,2.0]) "
    "clip(min=0.5,max=1.0) clamp(min=1,max=2) clamp(min=1) clamp(max=2.5) leaky_relu(negative_slope=0.1) logical_not_ bitwise_left_shift(2) "
    "bitwise_right_shift(2) bitwise_and(3) prelu(0.25) tril triu zeros_like ones_like empty_like full_like(3.0) uniform squeeze(0) "
    "unsqueeze(0) chunk(2,dim=-1) split(16,dim=-1) narrow(-1,0,8) roll(3,-1) add_(1.0) mul_(2.0) sub_(1.0) div_(2.0) to_dtype(ttnn.float32) "
    "pow(3) pow(2.5) pow(-1) minimum(1.5) maximum(2) remainder(1.5) fmod(1.5) add(1.5) eq(1.5) div(2) floor_div(2) mul(1.5) mul(2.0) "
    "fmod(2.0) remainder(2.0) remainder(3) softmax(dim=-1) alt_complex_rotate90 "
    "multigammaln reallocate"
).split()
BINARY = (
    "addalpha(0.5) subalpha(0.5) bias_gelu div_no_nan floor_div fmod gcd lcm hypot isclose ldexp logaddexp logaddexp2 nextafter outer rsub "
    "squared_difference xlogy mul add_ sub_ mul_ div_ eq_ ne_ lt_ le_ gt_ ge_ ldexp_ logaddexp_ logaddexp2_ logical_and_ logical_or_ "
    "logical_xor_ squared_difference_ bias_gelu_ rsub_"
).split()
TERNARY = (
    "addcmul(a[0], a[1], a[2], value=0.5)", "addcdiv(a[0], a[1], a[2], value=0.5)", "lerp(a[0], a[1], a[2])", "lerp(a[0], a[1], 0.5)",
    "mac(a[0], a[1], a[2])", "addmm(a[0], a[1], a[2])", "stack([a[0], a[1], a[2]], 0)", "stack([a[0], a[1]], -1)",
)  # fmt: skip
RANK_4 = (
    "var_hw(a[0])", "std_hw(a[0])", "glu(a[0], -1)", "reglu(a[0], -1)", "geglu(a[0], -1)", "swiglu(a[0], -1)", "normalize_hw(a[0])",
    "experimental.rotate_half(a[0])", "softmax_in_place(a[0])", "scale_mask_softmax(a[0], 0.5)", "nonzero(a[0])",
    "transformer.attention_softmax(a[0], head_size=64, attention_mask=None)", "unsqueeze_to_4D(a[0])",
    "reshape_on_device(a[0], 1, 1, 64, -1)", "experimental.broadcast_to(a[0], [2, 2, 64, 96])", "expand(a[0], [2, 2, -1, -1])",
    "experimental.fast_reduce_nc(a[0], dims=[1])",
)  # fmt: skip


def call_of(text: str, tensors: int) -> str:
    name, _, arguments = text.partition("(")
    operands = ", ".join(f"a[{i}]" for i in range(tensors))
    rest = arguments.removesuffix(")")
    return f"ttnn.{name}({operands}{', ' + rest if rest else ''})"


def elementwise() -> Iterator[Row]:
    for tensors, names in ((1, UNARY), (2, BINARY)):
        for text in names:
            call = call_of(text, tensors)
            for dtype in ("bfloat16", "float32", "bfloat8_b", *(_INTEGERS if tensors == 1 else ("int32",))):
                for layout in ("tile", _RM):
                    if layout == "tile" or dtype != "bfloat8_b":
                        yield [((32, 64), dtype, layout)] * tensors, call
                        yield [((31, 33), dtype, layout)] * tensors, call
            if tensors == 2:
                yield [((2, 3, 32, 64),), ((1, 1, 32, 64),)], call
                yield [((32, 64),), ((32, 64), "float32")], call
    for text in TERNARY:
        for dtype in ("bfloat16", "float32", "int32"):
            for layout in ("tile", _RM):
                yield [((32, 32), dtype, layout)] * 3, f"ttnn.{text}"
    for text in RANK_4:
        for shape in ((1, 1, 32, 64), (2, 1, 32, 64), (1, 1, 64, 96)):
            for dtype in ("bfloat16", "float32"):
                for layout in ("tile", _RM):
                    yield [(shape, dtype, layout)], f"ttnn.{text}"


def sharding(kind: str, shape: Sequence[int], columns: int, rows: int) -> str:
    return (
        f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.{kind}_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(ttnn.CoreRangeSet({{ttnn.CoreRange("
        f"ttnn.CoreCoord(0, 0), ttnn.CoreCoord({columns - 1}, {rows - 1}))}}), {list(shape)}, ttnn.ShardOrientation.ROW_MAJOR))"
    )


# (shape, scheme, shard, columns, rows)
SHARDED: tuple[tuple[tuple[int, ...], str, tuple[int, int], int, int], ...] = (
    ((64, 64), "HEIGHT", (32, 64), 2, 1), ((64, 64), "WIDTH", (64, 32), 2, 1), ((64, 64), "BLOCK", (32, 32), 2, 2),
    ((256, 64), "HEIGHT", (64, 64), 4, 1), ((2, 128, 64), "HEIGHT", (64, 64), 4, 1), ((256, 128), "BLOCK", (64, 64), 2, 4),
    ((32, 64), "WIDTH", (32, 32), 2, 1), ((32, 64), "BLOCK", (32, 32), 2, 1), ((32, 64), "HEIGHT", (32, 64), 1, 1),
    ((64, 128), "WIDTH", (64, 32), 4, 1), ((64, 128), "BLOCK", (32, 32), 4, 2), ((1, 1, 64, 128), "HEIGHT", (32, 128), 2, 1),
    ((2, 3, 64, 32), "HEIGHT", (64, 32), 6, 1), ((1, 4, 32, 64), "WIDTH", (128, 32), 2, 1),
)  # fmt: skip


def on_shards() -> Iterator[Row]:
    for shape, kind, shard, columns, rows in SHARDED:
        rank, volume = len(shape), 1
        for extent in shape:
            volume *= extent
        lead, height, width = list(shape[:-2]), shape[-2], shape[-1]
        zeros, ones, pads = [0] * rank, [1] * rank, [(0, 0)] * (rank - 2)
        calls = [
            *(f"reshape(a[0], {to})" for to in ([volume // 32, 32], [volume // 128, 128], [1, volume // 64, 64], [volume // 2048, 32, 64])),
            f"permute(a[0], {[*range(rank - 2), rank - 1, rank - 2]})", "transpose(a[0], -2, -1)",
            f"slice(a[0], {zeros}, {[*lead, 32, width]}, {ones})", f"slice(a[0], {zeros}, {[*lead, height, 32]}, {ones})",
            f"pad(a[0], {[*pads, (0, 64), (0, 0)]}, 0.0)", f"pad(a[0], {[*pads, (0, 0), (0, 32)]}, 0.0)", f"pad(a[0], {[*pads, (0, 32), (0, 32)]}, 0.0)",
            f"repeat(a[0], {[*lead, 2, 1]})" if not lead else f"repeat(a[0], {[1] * (rank - 2) + [2, 1]})", "repeat_interleave(a[0], 2, dim=0)",
            f"expand(a[0], {[2, *shape]})", f"split(a[0], {width // 2}, dim=-1)", "unsqueeze(a[0], 0)", "clone(a[0])", "relu(a[0])",
            "typecast(a[0], ttnn.float32)", "add(a[0], 1.0)", "layer_norm(a[0])", "softmax(a[0], dim=-1)",
            *(f"{op}(a[0], dim={dim}, keepdim=True)" for op in ("sum", "max", "mean") for dim in (-1, -2)),
        ]  # fmt: skip
        for layout in ("tile", _RM):
            given = (shape, "bfloat16", layout, sharding(kind, shard, columns, rows))
            plain = (shape, "bfloat16", layout, _D)
            for call in calls:
                yield [given], f"ttnn.{call}"
            for pair in ([given, plain], [plain, given], [given, given]):
                yield pair, "ttnn.add(a[0], a[1])"
            for dim in (-1, -2):
                yield [given, given], f"ttnn.concat([a[0], a[1]], dim={dim})"
            yield [given, ((*lead, width, 64), "bfloat16", layout, _D)], "ttnn.matmul(a[0], a[1])"
            yield [((*lead, 64, height), "bfloat16", layout, _D), given], "ttnn.matmul(a[0], a[1])"


def other() -> Iterator[Row]:
    for dtype in ("bfloat16", "float32", "int32", "bfloat8_b"):
        for target in ("bfloat16", "float32", "int32", "bfloat8_b"):
            for layout in ("tile", _RM):
                if layout == "tile" or dtype != "bfloat8_b":
                    yield [((32, 64), dtype, layout, _HOST)], f"ttnn.typecast(a[0], ttnn.{target})"
    for layout in ("tile", _RM):
        for pads in ("[(0, 0), (0, 32)]", "[(0, 32), (0, 0)]", "[(32, 0), (0, 0)]"):
            yield [((32, 64), "bfloat16", layout, _HOST)], f"ttnn.pad(a[0], {pads}, 0.0)"
        for second in ("tile", _RM):
            for s, t, dim in (((32, 64), (32, 64), 0), ((32, 64), (32, 64), 1), ((31, 33), (31, 5), 1), ((1, 31, 33), (2, 31, 33), 0)):
                for dtype in ("bfloat16", "float32", "int32"):
                    yield [(s, dtype, layout), (t, dtype, second)], f"ttnn.concat([a[0], a[1]], {dim})"
    for dtype in ("bfloat8_b", "bfloat4_b", "uint8", "uint16", "int32"):
        for shape in ((32, 64), (31, 33), (2, 32, 64)):
            for times in ("[2, 1]", "[1, 2]", "[1, 3, 2]"):
                yield [(shape, dtype)], f"ttnn.repeat(a[0], {times})"
    for height, out, channels in ((8, 4, 32), (7, 1, 64), (14, 7, 32), (10, 3, 32), (7, 3, 32), (12, 5, 32), (8, 8, 32)):
        for kind in ("avg", "max"):
            for layout in ("tile", _RM):
                flat = (1, 1, height * height, channels)
                yield [(flat, "bfloat16", layout)], f"ttnn.adaptive_{kind}_pool2d(a[0], 1, {height}, {height}, {channels}, [{out}, {out}])"
    for dtype in ("bfloat16", "float32"):
        for layout in ("tile", _RM):
            yield from _models(dtype, layout)
    for dtype in ("int32", "uint32"):
        for layout in ("tile", _RM):
            yield [((4, 32), dtype, layout)], "ttnn.plus_one(a[0])"


def _models(d: str, l: str) -> Iterator[Row]:  # noqa: E741
    """Ops that models need and that have no record."""
    one = [((1, 1, 32, 64), d, l)]
    yield [((1, 8, 8, 32), d, l)], "ttnn.fold(a[0], 2, 2)"
    yield [((1, 16, 16, 4), d, l)], "ttnn.fold(a[0], 2, 2, collapse_output=True)"
    yield [((1, 8, 8, 32), d, l), ((1, 4, 4, 2), d, l)], "ttnn.grid_sample(a[0], a[1])"
    yield [((1, 8, 8, 32), d, l), ((1, 4, 4, 2), d, l)], "ttnn.grid_sample(a[0], a[1], align_corners=True)"
    yield [((1, 8, 8, 32), d, l)], "ttnn.rotate(a[0], 30.0)"
    yield [((2, 1, 224, 2304), d, l)], "ttnn.experimental.nlp_create_qkv_heads_vit(a[0])"
    yield [((1, 1, 32, 32), d, l)], "ttnn.experimental.nlp_create_qkv_heads_segformer(a[0])"
    yield [((1, 1, 32, 4672), d, l)], "ttnn.experimental.nlp_create_qkv_heads_falcon7b(a[0])"
    yield [*one, ((64, 96), d, l)], "ttnn.experimental.minimal_matmul(a[0], a[1])"
    yield [((32, 64), d, l), ((64, 96), d, l), ((1, 96), d, l)], "ttnn.experimental.minimal_matmul(a[0], a[1], bias_tensor=a[2])"
    yield [((32, 64), d, l), ((64, 96), d, l)], "ttnn.experimental.minimal_matmul_split(a[0], a[1], chunks=3)"
    yield [((1, 4, 128, 64), d, l)], "ttnn.experimental.nlp_kv_cache_load_slice(a[0], seq_len_start=0, seq_len_end=64)"
    yield [((1, 4, 64, 64), d, l), *[((1, 1, 64, 64), d, l)] * 2], "ttnn.experimental.rotary_embedding_hf(a[0], a[1], a[2])"
    yield [((31, 33), d, l)], "ttnn.fill_implicit_tile_padding(a[0], 0.0)"
    yield one, "ttnn.fill_rm(1, 1, 32, 64, 31, 31, a[0], 1.0, 0.0)"
    yield one, "ttnn.fill_ones_rm(1, 1, 32, 64, 31, 31, a[0])"
    yield [((4, 32, 64), d, l), ((2,), "uint32", _RM)], "ttnn.index_fill(a[0], 0, a[1], 1.0)"
    yield [((4, 32, 64), d, l), ((2,), "uint32", _RM)], "ttnn.index_fill_new(a[0], 0, a[1], 1.0)"
    for math, shape, dim in (("ADD", (1, 1, 32, 64), "H"), ("MUL", (1, 1, 1, 64), "H"), ("SUB", (1, 1, 32, 1), "W")):
        yield [*one, (shape, d, l)], f"ttnn.bcast(a[0], a[1], ttnn.BcastOpMath.{math}, ttnn.BcastOpDim.{dim})"
    yield [((2, 32, 64), d, l), ((2, 16), "uint32", l)], "ttnn.tosa_gather(a[0], a[1])"
    yield [((2, 32, 64), d, l), ((2, 16), "uint32", l), ((2, 16, 64), d, l)], "ttnn.tosa_scatter(a[0], a[1], a[2])"
    yield [((1, 32, 32, 64), d, l)], "ttnn.experimental.intimg(a[0])"
    yield one, "ttnn.experimental.transpose_rm(a[0])"
    yield [((32, 64), d, l)] * 2, "ttnn.clamped_silu_glu(a[0], a[1], 7.0)"
    yield [*one, *[((1, 1, 1, 64), d, l)] * 2], "ttnn.snake_beta(a[0], a[1], a[2])"
    joint = "joint_strategy='rear', program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size=32)"
    heads = [((1, 8, 64, 64), d, l)] * 3 + [((1, 8, 32, 64), d, l)] * 3
    yield heads, f"ttnn.transformer.joint_scaled_dot_product_attention(a[0], a[1], a[2], a[3], a[4], a[5], {joint})"
    volume = [((1, 4, 8, 8, 32), d, l)]
    window = "dtype=ttnn.bfloat16, output_channels=64, kernel_size=[3, 3, 3]"
    yield [*volume, ((864, 64), d)], f"ttnn.experimental.conv3d(input_tensor=a[0], weight_tensor=a[1], {window}, padding=[1, 1, 1])"
    yield (
        [*volume, ((64, 32, 3, 3, 3), d, _RM, _HOST)],
        f"ttnn.experimental.conv3d(input_tensor=a[0], weight_tensor=a[1], device=device, {window}, padding=[0, 1, 1])",
    )
    yield [((64, 12, 3, 3, 3), d, _RM, _HOST)], "ttnn.experimental.prepare_conv3d_weights(weight_tensor=a[0], device=device)"
    yield [*one, ((1, 1, 1, 64), d, l)], "ttnn.scale_mask_softmax(a[0], 0.5, a[1])"
    yield [*one, ((1, 1, 32, 64), d, l)], "ttnn.transformer.attention_softmax(a[0], head_size=64, attention_mask=a[1])"
    yield [*one, ((1, 1, 32, 64), "uint32", l), *one], "ttnn.scatter_add(a[0], -1, a[1], a[2])"
    yield [((2,), "uint32", _RM), ((4, 1, 32, 64), d, l), ((2, 1, 32, 64), d, l)], "ttnn.indexed_fill(a[0], a[1], a[2])"
    yield [((64, 64), d, l)], "ttnn.untilize_with_unpadding(a[0], [31, 40])"
    yield [((31, 33), d, l)], "ttnn.tilize_with_val_padding(a[0], [64, 64], 0.0)"
    yield [((2, 4, 64, 64), d, l), ((1, 4, 32, 64), d, l)], "ttnn.kv_cache.fill_cache_for_user_(a[0], a[1], 1)"
    yield [((2, 4, 64, 64), d, l), ((1, 4, 2, 64), d, l)], "ttnn.kv_cache.update_cache_for_token_(a[0], a[1], 3, 0)"
    for shape in ((33, 40), (2, 3, 33, 40), (1, 1, 33, 40), (3, 33, 40), (2, 3, 4, 5, 6), (64,)):
        for dim in (-1, 0, -2):
            yield [(shape, d, _RM)], f"ttnn.softmax(a[0], dim={dim})"


def rows() -> Iterator[Row]:
    for source in (elementwise, on_shards, other):
        yield from source()


def grouped(rows_: Iterable[Row]) -> dict[str, list[Row]]:
    """By callee: the first `ttnn.` name that is called."""
    table: dict[str, list[Row]] = defaultdict(list)
    for inputs, call in rows_:
        found = re.search(r"ttnn\.([a-zA-Z_0-9.]+)\((?!ttnn\.deallocate)", call)
        assert found, call
        table[found.group(1)].append((inputs, call))
    return table
