"""Calls for branches that the families of the other topics do not reach: by op, with what decides the branch."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import Family, family

_SHARDED = [f'{shape}, {dtype}, TILE, M("{scheme}", G(0, 0, {x}, {y}), {shard})' for dtype in ("BF16", "F32") for shape, scheme, x, y, shard in (
    ("[1, 1, 64, 64]", "HEIGHT", 1, 0, "[32, 64]"), ("[1, 1, 64, 32]", "HEIGHT", 1, 0, "[32, 32]"), ("[1, 1, 64, 96]", "HEIGHT", 0, 1, "[32, 96]"), ("[1, 2, 32, 128]", "HEIGHT", 1, 0, "[32, 128]"),
    ("[64, 40]", "HEIGHT", 1, 0, "[32, 64]"), ("[1, 1, 64, 64]", "WIDTH", 1, 0, "[64, 32]"), ("[1, 1, 64, 96]", "BLOCK", 2, 1, "[32, 32]"), ("[2, 1, 40, 64]", "HEIGHT", 1, 0, "[64, 64]"))]  # fmt: skip

_GRID = "compute_with_storage_grid_size=({}, {}), in0_block_w={}, out_subblock_h=1, out_subblock_w=1, per_core_M={}, per_core_N={}, fused_activation=None"
_FIRST = [f"[1, 1, {m}, 256], BF16, TILE, {a}" for m, a in (
    (32, "M('WIDTH', G(0, 0, 7, 0), [32, 32])"), (64, "M('HEIGHT', G(0, 0, 0, 1), [32, 256])"), (64, "M('WIDTH', G(0, 0, 7, 0), [64, 32])"), (32, "M('WIDTH', G(0, 0, 0, 7), [32, 32], 'COL_MAJOR')"), (32, "M('WIDTH', G(0, 0, 3, 1), [32, 32], 'COL_MAJOR')"), (32, "M('BLOCK', G(0, 0, 7, 0), [32, 32])"),
    (64, "M('HEIGHT', G(0, 0, 1, 0), [32, 256])"), (64, "M('HEIGHT', G(0, 0, 0, 1), [32, 256], 'COL_MAJOR')"), (64, "M('BLOCK', G(0, 0, 1, 3), [32, 64], 'COL_MAJOR')"), (64, "M('BLOCK', G(0, 0, 3, 1), [32, 64])"), (64, "L1"))]  # fmt: skip


def _each(*calls: str) -> Family:
    return family("{call}", {}, 0, call=list(calls))


FAMILIES = (
    # Height shards that become wider and longer: two paddings.
    family(
        "ttnn.pad(T({shape}, {dtype}, {layout}, {a}), {args})", {}, 24,
        shape=["[2, 1, 64, 32]", "[1, 2, 32, 32]", "[128, 32]"], dtype=["BF16", "F32"], layout=["RM", "TILE"],
        a=['M("HEIGHT", G(0, 0, 1, 0), [64, 32])', 'M("HEIGHT", G(0, 0, 0, 0), [128, 32])', "DRAM", "L1"],
        args=["[(0, 1), (0, 0), (0, 0), (0, 32)], 1.0", "[(0, 0), (0, 1), (0, 0), (0, 32)], 1.0", "[(0, 0), (0, 0), (0, 32), (0, 32)], 1.0", "[(1, 0), (0, 1), (0, 0), (0, 32)], 2.0", "[(0, 1), (0, 0), (0, 64), (0, 0)], 2.0", "[(0, 1), (0, 0), (0, 0), (32, 0)], 2.0"],
    ),
    # What sorts rows of shards, turns and widens them.
    family("ttnn.topk(T({x}), {k}{rest})", {}, 40, x=_SHARDED, k=["32", "5"], rest=[", memory_config=DRAM", "", ", dim=2, memory_config=DRAM", ", dim=0, memory_config=L1", ", memory_config=L1", ", memory_config=HSM", ", largest=False, memory_config=DRAM"]),
    family("ttnn.sort(T({x}){rest})", {}, 40, x=[*_SHARDED, "[1, 1, 64, 64], U16"], rest=["", ", dim=2", ", dim=0", ", memory_config=HSM", *(f", out=(T({values}), T([1, 1, 64, {w}], {index}))" for values, w, index in (("[1, 1, 64, 64]", 64, "U16"), ("[1, 1, 64, 64]", 64, "U32"), ("[1, 1, 64, 64], U16", 64, "U32"), ("[1, 1, 64, 32]", 64, "U16"), ("[1, 1, 64, 64]", 32, "U16"), ("[1, 1, 64, 64]", 64, "BF16")))]),
    # Running sums whose dimension is turned to the front, in shards: those of the turned tensor.
    *(
        family("ttnn.{op}(T({shape}, {dtype}), {dim}, memory_config={out})", {}, 40, op=["cumsum", "cumprod"], shape=[shape], dtype=["F32", "BF16"], dim=["1", "0", "2", "-1", "-2"], out=[f'M("{scheme}", G(0, 0, {x}, {y}), [{h}, {w}])' for scheme, x, y, h, w in outs])
        for shape, outs in (
            ("[1, 2, 3, 64, 64]", (("HEIGHT", 0, 5, 64, 64), ("HEIGHT", 0, 5, 2048, 32), ("HEIGHT", 0, 3, 2048, 32), ("HEIGHT", 0, 1, 192, 64), ("HEIGHT", 0, 2, 128, 64), ("WIDTH", 0, 1, 384, 32), ("HEIGHT", 7, 0, 64, 64))),
            ("[2, 3, 64, 64]", (("HEIGHT", 5, 0, 64, 64), ("HEIGHT", 0, 5, 64, 64), ("HEIGHT", 7, 0, 512, 32), ("HEIGHT", 5, 0, 2048, 32), ("WIDTH", 1, 0, 384, 32), ("HEIGHT", 2, 0, 128, 64), ("HEIGHT", 7, 5, 128, 32))),
            ("[3, 64, 64]", (("HEIGHT", 2, 0, 64, 64), ("HEIGHT", 5, 0, 32, 64), ("HEIGHT", 7, 0, 256, 64), ("WIDTH", 1, 0, 192, 32), ("HEIGHT", 0, 2, 64, 64), ("HEIGHT", 7, 7, 96, 64), ("HEIGHT", 5, 0, 1024, 32))),
            ("[64, 64]", (("HEIGHT", 1, 0, 32, 64), ("HEIGHT", 0, 1, 32, 64), ("HEIGHT", 7, 0, 256, 64), ("HEIGHT", 7, 7, 32, 64), ("HEIGHT", 7, 7, 64, 32), ("WIDTH", 1, 0, 64, 32))),
        )
    ),
    family("ttnn.cumsum(T([3, 64, 64], F32), {dim}, out=T([3, 64, 64], {dtype}, TILE, {a}), memory_config={out})", {}, 24, dim=["1", "0", "2"], dtype=["F32", "BF16"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 0, 2), [64, 64])'], out=["DRAM", *(f'M("HEIGHT", G(0, 0, 0, {y}), [{h}, {w}])' for y, h, w in ((2, 64, 64), (1, 1024, 64), (1, 96, 64), (0, 192, 64), (5, 32, 64)))]),
    _each(*(f"ttnn.argmax(T({shape}, BF16, {layout}), {rest})" for shape in ("[0, 4]", "[4, 0]", "[]", "[2, 0, 4]") for layout in ("RM", "TILE") for rest in ("dim=0", "dim=1, keepdim=True", "dim=-1", "keepdim=True", "dim=0, memory_config=L1"))),
    # Masks of softmax in place: in shards, as rows of 32 values, of all rows.
    family(
        "ttnn.{op}(T([{b}, 1, 64, 128], BF16, TILE, {a}), {scale}, {mask}{config})", {}, 40,
        op=["scale_mask_softmax_in_place", "scale_causal_mask_hw_dims_softmax_in_place", "scale_mask_softmax"], b=["2", "1"], a=['M("HEIGHT", G(0, 0, 3, 0), [32, 128])', 'M("HEIGHT", G(0, 0, 1, 0), [32, 128])', "DRAM", 'M("HEIGHT", G(0, 0, 3, 0), [32, 128], "COL_MAJOR")'], scale=["0.5", "None"],
        mask=["T([2, 1, 4, 32], BF16, RM)", "T([2, 1, 64, 128], BF16, TILE, M('HEIGHT', G(0, 0, 3, 0), [32, 128]))", "T([2, 1, 32, 128], BF16, TILE, M('HEIGHT', G(0, 0, 1, 0), [32, 128]))", "T([2, 1, 2, 64], BF16, RM)", "T([2, 1, 1, 128], BF16, RM)", "T([2, 1, 32, 128])", "T([2, 1, 64, 128])", "T([1, 1, 4, 32], BF16, RM)", "T([2, 1, 64, 128], BF16, RM, M('HEIGHT', G(0, 0, 3, 0), [32, 128]))"],
        config=["", *(f", program_config=ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size={grid}, subblock_w={s}, block_h={h}, block_w={w})" for grid, s, h, w in (("(4, 1)", 4, 1, 4), ("(4, 1)", 2, 1, 4), ("(4, 1)", 4, 2, 4), ("(2, 1)", 4, 1, 4), ("(2, 2)", 1, 1, 4), ("(4, 1)", 0, 1, 4)))],
    ),
    # Norms of shards: where they lie, and registers of a subblock.
    family(
        "ttnn.{op}(T([1, 1, 64, {w}], BF16, TILE, {a}){rest})", {}, 24, op=["layer_norm", "rms_norm"], w=["512", "500"],
        a=['M("WIDTH", G(0, 0, 0, 0), [64, 512])', 'M("BLOCK", G(0, 0, 0, 1), [32, 512])', 'M("WIDTH", G(0, 0, 1, 0), [64, 256], buffer="DRAM")', 'M("WIDTH", G(0, 0, 3, 0), [64, 128], "COL_MAJOR")', 'M("WIDTH", G(0, 0, 0, 3), [64, 128], "COL_MAJOR")', 'M("WIDTH", G(0, 0, 7, 0), [64, 128])', 'M("BLOCK", G(0, 0, 3, 1), [32, 128])'],
        rest=["", ", memory_config=DRAM", ", memory_config=HSM", ", memory_config=BSM", ", memory_config=WSM",
              *(f", program_config=ttnn.LayerNormShardedMultiCoreProgramConfig(compute_with_storage_grid_size=(1, 1), subblock_w={s}, block_h=2, block_w=16, inplace={i}){math}" for s, i in ((8, False), (16, False), (4, True), (0, False), (8, True)) for math in ("", ", compute_kernel_config=KC('HiFi2', True)"))],
    ),
    # Shares of a slice: of one chip.
    family("ttnn.slice(T([2, 3, 40, 64], BF16, RM), {begin}, {end}{rest})", {}, 0, begin=["T([4], U32, RM)", "[0, 0, 0, 0]", "T([3], U32, RM)"], end=["T([4], U32, RM)", "[2, 3, 40, 64]", "T([2], U32, RM)"], rest=["", ", slice_dim=2, num_devices=4", ", slice_dim=3, num_devices=2", ", slice_dim=0, num_devices=3", ", slice_dim=0, num_devices=1"]),
    # Heads of shards, joined and taken apart.
    family("X.concatenate_heads(T([{b}, {n}, 64, 32], BF16, TILE, {a}){rest})", {}, 24, b=["1", "2"], n=["4", "8", "3"], a=['M("HEIGHT", G(0, 0, 3, 0), [64, 32])', 'M("HEIGHT", G(0, 0, 1, 0), [128, 32])', 'M("HEIGHT", G(0, 0, 0, 0), [256, 32])', 'M("BLOCK", G(0, 0, 0, 1), [128, 32])', 'M("HEIGHT", G(0, 0, 7, 0), [32, 32])', "DRAM"],
           rest=["", ", memory_config=L1", ", memory_config=BSM", ", memory_config=HSM", ", memory_config=WSM"]),
    family("E.nlp_concat_heads(T([{b}, {n}, 64, 32], {dtype}, TILE, {a}){rest})", {}, 24, b=["1", "2"], n=["4", "8", "3"], dtype=["BF16", "F32"], a=['M("HEIGHT", G(0, 0, 3, 0), [64, 32])', 'M("HEIGHT", G(0, 0, 1, 0), [128, 32])', 'M("BLOCK", G(0, 0, 0, 1), [128, 32])', 'M("HEIGHT", G(0, 0, 7, 0), [32, 32])', "L1"],
           rest=["", ", memory_config=L1", ", memory_config=BSM", ", memory_config=HSM", ", memory_config=WSM"]),
    family("X.split_query_key_value_and_split_heads(T([2, 64, {w}], {dtype}, TILE, {a}){kv}, num_heads={h}{rest})", {}, 24, w=["768", "256"], dtype=["BF16", "U16", "BF4", "F32"], a=['M("BLOCK", G(0, 0, 1, 1), [64, 384])', "DRAM", 'M("BLOCK", G(0, 0, 3, 1), [64, 64])'], kv=["", ", T([2, 64, 512])"], h=["8", "4", "0"], rest=["", ", num_kv_heads=4", ", memory_config=BSM", ", memory_config=L1", ", transpose_key=False", ", memory_config=HSM"]),
    family("E.split_query_key_value_and_split_heads(T([{b}, 1, {s}, 768], BF16, TILE, {a}), ttnn.CoreCoord({x}, {y}), num_heads={h}{rest})", {}, 24, b=["7", "9", "6", "10", "2"], s=["64", "256", "288"], a=["DRAM", "L1", 'M("BLOCK", G(0, 0, 1, 1), [64, 384])'], x=["2", "8", "1"], y=["2", "9", "1"], h=["8", "4", "16", "0", "3"], rest=["", ", memory_config=BSM", ", memory_config=L1", ", memory_config=HSM"]),
    family("E.nlp_create_qkv_heads_decode(T([1, 1, {users}, 384], BF16, TILE, {a}), num_heads=8, num_kv_heads=2, batch_offset=T([1], U32, RM), slice_size={slice}{rest})", {}, 12, users=["32", "4", "8"], a=["DRAM", 'M("WIDTH", G(0, 0, 11, 0), [32, 32])', 'M("WIDTH", G(0, 0, 5, 0), [32, 64])'], slice=["4", "8", "32", "0", "33"], rest=["", ", overlap_qk_coregrid=False", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 32])", ", memory_config=M('HEIGHT', G(0, 0, 0, 0), [32, 32])"]),
    family("E.rotary_embedding{kind}(T([1, {h}, {s}, 64], {dtype}, TILE, {a}), T([1, 1, {t}, 64]), T([1, 1, {t}, 64]){rest})", {}, 24, kind=["", "_hf"], h=["4", "1"], s=["64", "32", "2144"], t=["64", "128", "32", "2144"], dtype=["BF16", "F32"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64])'], rest=["", ", memory_config=L1", ", memory_config=HSM", ", memory_config=WSM"]),
    # Grouped heads of one token, each with what it refuses.
    family("X.scaled_dot_product_attention_decode(T([1, 2, {h}, 64], {dtype}), T([2, {g}, 128, 64]), T([2, {g}, 128, 64]), cur_pos={at}{rest})", {}, 24, h=["32", "8"], g=["2", "1"], dtype=["BF16", "BF8"], at=["[5, 100]", "[0, 127]", "[128, 3]", "[5]", "[4294967295, 3]", "[4294967295, 4294967295]"],
           rest=["", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 64])", ", memory_config=WSM", ", memory_config=L1", ", scale=0.3", ", attention_sink=T([1, 1, 32, 32])", ", attention_sink=T([1, 1, 1, 1])", ", sliding_window_size=32"]),
    _each(*(f"X.paged_scaled_dot_product_attention_decode(T([1, 2, 8, 64]), T([8, 1, 32, 64]), T([8, 1, 32, 64]), T([2, 4], I32, RM), cur_pos_tensor=T([2], I32, RM){rest})" for rest in ("", ", cache_position_modulo=32", ", spec_multi_pos_tiles=1", ", spec_multi_pos_tiles=0", ", sliding_window_size=32", ", is_causal=False"))),
    # Products: rings, DRAM shards, lines and rectangles by columns.
    *(
        family(
            "ttnn.matmul(T({a}), T([1, 1, 256, 256], BF16, TILE, {b}), program_config={config}, memory_config={out})", {"config": config, "a": a, "out": out}, 16,
            config=[config], a=[a, *_FIRST],
            b=["DRAM", 'M("WIDTH", G(0, 0, 7, 0), [256, 32])', 'M("WIDTH", G(0, 0, 7, 0), [256, 32], buffer="DRAM")', 'M("BLOCK", G(0, 0, 7, 0), [256, 32])', 'M("HEIGHT", G(0, 0, 7, 0), [32, 256], buffer="DRAM")', 'M("WIDTH", G(0, 0, 3, 1), [256, 32])'],
            out=[out, 'M("WIDTH", G(0, 0, 7, 0), [32, 32])', "WSM", "HSM", "BSM", "L1", 'M("WIDTH", G(0, 0, 3, 1), [32, 32])', 'M("BLOCK", G(0, 0, 7, 0), [32, 32])'],
        )
        for a, out, config in (
            (_FIRST[0], "WSM", f"ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig({_GRID.format(8, 1, 1, 1, 1)}, fuse_batch=True, mcast_in0=False, gather_in0=True)"),
            (_FIRST[0], 'M("WIDTH", G(0, 0, 7, 0), [32, 32])', f"ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig({_GRID.format(8, 1, 1, 1, 1)}, fuse_batch=True, mcast_in0=False, gather_in0=True)"),
            (_FIRST[0], "WSM", f"ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig({_GRID.format(8, 1, 1, 1, 1)}, fuse_batch=True, mcast_in0=True)"),
            (_FIRST[1], "HSM", f"ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig({_GRID.format(1, 2, 1, 1, 8)}, fuse_batch=True, mcast_in0=False)"),
            (_FIRST[1], "L1", f"ttnn.MatmulMultiCoreReuseMultiCastProgramConfig({_GRID.format(8, 2, 8, 1, 1)}, transpose_mcast=False)"),
            ("[1, 1, 64, 256], BF16, TILE, M('BLOCK', G(0, 0, 1, 3), [32, 64], 'COL_MAJOR')", "BSM", f"ttnn.MatmulMultiCoreReuseMultiCastProgramConfig({_GRID.format(2, 4, 2, 1, 2)}, transpose_mcast=True)"),
            (_FIRST[0], "WSM", "ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=1, per_core_M=1, per_core_N=1, fused_activation=None)"),
        )
    ),
    *(
        family("E.matmul_decode(T({a}, BF16, TILE, M('WIDTH', G(0, 0, 7, 0), [{rows}, 32])), T({b}, BF16, TILE, M('WIDTH', {cores}, {shard})){rest})", {}, 0, a=[a, "[1, 1, 32, 256]", "[32, 256]"], rows=[rows], b=[b, "[1, 1, 128, 512]", "[256, 256]"], cores=[cores, "G(0, 0, 7, 1)"], shard=[shard, "[128, 64]", "[128, 32]"],
               rest=["", ", partial_width_sharded=True", ", dtype=F32", *(f"{more}, output_mem_config=M('WIDTH', G(0, 0, {x}, 0), [32, {w}]{buffer})" for more in ("", ", partial_width_sharded=True") for x, w, buffer in ((7, 32, ""), (3, 64, ""), (7, 32, ", buffer='DRAM'")))])
        for a, rows, b, cores, shard in (
            ("[1, 1, 32, 256]", "32", "[1, 1, 256, 256]", "G(0, 0, 7, 0)", "[256, 32]"), ("[32, 256]", "32", "[256, 256]", "G(0, 0, 7, 0)", "[256, 32]"), ("[288, 256]", "288", "[256, 256]", "G(0, 0, 7, 0)", "[256, 32]"), ("[256, 256]", "256", "[256, 256]", "G(0, 0, 7, 0)", "[256, 32]"),
            ("[32, 256]", "32", "[128, 512]", "G(0, 0, 7, 1)", "[128, 32]"), ("[32, 256]", "32", "[128, 512]", "G(0, 0, 7, 0)", "[128, 64]"), ("[1, 4, 32, 256]", "128", "[1, 1, 1024, 256]", "G(0, 0, 7, 0)", "[1024, 32]"), ("[1, 4, 32, 256]", "128", "[1, 1, 512, 512]", "G(0, 0, 7, 1)", "[512, 32]"),
        )
    ),
    # Blocks of a program config's share, and subblocks of those: what divides, alone and together.
    *(
        family(
            "ttnn.matmul(T([{n}, 1, 128, 128], BF16, TILE, {a}), T([{n}, 1, 128, 256]), program_config=ttnn.{config}, out_subblock_h={sh}, out_subblock_w={sw}, out_block_h={bh}, out_block_w={bw}, per_core_M={m}, per_core_N={w}, fuse_batch={fuse}, fused_activation=None), memory_config={out})",
            {"config": config, "m": m, "w": w, "out": out}, 80,
            n=["1", "2"], a=["DRAM", "L1"], config=[config], sh=["1", "2", "4"], sw=["1", "2", "3", "4"], bh=["2", "1", "3", "4", "0"], bw=["4", "2", "1", "3", "0"], m=[m, "2", "4"], w=[w, "2", "4", "8"], fuse=["True", "False"], out=["DRAM", out],
        )
        for config, m, w, out in (
            ("MatmulMultiCoreReuseMultiCast1DProgramConfig(compute_with_storage_grid_size=(8, 1), in0_block_w=2, mcast_in0=True", "4", "4", "WSM"),
            ("MatmulMultiCoreReuseMultiCast1DProgramConfig(compute_with_storage_grid_size=(8, 1), in0_block_w=2, mcast_in0=False", "4", "8", "HSM"),
            ("MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(2, 2), in0_block_w=2, transpose_mcast=False", "2", "4", "BSM"),
        )
    ),
    # Narrowed shards, by columns of cores and of rectangles.
    family("ttnn.narrow(T({shape}, {dtype}, {layout}, {a}), {dim}, {start}, {length})", {}, 60, shape=["[1, 1, 128, 256]", "[1, 4, 32, 256]"], dtype=["BF16", "F32"], layout=["TILE", "RM"],
           a=['M("HEIGHT", G(0, 0, 3, 0), [32, 256])', 'M("BLOCK", G(0, 0, 3, 3), [32, 64])', 'M("BLOCK", G(0, 0, 3, 3), [32, 64], "COL_MAJOR")', 'M("WIDTH", G(0, 0, 7, 0), [128, 32])', 'M("HEIGHT", G(0, 0, 1, 1), [32, 256], "COL_MAJOR")', "DRAM"],
           dim=["2", "3", "1", "-1"], start=["32", "0", "64", "-32", "8"], length=["32", "64", "128", "16"]),
    family("ttnn.reshape(T({shape}, BF16, {layout}, {a}), {to}, memory_config={out})", {}, 24, shape=["[1, 1, 128, 256]"], layout=["TILE", "RM"], a=['M("BLOCK", G(0, 0, 3, 3), [32, 64])', 'M("HEIGHT", G(0, 0, 3, 0), [32, 256])', "DRAM"], to=["[1, 2, 64, 256]", "[1, 1, 256, 128]", "[128, 2, 128]", "[1, 1, 1024, 32]"], out=["BSM", "HSM", "WSM", "DRAM", 'M("BLOCK", G(0, 0, 3, 3), [32, 64])', 'M("BLOCK", G(0, 0, 3, 3), [64, 32], "COL_MAJOR")']),
    # Reductions of shards: of rows, filled up; of widths that are no tiles; in DRAM.
    family("ttnn.{op}(T({shape}, {dtype}, {layout}, {a}), dim={dim}{rest})", {}, 40, op=["sum", "max"], shape=["[1, 1, 40, 64]", "[2, 1, 20, 64]", "[1, 1, 64, 40]", "[1, 1, 64, 64]", "[1, 1, 128, 256]"], dtype=["BF16", "F32", "BF8"], layout=["TILE", "RM"],
           a=['M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [40, 32])', 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', 'M("BLOCK", G(0, 0, 3, 3), [32, 64])', 'M("BLOCK", G(0, 0, 1, 1), [32, 32], buffer="DRAM")', 'M("BLOCK", G(0, 0, 3, 3), [32, 64], "COL_MAJOR")'], dim=["-1", "-2", "[2, 3]", "1"], rest=["", ", keepdim=True", ", memory_config=L1", ", memory_config=HSM", ", memory_config=WSM", ", memory_config=BSM"]),
    _each(*(f"ttnn.move(T([1, 1, 64, 64], BF16, TILE, {a}), memory_config={b})" for a in ("DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])') for b in ("DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("HEIGHT", G(0, 0, 1, 0), [32, 64], buffer="DRAM")', "HSM", 'M("WIDTH", G(0, 0, 1, 0), [64, 32])'))),
    _each(*(f"ttnn.sharded_to_interleaved(T([1, 1, 64, 64], BF16, TILE, {a}), {b})" for a in ("DRAM", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("HEIGHT", G(0, 0, 1, 0), [32, 64], buffer="DRAM")') for b in ("DRAM", "HSM", "L1"))),
    _each(*(f"ttnn.interleaved_to_sharded(T([1, 1, 64, 64], BF16, {layout}, {a}), {b})" for layout in ("TILE", "RM") for a in ("DRAM", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])') for b in ("HSM", "DRAM", 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', "G(0, 0, 1, 0), [32, 64], ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.ShardOrientation.ROW_MAJOR", "ttnn.CoreGrid(x=2, y=1), [64, 32], ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.ShardOrientation.ROW_MAJOR"))),
    _each(*(f"ttnn.{op}([T({shape})], 2)" for op in ("concat", "stack") for shape in ("[1, 1, 64, 64]", "[64, 64]")),
          *(f"ttnn.split(T([1, 1, {n}, 32], BF16, {layout}), {each}, 2)" for n, each in ((2112, 32), (2080, 32), (4160, 32), (4160, 64), (2112, 33)) for layout in ("TILE", "RM")),
          *(f"ttnn.chunk(T([2, 70, 64], BF16, {layout}), {n}, {dim})" for layout in ("TILE", "RM") for n, dim in ((3, 1), (4, 1), (7, -4), (64, -4), (0, 1), (71, 1)))),
)  # fmt: skip
