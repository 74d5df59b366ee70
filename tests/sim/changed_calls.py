"""Calls with one thing changed at a time: on both sides of the limits of what an op takes, and of what it runs.

A family is a call with places, what stands there in calls that are taken (bases), and what else may stand there. It is about how configs, shards
and arguments go together, which the referee's calls show few of; what the real library says of them was not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# Names of memory for calls, beside those of the referee's calls. G: cores from (x, y) to (x, y).
NAMES = """
def G(x0, y0, x1, y1):
    return ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(x0, y0), ttnn.CoreCoord(x1, y1))})
def M(layout, grid, shape, orientation="ROW_MAJOR", buffer="L1"):
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, layout + "_SHARDED"), getattr(ttnn.BufferType, buffer),
        ttnn.ShardSpec(grid, shape, getattr(ttnn.ShardOrientation, orientation)))
HSM, WSM, BSM = ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG, ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG, ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG
"""
_H, _W, _B = 'M("HEIGHT", G(0, 0, 7, 0), [32, 256])', 'M("WIDTH", G(0, 0, 7, 0), [256, 32])', 'M("BLOCK", G(0, 0, 3, 3), [64, 64])'
_COLUMN = 'M("BLOCK", G(0, 0, 3, 3), [64, 64], "COL_MAJOR")'
_DRAM_W = 'M("WIDTH", G(0, 0, 7, 0), [256, 32], buffer="DRAM")'
_PLACES = ["DRAM", "L1", _H, _W, _B, _COLUMN, _DRAM_W]
_OUTPUTS = ["DRAM", "L1", "HSM", "WSM", "BSM", _H, _W, _B, _COLUMN]
_ONE = (
    "ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(compute_with_storage_grid_size={grid}, in0_block_w={w}, out_subblock_h={sh}, out_subblock_w={sw}, "
    "per_core_M={m}, per_core_N={n}, fuse_batch={fuse}, fused_activation=None, mcast_in0={flag})"
)
_TWO = (
    "ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size={grid}, in0_block_w={w}, out_subblock_h={sh}, out_subblock_w={sw}, "
    "per_core_M={m}, per_core_N={n}, transpose_mcast={flag}, fused_activation=None, fuse_batch={fuse})"
)
_REUSE = (
    "ttnn.MatmulMultiCoreReuseProgramConfig(compute_with_storage_grid_size={grid}, in0_block_w={w}, out_subblock_h={sh}, out_subblock_w={sw}, "
    "per_core_M={m}, per_core_N={n})"
)
_DRAM_CONFIG = "ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w={w}, per_core_M={m}, per_core_N={n}, fused_activation=None)"
_PRODUCT = "ttnn.{op}(T({sa}, {da}, TILE, {a}), T({sb}, BF16, TILE, {b}){rest}, program_config={config}, memory_config={out})"
_SQUARE, _BATCHED = "[1, 1, 256, 256]", "[1, 2, 128, 256]"
_COMMON = {
    "op": "matmul",
    "sa": _SQUARE,
    "sb": _SQUARE,
    "da": "BF16",
    "a": "DRAM",
    "b": "DRAM",
    "out": "DRAM",
    "rest": "",
    "fuse": "True",
    "sh": "1",
    "sw": "1",
}


@dataclass(frozen=True)
class Family:
    """call: with {places}. bases: what stands in them. others: what else may, by place."""

    call: str
    bases: tuple[dict[str, str], ...]
    others: dict[str, list[str]] = field(default_factory=dict)

    def calls(self) -> Iterator[str]:
        for base in self.bases:
            yield self._text(base)
            for place, values in self.others.items():
                for value in values:
                    if value != base.get(place):
                        yield self._text({**base, place: value})

    def _text(self, values: dict[str, str]) -> str:
        text = self.call.replace("{config}", values.get("config", "")).replace("{", "\0{")
        for name, value in values.items():
            text = text.replace(f"\0{{{name}}}", value)
        return text.replace("\0", "")


def _family(call: str, base: dict[str, str], /, **others: list[str]) -> Family:
    """Of one base; the first of each list of others stands in it unless the base says otherwise."""
    return Family(call, ({**{place: values[0] for place, values in others.items()}, **base},), others)


_SIZES = {
    "w": ["1", "2", "3", "8", "16"],
    "sh": ["1", "2", "3"],
    "sw": ["1", "2", "3", "4"],
    "m": ["1", "2", "3", "4", "8", "9", "16"],
    "n": ["1", "2", "3", "4", "8", "9"],
}
_CORES = ["(8, 8)", "(8, 1)", "(1, 8)", "(4, 4)", "(9, 8)"]
_SHAPES_A = [_SQUARE, _BATCHED, "[1, 4, 64, 256]", "[1, 1, 224, 256]", "[256]", "[256, 256]"]
_PRODUCT_OTHERS = {
    **_SIZES,
    "a": _PLACES,
    "b": _PLACES,
    "out": _OUTPUTS,
    "grid": _CORES,
    "fuse": ["True", "False"],
    "flag": ["True", "False"],
    "sa": _SHAPES_A,
    "da": ["BF16", "F32", "BF8"],
}
FAMILIES = (
    Family(
        _PRODUCT,
        (
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "2", "m": "8", "n": "1", "flag": "True"},
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "2", "m": "1", "n": "8", "flag": "False"},
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "1", "m": "8", "n": "1", "flag": "True", "a": _W, "out": _W},
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "8", "m": "1", "n": "8", "flag": "False", "a": _H, "out": _H, "sw": "4"},
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "1", "m": "8", "n": "1", "flag": "True", "a": _W, "b": _W, "out": _W},
            {**_COMMON, "config": _TWO, "grid": "(4, 4)", "w": "2", "m": "2", "n": "2", "flag": "False"},
            {**_COMMON, "config": _TWO, "grid": "(4, 4)", "w": "2", "m": "2", "n": "2", "flag": "False", "a": _B, "out": _B},
            {**_COMMON, "config": _TWO, "grid": "(4, 4)", "w": "2", "m": "2", "n": "2", "flag": "True", "a": _COLUMN, "out": _COLUMN},
            {**_COMMON, "config": _TWO, "grid": "(8, 8)", "w": "1", "m": "1", "n": "1", "flag": "False", "b": _DRAM_W},
            {**_COMMON, "config": _REUSE, "grid": "(8, 8)", "w": "2", "m": "4", "n": "8", "flag": "", "sa": _BATCHED, "sb": "[1, 2, 256, 256]"},
            {**_COMMON, "config": _REUSE, "grid": "(8, 1)", "w": "8", "m": "1", "n": "8", "flag": "", "a": _H, "out": _H},
            {**_COMMON, "config": _DRAM_CONFIG, "grid": "", "w": "1", "m": "8", "n": "1", "flag": "", "a": _W, "b": _DRAM_W, "out": _W},
            {**_COMMON, "config": "None", "grid": "", "w": "", "m": "", "n": "", "flag": ""},
            {**_COMMON, "op": "linear", "config": "None", "grid": "", "w": "", "m": "", "n": "", "flag": "", "rest": ", bias=T([1, 256])"},
        ),
        _PRODUCT_OTHERS,
    ),
    # Without a config: the op makes one.
    _family(
        "ttnn.{op}(T({sa}, BF16, TILE, {a}), T({sb}, BF16, TILE, {b}), memory_config={out}{rest})",
        {},
        op=["matmul", "linear"],
        sa=[_SQUARE, _BATCHED, "[256]", "[2, 256]", "[1, 1, 32, 256]", "[1, 1, 2048, 256]", "[8, 32, 256]", "[1, 1, 256, 256]", "[3, 1, 64, 256]", "[1, 1, 8192, 256]"],
        sb=[_SQUARE, "[256]", "[256, 32]", "[256, 2048]", "[1, 2, 256, 64]", "[256, 8192]", "[1, 8, 256, 64]", "[1, 3, 256, 64]"],
        a=_PLACES,
        b=_PLACES,
        out=_OUTPUTS,
        rest=["", ", core_grid=ttnn.CoreGrid(x=4, y=4)", ", core_grid=ttnn.CoreGrid(x=8, y=1)", ", core_grid=ttnn.CoreGrid(x=1, y=8)", ", transpose_a=True",
              ", transpose_b=True", ", dtype=F32", ", activation='relu'", ", compute_kernel_config=KC('LoFi')", ", compute_kernel_config=KC('HiFi4', True)"],
    ),
    *(
        Family(
            "ttnn.matmul(T({sa}, BF16, TILE, {a}), T({sb}, BF16, TILE, {b}), memory_config={out}{rest})",
            ({"sa": sa, "sb": sb, "a": a, "b": b, "out": out, "rest": rest},),
            {"out": _OUTPUTS, "rest": ["", ", core_grid=ttnn.CoreGrid(x=8, y=8)"]},
        )
        for sa, sb, a, b, out, rest in (
            ("[1, 1, 32, 256]", _SQUARE, 'M("WIDTH", G(0, 0, 7, 0), [32, 32])', "DRAM", 'M("WIDTH", G(0, 0, 7, 0), [32, 32])', ""),
            (_SQUARE, _SQUARE, _H, "DRAM", "HSM", ""),
            (_SQUARE, _SQUARE, _W, "DRAM", "WSM", ""),
            (_SQUARE, _SQUARE, _B, "DRAM", "BSM", ""),
            (_SQUARE, _SQUARE, _COLUMN, "DRAM", "BSM", ""),
            ("[1, 8, 32, 256]", "[1, 8, 256, 64]", _H, "DRAM", "HSM", ""),
            ("[1, 8, 32, 256]", "[1, 8, 256, 64]", _H, 'M("HEIGHT", G(0, 0, 7, 0), [256, 64])', "HSM", ""),
            ("[1, 8, 32, 256]", "[1, 8, 256, 64]", "DRAM", 'M("HEIGHT", G(0, 0, 7, 0), [256, 64])', "DRAM", ""),
            ("[1, 8, 256, 32]", "[1, 8, 32, 64]", "L1", "L1", 'M("HEIGHT", G(0, 0, 7, 7), [32, 64])', ""),
        )
    ),
    _family(
        "ttnn.{op}(T({shape}, {dtype}, TILE, {a}), weight={weight}, program_config={config}, memory_config={out}{rest})",
        {},
        op=["layer_norm", "rms_norm"],
        shape=["[1, 1, 128, 256]", "[1, 1, 64, 256]", "[1, 1, 128, 250]"],
        dtype=["BF16", "F32", "BF8"],
        weight=["T([1, 256])", "None", "T([1, 1, 8, 32], BF16, RM)", "T([1, 1, 4, 32], BF16, RM)"],
        a=['M("BLOCK", G(0, 0, 3, 3), [32, 64])', 'M("HEIGHT", G(0, 0, 3, 0), [32, 256])', 'M("WIDTH", G(0, 0, 7, 0), [128, 32])', 'M("BLOCK", G(0, 0, 3, 3), [32, 64], "COL_MAJOR")', "DRAM"],
        config=[f"ttnn.LayerNormShardedMultiCoreProgramConfig(compute_with_storage_grid_size=({x}, {y}), subblock_w={s}, block_h={h}, block_w={w}, inplace={i})"
                for x, y, s, h, w, i in ((4, 4, 1, 1, 2, False), (4, 4, 2, 1, 2, True), (4, 4, 3, 1, 2, False), (4, 4, 1, 2, 2, False), (4, 4, 1, 1, 1, False), (4, 4, 1, 1, 3, False), (8, 1, 1, 4, 1, False), (4, 1, 4, 1, 8, False), (9, 4, 1, 1, 2, False))]
        + ["ttnn.LayerNormDefaultProgramConfig()", "None"],
        out=['M("BLOCK", G(0, 0, 3, 3), [32, 64])', "DRAM", "BSM", "None", "HSM"],
        rest=["", ", bias=T([1, 256])", ", residual_input_tensor=T([1, 1, 128, 256], BF16, TILE, M('BLOCK', G(0, 0, 3, 3), [32, 64]))", ", residual_input_tensor=T([1, 1, 128, 256])", ", epsilon=0.5", ", compute_kernel_config=KC('LoFi', True)"],
    ),
    *(
        _family(
            "ttnn.layer_norm(T([1, 1, 128, 256], BF16, TILE, {a}), weight={weight}, program_config={config}, memory_config={out})",
            {},
            a=[place],
            config=[f"ttnn.LayerNormShardedMultiCoreProgramConfig(compute_with_storage_grid_size={grid}, subblock_w={s}, block_h={h}, block_w={w}, inplace={i})" for s, h, w, i in ((1, *size, False), (size[1], *size, True), (size[1] + 1, *size, False), (1, size[0] + 1, size[1], False))],
            out=[place, "None", "L1"],
            weight=["None", "T([1, 256])"],
        )
        for place, grid, size in (
            ('M("HEIGHT", G(0, 0, 3, 0), [32, 256])', (4, 1), (1, 8)),
            ('M("WIDTH", G(0, 0, 7, 0), [128, 32])', (8, 1), (4, 1)),
            ('M("WIDTH", G(0, 0, 3, 1), [128, 32])', (4, 2), (4, 1)),
            ('M("BLOCK", G(0, 0, 3, 3), [32, 64], "COL_MAJOR")', (4, 4), (1, 2)),
        )
    ),
    _family(
        "ttnn.{op}(T([1, 4, 64, 128], {dtype}, TILE, {a}){rest}, program_config={config})",
        {},
        op=["softmax_in_place", "scale_mask_softmax_in_place", "scale_causal_mask_hw_dims_softmax_in_place", "softmax"],
        dtype=["BF16", "F32"],
        a=['M("HEIGHT", G(0, 0, 3, 1), [32, 128])', 'M("BLOCK", G(0, 0, 0, 3), [64, 128])', "DRAM", "L1"],
        rest=["", ", numeric_stable=False", ", 0.5", ", 0.5, T([1, 1, 32, 128])", ", 0.5, T([1, 4, 64, 128])", ", 0.5, T([1, 1, 64, 128])", ", 0.5, T([1, 1, 64, 128]), is_causal_mask=True", ", dim=-1", ", dim=-2", ", dim=1"],
        config=[f"ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size={g}, subblock_w={s}, block_h={h}, block_w={w})" for g, s, h, w in ((("(4, 2)"), 4, 1, 4), ("(4, 2)", 3, 1, 4), ("(4, 2)", 4, 2, 4), ("(4, 1)", 4, 1, 4), ("(4, 2)", 2, 1, 2))] + ["ttnn.SoftmaxDefaultProgramConfig()"],
    ),
    _family(
        "ttnn.{op}(T({shape}, {dtype}, {layout}, {a}), {args})",
        {},
        op=["fold"],
        shape=["[1, 8, 8, 16]", "[2, 8, 8, 4]", "[1, 3, 32, 32]"],
        dtype=["BF16", "F32"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [16, 16])', 'M("HEIGHT", G(0, 0, 7, 0), [8, 16])', 'M("WIDTH", G(0, 0, 1, 0), [64, 8])'],
        args=["2, 2", "4, 2", "2, 3", "8, 8", "2, 2, padding=[1, 1]", "2, 2, padding=[1, 1, 2, 0]", "2, 2, padding=[0, 2, 0, 2, 0, 1]", "2, 2, padding=[0, 0, 0, 0, 0, 4]", "2, 2, padding=[1]",
              "2, 2, use_transpose_as_fold=True", "2, 2, use_transpose_as_fold=True, padding=[0, 0, 0, 0, 0, 1]", "4, 2, use_transpose_as_fold=True, output_shape=[1, 2, 4, 64]"],
    ),
    *(
        _family(
            "ttnn.fold(T([1, {c}, 32, {wide}], BF16, RM, {a}), 2, 2, use_transpose_as_fold=True{rest})",
            {},
            c=["3", "4"],
            wide=["32", "64"],
            a=[place],
            rest=["", ", padding=[0, 0, 0, 0, 0, 1]", ", output_shape=[1, 16, 16, 12]", ", grid_size=G(0, 0, 2, 0)", ", padding=[1, 1, 1, 1, 0, 1]", ", override_memory_config=L1"],
        )
        for place in ('M("HEIGHT", G(0, 0, 0, 0), [96, 32])', 'M("HEIGHT", G(0, 0, 2, 0), [32, 32])', 'M("HEIGHT", G(0, 0, 2, 0), [32, 64])', "DRAM")
    ),
    _family(
        "ttnn.slice(T({shape}, {dtype}, {layout}, {a}), {args})",
        {},
        shape=["[1, 1, 128, 128]", "[2, 4, 64, 96]", "[128, 128]"],
        dtype=["BF16", "F32", "BF8", "U32"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 128])', 'M("WIDTH", G(0, 0, 3, 0), [128, 32])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64])'],
        args=["[0, 0, 32, 0], [1, 1, 128, 64]", "[0, 0, 0, 0], [1, 1, 128, 128]", "[0, 0, 1, 3], [1, 1, 70, 128]", "[0, 0, 0, 0], [1, 1, 128, 128], [1, 1, 2, 1]", "[0, 0, 0, 0], [1, 1, 128, 128], [1, 1, 1, 3]",
              "[0, 0, 0, 0], [1, 1, -1, -2]", "[0, 0, -32, 0], [1, 1, 128, 128]", "[0, 0, 64, 0], [1, 1, 64, 128]", "[0, 0, 65, 0], [1, 1, 64, 128]", "[0, 0, 0, 0], [1, 1, 129, 128]", "[0, 0, -129, 0], [1, 1, 128, 128]",
              "[0, 0, 0, 0], [1, 1, 128, 128], [1, 1, 0, 1]", "[0, 0, 0], [1, 1, 128]", "[0, 0, 0, 0], [1, 1, 64, 128], memory_config=L1", "[0, 0, 0, 0], [1, 1, 64, 128], memory_config=HSM",
              "[0, 0, 0, 0], [1, 1, 64, 128], memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 128])", "[0, 0, 0, 0], [1, 1, 128, 64], memory_config=M('WIDTH', G(0, 0, 1, 0), [128, 32])"],
    ),
    _family(
        "ttnn.pad(T({shape}, {dtype}, {layout}, {a}), {args})",
        {},
        shape=["[1, 1, 64, 64]", "[64, 64]", "[2, 3, 32, 40]", "[64]"],
        dtype=["BF16", "F32", "U32"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', 'M("BLOCK", G(0, 0, 1, 1), [32, 32])'],
        args=["[(0, 0), (0, 0), (0, 32), (0, 32)], 1.0", "[(0, 0), (0, 0), (0, 0), (0, 16)], 1.0", "[(0, 0), (0, 1), (0, 0), (0, 0)], 0.0", "[(0, 0), (0, 0), (32, 0), (0, 0)], 2.0", "[(0, 0), (0, 0), (1, 0), (2, 0)], 2.0",
              "[(0, 32), (0, 32)], 3.0", "[(0, 0), (0, 0), (0, 0), (0, 0)], 3.0", "[(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)], 3.0", "[1, 1, 96, 96], [0, 0, 0, 0], 4.0", "[1, 2, 64, 64], [0, 1, 0, 0], 4.0",
              "[(0, 0), (0, 0), (0, 32), (0, 0)], 1.0, memory_config=L1", "[(0, 0), (0, 0), (0, 32), (0, 0)], 1.0, use_multicore=False"],
    ),
    _family(
        "ttnn.concat([T({shape}, {dtype}, {layout}, {a}), T({other}, {dtype}, {layout}, {a})], {args})",
        {},
        shape=["[1, 1, 64, 64]", "[1, 2, 64, 64]", "[1, 1, 40, 64]"],
        other=["[1, 1, 64, 64]", "[1, 1, 64, 96]", "[1, 1, 40, 64]"],
        dtype=["BF16", "F32", "BF8"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', 'M("BLOCK", G(0, 0, 1, 1), [32, 32])'],
        args=["3", "2", "1", "-1", "4", "3, memory_config=L1", "3, memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 128])", "2, memory_config=M('HEIGHT', G(0, 0, 1, 0), [64, 64])", "2, memory_config=M('WIDTH', G(0, 0, 1, 0), [128, 32])", "3, groups=2"],
    ),
    _family(
        "ttnn.{op}(T({shape}, BF16, {layout}, {a}), {args})",
        {},
        op=["split", "chunk"],
        shape=["[1, 1, 64, 128]", "[2, 4, 64, 96]", "[1, 2, 64, 1024]"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 128])'],
        args=["2, 3", "64, 3", "[64, 64], 3", "[32, 96], -1", "[32, 32], 2", "3, 3", "[64, 65], 3", "2, 2", "2", "4, 1"],
    ),
    _family(
        "ttnn.{op}(T([1, 1, 128, 128], {dtype}, {layout}, {a}), {args})",
        {},
        op=["to_memory_config", "interleaved_to_sharded", "reshard", "clone"],
        dtype=["BF16", "F32", "BF8"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 128])', 'M("WIDTH", G(0, 0, 3, 0), [128, 32])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64], "COL_MAJOR")', 'M("WIDTH", G(0, 0, 3, 0), [128, 32], buffer="DRAM")'],
        args=['M("HEIGHT", G(0, 0, 3, 0), [32, 128])', 'M("HEIGHT", G(0, 0, 1, 0), [64, 128])', 'M("WIDTH", G(0, 0, 3, 0), [128, 32])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64], "COL_MAJOR")', "L1", "DRAM", "HSM",
              'M("WIDTH", G(0, 0, 3, 0), [128, 32], buffer="DRAM")', 'M("HEIGHT", G(0, 0, 2, 0), [64, 128])', 'M("HEIGHT", G(0, 0, 0, 1), [64, 128])'],
    ),
    *(
        Family(
            "ttnn.{op}(T([1, 1, 128, 128], {dtype}, {layout}, {a}), {args})",
            tuple({"op": op, "dtype": "BF16", "layout": "TILE", "a": a, "args": args} for a in (_a, *_more)),
            {"dtype": ["F32"], "layout": ["RM"]},
        )
        for op, args, _a, *_more in (
            ("to_memory_config", 'M("WIDTH", G(0, 0, 3, 0), [128, 32])', 'M("HEIGHT", G(0, 0, 3, 0), [32, 128])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64])', 'M("WIDTH", G(0, 0, 1, 0), [128, 64])'),
            ("to_memory_config", 'M("BLOCK", G(0, 0, 1, 1), [64, 64])', 'M("HEIGHT", G(0, 0, 3, 0), [32, 128])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64], "COL_MAJOR")'),
            ("sharded_to_interleaved", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 128])', 'M("BLOCK", G(0, 0, 1, 1), [64, 64], "COL_MAJOR")', 'M("WIDTH", G(0, 0, 3, 0), [128, 32], buffer="DRAM")'),
            ("interleaved_to_sharded", 'G(0, 0, 3, 0), [32, 128], ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.ShardOrientation.ROW_MAJOR', "DRAM", "L1"),
            ("interleaved_to_sharded", 'ttnn.CoreCoord(2, 2), [64, 64], ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.ShardOrientation.ROW_MAJOR', "DRAM", "L1"),
            ("interleaved_to_sharded", 'ttnn.CoreCoord(4, 1), [128, 32], ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.ShardOrientation.ROW_MAJOR', "DRAM", "L1"),
            ("interleaved_to_sharded", 'ttnn.CoreCoord(4, 1), [32, 128], ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.ShardOrientation.ROW_MAJOR', "DRAM", "L1"),
            ("interleaved_to_sharded_partial", 'ttnn.CoreCoord(2, 1), [32, 128], 2, 1, ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.ShardOrientation.ROW_MAJOR', "DRAM"),
        )
    ),
    _family(
        "ttnn.upsample(T({shape}, {dtype}, RM, {a}), {args})",
        {},
        shape=["[1, 8, 8, 32]", "[2, 4, 8, 32]"],
        dtype=["BF16", "F32"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 7, 0), [8, 32])', 'M("HEIGHT", G(0, 0, 3, 0), [16, 32])', 'M("BLOCK", G(0, 0, 0, 3), [16, 32])', 'M("WIDTH", G(0, 0, 0, 0), [64, 32])', 'M("BLOCK", G(0, 0, 3, 0), [16, 32], "COL_MAJOR")'],
        args=["2", "[2, 3]", "3", "[1.5, 2.0]", "2, mode='bilinear'", "[2, 3], mode='bilinear'", "2, memory_config=L1", "1", "0", "2, mode='cubic'", "2, memory_config=HSM"],
    ),
    *(
        _family("ttnn.upsample(T([1, 8, 8, 32], BF16, RM, {a}), {args})", {}, a=[place], args=["2", "[2, 3]", "[1.5, 2.0]", "2, mode='bilinear'", "2, memory_config=L1"])
        for place in ('M("HEIGHT", G(0, 0, 7, 0), [8, 32])', 'M("HEIGHT", G(0, 0, 3, 0), [16, 32])', 'M("BLOCK", G(0, 0, 0, 3), [16, 32])', 'M("WIDTH", G(0, 0, 0, 0), [64, 32])', 'M("BLOCK", G(0, 0, 3, 0), [16, 32], "COL_MAJOR")')
    ),
    _family(
        "ttnn.{op}(T([1, 1, 128, 64], {dtype}, {layout}, {a}), T({other}, {dtype}, {layout}, {b}){rest})",
        {},
        op=["add", "multiply", "div", "pow", "eq", "logical_and", "minimum", "atan2", "remainder", "squared_difference", "bias_gelu", "gcd", "bitwise_and", "floor_div", "ldexp", "xlogy"],
        dtype=["BF16", "F32", "BF8", "I32", "U32", "U16"],
        layout=["TILE", "RM"],
        other=["[1, 1, 128, 64]", "[1, 1, 1, 64]", "[1, 1, 128, 1]", "[1, 1, 1, 1]", "[64]", "[1, 2, 128, 64]", "[1, 1, 64, 64]"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])', 'M("BLOCK", G(0, 0, 1, 1), [64, 32])', 'M("WIDTH", G(0, 0, 1, 0), [128, 32])'],
        b=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])', 'M("BLOCK", G(0, 0, 1, 1), [64, 32])'],
        rest=["", ", dtype=F32", ", memory_config=L1", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", ", activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)]", ", input_tensor_a_activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.SILU)]", ", memory_config=HSM"],
    ),
    _family(
        "ttnn.{op}(T([1, 2, 64, 96], {dtype}, {layout}, {a}){rest})",
        {},
        op=["sum", "mean", "max", "min", "std", "var", "prod", "argmax", "cumsum", "cumprod"],
        dtype=["BF16", "F32", "BF8", "I32"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 2, 0), [128, 32])'],
        rest=[", dim=-1", "", ", dim=-2", ", dim=1", ", dim=0", ", dim=-1, keepdim=True", ", dim=[1, 2]", ", dim=[2, 3], keepdim=True", ", dim=4", ", dim=-5", ", dim=-1, memory_config=L1", ", dim=3, memory_config=HSM"],
    ),
    _family(
        "ttnn.transformer.scaled_dot_product_attention(T({q}, {dtype}), T({k}, {dtype}), T({k}, {dtype}){rest})",
        {},
        q=["[1, 4, 64, 32]", "[1, 8, 96, 32]", "[2, 4, 64, 64]", "[1, 4, 128, 32]"],
        k=["[1, 4, 64, 32]", "[1, 2, 64, 32]", "[1, 4, 128, 32]", "[1, 3, 64, 32]", "[2, 2, 64, 64]"],
        dtype=["BF16", "BF8", "F32"],
        rest=[", is_causal=True", ", is_causal=False", ", is_causal=False, attn_mask=T([1, 1, 64, 64])", ", is_causal=False, attn_mask=T([1, 4, 64, 64])", ", is_causal=True, attn_mask=T([1, 1, 64, 64])", ", is_causal=False, scale=0.5", ", is_causal=True, sliding_window_size=32",
              ", is_causal=False, sliding_window_size=33", *(f", is_causal=True, program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size={q}, k_chunk_size={k})" for q, k in ((32, 32), (64, 32), (33, 32), (32, 0), (128, 64))),
              ", is_causal=True, compute_kernel_config=KC('LoFi', True)"],
    ),
    _family(
        "ttnn.transformer.scaled_dot_product_attention_decode(T({q}), T({k}), T({k}){rest})",
        {},
        q=["[1, 2, 8, 32]", "[1, 1, 8, 32]", "[1, 2, 32, 32]", "[1, 3, 8, 32]"],
        k=["[2, 2, 64, 32]", "[2, 1, 64, 32]", "[2, 8, 128, 32]", "[1, 2, 64, 32]"],
        rest=[", cur_pos=[3, 40]", ", cur_pos=[0, 63]", ", cur_pos=[3]", ", cur_pos=[3, 64]", ", is_causal=False", ", is_causal=False, attn_mask=T([2, 1, 8, 64])", ", is_causal=False, attn_mask=T([2, 1, 32, 64])", ", cur_pos=[3, 40], scale=0.25", ", cur_pos=[31, 32], sliding_window_size=32",
              ", cur_pos=[3, 40], memory_config=L1", ", cur_pos_tensor=T([2], I32, RM)", ", cur_pos=[-1, 5]"],
    ),
    _family(
        "E.{op}(T({shape}, BF16, TILE, {a}){args})",
        {},
        op=["nlp_create_qkv_heads", "nlp_create_qkv_heads_decode", "nlp_create_qkv_heads_falcon7b", "nlp_create_qkv_heads_vit", "nlp_create_qkv_heads_segformer", "create_qkv_heads"],
        shape=["[1, 1, 64, 768]", "[2, 1, 64, 768]", "[1, 1, 32, 768]", "[1, 1, 64, 4672]", "[1, 1, 64, 2304]"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 768])', 'M("BLOCK", G(0, 0, 3, 0), [64, 192])', 'M("WIDTH", G(0, 0, 7, 0), [64, 96])'],
        args=[", num_heads=4, num_kv_heads=4", ", num_heads=8, num_kv_heads=2", ", num_heads=4", ", num_heads=5, num_kv_heads=5", ", num_heads=4, num_kv_heads=3", "", ", num_heads=4, num_kv_heads=4, transpose_k_heads=False", ", num_heads=4, num_kv_heads=4, memory_config=L1",
              ", num_heads=4, num_kv_heads=4, memory_config=HSM"],
    ),
    _family(
        "X.split_query_key_value_and_split_heads(T({shape}, BF16, TILE, {a}){args})",
        {},
        shape=["[2, 64, 768]", "[7, 64, 768]", "[1, 64, 768]", "[2, 40, 768]", "[2, 64, 512]"],
        a=["DRAM", "L1", 'M("BLOCK", G(0, 0, 3, 1), [64, 192])'],
        args=[", num_heads=4", ", num_heads=8, num_kv_heads=2", ", num_heads=4, transpose_key=False", ", num_heads=5", ", num_heads=8, num_kv_heads=3", ", num_heads=4, memory_config=L1", ", T([2, 64, 512]), num_heads=4"],
    ),
    _family(
        "ttnn.{op}(T({shape}, {dtype}, {layout}, {a}), {args})",
        {},
        op=["permute", "reshape", "transpose", "repeat", "repeat_interleave", "roll"],
        shape=["[1, 2, 64, 96]", "[2, 3, 40, 24]", "[1, 1, 32, 64]"],
        dtype=["BF16", "F32", "BF8"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 2, 0), [128, 32])', 'M("BLOCK", G(0, 0, 2, 1), [64, 32])'],
        args=["[0, 1, 3, 2]", "[0, 2, 1, 3]", "[3, 2, 1, 0]", "[1, 0, 2, 3]", "[0, 3, 1, 2]", "[1, 1, 128, 96]", "[2, 64, 96]", "[1, 2, 96, 64]", "[-1, 96]", "[1, 2, 64, 97]", "[0, 1, 2]", "[0, 1, 2, 2]", "2, 3", "1, 2", "-1, -2", "0, 4", "3, 1", "2, dim=1", "3, dim=3", "2, dim=2", "[1, 2, 1, 1]", "[2, 1, 1, 2]", "40, 2"],
    ),
    *(
        _family("ttnn.{op}(T([1, 2, 64, 96], BF16, {layout}, {a}), {args})", {"op": op}, layout=["TILE", "RM"], a=["L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 2, 0), [128, 32])', 'M("BLOCK", G(0, 0, 2, 1), [64, 32])'], args=args)
        for op, args in (
            ("transpose", ["2, 3", "1, 2", "-1, -2", "0, 1", "0, 4"]), ("repeat_interleave", ["2, dim=1", "3, dim=3", "2, dim=2", "2, dim=0", "1, dim=1", "2, dim=-1", "2, dim=4"]), ("repeat", ["[1, 2, 1, 1]", "[2, 1, 1, 2]", "[1, 1, 3, 1]", "[2]", "[0, 1, 1, 1]"]),
            ("roll", ["3, 1", "40, 2", "-1, 3", "[1, 2], [2, 3]", "[1], [2, 3]"]), ("reshape", ["[1, 1, 128, 96]", "[1, 2, 96, 64]", "[2, 64, 96]", "[-1, 96]", "[1, 2, 64, 97]", "[12288]"]), ("permute", ["[0, 1, 3, 2]", "[0, 2, 1, 3]", "[3, 2, 1, 0]", "[0, 1, 2]", "[0, 1, 2, 2]"]),
        )
    ),
    _family(
        "ttnn.embedding(T({ids}, {kind}, {layout}, {a}), T({table}, {dtype}, RM){rest})",
        {},
        ids=["[2, 32]", "[1, 40]", "[64]", "[1, 1, 1, 32]"],
        kind=["U32", "BF16", "I32"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1"],
        table=["[16, 64]", "[16, 40]", "[1, 1, 16, 64]", "[2, 16, 64]"],
        dtype=["BF16", "F32"],
        rest=["", ", layout=TILE", ", padding_idx=0", ", padding_idx=2, layout=TILE", ", memory_config=L1", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 64])", ", layout=TILE, memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 64])", ", layout=TILE, memory_config=M('HEIGHT', G(0, 0, 0, 0), [64, 64])",
              ", layout=TILE, memory_config=M('BLOCK', G(0, 0, 1, 1), [32, 32])", ", dtype=BF8, layout=TILE"],
    ),
    _family(
        "ttnn.{op}(T([1, 1, 64, {channels}], BF16, {layout}, {a}), batch_size={n}, input_h={h}, input_w=8, channels={channels}, kernel_size=[{kh}, 2], stride=[{s}, 2], padding=[{p}, 0], dilation=[{d}, 1]{rest})",
        {},
        op=["max_pool2d"],
        channels=["32", "16", "40"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])', 'M("BLOCK", G(0, 0, 0, 1), [32, 32])'],
        n=["1", "2"],
        h=["8", "4"],
        kh=["2", "3", "9"],
        s=["2", "1"],
        p=["0", "1", "2"],
        d=["1", "2"],
        rest=["", ", ceil_mode=True", ", applied_shard_scheme=ttnn.TensorMemoryLayout.HEIGHT_SHARDED", ", applied_shard_scheme=ttnn.TensorMemoryLayout.BLOCK_SHARDED", ", applied_shard_scheme=ttnn.TensorMemoryLayout.WIDTH_SHARDED", ", memory_config=L1", ", dtype=BF8, output_layout=TILE"],
    ),
    _family(
        "ttnn.avg_pool2d(T([1, 1, 64, 32], {dtype}, {layout}, {a}), batch_size=1, input_h=8, input_w=8, channels=32, kernel_size=[{kh}, 2], stride=[{s}, 2], padding=[{p}, 0], ceil_mode={up}{rest})",
        {},
        dtype=["BF16", "F32", "BF8"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])'],
        kh=["2", "3", "9"],
        s=["2", "1"],
        p=["0", "1", "2"],
        up=["False", "True"],
        rest=["", ", count_include_pad=False", ", divisor_override=3", ", applied_shard_scheme=ttnn.TensorMemoryLayout.BLOCK_SHARDED", ", memory_config=L1"],
    ),
    _family(
        "ttnn.conv2d(input_tensor=T([1, 1, 64, {cin}], BF16, {layout}, {a}), weight_tensor=W([{cout}, {per}, {k}, {k}]), bias_tensor={bias}, device=d, in_channels={cin}, out_channels={cout}, batch_size=1, "
        "input_height=8, input_width=8, kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[{p}, {p}], dilation=[1, 1], groups={groups}{rest})",
        {},
        cin=["32", "16", "64"],
        cout=["32", "48", "64"],
        per=["32", "16", "1", "64"],
        groups=["1", "2", "32"],
        k=["3", "1", "2"],
        s=["1", "2", "3"],
        p=["1", "0"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])', 'M("BLOCK", G(0, 0, 0, 1), [32, 32])', 'M("WIDTH", G(0, 0, 0, 0), [64, 32])'],
        bias=["None", "W([1, 1, 1, 32])", "W([1, 1, 1, 33])"],
        rest=["", *(f", conv_config=ttnn.Conv2dConfig({config})" for config in (
                    "shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED", "shard_layout=ttnn.TensorMemoryLayout.WIDTH_SHARDED", "shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED", "weights_dtype=BF8", "act_block_h_override=32", "act_block_h_override=64", "act_block_h_override=33",
                    "output_layout=RM", "deallocate_activation=True", "reallocate_halo_output=True", "enable_act_double_buffer=True", "enable_weights_double_buffer=True", "full_inner_dim=True", "activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)", "override_sharding_config=True",
                    "override_sharding_config=True, core_grid=G(0, 0, 1, 0), shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED", "override_sharding_config=True, core_grid=G(0, 0, 1, 1), shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED",
                    "override_output_sharding_config=True", "override_output_sharding_config=True, core_grid=G(0, 0, 1, 0)", "reshard_if_not_optimal=True, shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED", "transpose_shards=True, shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED")),
              ", dtype=BF8", ", memory_config=DRAM", ", memory_config=L1", ", return_output_dim=True", ", return_weights_and_bias=True", ", return_output_dim=True, return_weights_and_bias=True", ", compute_config=KC('LoFi', True)", ", slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=2)",
              ", slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceWidth, num_slices=9)"],
    ),
    _family(
        "ttnn.conv_transpose2d(input_tensor=T([1, 1, 64, 32], BF16, RM, {a}), weight_tensor=W([32, {per}, {k}, {k}]), bias_tensor={bias}, device=d, in_channels=32, out_channels=32, batch_size=1, input_height=8, input_width=8, "
        "kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[{p}, {p}], output_padding=[{op}, {op}], dilation=[1, 1], groups={groups}{rest})",
        {},
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])'],
        per=["32", "16"],
        groups=["1", "2"],
        k=["3", "2"],
        s=["2", "1", "3"],
        p=["1", "0"],
        op=["0", "1", "2"],
        bias=["None", "W([1, 1, 1, 32])"],
        rest=["", ", mirror_kernel=False", ", return_output_dim=True", ", return_weights_and_bias=True", ", return_output_dim=True, return_weights_and_bias=True", ", dtype=BF8"],
    ),
    _family(
        "ttnn.{op}(T({shape}, {dtype}), {args})",
        {},
        op=["topk", "sort"],
        shape=["[1, 1, 32, 64]", "[1, 1, 32, 100]", "[2, 3, 32, 64]", "[64]", "[1, 1, 1, 8192]"],
        dtype=["BF16", "F32", "BF8"],
        args=["k=5, dim=-1", "k=32", "k=33", "k=65", "k=4, dim=2", "k=4, largest=False", "k=4, sorted=False", "k=4, memory_config=L1", "dim=-1", "dim=2", "dim=1, descending=True", "descending=True", "dim=4", "stable=True"],
    ),
    _family("ttnn.sort(T({shape}, {dtype}, {layout}, {a}), {args})", {}, shape=["[1, 1, 32, 64]", "[]", "[1]", "[64]", "[1, 1, 32, 100]", "[1, 1, 64, 1]", "[0, 4]"], dtype=["BF16", "F32", "U16", "U32"], layout=["TILE", "RM"],
            a=["DRAM", "L1"], args=["dim=-1", "dim=0", "dim=1", "dim=2", "dim=1, descending=True", "dim=4", "dim=-1, stable=True", "dim=-1, memory_config=L1"]),
    _family("ttnn.sort(T([], BF16), {args})", {}, args=["dim=0", "dim=-1", "dim=1", "dim=-2"]),
    _family(
        "ttnn.{op}(T([1, 1, 64, 64], {dtype}), {dim}, T({index}, {kind}, {layout}){rest})",
        {"op": "gather"},
        dtype=["BF16", "F32"],
        dim=["3", "2", "-1", "4"],
        index=["[1, 1, 64, 32]", "[1, 1, 32, 64]", "[1, 1, 64, 65]", "[1, 64, 32]"],
        kind=["U32", "U16", "I32"],
        layout=["TILE", "RM"],
        rest=["", ", memory_config=L1"],
    ),
    _family(
        "ttnn.scatter(T([1, 1, 64, 64], {dtype}, {layout}), {dim}, T({index}, {kind}, {layout}), T({source}, {dtype}, {layout}){rest})",
        {},
        dtype=["BF16", "F32", "I32"],
        layout=["RM", "TILE"],
        dim=["3", "2", "-1", "4"],
        index=["[1, 1, 64, 32]", "[1, 1, 32, 64]", "[1, 64, 32]"],
        kind=["U32", "I32"],
        source=["[1, 1, 64, 32]", "[1, 1, 32, 64]", "[64, 32]"],
        rest=["", ", reduce='add'", ", reduce='multiply'", ", reduce='amax'", ", reduce='amin'", ", reduce='other'", ", memory_config=L1"],
    ),
    _family(
        "ttnn.group_norm(T([1, 1, {rows}, {channels}], BF16, {layout}, {a}), num_groups={groups}, epsilon=1e-2, core_grid=ttnn.CoreGrid(x={x}, y={y}), inplace={inplace}{rest})",
        {},
        rows=["64", "128"],
        channels=["64", "128"],
        layout=["TILE", "RM"],
        a=["DRAM", 'M("BLOCK", G(0, 0, 1, 1), [32, 32])', 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', "L1"],
        groups=["2", "4", "3", "64"],
        x=["2", "1"],
        y=["2", "1"],
        inplace=["False", "True"],
        rest=["", ", memory_config=L1", ", num_out_blocks=2", ", output_layout=TILE", ", weight=T([1, 1, 2, 32], BF16, RM)"],
    ),
    _family(
        "ttnn.{op}(T({shape}, {dtype}, {layout}, {a}){rest})",
        {},
        op=["tilize", "untilize", "tilize_with_zero_padding", "to_layout", "typecast"],
        shape=["[1, 1, 64, 64]", "[1, 1, 40, 72]", "[1, 1, 2048, 64]", "[1, 1, 32, 2048]", "[1, 1, 64, 1056]", "[1, 1, 1056, 1056]", "[1, 1, 1024, 1024]"],
        dtype=["BF16", "F32", "U32", "BF8"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', 'M("BLOCK", G(0, 0, 1, 1), [32, 32])'],
        rest=["", ", memory_config=L1", ", use_multicore=False", ", dtype=F32", ", TILE", ", RM", ", F32", ", BF8", ", I32", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 64])"],
    ),
    _family(
        "ttnn.tilize_with_val_padding(T({shape}, {dtype}, RM, {a}), {padded}, {value}{rest})",
        {},
        shape=["[1, 1, 1000, 1000]", "[1, 1, 1024, 1024]", "[1, 1, 1025, 1025]", "[1, 1, 1020, 1056]", "[1, 1, 40, 60]", "[2, 3, 40, 60]", "[1, 1, 32, 1056]", "[1, 1, 1056, 32]"],
        dtype=["BF16", "F32", "U32"],
        a=["DRAM", "L1"],
        padded=["[1, 1, 1056, 1056]", "[1, 1, 1024, 1024]", "[1, 1, 1024, 1056]", "[1, 1, 1056, 1024]", "[1, 1, 1088, 1056]", "[1, 1, 64, 64]"],
        value=["0.0", "1.0"],
        rest=["", ", use_multicore=False", ", memory_config=L1", ", dtype=F32"],
    ),
    _family(
        "E.rotary_embedding_llama(T({shape}, {dtype}, TILE, {a}), T({cache}, {dtype}, TILE, {c}), T({cache}, {dtype}, TILE, {c}), T({turn}, {dtype}, TILE, {t}), is_decode_mode={decode}{rest})",
        {},
        shape=["[1, 4, 64, 64]", "[1, 8, 32, 64]", "[1, 4, 64, 256]", "[1, 4, 64, 288]", "[1, 4, 64, 48]", "[2, 4, 64, 64]"],
        dtype=["BF16", "F32", "BF8"],
        cache=["[1, 1, 64, 64]", "[1, 4, 64, 64]", "[1, 1, 32, 64]", "[1, 2, 64, 64]", "[1, 1, 64, 32]"],
        turn=["[1, 1, 32, 32]", "[1, 1, 64, 32]", "[1, 8, 32, 32]"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 7, 0), [32, 64])'],
        c=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])'],
        t=["DRAM", 'M("HEIGHT", G(0, 0, 7, 0), [32, 32])'],
        decode=["False", "True"],
        rest=["", ", memory_config=L1", ", compute_kernel_config=KC('LoFi', True)"],
    ),
    _family(
        "E.rotary_embedding_llama(T([1, {users}, 8, 64], BF16, TILE, {a}), T([1, {rows}, 1, 64], BF16, TILE, {c}), T([1, {rows}, 1, 64], BF16, TILE, {c}), T([1, 1, {high}, 32], BF16, TILE, {t}), is_decode_mode=True{rest})",
        {},
        users=["4", "5", "1"],
        rows=["4", "5", "1"],
        high=["128", "32", "160"],
        a=['M("HEIGHT", G(0, 0, 3, 0), [32, 64])', "DRAM", "L1", 'M("WIDTH", G(0, 0, 1, 0), [128, 32])', 'M("HEIGHT", G(0, 0, 4, 0), [32, 64])'],
        c=['M("HEIGHT", G(0, 0, 3, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [128, 32])', "DRAM", 'M("HEIGHT", G(0, 0, 4, 0), [32, 64])'],
        t=['M("HEIGHT", G(0, 0, 3, 0), [32, 32])', "DRAM", 'M("HEIGHT", G(0, 0, 4, 0), [32, 32])'],
        rest=["", ", memory_config=DRAM", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])"],
    ),
    *(
        _family(
            "E.{op}(T({shape}, {dtype}, TILE, {a}), T({cache}, {dtype}), T({cache}, {dtype}){rest})",
            {"op": op},
            shape=["[1, 4, 64, 64]", "[1, 4, 1, 64]", "[1, 4, 40, 64]", "[2, 4, 64, 64]", "[1, 4, 64, 32]"],
            dtype=["BF16", "F32", "BF8"],
            cache=["[1, 1, 64, 64]", "[1, 1, 128, 64]", "[1, 1, 32, 64]", "[1, 1, 64, 32]"],
            a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 7, 0), [32, 64])', 'M("HEIGHT", G(0, 0, 3, 0), [64, 64])'],
            rest=rest,
        )
        for op, rest in (
            ("rotary_embedding", ["", ", 3", ", 63", ", 64", ", memory_config=L1", ", memory_config=HSM", ", memory_config=M('HEIGHT', G(0, 0, 7, 0), [32, 64])"]),
            ("rotary_embedding_hf", ["", ", is_decode_mode=True", ", memory_config=L1", ", memory_config=HSM"]),
        )
    ),
    *(
        _family(
            "{op}(T({cache}, {dtype}, TILE, {a}), T({new}, {kind}, TILE, {b}), {at})",
            {"op": op, "new": new, "at": at},
            cache=["[2, 4, 64, 32]", "[2, 4, 96, 64]", "[1, 4, 64, 32]", "[40, 1, 64, 32]"],
            dtype=["BF16", "F32", "BF8"],
            new=["[1, 4, 32, 32]", "[1, 4, 64, 32]", "[1, 4, 2, 32]", "[1, 2, 32, 32]", "[2, 4, 32, 32]", "[1, 4, 96, 32]", "[1, 1, 32, 32]"],
            kind=["BF16", "F32"],
            a=["DRAM", "L1"],
            b=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 32])'],
            at=["0", "1", "2", "63", "64", "33, batch_offset=1", "5, batch_offset=30", "5, batch_offset=31"],
        )
        for op, new, at in (("ttnn.fill_cache", "[1, 4, 32, 32]", "0"), ("ttnn.update_cache", "[1, 4, 2, 32]", "63"), ("ttnn.kv_cache.fill_cache_for_user_", "[1, 4, 32, 32]", "1"), ("ttnn.kv_cache.update_cache_for_token_", "[1, 4, 2, 32]", "1"))
    ),
    _family(
        "E.paged_update_cache(T({cache}, {dtype}), T([1, {users}, {heads}, 32], BF16, TILE, {b}){rest})",
        {},
        cache=["[2, 4, 64, 32]", "[8, 4, 32, 32]", "[2, 1, 64, 32]", "[3, 4, 64, 32]"],
        dtype=["BF16", "BF8", "F32"],
        users=["2", "1", "3"],
        heads=["4", "1", "8"],
        b=['M("HEIGHT", G(0, 0, 1, 0), [32, 32])', "DRAM", 'M("HEIGHT", G(0, 0, 0, 0), [32, 32])', 'M("HEIGHT", G(0, 0, 2, 0), [32, 32])'],
        rest=[", update_idxs=[0, 63]", ", update_idxs=[3]", ", update_idxs=[3, 64]", ", update_idxs=[-1, 5]", ", update_idxs_tensor=T([2], I32, RM)", ", update_idxs_tensor=T([2], U32, RM)", ", update_idxs_tensor=T([2], I32, RM), page_table=T([2, 2], I32, RM)", ", update_idxs_tensor=T([2], I32, RM), page_table=T([2, 2], U32, RM)",
              ", update_idxs=[1, 2], share_cache=True", ", update_idxs=[1, 2], batch_offset=1", ""],
    ),
    _family(
        "E.paged_fill_cache(T({cache}, {dtype}), T({new}, {kind}), T({table}, {index}, RM){rest})",
        {},
        cache=["[8, 4, 32, 32]", "[8, 4, 64, 32]", "[8, 2, 32, 32]"],
        dtype=["BF16", "BF8"],
        new=["[1, 4, 64, 32]", "[1, 4, 40, 32]", "[1, 2, 64, 32]", "[1, 4, 160, 32]"],
        kind=["BF16", "F32"],
        table=["[2, 4]", "[1, 4]", "[2, 1]"],
        index=["I32", "U32"],
        rest=["", ", batch_idx=1", ", batch_idx=2", ", batch_idx_tensor=T([1], U32, RM)"],
    ),
    _family(
        "X.paged_scaled_dot_product_attention_decode(T({q}), T({k}), T({k}), T({table}, I32, RM){rest})",
        {},
        q=["[1, 2, 8, 32]", "[1, 2, 32, 32]", "[1, 1, 8, 32]"],
        k=["[8, 2, 32, 32]", "[8, 1, 64, 32]", "[8, 8, 32, 32]"],
        table=["[2, 4]", "[2, 2]", "[1, 4]"],
        rest=[", cur_pos_tensor=T([2], I32, RM)", "", ", is_causal=False", ", cur_pos_tensor=T([2], I32, RM), scale=0.5", ", cur_pos_tensor=T([2], I32, RM), sliding_window_size=32", ", cur_pos_tensor=T([1], I32, RM)", ", cur_pos_tensor=T([2], I32, RM), memory_config=L1", ", cur_pos_tensor=T([2], I32, RM), attention_sink=T([32, 32])"],
    ),
    _family(
        "X.chunked_scaled_dot_product_attention(T({q}), T({k}), T({k}), T({table}, I32, RM), {start}{rest})",
        {},
        q=["[1, 4, 32, 32]", "[1, 4, 64, 32]", "[2, 4, 32, 32]"],
        k=["[8, 2, 32, 32]", "[8, 4, 64, 32]"],
        table=["[1, 4]", "[1, 2]", "[2, 4]"],
        start=["0", "32", "64", "33", "96"],
        rest=["", ", scale=0.5", ", program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size=32)"],
    ),
    _family(
        "X.joint_scaled_dot_product_attention(T({q}), T({q}), T({q}), T({joint}), T({joint}), T({joint}), joint_strategy='{way}', program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size={chunk}, k_chunk_size=32){rest})",
        {},
        q=["[1, 4, 64, 32]", "[2, 4, 64, 32]", "[1, 4, 40, 32]"],
        joint=["[1, 4, 32, 32]", "[1, 4, 40, 32]", "[1, 2, 32, 32]"],
        way=["rear", "front"],
        chunk=["32", "64", "48"],
        rest=["", ", scale=0.5"],
    ),
    _family(
        "E.{op}(T({shape}, BF16, TILE, {a}), num_heads={heads}{rest})",
        {"op": "nlp_concat_heads_decode"},
        shape=["[1, 4, 32, 64]", "[1, 8, 32, 64]", "[1, 4, 8, 64]", "[2, 4, 32, 64]"],
        a=['M("HEIGHT", G(0, 0, 3, 0), [32, 64])', "DRAM", 'M("HEIGHT", G(0, 0, 7, 0), [32, 64])', 'M("HEIGHT", G(0, 0, 1, 1), [32, 64])'],
        heads=["8", "32", "33", "1"],
        rest=["", ", sub_core_grids=G(0, 0, 7, 3)", ", sub_core_grids=G(1, 0, 7, 3)", ", sub_core_grids=G(0, 0, 3, 0)", ", memory_config=DRAM"],
    ),
    _family(
        "E.nlp_create_qkv_heads_decode(T({shape}, BF16, TILE, {a}), num_heads={heads}, num_kv_heads={kv}{rest})",
        {},
        shape=["[1, 1, 4, 384]", "[1, 1, 32, 384]", "[1, 1, 33, 384]", "[1, 1, 4, 320]", "[1, 2, 4, 384]"],
        a=["DRAM", "L1", 'M("WIDTH", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 5, 0), [32, 64])'],
        heads=["8", "4", "33"],
        kv=["2", "4", "8", "3"],
        rest=[", memory_config=HSM", "", ", memory_config=L1", ", memory_config=HSM, overlap_qk_coregrid=False", ", memory_config=HSM, batch_offset=T([1], U32, RM), slice_size=2", ", memory_config=HSM, slice_size=2"],
    ),
    _family(
        "E.nlp_create_qkv_heads_decode(T([1, 1, 4, 384], BF16, TILE, {a}), num_heads=8, num_kv_heads=2{rest})",
        {},
        a=['M("WIDTH", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 5, 0), [32, 64])', 'M("WIDTH", G(0, 0, 11, 0), [32, 32])', "L1"],
        rest=[", memory_config=HSM, overlap_qk_coregrid=False", ", memory_config=HSM", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 32])"],
    ),
    *(
        _family(
            "E.{op}(T({shape}, {dtype}, TILE, {a}){rest})",
            {"op": op, "shape": shape},
            shape=[shape, "[1, 1, 64, 768]", "[2, 1, 64, 192]", "[1, 2, 64, 192]"],
            dtype=["BF16", "F32", "BF8"],
            a=["DRAM", "L1"],
            rest=["", ", memory_config=L1", ", memory_config=HSM"],
        )
        for op, shape in (("nlp_create_qkv_heads_falcon7b", "[1, 1, 64, 4672]"), ("nlp_create_qkv_heads_vit", "[7, 1, 224, 2304]"), ("nlp_create_qkv_heads_segformer", "[1, 1, 64, 64]"), ("nlp_concat_heads", "[1, 4, 64, 32]"), ("nlp_concat_heads_boltz", "[4, 64, 64, 32]"), ("rotate_half", "[1, 4, 64, 64]"))
    ),
    _family(
        "E.create_qkv_heads(T({shape}, BF16, TILE, {a}), num_heads={heads}, num_kv_heads={kv}, transpose_k_heads={turned}{rest})",
        {},
        shape=["[2, 1, 64, 768]", "[1, 1, 64, 768]"],
        a=['M("BLOCK", G(0, 0, 3, 1), [64, 192])', "DRAM", 'M("BLOCK", G(0, 0, 1, 1), [64, 384])'],
        heads=["8", "4", "5"],
        kv=["8", "4", "2"],
        turned=["True", "False"],
        rest=["", ", memory_config=HSM", ", memory_config=M('HEIGHT', G(0, 0, 3, 1), [64, 32])"],
    ),
    *(
        _family(
            "ttnn.{op}(T({shape}, {dtype}, TILE, {a}){rest})",
            {"op": op},
            shape=["[1, 1, 64, 128]", "[1, 1, 40, 96]", "[2, 1, 32, 64]"],
            dtype=["BF16", "F32", "BF8"],
            a=["DRAM", "L1", 'M("BLOCK", G(0, 0, 3, 1), [32, 32])', 'M("WIDTH", G(0, 0, 3, 0), [64, 32])'],
            rest=["", ", dtype=F32", ", residual_input_tensor=T([1, 1, 64, 128])", ", memory_config=L1", ", compute_kernel_config=KC('LoFi', True)", ", use_2d_core_grid=True", ", program_config=ttnn.LayerNormShardedMultiCoreProgramConfig(compute_with_storage_grid_size=(4, 1), subblock_w=1, block_h=2, block_w=1, inplace=False)"],
        )
        for op in ("rms_norm_pre_all_gather", "layer_norm_pre_all_gather")
    ),
    *(
        _family(
            "ttnn.{op}(T({shape}, {dtype}), T([1, 1, 64, {stats}]), epsilon=0.1{rest})",
            {"op": op, "stats": stats},
            shape=["[1, 1, 64, 128]", "[1, 1, 40, 128]"],
            dtype=["BF16", "F32"],
            stats=["32", "64", "128"],
            rest=["", ", weight=T([1, 1, 1, 128])", ", weight=T([1, 1, 4, 32], BF16, RM)", ", weight=T([1, 128]), bias=T([1, 128])", ", dtype=F32", ", memory_config=L1"],
        )
        for op, stats in (("rms_norm_post_all_gather", "32"), ("layer_norm_post_all_gather", "64"))
    ),
    _family(
        "ttnn.batch_norm(T({shape}, {dtype}), running_mean=T({mean}, {dtype}), running_var=T({mean}, {dtype}), training={training}, eps={eps}, momentum=0.3{rest})",
        {},
        shape=["[2, 4, 32, 32]", "[1, 4, 40, 8]", "[4, 32, 32]"],
        dtype=["BF16", "F32"],
        mean=["[1, 4, 1, 1]", "[1, 2, 1, 1]", "[4]"],
        training=["False", "True"],
        eps=["100.0", "1e-05"],
        rest=["", ", weight=T([1, 4, 1, 1])", ", bias=T([1, 4, 1, 1])", ", weight=T([1, 4, 1, 1]), bias=T([1, 4, 1, 1])", ", memory_config=L1"],
    ),
    *(
        _family(
            "ttnn.{op}(T({shape}, {dtype}), {others}{rest})",
            {"op": op, "others": others},
            shape=["[1, 1, 64, 64]", "[1, 2, 64, 64]", "[1, 1, 64, 1]", "[1, 1, 1, 64]", "[1, 1, 1, 1]", "[2, 1, 1, 1, 1, 64, 64]"],
            dtype=["BF16", "F32", "I32", "U32"],
            others=[others, "T([1, 1, 1, 64]), T([1, 1, 64, 1])", "T([1, 1, 64, 64]), 2.0", "1.5, T([1, 1, 64, 64])", "T([1, 1, 64, 64]), T([1, 1, 64, 65])", "T([3, 1, 1, 1, 1, 64, 64]), T([1, 1, 64, 64])"],
            rest=["", ", value=0.5", ", memory_config=L1", ", dtype=F32"],
        )
        for op, others in (("addcmul", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("addcdiv", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("lerp", "T([1, 1, 64, 64]), 0.25"), ("where", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("mac", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("clamp", "-1.0, 2.0"))
    ),
    *(
        _family(
            "ttnn.prod(T({shape}, {dtype}){rest})",
            {},
            shape=[shape],
            dtype=["BF16", "F32"],
            rest=["", ", dim=0", ", dim=1", ", dim=-1", ", dim=-2, keepdim=True", ", dim=2", ", dim=4", ", dim=1, memory_config=L1"],
        )
        for shape in ("[2, 3, 4, 5]", "[2, 2, 2, 3, 4]", "[3, 4]", "[5]", "[]")
    ),
    _family(
        "ttnn.grid_sample(T({image}, {dtype}, RM, {a}), T({grid}, {kind}, RM, {b}){rest})",
        {},
        image=["[1, 8, 8, 32]", "[2, 8, 8, 32]", "[1, 8, 8, 16]"],
        dtype=["BF16", "F32"],
        grid=["[1, 4, 4, 2]", "[1, 4, 4, 6]", "[2, 4, 4, 2]", "[1, 4, 4, 3]"],
        kind=["BF16", "F32"],
        a=["DRAM", "L1"],
        b=["DRAM", 'M("HEIGHT", G(0, 0, 3, 0), [4, 2])'],
        rest=["", ", mode='nearest'", ", mode='bicubic'", ", padding_mode='border'", ", align_corners=True", ", memory_config=L1", ", use_precomputed_grid=True", ", batch_output_channels=True", ", memory_config=HSM"],
    ),
    _family(
        "ttnn.{op}(T({a}, {dtype}), T({b}, {dtype}), T({c}, {dtype}){rest})",
        {"op": "addmm"},
        a=["[64, 32]", "[1, 32]", "[32]"],
        b=["[64, 96]", "[64, 40]"],
        c=["[96, 32]", "[64, 32]"],
        dtype=["BF16", "F32"],
        rest=["", ", alpha=2.0", ", beta=3.0", ", alpha=0.5, beta=0.0", ", memory_config=L1", ", dtype=F32"],
    ),
    _family("ttnn.outer(T({a}, {dtype}), T({b}, {dtype}){rest})", {}, a=["[64]", "[1, 1, 1, 64]", "[2, 64]"], b=["[32]", "[1, 1, 1, 32]"], dtype=["BF16", "F32"], rest=["", ", memory_config=L1"]),
    _family("ttnn.global_avg_pool2d(T({shape}, {dtype}, {layout}){rest})", {}, shape=["[1, 1, 64, 32]", "[2, 8, 8, 32]", "[1, 7, 7, 64]"], dtype=["BF16", "F32", "BF8"], layout=["TILE", "RM"], rest=["", ", memory_config=L1", ", dtype=F32"]),
    _family("E.fast_reduce_nc(T({shape}, {dtype}), dims={dims}{rest})", {}, shape=["[2, 4, 64, 32]", "[1, 3, 40, 32]"], dtype=["BF16", "F32", "BF8"], dims=["[1]", "[0]", "[0, 1]", "[2]", "[]", "[-3]"], rest=["", ", memory_config=L1"]),
    _family("ttnn.{op}(T({shape}, {dtype}, {layout}), {args})", {}, op=["tril", "triu"], shape=["[64, 64]", "[2, 40, 70]", "[1, 1, 32, 96]"], dtype=["BF16", "F32"], layout=["TILE", "RM"], args=["diagonal=0", "diagonal=1", "diagonal=-1", "diagonal=5, memory_config=L1"]),
    _family(
        "E.{op}(T({shape}, {dtype}, {layout}, {a}){rest})",
        {},
        op=["convert_to_hwc", "convert_to_chw"],
        shape=["[1, 1, 8, 64]", "[1, 2, 8, 64]", "[1, 1, 40, 64]"],
        dtype=["BF16", "F32"],
        layout=["RM", "TILE"],
        a=['M("WIDTH", G(0, 0, 1, 0), [8, 32])', "DRAM", 'M("WIDTH", G(0, 0, 0, 0), [8, 64])', 'M("HEIGHT", G(0, 0, 0, 0), [8, 64])'],
        rest=["", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 8])", ", memory_config=HSM", ", dtype=F32"],
    ),
    _family(
        "E.padded_slice(T({shape}, {dtype}, {layout}), {begin}, {end}, [1, 1, 1, {step}], memory_config={memory})",
        {},
        shape=["[1, 8, 8, 32]", "[1, 8, 8, 48]", "[2, 8, 8, 32]"],
        dtype=["BF16", "F32"],
        layout=["RM", "TILE"],
        begin=["[0, 0, 0, 0]", "[0, 2, 0, 0]", "[0, -6, 0, 0]", "[0, 0, 0]"],
        end=["[1, 4, 8, 32]", "[1, 8, 8, 32]", "[1, -1, 8, 32]", "[1, 9, 8, 32]"],
        step=["1", "2"],
        memory=['M("HEIGHT", G(0, 0, 3, 0), [8, 32])', 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])', 'M("BLOCK", G(0, 0, 1, 1), [16, 16])', 'M("WIDTH", G(0, 0, 1, 0), [32, 16])', "L1", "DRAM"],
    ),
    _family(
        "E.slice_write(T({shape}, {dtype}, {layout}, {a}), T([1, 8, 8, 32], {dtype}, RM), {begin}, {end}, [1, 1, 1, {step}])",
        {},
        shape=["[1, 4, 8, 32]", "[1, 1, 32, 32]"],
        dtype=["BF16", "F32"],
        layout=["RM", "TILE"],
        a=['M("HEIGHT", G(0, 0, 3, 0), [8, 32])', 'M("HEIGHT", G(0, 0, 1, 0), [16, 32])', "DRAM", "L1"],
        begin=["[0, 0, 0, 0]", "[0, 4, 0, 0]", "[0, -4, 0, 0]", "[0, 5, 0, 0]"],
        end=["[1, 4, 8, 32]", "[1, 8, 8, 32]", "[1, 9, 8, 32]"],
        step=["1", "2"],
    ),
    _family(
        "E.matmul_decode(T({a}, {dtype}, TILE, {pa}), T({b}, BF16, TILE, {pb}){rest})",
        {},
        a=["[1, 1, 32, 128]", "[1, 1, 64, 128]", "[1, 1, 8, 128]"],
        b=["[1, 1, 128, 128]", "[128, 64]"],
        dtype=["BF16", "BF8"],
        pa=['M("WIDTH", G(0, 0, 3, 0), [32, 32])', "L1", "DRAM"],
        pb=['M("WIDTH", G(0, 0, 3, 0), [128, 32])', 'M("WIDTH", G(0, 0, 1, 0), [128, 64])', "DRAM"],
        rest=[*(f", output_mem_config={memory}" for memory in ('M("WIDTH", G(0, 0, 3, 0), [32, 32])', "L1", 'M("WIDTH", G(0, 0, 1, 0), [32, 64])')), "", ", partial_width_sharded=True"],
    ),
    _family("E.minimal_matmul(T({a}, {dtype}), T({b}, {dtype}){rest})", {}, a=["[1, 1, 64, 128]", "[64, 96]", "[1, 1, 40, 128]"], b=["[128, 64]", "[1, 1, 128, 96]"], dtype=["BF16", "BF8", "F32"],
            rest=["", ", bias_tensor=T([1, 64])", ", memory_config=L1", ", dtype=F32", ", fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU)", ", compute_kernel_config=KC('LoFi', True)"]),
    _family("ttnn.{op}(T({shape}, {dtype}), {scale}, {zero}{rest})", {}, op=["quantize", "dequantize"], shape=["[64, 64]", "[1, 1, 40, 32]"], dtype=["BF16", "F32", "I32"], scale=["0.5", "T([64])", "T([1])"], zero=["3", "T([64], I32)"], rest=["", ", axis=0", ", axis=1", ", axis=2", ", dtype=I32", ", dtype=F32"]),
    _family("ttnn.dequantize(T([64, 64], I32), {scale}, {zero}{rest})", {}, scale=["0.5", "T([64])"], zero=["3", "T([64], I32)"], rest=["", ", axis=0", ", axis=1", ", axis=-1", ", dtype=F32", ", dtype=BF16"]),
    # Blocks that do not fit L1: a config of smaller ones, or another program.
    *(
        _family(
            "ttnn.matmul(T({sa}, {dtype}, TILE, {a}), T({sb}, {dtype}, TILE, {b}), memory_config={out}{rest})",
            {"a": a, "sa": sa, "out": out},
            sa=[sa],
            sb=["[1, 1, 2048, 2048]", "[1, 1, 2048, 8192]", "[1, 1, 2048, 64]", "[1, 1, 2048, 1024]"],
            dtype=["BF16", "F32"],
            a=[a, "DRAM", "L1"],
            b=["DRAM", "L1"],
            out=[out, "DRAM", "HSM", "WSM", "BSM"],
            rest=["", ", core_grid=ttnn.CoreGrid(x=8, y=8)", ", core_grid=ttnn.CoreGrid(x=1, y=8)", ", core_grid=ttnn.CoreGrid(x=8, y=1)", ", compute_kernel_config=KC('HiFi4', True)"],
        )
        for sa, a, out in (
            ("[1, 1, 2048, 2048]", 'M("BLOCK", G(0, 0, 7, 7), [256, 256])', "BSM"),
            ("[1, 1, 2048, 2048]", 'M("HEIGHT", G(0, 0, 7, 7), [32, 2048])', "HSM"),
            ("[1, 1, 64, 2048]", 'M("WIDTH", G(0, 0, 7, 7), [64, 32])', "WSM"),
            ("[1, 1, 2048, 2048]", "DRAM", "DRAM"),
            ("[1, 8, 1024, 2048]", "DRAM", "DRAM"),
            ("[1, 1, 8192, 2048]", "L1", "BSM"),
            ("[1, 1, 32, 2048]", "L1", "WSM"),
        )
    ),
    _family(
        "ttnn.matmul(T([1, 8, 128, 256], BF16, TILE, {a}), T([1, 8, 256, {n}], BF16, TILE, {b}), memory_config={out}{rest})",
        {},
        n=["128", "32", "2048"],
        a=["L1", 'M("HEIGHT", G(0, 0, 7, 0), [128, 256])', 'M("HEIGHT", G(0, 0, 7, 3), [32, 256])', 'M("WIDTH", G(0, 0, 7, 0), [1024, 32])', 'M("BLOCK", G(0, 0, 3, 3), [256, 64])'],
        b=["L1", 'M("HEIGHT", G(0, 0, 7, 0), [256, 128])', 'M("WIDTH", G(0, 0, 3, 0), [2048, 32])', 'M("HEIGHT", G(0, 0, 7, 7), [32, 128])'],
        out=["L1", "HSM", "WSM", "BSM", 'M("HEIGHT", G(0, 0, 7, 0), [128, 128])', 'M("HEIGHT", G(0, 0, 7, 3), [32, 128])'],
        rest=["", ", core_grid=ttnn.CoreGrid(x=8, y=4)"],
    ),
    *(
        _family("ttnn.{op}(T({shape}, {dtype}, TILE, {a}), {args})", {"op": op, "args": args}, shape=["[2, 1, 64, 64]", "[1, 1, 128, 64]", "[2, 1, 40, 64]", "[1, 1, 100, 64]"], dtype=["BF16", "F32", "BF8"],
                a=["L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [128, 32])', 'M("BLOCK", G(0, 0, 1, 1), [64, 32])'], args=[args, *more])
        for op, args, *more in (
            ("to_layout", "RM", "RM, memory_config=L1", "RM, memory_config=HSM"),
            ("untilize", "memory_config=L1", "memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", "memory_config=M('WIDTH', G(0, 0, 1, 0), [128, 32])", "use_multicore=False"),
            ("untilize_with_unpadding", "[1, 0, 39, 63]", "[0, 0, 99, 63]", "[0, 0, 99, 63], memory_config=L1", "[0, 0, 127, 31]", "[0, 0, 99, 63], memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", "[0, 0, 99, 63], memory_config=HSM"),
        )
    ),
    _family(
        "ttnn.pow(T({shape}, {dtype}), {exponent}{rest})",
        {},
        shape=["[1, 1, 64, 32]", "[40]"],
        dtype=["I32", "BF16", "F32", "U32"],
        exponent=["3", "2", "0", "1", "-1", "2.0", "2.5", "31", "T([1, 1, 64, 32], I32)", "T([1, 1, 1, 1], I32)"],
        rest=["", ", memory_config=L1"],
    ),
    _family("ttnn.pow({base}, T([1, 1, 64, 32], {dtype}))", {}, base=["2", "3.5", "-1", "1", "0", "T([1, 1, 64, 32], I32)"], dtype=["I32", "BF16", "F32"]),
    *(
        _family("ttnn.clone(T({shape}, {dtype}, {layout}, {a}){rest})", {"a": a}, shape=["[1, 1, 128, 64]", "[0, 64]"], dtype=["BF16", "F32", "I32", "ttnn.int8"], layout=["TILE", "RM"], a=[a],
                rest=["", ", dtype=F32", ", dtype=BF16", ", dtype=I32", ", dtype=BF8", ", memory_config=L1", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", ", memory_config=HSM", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [64, 64])"])
        for a in ("DRAM", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])')
    ),
    *(Family("ttnn.clone(T({shape}, ttnn.int8, TILE), dtype={dtype})", ({"shape": shape, "dtype": "F32"},), {"dtype": ["BF16", "I32", "ttnn.int8", "U32", "None"]}) for shape in ("[64, 64]", "[0, 64]")),
    *(
        _family("X.scaled_dot_product_attention(T({q}, {dtype}), T([1, 1, 32, 32], {dtype}), T([1, 1, 32, 32], {dtype}){rest})", {}, q=["[1, 2, 32, 32]", "[1, 1, 32, 32]"], dtype=[dtype],
                rest=[", is_causal=False, attn_mask=T([1, 1, 32, 32])", ", is_causal=True", ", is_causal=False, scale=-0.5", ", is_causal=False, scale=0.25", ", is_causal=False, attn_mask=T([1, 2, 32, 32]), scale=0.5", ", is_causal=True, sliding_window_size=5", ", is_causal=False, attention_sink=T([1, 2, 1, 1])",
                      ", is_causal=True, compute_kernel_config=KC('HiFi4', True)", ", is_causal=False, compute_kernel_config=KC('LoFi')"])
        for dtype in ("BF16", "BF8")
    ),
    *(
        _family("ttnn.{op}(T({shape}, {dtype}, {layout}), {args})", {"op": op}, shape=["[2, 3, 40, 24]", "[64, 64]", "[1, 1, 1, 64]", "[7]"], dtype=["BF16", "F32", "I32"], layout=["TILE", "RM"], args=args)
        for op, args in (
            ("argmax", ["dim=-1", "dim=1", "dim=0", "dim=-1, keepdim=True", "dim=2", "dim=4", "dim=-1, use_multicore=True"]), ("cumsum", ["dim=1", "dim=-1", "dim=0, dtype=F32", "dim=2, reverse_order=True", "dim=4"]),
            ("cumprod", ["dim=1", "dim=-1", "dim=0, dtype=F32", "dim=2, reverse_order=True"]), ("nonzero", ["memory_config=DRAM", "memory_config=L1"]),
        )
    ),
    _family("ttnn.fill_cache(T([2, 4, 64, 32]), T([1, 4, {rows}, 32]), {at}{rest})", {}, rows=["32", "64", "96", "40"], at=["0", "1", "2"], rest=["", ", update_idx=32", ", update_idx=33"]),
    # Results that are given.
    *(
        _family(
            "ttnn.{op}({given}, {name}=T({shape}, {dtype}, {layout}, {a}){rest})",
            {"op": op, "given": given, "name": name},
            shape=[shape, "[1, 1, 64, 64]", "[64, 64]", "[1, 1, 96, 64]"],
            dtype=["BF16", "F32", "BF8", "I32"],
            layout=["TILE", "RM"],
            a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])'],
            rest=["", ", memory_config=L1"],
        )
        for op, given, name, shape in (
            ("add", "T([1, 1, 64, 64]), T([1, 1, 1, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("pow", "T([1, 1, 64, 64]), 2.5", "output_tensor", "[1, 1, 64, 64]"),
            ("eq", "T([1, 1, 64, 64]), T([1, 1, 64, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("relu", "T([1, 1, 64, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("clamp", "T([1, 1, 64, 64]), -1.0, 1.0", "output_tensor", "[1, 1, 64, 64]"),
            ("where", "T([1, 1, 64, 64]), 1.0, T([1, 1, 64, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("concat", "[T([1, 1, 64, 32]), T([1, 1, 64, 32])], 3", "output_tensor", "[1, 1, 64, 64]"),
            ("argmax", "T([1, 1, 64, 64]), dim=-1, keepdim=True", "output_tensor", "[1, 1, 64, 1]"),
            ("embedding", "T([1, 64], U32, RM), T([16, 64], BF16, RM), layout=TILE", "output_tensor", "[1, 64, 64]"),
            ("matmul", "T([1, 1, 64, 32]), T([1, 1, 32, 64])", "optional_output_tensor", "[1, 1, 64, 64]"),
            ("repeat", "T([1, 1, 32, 64]), [1, 1, 2, 1]", "optional_output_tensor", "[1, 1, 64, 64]"),
            ("batch_norm", "T([1, 1, 64, 64]), running_mean=T([1, 1, 1, 1]), running_var=T([1, 1, 1, 1]), eps=100.0", "output", "[1, 1, 64, 64]"),
            ("typecast", "T([1, 1, 64, 64]), F32", "output_tensor", "[1, 1, 64, 64]"),
        )
    ),
    _family(
        "E.nlp_concat_heads_decode(T([1, 4, 32, 64], BF16, TILE, M('HEIGHT', G(0, 0, 3, 0), [32, 64])), num_heads=8, output_tensor=T({shape}, {dtype}, TILE, {a}))",
        {},
        shape=["[1, 1, 32, 512]", "[1, 1, 4, 512]", "[1, 1, 3, 512]", "[1, 1, 32, 448]", "[1, 2, 32, 512]", "[32, 512]"],
        dtype=["BF16", "F32"],
        a=['M("WIDTH", G(0, 0, 7, 0), [32, 64])', "DRAM", "L1", 'M("WIDTH", G(0, 0, 3, 0), [32, 128])'],
    ),
    # Numbers of 8 bits, which only Blackhole has.
    *(
        _family("ttnn.{op}(T({shape}, ttnn.fp8_e4m3, RM, {a}), {args})", {"op": op}, shape=["[1, 2, 8, 32]", "[1]", "[1, 1, 1, 1]", "[1, 1, 1, 2]"], a=["DRAM", "L1"], args=args)
        for op, args in (
            ("permute", ["[0, 2, 1, 3]", "[0, 1, 3, 2]", "[0]"]), ("permute", ["[0, 1, 3, 2]"]), ("transpose", ["2, 3"]), ("transpose", ["1, 2", "2, 3", "0, 0"]), ("reshape", ["[1, 1, 16, 32]", "[1]", "[2]"]), ("concat", ["0"]), ("clone", ["memory_config=L1", "dtype=BF16"]), ("to_layout", ["TILE", "RM"]),
            ("typecast", ["BF16", "F32"]), ("slice", ["[0, 0, 0, 0], [1, 1, 8, 32]", "[0, 0, 0, 0], [1, 2, 8, 16]"]), ("pad", ["[(0, 0), (0, 0), (0, 8), (0, 0)], 0.0"]), ("repeat", ["[1, 1, 2, 1]"]), ("to_memory_config", ["L1", "M('HEIGHT', G(0, 0, 1, 0), [8, 32])"]),
        )
    ),
)  # fmt: skip


def changed_calls() -> list[str]:
    return list(dict.fromkeys(call for family in FAMILIES for call in family.calls()))
