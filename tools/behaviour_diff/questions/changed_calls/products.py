"""Matrix products: program configs, shards of operands and results, fused activations."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import BLOCK, BY_COLUMNS, DRAM_WIDTH, HEIGHT, OUTPUTS, PLACES, WIDTH, Family, family

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
    "a": PLACES,
    "b": PLACES,
    "out": OUTPUTS,
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
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "1", "m": "8", "n": "1", "flag": "True", "a": WIDTH, "out": WIDTH},
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "8", "m": "1", "n": "8", "flag": "False", "a": HEIGHT, "out": HEIGHT, "sw": "4"},
            {**_COMMON, "config": _ONE, "grid": "(8, 1)", "w": "1", "m": "8", "n": "1", "flag": "True", "a": WIDTH, "b": WIDTH, "out": WIDTH},
            {**_COMMON, "config": _TWO, "grid": "(4, 4)", "w": "2", "m": "2", "n": "2", "flag": "False"},
            {**_COMMON, "config": _TWO, "grid": "(4, 4)", "w": "2", "m": "2", "n": "2", "flag": "False", "a": BLOCK, "out": BLOCK},
            {**_COMMON, "config": _TWO, "grid": "(4, 4)", "w": "2", "m": "2", "n": "2", "flag": "True", "a": BY_COLUMNS, "out": BY_COLUMNS},
            {**_COMMON, "config": _TWO, "grid": "(8, 8)", "w": "1", "m": "1", "n": "1", "flag": "False", "b": DRAM_WIDTH},
            {**_COMMON, "config": _REUSE, "grid": "(8, 8)", "w": "2", "m": "4", "n": "8", "flag": "", "sa": _BATCHED, "sb": "[1, 2, 256, 256]"},
            {**_COMMON, "config": _REUSE, "grid": "(8, 1)", "w": "8", "m": "1", "n": "8", "flag": "", "a": HEIGHT, "out": HEIGHT},
            {**_COMMON, "config": _DRAM_CONFIG, "grid": "", "w": "1", "m": "8", "n": "1", "flag": "", "a": WIDTH, "b": DRAM_WIDTH, "out": WIDTH},
            {**_COMMON, "config": "None", "grid": "", "w": "", "m": "", "n": "", "flag": ""},
            {**_COMMON, "op": "linear", "config": "None", "grid": "", "w": "", "m": "", "n": "", "flag": "", "rest": ", bias=T([1, 256])"},
        ),
        _PRODUCT_OTHERS,
        200,
    ),
    # Without a config: the op makes one.
    family(
        "ttnn.{op}(T({sa}, BF16, TILE, {a}), T({sb}, BF16, TILE, {b}), memory_config={out}{rest})",
        {},
        op=["matmul", "linear"],
        sa=[_SQUARE, _BATCHED, "[256]", "[2, 256]", "[1, 1, 32, 256]", "[1, 1, 2048, 256]", "[8, 32, 256]", "[1, 1, 256, 256]", "[3, 1, 64, 256]", "[1, 1, 8192, 256]"],
        sb=[_SQUARE, "[256]", "[256, 32]", "[256, 2048]", "[1, 2, 256, 64]", "[256, 8192]", "[1, 8, 256, 64]", "[1, 3, 256, 64]"],
        a=PLACES,
        b=PLACES,
        out=OUTPUTS,
        rest=["", ", core_grid=ttnn.CoreGrid(x=4, y=4)", ", core_grid=ttnn.CoreGrid(x=8, y=1)", ", core_grid=ttnn.CoreGrid(x=1, y=8)", ", transpose_a=True",
              ", transpose_b=True", ", dtype=F32", ", activation='relu'", ", compute_kernel_config=KC('LoFi')", ", compute_kernel_config=KC('HiFi4', True)"],
    ),
    *(
        Family(
            "ttnn.matmul(T({sa}, BF16, TILE, {a}), T({sb}, BF16, TILE, {b}), memory_config={out}{rest})",
            ({"sa": sa, "sb": sb, "a": a, "b": b, "out": out, "rest": rest},),
            {"out": OUTPUTS, "rest": ["", ", core_grid=ttnn.CoreGrid(x=8, y=8)"]},
        )
        for sa, sb, a, b, out, rest in (
            ("[1, 1, 32, 256]", _SQUARE, 'M("WIDTH", G(0, 0, 7, 0), [32, 32])', "DRAM", 'M("WIDTH", G(0, 0, 7, 0), [32, 32])', ""),
            (_SQUARE, _SQUARE, HEIGHT, "DRAM", "HSM", ""),
            (_SQUARE, _SQUARE, WIDTH, "DRAM", "WSM", ""),
            (_SQUARE, _SQUARE, BLOCK, "DRAM", "BSM", ""),
            (_SQUARE, _SQUARE, BY_COLUMNS, "DRAM", "BSM", ""),
            ("[1, 8, 32, 256]", "[1, 8, 256, 64]", HEIGHT, "DRAM", "HSM", ""),
            ("[1, 8, 32, 256]", "[1, 8, 256, 64]", HEIGHT, 'M("HEIGHT", G(0, 0, 7, 0), [256, 64])', "HSM", ""),
            ("[1, 8, 32, 256]", "[1, 8, 256, 64]", "DRAM", 'M("HEIGHT", G(0, 0, 7, 0), [256, 64])', "DRAM", ""),
            ("[1, 8, 256, 32]", "[1, 8, 32, 64]", "L1", "L1", 'M("HEIGHT", G(0, 0, 7, 7), [32, 64])', ""),
        )
    ),
    family(
        "ttnn.{op}(T({a}, {dtype}), T({b}, {dtype}), T({c}, {dtype}){rest})",
        {"op": "addmm"},
        a=["[64, 32]", "[1, 32]", "[32]"],
        b=["[64, 96]", "[64, 40]"],
        c=["[96, 32]", "[64, 32]"],
        dtype=["BF16", "F32"],
        rest=["", ", alpha=2.0", ", beta=3.0", ", alpha=0.5, beta=0.0", ", memory_config=L1", ", dtype=F32"],
    ),
    family("ttnn.outer(T({a}, {dtype}), T({b}, {dtype}){rest})", {}, a=["[64]", "[1, 1, 1, 64]", "[2, 64]"], b=["[32]", "[1, 1, 1, 32]"], dtype=["BF16", "F32"], rest=["", ", memory_config=L1"]),
    family(
        "E.matmul_decode(T({a}, {dtype}, TILE, {pa}), T({b}, BF16, TILE, {pb}){rest})",
        {},
        a=["[1, 1, 32, 128]", "[1, 1, 64, 128]", "[1, 1, 8, 128]"],
        b=["[1, 1, 128, 128]", "[128, 64]"],
        dtype=["BF16", "BF8"],
        pa=['M("WIDTH", G(0, 0, 3, 0), [32, 32])', "L1", "DRAM"],
        pb=['M("WIDTH", G(0, 0, 3, 0), [128, 32])', 'M("WIDTH", G(0, 0, 1, 0), [128, 64])', "DRAM"],
        rest=[*(f", output_mem_config={memory}" for memory in ('M("WIDTH", G(0, 0, 3, 0), [32, 32])', "L1", 'M("WIDTH", G(0, 0, 1, 0), [32, 64])')), "", ", partial_width_sharded=True"],
    ),
    family("E.minimal_matmul(T({a}, {dtype}), T({b}, {dtype}){rest})", {}, a=["[1, 1, 64, 128]", "[64, 96]", "[1, 1, 40, 128]"], b=["[128, 64]", "[1, 1, 128, 96]"], dtype=["BF16", "BF8", "F32"],
            rest=["", ", bias_tensor=T([1, 64])", ", memory_config=L1", ", dtype=F32", ", fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU)", ", compute_kernel_config=KC('LoFi', True)"]),
    # Blocks that do not fit L1: a config of smaller ones, or another program.
    *(
        family(
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
    family(
        "ttnn.matmul(T([1, 8, 128, 256], BF16, TILE, {a}), T([1, 8, 256, {n}], BF16, TILE, {b}), memory_config={out}{rest})",
        {},
        n=["128", "32", "2048"],
        a=["L1", 'M("HEIGHT", G(0, 0, 7, 0), [128, 256])', 'M("HEIGHT", G(0, 0, 7, 3), [32, 256])', 'M("WIDTH", G(0, 0, 7, 0), [1024, 32])', 'M("BLOCK", G(0, 0, 3, 3), [256, 64])'],
        b=["L1", 'M("HEIGHT", G(0, 0, 7, 0), [256, 128])', 'M("WIDTH", G(0, 0, 3, 0), [2048, 32])', 'M("HEIGHT", G(0, 0, 7, 7), [32, 128])'],
        out=["L1", "HSM", "WSM", "BSM", 'M("HEIGHT", G(0, 0, 7, 0), [128, 128])', 'M("HEIGHT", G(0, 0, 7, 3), [32, 128])'],
        rest=["", ", core_grid=ttnn.CoreGrid(x=8, y=4)"],
    ),
)  # fmt: skip
