"""Moves of data: between memories, layouts and places."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import Family, family

FAMILIES = (
    family(
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
    family(
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
    family(
        "ttnn.concat([T({shape}, {dtype}, {layout}, {a}), T({other}, {dtype}, {layout}, {a})], {args})",
        {},
        shape=["[1, 1, 64, 64]", "[1, 2, 64, 64]", "[1, 1, 40, 64]"],
        other=["[1, 1, 64, 64]", "[1, 1, 64, 96]", "[1, 1, 40, 64]"],
        dtype=["BF16", "F32", "BF8"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', 'M("BLOCK", G(0, 0, 1, 1), [32, 32])'],
        args=["3", "2", "1", "-1", "4", "3, memory_config=L1", "3, memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 128])", "2, memory_config=M('HEIGHT', G(0, 0, 1, 0), [64, 64])", "2, memory_config=M('WIDTH', G(0, 0, 1, 0), [128, 32])", "3, groups=2"],
    ),
    family(
        "ttnn.{op}(T({shape}, BF16, {layout}, {a}), {args})",
        {},
        op=["split", "chunk"],
        shape=["[1, 1, 64, 128]", "[2, 4, 64, 96]", "[1, 2, 64, 1024]"],
        layout=["TILE", "RM"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 128])'],
        args=["2, 3", "64, 3", "[64, 64], 3", "[32, 96], -1", "[32, 32], 2", "3, 3", "[64, 65], 3", "2, 2", "2", "4, 1"],
    ),
    family(
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
    family(
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
        family("ttnn.{op}(T([1, 2, 64, 96], BF16, {layout}, {a}), {args})", {"op": op}, layout=["TILE", "RM"], a=["L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 2, 0), [128, 32])', 'M("BLOCK", G(0, 0, 2, 1), [64, 32])'], args=args)
        for op, args in (
            ("transpose", ["2, 3", "1, 2", "-1, -2", "0, 1", "0, 4"]), ("repeat_interleave", ["2, dim=1", "3, dim=3", "2, dim=2", "2, dim=0", "1, dim=1", "2, dim=-1", "2, dim=4"]), ("repeat", ["[1, 2, 1, 1]", "[2, 1, 1, 2]", "[1, 1, 3, 1]", "[2]", "[0, 1, 1, 1]"]),
            ("roll", ["3, 1", "40, 2", "-1, 3", "[1, 2], [2, 3]", "[1], [2, 3]"]), ("reshape", ["[1, 1, 128, 96]", "[1, 2, 96, 64]", "[2, 64, 96]", "[-1, 96]", "[1, 2, 64, 97]", "[12288]"]), ("permute", ["[0, 1, 3, 2]", "[0, 2, 1, 3]", "[3, 2, 1, 0]", "[0, 1, 2]", "[0, 1, 2, 2]"]),
        )
    ),
    family(
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
    family(
        "ttnn.{op}(T([1, 1, 64, 64], {dtype}), {dim}, T({index}, {kind}, {layout}){rest})",
        {"op": "gather"},
        dtype=["BF16", "F32"],
        dim=["3", "2", "-1", "4"],
        index=["[1, 1, 64, 32]", "[1, 1, 32, 64]", "[1, 1, 64, 65]", "[1, 64, 32]"],
        kind=["U32", "U16", "I32"],
        layout=["TILE", "RM"],
        rest=["", ", memory_config=L1"],
    ),
    family(
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
    family(
        "ttnn.{op}(T({shape}, {dtype}, {layout}, {a}){rest})",
        {},
        op=["tilize", "untilize", "tilize_with_zero_padding", "to_layout", "typecast"],
        shape=["[1, 1, 64, 64]", "[1, 1, 40, 72]", "[1, 1, 2048, 64]", "[1, 1, 32, 2048]", "[1, 1, 64, 1056]", "[1, 1, 1056, 1056]", "[1, 1, 1024, 1024]"],
        dtype=["BF16", "F32", "U32", "BF8"],
        layout=["RM", "TILE"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', 'M("BLOCK", G(0, 0, 1, 1), [32, 32])'],
        rest=["", ", memory_config=L1", ", use_multicore=False", ", dtype=F32", ", TILE", ", RM", ", F32", ", BF8", ", I32", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 64])"],
    ),
    family(
        "ttnn.tilize_with_val_padding(T({shape}, {dtype}, RM, {a}), {padded}, {value}{rest})",
        {},
        shape=["[1, 1, 1000, 1000]", "[1, 1, 1024, 1024]", "[1, 1, 1025, 1025]", "[1, 1, 1020, 1056]", "[1, 1, 40, 60]", "[2, 3, 40, 60]", "[1, 1, 32, 1056]", "[1, 1, 1056, 32]"],
        dtype=["BF16", "F32", "U32"],
        a=["DRAM", "L1"],
        padded=["[1, 1, 1056, 1056]", "[1, 1, 1024, 1024]", "[1, 1, 1024, 1056]", "[1, 1, 1056, 1024]", "[1, 1, 1088, 1056]", "[1, 1, 64, 64]"],
        value=["0.0", "1.0"],
        rest=["", ", use_multicore=False", ", memory_config=L1", ", dtype=F32"],
    ),
    family("ttnn.{op}(T({shape}, {dtype}, {layout}), {args})", {}, op=["tril", "triu"], shape=["[64, 64]", "[2, 40, 70]", "[1, 1, 32, 96]"], dtype=["BF16", "F32"], layout=["TILE", "RM"], args=["diagonal=0", "diagonal=1", "diagonal=-1", "diagonal=5, memory_config=L1"]),
    family(
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
    family(
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
    *(
        family("ttnn.{op}(T({shape}, {dtype}, TILE, {a}), {args})", {"op": op, "args": args}, shape=["[2, 1, 64, 64]", "[1, 1, 128, 64]", "[2, 1, 40, 64]", "[1, 1, 100, 64]"], dtype=["BF16", "F32", "BF8"],
                a=["L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [128, 32])', 'M("BLOCK", G(0, 0, 1, 1), [64, 32])'], args=[args, *more])
        for op, args, *more in (
            ("to_layout", "RM", "RM, memory_config=L1", "RM, memory_config=HSM"),
            ("untilize", "memory_config=L1", "memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", "memory_config=M('WIDTH', G(0, 0, 1, 0), [128, 32])", "use_multicore=False"),
            ("untilize_with_unpadding", "[1, 0, 39, 63]", "[0, 0, 99, 63]", "[0, 0, 99, 63], memory_config=L1", "[0, 0, 127, 31]", "[0, 0, 99, 63], memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", "[0, 0, 99, 63], memory_config=HSM"),
        )
    ),
    # Numbers of 8 bits, which only Blackhole has.
    *(
        family("ttnn.{op}(T({shape}, ttnn.fp8_e4m3, RM, {a}), {args})", {"op": op}, shape=["[1, 2, 8, 32]", "[1]", "[1, 1, 1, 1]", "[1, 1, 1, 2]"], a=["DRAM", "L1"], args=args)
        for op, args in (
            ("permute", ["[0, 2, 1, 3]", "[0, 1, 3, 2]", "[0]"]), ("permute", ["[0, 1, 3, 2]"]), ("transpose", ["2, 3"]), ("transpose", ["1, 2", "2, 3", "0, 0"]), ("reshape", ["[1, 1, 16, 32]", "[1]", "[2]"]), ("concat", ["0"]), ("clone", ["memory_config=L1", "dtype=BF16"]), ("to_layout", ["TILE", "RM"]),
            ("typecast", ["BF16", "F32"]), ("slice", ["[0, 0, 0, 0], [1, 1, 8, 32]", "[0, 0, 0, 0], [1, 2, 8, 16]"]), ("pad", ["[(0, 0), (0, 0), (0, 8), (0, 0)], 0.0"]), ("repeat", ["[1, 1, 2, 1]"]), ("to_memory_config", ["L1", "M('HEIGHT', G(0, 0, 1, 0), [8, 32])"]),
        )
    ),
)  # fmt: skip
