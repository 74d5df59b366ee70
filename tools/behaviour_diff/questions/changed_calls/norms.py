"""Norms, softmax, reductions, and what sorts."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import family

FAMILIES = (
    family(
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
        family(
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
    family(
        "ttnn.{op}(T([1, 4, 64, 128], {dtype}, TILE, {a}){rest}, program_config={config})",
        {},
        op=["softmax_in_place", "scale_mask_softmax_in_place", "scale_causal_mask_hw_dims_softmax_in_place", "softmax"],
        dtype=["BF16", "F32"],
        a=['M("HEIGHT", G(0, 0, 3, 1), [32, 128])', 'M("BLOCK", G(0, 0, 0, 3), [64, 128])', "DRAM", "L1"],
        rest=["", ", numeric_stable=False", ", 0.5", ", 0.5, T([1, 1, 32, 128])", ", 0.5, T([1, 4, 64, 128])", ", 0.5, T([1, 1, 64, 128])", ", 0.5, T([1, 1, 64, 128]), is_causal_mask=True", ", dim=-1", ", dim=-2", ", dim=1"],
        config=[f"ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size={g}, subblock_w={s}, block_h={h}, block_w={w})" for g, s, h, w in ((("(4, 2)"), 4, 1, 4), ("(4, 2)", 3, 1, 4), ("(4, 2)", 4, 2, 4), ("(4, 1)", 4, 1, 4), ("(4, 2)", 2, 1, 2))] + ["ttnn.SoftmaxDefaultProgramConfig()"],
    ),
    family(
        "ttnn.{op}(T([1, 2, 64, 96], {dtype}, {layout}, {a}){rest})",
        {},
        op=["sum", "mean", "max", "min", "std", "var", "prod", "argmax", "cumsum", "cumprod"],
        dtype=["BF16", "F32", "BF8", "I32"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 2, 0), [128, 32])'],
        rest=[", dim=-1", "", ", dim=-2", ", dim=1", ", dim=0", ", dim=-1, keepdim=True", ", dim=[1, 2]", ", dim=[2, 3], keepdim=True", ", dim=4", ", dim=-5", ", dim=-1, memory_config=L1", ", dim=3, memory_config=HSM"],
    ),
    family(
        "ttnn.{op}(T({shape}, {dtype}), {args})",
        {},
        op=["topk", "sort"],
        shape=["[1, 1, 32, 64]", "[1, 1, 32, 100]", "[2, 3, 32, 64]", "[64]", "[1, 1, 1, 8192]"],
        dtype=["BF16", "F32", "BF8"],
        args=["k=5, dim=-1", "k=32", "k=33", "k=65", "k=4, dim=2", "k=4, largest=False", "k=4, sorted=False", "k=4, memory_config=L1", "dim=-1", "dim=2", "dim=1, descending=True", "descending=True", "dim=4", "stable=True"],
    ),
    family("ttnn.sort(T({shape}, {dtype}, {layout}, {a}), {args})", {}, shape=["[1, 1, 32, 64]", "[]", "[1]", "[64]", "[1, 1, 32, 100]", "[1, 1, 64, 1]", "[0, 4]"], dtype=["BF16", "F32", "U16", "U32"], layout=["TILE", "RM"],
            a=["DRAM", "L1"], args=["dim=-1", "dim=0", "dim=1", "dim=2", "dim=1, descending=True", "dim=4", "dim=-1, stable=True", "dim=-1, memory_config=L1"]),
    family("ttnn.sort(T([], BF16), {args})", {}, args=["dim=0", "dim=-1", "dim=1", "dim=-2"]),
    family(
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
    *(
        family(
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
        family(
            "ttnn.{op}(T({shape}, {dtype}), T([1, 1, 64, {stats}]), epsilon=0.1{rest})",
            {"op": op, "stats": stats},
            shape=["[1, 1, 64, 128]", "[1, 1, 40, 128]"],
            dtype=["BF16", "F32"],
            stats=["32", "64", "128"],
            rest=["", ", weight=T([1, 1, 1, 128])", ", weight=T([1, 1, 4, 32], BF16, RM)", ", weight=T([1, 128]), bias=T([1, 128])", ", dtype=F32", ", memory_config=L1"],
        )
        for op, stats in (("rms_norm_post_all_gather", "32"), ("layer_norm_post_all_gather", "64"))
    ),
    family(
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
        family(
            "ttnn.prod(T({shape}, {dtype}){rest})",
            {},
            shape=[shape],
            dtype=["BF16", "F32"],
            rest=["", ", dim=0", ", dim=1", ", dim=-1", ", dim=-2, keepdim=True", ", dim=2", ", dim=4", ", dim=1, memory_config=L1"],
        )
        for shape in ("[2, 3, 4, 5]", "[2, 2, 2, 3, 4]", "[3, 4]", "[5]", "[]")
    ),
    family("E.fast_reduce_nc(T({shape}, {dtype}), dims={dims}{rest})", {}, shape=["[2, 4, 64, 32]", "[1, 3, 40, 32]"], dtype=["BF16", "F32", "BF8"], dims=["[1]", "[0]", "[0, 1]", "[2]", "[]", "[-3]"], rest=["", ", memory_config=L1"]),
    *(
        family("ttnn.{op}(T({shape}, {dtype}, {layout}), {args})", {"op": op}, shape=["[2, 3, 40, 24]", "[64, 64]", "[1, 1, 1, 64]", "[7]"], dtype=["BF16", "F32", "I32"], layout=["TILE", "RM"], args=args)
        for op, args in (
            ("argmax", ["dim=-1", "dim=1", "dim=0", "dim=-1, keepdim=True", "dim=2", "dim=4", "dim=-1, use_multicore=True"]), ("cumsum", ["dim=1", "dim=-1", "dim=0, dtype=F32", "dim=2, reverse_order=True", "dim=4"]),
            ("cumprod", ["dim=1", "dim=-1", "dim=0, dtype=F32", "dim=2, reverse_order=True"]), ("nonzero", ["memory_config=DRAM", "memory_config=L1"]),
        )
    ),
)  # fmt: skip
