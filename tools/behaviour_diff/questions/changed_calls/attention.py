"""Attention: heads, rotary embeddings, caches."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import family

FAMILIES = (
    family(
        "ttnn.transformer.scaled_dot_product_attention(T({q}, {dtype}), T({k}, {dtype}), T({k}, {dtype}){rest})",
        {},
        q=["[1, 4, 64, 32]", "[1, 8, 96, 32]", "[2, 4, 64, 64]", "[1, 4, 128, 32]"],
        k=["[1, 4, 64, 32]", "[1, 2, 64, 32]", "[1, 4, 128, 32]", "[1, 3, 64, 32]", "[2, 2, 64, 64]"],
        dtype=["BF16", "BF8", "F32"],
        rest=[", is_causal=True", ", is_causal=False", ", is_causal=False, attn_mask=T([1, 1, 64, 64])", ", is_causal=False, attn_mask=T([1, 4, 64, 64])", ", is_causal=True, attn_mask=T([1, 1, 64, 64])", ", is_causal=False, scale=0.5", ", is_causal=True, sliding_window_size=32",
              ", is_causal=False, sliding_window_size=33", *(f", is_causal=True, program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size={q}, k_chunk_size={k})" for q, k in ((32, 32), (64, 32), (33, 32), (32, 0), (128, 64))),
              ", is_causal=True, compute_kernel_config=KC('LoFi', True)"],
    ),
    family(
        "ttnn.transformer.scaled_dot_product_attention_decode(T({q}), T({k}), T({k}){rest})",
        {},
        q=["[1, 2, 8, 32]", "[1, 1, 8, 32]", "[1, 2, 32, 32]", "[1, 3, 8, 32]"],
        k=["[2, 2, 64, 32]", "[2, 1, 64, 32]", "[2, 8, 128, 32]", "[1, 2, 64, 32]"],
        rest=[", cur_pos=[3, 40]", ", cur_pos=[0, 63]", ", cur_pos=[3]", ", cur_pos=[3, 64]", ", is_causal=False", ", is_causal=False, attn_mask=T([2, 1, 8, 64])", ", is_causal=False, attn_mask=T([2, 1, 32, 64])", ", cur_pos=[3, 40], scale=0.25", ", cur_pos=[31, 32], sliding_window_size=32",
              ", cur_pos=[3, 40], memory_config=L1", ", cur_pos_tensor=T([2], I32, RM)", ", cur_pos=[-1, 5]"],
    ),
    family(
        "E.{op}(T({shape}, BF16, TILE, {a}){args})",
        {},
        op=["nlp_create_qkv_heads", "nlp_create_qkv_heads_decode", "nlp_create_qkv_heads_falcon7b", "nlp_create_qkv_heads_vit", "nlp_create_qkv_heads_segformer", "create_qkv_heads"],
        shape=["[1, 1, 64, 768]", "[2, 1, 64, 768]", "[1, 1, 32, 768]", "[1, 1, 64, 4672]", "[1, 1, 64, 2304]"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 768])', 'M("BLOCK", G(0, 0, 3, 0), [64, 192])', 'M("WIDTH", G(0, 0, 7, 0), [64, 96])'],
        args=[", num_heads=4, num_kv_heads=4", ", num_heads=8, num_kv_heads=2", ", num_heads=4", ", num_heads=5, num_kv_heads=5", ", num_heads=4, num_kv_heads=3", "", ", num_heads=4, num_kv_heads=4, transpose_k_heads=False", ", num_heads=4, num_kv_heads=4, memory_config=L1",
              ", num_heads=4, num_kv_heads=4, memory_config=HSM"],
    ),
    family(
        "X.split_query_key_value_and_split_heads(T({shape}, BF16, TILE, {a}){args})",
        {},
        shape=["[2, 64, 768]", "[7, 64, 768]", "[1, 64, 768]", "[2, 40, 768]", "[2, 64, 512]"],
        a=["DRAM", "L1", 'M("BLOCK", G(0, 0, 3, 1), [64, 192])'],
        args=[", num_heads=4", ", num_heads=8, num_kv_heads=2", ", num_heads=4, transpose_key=False", ", num_heads=5", ", num_heads=8, num_kv_heads=3", ", num_heads=4, memory_config=L1", ", T([2, 64, 512]), num_heads=4"],
    ),
    family(
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
    family(
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
        family(
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
        family(
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
    family(
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
    family(
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
    family(
        "X.paged_scaled_dot_product_attention_decode(T({q}), T({k}), T({k}), T({table}, I32, RM){rest})",
        {},
        q=["[1, 2, 8, 32]", "[1, 2, 32, 32]", "[1, 1, 8, 32]"],
        k=["[8, 2, 32, 32]", "[8, 1, 64, 32]", "[8, 8, 32, 32]"],
        table=["[2, 4]", "[2, 2]", "[1, 4]"],
        rest=[", cur_pos_tensor=T([2], I32, RM)", "", ", is_causal=False", ", cur_pos_tensor=T([2], I32, RM), scale=0.5", ", cur_pos_tensor=T([2], I32, RM), sliding_window_size=32", ", cur_pos_tensor=T([1], I32, RM)", ", cur_pos_tensor=T([2], I32, RM), memory_config=L1", ", cur_pos_tensor=T([2], I32, RM), attention_sink=T([32, 32])"],
    ),
    family(
        "X.chunked_scaled_dot_product_attention(T({q}), T({k}), T({k}), T({table}, I32, RM), {start}{rest})",
        {},
        q=["[1, 4, 32, 32]", "[1, 4, 64, 32]", "[2, 4, 32, 32]"],
        k=["[8, 2, 32, 32]", "[8, 4, 64, 32]"],
        table=["[1, 4]", "[1, 2]", "[2, 4]"],
        start=["0", "32", "64", "33", "96"],
        rest=["", ", scale=0.5", ", program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size=32)"],
    ),
    family(
        "X.joint_scaled_dot_product_attention(T({q}), T({q}), T({q}), T({joint}), T({joint}), T({joint}), joint_strategy='{way}', program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size={chunk}, k_chunk_size=32){rest})",
        {},
        q=["[1, 4, 64, 32]", "[2, 4, 64, 32]", "[1, 4, 40, 32]"],
        joint=["[1, 4, 32, 32]", "[1, 4, 40, 32]", "[1, 2, 32, 32]"],
        way=["rear", "front"],
        chunk=["32", "64", "48"],
        rest=["", ", scale=0.5"],
    ),
    family(
        "E.{op}(T({shape}, BF16, TILE, {a}), num_heads={heads}{rest})",
        {"op": "nlp_concat_heads_decode"},
        shape=["[1, 4, 32, 64]", "[1, 8, 32, 64]", "[1, 4, 8, 64]", "[2, 4, 32, 64]"],
        a=['M("HEIGHT", G(0, 0, 3, 0), [32, 64])', "DRAM", 'M("HEIGHT", G(0, 0, 7, 0), [32, 64])', 'M("HEIGHT", G(0, 0, 1, 1), [32, 64])'],
        heads=["8", "32", "33", "1"],
        rest=["", ", sub_core_grids=G(0, 0, 7, 3)", ", sub_core_grids=G(1, 0, 7, 3)", ", sub_core_grids=G(0, 0, 3, 0)", ", memory_config=DRAM"],
    ),
    family(
        "E.nlp_create_qkv_heads_decode(T({shape}, BF16, TILE, {a}), num_heads={heads}, num_kv_heads={kv}{rest})",
        {},
        shape=["[1, 1, 4, 384]", "[1, 1, 32, 384]", "[1, 1, 33, 384]", "[1, 1, 4, 320]", "[1, 2, 4, 384]"],
        a=["DRAM", "L1", 'M("WIDTH", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 5, 0), [32, 64])'],
        heads=["8", "4", "33"],
        kv=["2", "4", "8", "3"],
        rest=[", memory_config=HSM", "", ", memory_config=L1", ", memory_config=HSM, overlap_qk_coregrid=False", ", memory_config=HSM, batch_offset=T([1], U32, RM), slice_size=2", ", memory_config=HSM, slice_size=2"],
    ),
    family(
        "E.nlp_create_qkv_heads_decode(T([1, 1, 4, 384], BF16, TILE, {a}), num_heads=8, num_kv_heads=2{rest})",
        {},
        a=['M("WIDTH", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 5, 0), [32, 64])', 'M("WIDTH", G(0, 0, 11, 0), [32, 32])', "L1"],
        rest=[", memory_config=HSM, overlap_qk_coregrid=False", ", memory_config=HSM", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 32])"],
    ),
    *(
        family(
            "E.{op}(T({shape}, {dtype}, TILE, {a}){rest})",
            {"op": op, "shape": shape},
            shape=[shape, "[1, 1, 64, 768]", "[2, 1, 64, 192]", "[1, 2, 64, 192]"],
            dtype=["BF16", "F32", "BF8"],
            a=["DRAM", "L1"],
            rest=["", ", memory_config=L1", ", memory_config=HSM"],
        )
        for op, shape in (("nlp_create_qkv_heads_falcon7b", "[1, 1, 64, 4672]"), ("nlp_create_qkv_heads_vit", "[7, 1, 224, 2304]"), ("nlp_create_qkv_heads_segformer", "[1, 1, 64, 64]"), ("nlp_concat_heads", "[1, 4, 64, 32]"), ("nlp_concat_heads_boltz", "[4, 64, 64, 32]"), ("rotate_half", "[1, 4, 64, 64]"))
    ),
    family(
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
        family("X.scaled_dot_product_attention(T({q}, {dtype}), T([1, 1, 32, 32], {dtype}), T([1, 1, 32, 32], {dtype}){rest})", {}, q=["[1, 2, 32, 32]", "[1, 1, 32, 32]"], dtype=[dtype],
                rest=[", is_causal=False, attn_mask=T([1, 1, 32, 32])", ", is_causal=True", ", is_causal=False, scale=-0.5", ", is_causal=False, scale=0.25", ", is_causal=False, attn_mask=T([1, 2, 32, 32]), scale=0.5", ", is_causal=True, sliding_window_size=5", ", is_causal=False, attention_sink=T([1, 2, 1, 1])",
                      ", is_causal=True, compute_kernel_config=KC('HiFi4', True)", ", is_causal=False, compute_kernel_config=KC('LoFi')"])
        for dtype in ("BF16", "BF8")
    ),
    family("ttnn.fill_cache(T([2, 4, 64, 32]), T([1, 4, {rows}, 32]), {at}{rest})", {}, rows=["32", "64", "96", "40"], at=["0", "1", "2"], rest=["", ", update_idx=32", ", update_idx=33"]),
    family(
        "E.nlp_concat_heads_decode(T([1, 4, 32, 64], BF16, TILE, M('HEIGHT', G(0, 0, 3, 0), [32, 64])), num_heads=8, output_tensor=T({shape}, {dtype}, TILE, {a}))",
        {},
        shape=["[1, 1, 32, 512]", "[1, 1, 4, 512]", "[1, 1, 3, 512]", "[1, 1, 32, 448]", "[1, 2, 32, 512]", "[32, 512]"],
        dtype=["BF16", "F32"],
        a=['M("WIDTH", G(0, 0, 7, 0), [32, 64])', "DRAM", "L1", 'M("WIDTH", G(0, 0, 3, 0), [32, 128])'],
    ),
)  # fmt: skip
