"""Convolutions, pools and what else takes images."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import family

FAMILIES = (
    family(
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
        family(
            "ttnn.fold(T([1, {c}, 32, {wide}], BF16, RM, {a}), 2, 2, use_transpose_as_fold=True{rest})",
            {},
            c=["3", "4"],
            wide=["32", "64"],
            a=[place],
            rest=["", ", padding=[0, 0, 0, 0, 0, 1]", ", output_shape=[1, 16, 16, 12]", ", grid_size=G(0, 0, 2, 0)", ", padding=[1, 1, 1, 1, 0, 1]", ", override_memory_config=L1"],
        )
        for place in ('M("HEIGHT", G(0, 0, 0, 0), [96, 32])', 'M("HEIGHT", G(0, 0, 2, 0), [32, 32])', 'M("HEIGHT", G(0, 0, 2, 0), [32, 64])', "DRAM")
    ),
    family(
        "ttnn.upsample(T({shape}, {dtype}, RM, {a}), {args})",
        {},
        shape=["[1, 8, 8, 32]", "[2, 4, 8, 32]"],
        dtype=["BF16", "F32"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 7, 0), [8, 32])', 'M("HEIGHT", G(0, 0, 3, 0), [16, 32])', 'M("BLOCK", G(0, 0, 0, 3), [16, 32])', 'M("WIDTH", G(0, 0, 0, 0), [64, 32])', 'M("BLOCK", G(0, 0, 3, 0), [16, 32], "COL_MAJOR")'],
        args=["2", "[2, 3]", "3", "[1.5, 2.0]", "2, mode='bilinear'", "[2, 3], mode='bilinear'", "2, memory_config=L1", "1", "0", "2, mode='cubic'", "2, memory_config=HSM"],
    ),
    *(
        family("ttnn.upsample(T([1, 8, 8, 32], BF16, RM, {a}), {args})", {}, a=[place], args=["2", "[2, 3]", "[1.5, 2.0]", "2, mode='bilinear'", "2, memory_config=L1"])
        for place in ('M("HEIGHT", G(0, 0, 7, 0), [8, 32])', 'M("HEIGHT", G(0, 0, 3, 0), [16, 32])', 'M("BLOCK", G(0, 0, 0, 3), [16, 32])', 'M("WIDTH", G(0, 0, 0, 0), [64, 32])', 'M("BLOCK", G(0, 0, 3, 0), [16, 32], "COL_MAJOR")')
    ),
    family(
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
    family(
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
    family(
        "ttnn.conv2d(input_tensor=T([1, 1, 64, {cin}], BF16, {layout}, {a}), weight_tensor=W([{cout}, {per}, {k}, {k}]), bias_tensor={bias}, device=d, in_channels={cin}, out_channels={cout}, batch_size=1, "
        "input_height=8, input_width=8, kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[{p}, {p}], dilation=[1, 1], groups={groups}{rest})",
        {},
        200,
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
    # Channels of several blocks: what circular buffers hold, and whether sums stay in L1.
    family(
        "ttnn.conv2d(input_tensor=T([1, 1, 256, {cin}], {dtype}, {layout}, {a}), weight_tensor=W([{cout}, {cin}, {k}, {k}]), bias_tensor={bias}, device=d, in_channels={cin}, out_channels={cout}, batch_size=1, "
        "input_height=16, input_width=16, kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[1, 1], dilation=[{d}, {d}], groups=1, dtype={out}, conv_config=ttnn.Conv2dConfig(shard_layout={how}, weights_dtype={w}{more}), compute_config={math})",
        {},
        500,
        cin=["64", "128", "96"],
        cout=["64", "128", "32"],
        dtype=["BF16", "F32"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1"],
        k=["3", "1"],
        bias=["None", "W([1, 1, 1, 64])", "W([1, 1, 1, 128])"],
        s=["1", "2"],
        d=["1", "2"],
        out=["BF16", "F32", "BF8"],
        how=["ttnn.TensorMemoryLayout.HEIGHT_SHARDED", "ttnn.TensorMemoryLayout.BLOCK_SHARDED", "ttnn.TensorMemoryLayout.WIDTH_SHARDED", "None"],
        w=["BF16", "BF8", "F32"],
        more=["", ", act_block_h_override=32", ", act_block_h_override=64", ", full_inner_dim=True", ", enable_act_double_buffer=True", ", enable_weights_double_buffer=True", ", enable_activation_reuse=True", ", act_block_w_div=2", ", output_layout=RM", ", force_split_reader=True"],
        math=["KC()", "KC('HiFi2', True)", "KC('LoFi', False, False, False)", "KC('HiFi4', True, False, False)"],
    ),
    # Shards that are given, and others that are asked for.
    *(
        family(
            "ttnn.conv2d(input_tensor=T([1, 1, 256, {c}], {dtype}, {layout}, {a}), weight_tensor=W([64, {c}, {k}, {k}]), bias_tensor=None, device=d, in_channels={c}, out_channels=64, batch_size=1, input_height=16, input_width=16, "
            "kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[{p}, {p}], conv_config=ttnn.Conv2dConfig(weights_dtype=BF16, shard_layout={how}{more}){rest})",
            {"a": a, "how": f"ttnn.TensorMemoryLayout.{how}_SHARDED"},
            40,
            c=["64", "96"], dtype=["BF16", "F32"], layout=["RM", "TILE"], a=[a], k=["3", "1"], s=["1", "2"], p=["1", "0"],
            how=["None", "ttnn.TensorMemoryLayout.HEIGHT_SHARDED", "ttnn.TensorMemoryLayout.BLOCK_SHARDED", "ttnn.TensorMemoryLayout.WIDTH_SHARDED"],
            more=["", ", reshard_if_not_optimal=True", ", override_sharding_config=True", *(f", {flag}=True, core_grid={cores}" for flag in ("override_sharding_config", "override_output_sharding_config") for cores in ("G(0, 0, 1, 1)", "G(0, 0, 1, 3)", "G(0, 0, 7, 0)", "G(0, 0, 3, 1)", "G(0, 0, 8, 3)")),
                  ", override_output_sharding_config=True", ", transpose_shards=True", ", deallocate_activation=True", ", deallocate_activation=True, reallocate_halo_output=True", ", output_layout=RM", ", act_block_h_override=32"],
            rest=["", ", memory_config=L1", ", memory_config=DRAM", ", dtype=BF8", ", return_output_dim=True", ", compute_config=KC('HiFi2', True)"],
        )
        for a, how in (
            ('M("HEIGHT", G(0, 0, 7, 0), [32, 64])', "HEIGHT"), ('M("HEIGHT", G(0, 0, 3, 0), [64, 64])', "HEIGHT"), ('M("BLOCK", G(0, 0, 1, 3), [64, 32])', "BLOCK"), ('M("BLOCK", G(0, 0, 3, 1), [64, 32], "COL_MAJOR")', "BLOCK"), ('M("BLOCK", G(0, 0, 0, 3), [64, 64])', "BLOCK"),
            ('M("WIDTH", G(0, 0, 1, 0), [256, 32])', "WIDTH"), ('M("HEIGHT", G(0, 0, 7, 0), [32, 64])', "BLOCK"), ("L1", "HEIGHT"),
        )
    ),
    # Images that do not fit into L1 at once: into how many slices they are cut.
    *(
        family(
            "ttnn.conv2d(input_tensor=T([1, 1, {side} * {side}, {c}], {dtype}, {layout}), weight_tensor=W([{out}, {c}, {k}, {k}]), bias_tensor=None, device=d, in_channels={c}, out_channels={out}, batch_size=1, input_height={side}, input_width={side}, "
            "kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[1, 1]{rest})",
            {"side": side, "c": c},
            8,
            side=[side], c=[c], dtype=["BF16", "F32"], layout=["RM", "TILE"], out=["64", "256"], k=["3", "5"], s=["1", "2"],
            rest=["", ", compute_config=KC('HiFi4', True)", *(f", conv_config=ttnn.Conv2dConfig({config})" for config in (
                "enable_act_double_buffer=True", "enable_weights_double_buffer=True", "reallocate_halo_output=False", "act_block_h_override=32", "output_layout=RM", "shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED", "shard_layout=ttnn.TensorMemoryLayout.WIDTH_SHARDED")),
                ", dtype=F32", ", slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=7)", ", slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceWidth, num_slices=6)", ", slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=0)"],
        )
        for side, c in (("128", "64"), ("192", "96"), ("256", "32"), ("320", "64"), ("448", "16"))
    ),
    family(
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
    family(
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
    family("ttnn.global_avg_pool2d(T({shape}, {dtype}, {layout}){rest})", {}, shape=["[1, 1, 64, 32]", "[2, 8, 8, 32]", "[1, 7, 7, 64]"], dtype=["BF16", "F32", "BF8"], layout=["TILE", "RM"], rest=["", ", memory_config=L1", ", dtype=F32"]),
    family(
        "E.{op}(T({shape}, {dtype}, {layout}, {a}){rest})",
        {},
        op=["convert_to_hwc", "convert_to_chw"],
        shape=["[1, 1, 8, 64]", "[1, 2, 8, 64]", "[1, 1, 40, 64]"],
        dtype=["BF16", "F32"],
        layout=["RM", "TILE"],
        a=['M("WIDTH", G(0, 0, 1, 0), [8, 32])', "DRAM", 'M("WIDTH", G(0, 0, 0, 0), [8, 64])', 'M("HEIGHT", G(0, 0, 0, 0), [8, 64])'],
        rest=["", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 8])", ", memory_config=HSM", ", dtype=F32"],
    ),
)  # fmt: skip
