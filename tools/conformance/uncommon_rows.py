"""Rows of ops that few models call: fused caches, head splits on shards, partial moves, Blackhole's own. Merged into written_rows.ROWS."""

from __future__ import annotations

from typing import Any

Row = tuple[list[Any], str]
_RM, _HOST, _BF16 = "row_major", "host", "bfloat16"
_DRAM, _L1, _HEIGHT = "ttnn.DRAM_MEMORY_CONFIG", "ttnn.L1_MEMORY_CONFIG", "ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG"
_X = "ttnn.experimental."


def cores(x: int, y: int, columns: int, rows: int) -> str:
    corner = f"ttnn.CoreCoord({x + columns - 1}, {y + rows - 1})"
    return f"ttnn.CoreRangeSet({{ttnn.CoreRange(ttnn.CoreCoord({x}, {y}), {corner})}})"


def shards(kind: str, shape: tuple[int, int], columns: int, rows: int = 1, y: int = 0, order: str = "ROW_MAJOR", where: str = "L1") -> str:
    spec = f"ttnn.ShardSpec({cores(0, y, columns, rows)}, {list(shape)}, ttnn.ShardOrientation.{order})"
    return f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.{kind}_SHARDED, ttnn.BufferType.{where}, {spec})"


def _block(shape: tuple[int, ...], shard: tuple[int, int], columns: int, rows: int, dtype: str = _BF16, order: str = "ROW_MAJOR") -> list[Any]:
    return [shape, dtype, "tile", shards("BLOCK", shard, columns, rows, order=order)]


def _wide(shape: tuple[int, ...], shard: tuple[int, int], columns: int, rows: int = 1, dtype: str = _BF16) -> list[Any]:
    return [shape, dtype, "tile", shards("WIDTH", shard, columns, rows)]


def _tall(shape: tuple[int, ...], shard: tuple[int, int], columns: int, y: int = 0, dtype: str = _BF16, layout: str = "tile") -> list[Any]:
    return [shape, dtype, layout, shards("HEIGHT", shard, columns, y=y)]


def _heads() -> dict[str, list[Row]]:
    fused = _block((2, 1, 64, 512), (64, 256), 2, 2)
    q = kv = _block((2, 1, 64, 256), (64, 128), 2, 2)
    grouped: list[Row] = [
        ([fused], f"{_X}create_qkv_heads(a[0], {arguments})")
        for arguments in (
            f"num_heads=4, num_kv_heads=2, memory_config={_HEIGHT}", f"num_heads=8, num_kv_heads=4, memory_config={_HEIGHT}",
            f"num_heads=4, num_kv_heads=2, transpose_k_heads=False, memory_config={_HEIGHT}", "num_heads=4, num_kv_heads=2",
            f"num_heads=3, num_kv_heads=2, memory_config={_HEIGHT}", f"num_heads=2, num_kv_heads=1, memory_config={_HEIGHT}",
            f"num_heads=4, num_kv_heads=2, memory_config={_DRAM}",
        )
    ]  # fmt: skip
    for rows in (40, 64):
        grouped.append(([_block((2, 1, rows, 384), (64, 192), 2, 2)], f"{_X}create_qkv_heads(a[0], num_heads=2, memory_config={_HEIGHT})"))
    for one in (
        _block((2, 1, 64, 384), (64, 192), 2, 2, "float32"), _block((2, 1, 64, 384), (64, 192), 2, 2, "bfloat8_b"),
        _block((2, 1, 64, 384), (64, 192), 2, 2, order="COL_MAJOR"), _block((4, 1, 64, 384), (128, 192), 2, 2),
        [(2, 1, 64, 384)], _tall((2, 1, 64, 384), (64, 384), 2),
    ):  # fmt: skip
        grouped.append(([one], f"{_X}create_qkv_heads(a[0], num_heads=2, memory_config={_HEIGHT})"))
    separate: list[Row] = [
        ([q, kv], f"{_X}create_qkv_heads_from_separate_tensors(a[0], a[1], {arguments})")
        for arguments in (
            f"num_heads=4, num_kv_heads=2, memory_config={_HEIGHT}", f"num_heads=4, memory_config={_HEIGHT}", "num_heads=4, num_kv_heads=2",
            f"num_heads=4, num_kv_heads=2, transpose_k_heads=False, memory_config={_HEIGHT}",
            f"num_heads=4, num_kv_heads=1, memory_config={_HEIGHT}", f"num_heads=4, num_kv_heads=2, memory_config={_DRAM}",
        )
    ]  # fmt: skip
    for other in (_block((2, 1, 96, 256), (96, 128), 2, 2), _block((2, 1, 64, 256), (64, 128), 2, 2, "bfloat8_b"), [(2, 1, 64, 256)]):
        call = f"{_X}create_qkv_heads_from_separate_tensors(a[0], a[1], num_heads=4, num_kv_heads=2, memory_config={_HEIGHT})"
        separate.append(([q, other], call))
    grid = "ttnn.CoreCoord(8, 7)"
    split: list[Row] = [([[(b, 1, 384, 3072), d]], f"{_X}split_query_key_value_and_split_heads(a[0], {grid})") for b in (6, 7, 9, 10) for d in (_BF16, "float32", "bfloat8_b")]
    split += [([[(8, 1, 64, 3072)]], f"{_X}split_query_key_value_and_split_heads(a[0], {grid}{tail})") for tail in ("", f", memory_config={_L1}", f", memory_config={_HEIGHT}", ", num_heads=8")]
    big = _block((7, 1, 384, 3072), (384, 384), 8, 7, "bfloat8_b")
    split += [([big], f"{_X}split_query_key_value_and_split_heads(a[0], ttnn.CoreCoord(8, {y}){tail})") for y, tail in ((7, f", memory_config={_HEIGHT}"), (6, f", memory_config={_HEIGHT}"), (7, ""))]
    for n, where in ((4, _HEIGHT), (3, _HEIGHT), (4, _DRAM)):
        small = _block((2, 1, 64, 768), (64, 384), 2, 2)
        split.append(([small], f"{_X}split_query_key_value_and_split_heads(a[0], {grid}, num_heads={n}, memory_config={where})"))
    joined: list[Row] = [([[(b, 16, 384, 64), d]], f"{_X}concatenate_heads(a[0], {grid})") for b in (6, 7, 9, 10) for d in (_BF16, "float32")]
    joined += [([[(8, 8, 384, 64)]], f"{_X}concatenate_heads(a[0], {grid})"), ([[(8, 16, 384, 64)]], f"{_X}concatenate_heads(a[0], ttnn.CoreCoord(14, 13))")]
    joined += [([[(7, 16, 384, 64)], [(7, 1, 384, w)]], f"{_X}concatenate_heads(a[0], {grid}, output_tensor=a[1])") for w in (1024, 512)]
    cut: list[Row] = [([[(2, 1, 64, 512)]], f"{_X}nlp_create_q_heads_split(a[0], num_heads={h}, split_head_dim={d}{m})") for h, d, m in ((4, 64, ""), (4, 32, f", memory_config={_L1}"), (4, 128, ""), (4, 0, ""), (4, 40, ""), (3, 32, ""), (0, 32, ""), (4, 64, f", memory_config={_HEIGHT}"))]
    cut += [([one], f"{_X}nlp_create_q_heads_split(a[0], num_heads=4, split_head_dim=32)") for one in ([(2, 1, 64, 512), "float32"], [(2, 1, 64, 512), "bfloat8_b"], [(2, 1, 64, 512), "bfloat4_b"], [(2, 1, 64, 512), "int32"], [(2, 1, 40, 512)], [(2, 2, 64, 512)], [(64, 512)], [(1, 1, 64, 512), _BF16, _RM], [(1, 1, 64, 500)])]
    pairs: list[Row] = [([[(1, s, s, 384), d]], f"{_X}nlp_create_qkv_heads_boltz(a[0], num_heads={h}{tail})") for s in (64, 96) for d in (_BF16, "float32", "bfloat8_b") for h, tail in ((4, ""), (4, ", transpose_k_heads=False"), (4, ", num_kv_heads=1"), (5, ""))]
    pairs += [([[(1, 40, 40, 384)]], f"{_X}nlp_create_qkv_heads_boltz(a[0], num_heads=4, transpose_k_heads=False)")]
    pairs += [([[(1, 64, 64, 128)], [(1, 64, 64, 256)]], f"{_X}nlp_create_qkv_heads_boltz(a[0], a[1], num_heads=4, transpose_k_heads=False)")]
    pairs += [([one], f"{_X}nlp_create_qkv_heads_boltz(a[0], num_heads=4, transpose_k_heads=False)") for one in ([(64, 64, 384)], [(1, 64, 64, 384), _BF16, _RM], [(1, 64, 64, 384), "bfloat4_b"])]
    pairs += [([[s, d]], f"{_X}nlp_concat_heads_boltz(a[0]{tail})") for s in ((4, 64, 64, 32), (4, 40, 40, 32), (4, 32, 64, 32), (1, 4, 64, 32), (4, 64, 64)) for d in (_BF16, "float32", "bfloat4_b") for tail in ("", f", memory_config={_L1}")]
    decode: list[Row] = [([one], f"{_X}nlp_create_qkv_heads_decode(a[0], num_heads=8, num_kv_heads=2{overlap}{memory})") for one in ([(1, 1, 8, 768)], _wide((1, 1, 8, 768), (32, 96), 8), _wide((1, 1, 7, 768), (32, 64), 6, 2), _wide((1, 1, 12, 768), (32, 64), 6, 2), _wide((1, 1, 20, 768), (32, 32), 8, 3), _wide((1, 1, 32, 768), (32, 64), 6, 2), _wide((1, 1, 33, 768), (64, 64), 6, 2), _wide((1, 1, 8, 768), (32, 64), 6, 2, "bfloat8_b")) for overlap in ("", ", overlap_qk_coregrid=False") for memory in ("", f", memory_config={_HEIGHT}", f", memory_config={_DRAM}")]
    decode += [([_wide((1, 1, 8, 768), (32, 64), 6, 2), [(n,), "uint32", _RM]], f"{_X}nlp_create_qkv_heads_decode(a[0], num_heads=8, num_kv_heads=2, batch_offset=a[1], slice_size=4)") for n in (1, 8)]
    users = [_tall((1, b, h, 64), (-(-h // 32) * 32, 64), 8) for b, h in ((8, 32), (8, 8), (8, 40))]
    decode += [([one], f"{_X}nlp_concat_heads_decode(a[0], num_heads={n}{m})") for one in (*users, [(1, 8, 32, 64)], _tall((1, 8, 32, 64), (64, 64), 4), _tall((1, 8, 32, 64), (32, 64), 8, y=1), _tall((1, 8, 32, 64), (32, 64), 8, dtype="float32"), _tall((1, 8, 32, 64), (32, 64), 8, dtype="bfloat8_b")) for n in (7, 8, 33) for m in ("", f", memory_config={_DRAM}", f", sub_core_grids={cores(0, 0, 8, 8)}", f", sub_core_grids={cores(1, 0, 7, 8)}")]
    return {"create_qkv_heads": grouped, "create_qkv_heads_from_separate_tensors": separate, "experimental_split_heads": split, "experimental_concatenate_heads": joined, "nlp_create_q_heads_split": cut, "boltz_heads": pairs, "decode_heads": decode}


def _rotary() -> dict[str, list[Row]]:
    def turned(shape: tuple[int, ...], cache: tuple[int, ...], dtype: str = _BF16, other: str = _BF16, shard: bool = True, tail: str = "") -> Row:
        if not shard:
            return [[shape, dtype], [cache, other], [cache, other]], f"{_X}rotary_embedding_hf(a[0], a[1], a[2]{tail})"
        both = [_tall(cache, (-(-cache[2] // 32) * 32, cache[3]), cache[1], dtype=other)] * 2
        return [_tall(shape, (-(-shape[2] // 32) * 32 * shape[0], shape[3]), shape[1], dtype=dtype), *both], f"{_X}rotary_embedding_hf(a[0], a[1], a[2], is_decode_mode=True{tail})"

    hf = [turned((1, 8, h, d), (1, 8, c, d), dtype) for h, c, d in ((4, 1, 64), (40, 1, 64), (4, 1, 96), (4, 1, 32), (4, 32, 64), (8, 1, 128)) for dtype in (_BF16, "float32", "bfloat8_b")]
    hf += [turned((1, 8, 4, 64), (1, n, 1, 64)) for n in (1, 7)]
    hf += [turned((1, 8, 4, 64), (1, 8, 1, 64), tail=f", memory_config={m}") for m in (_HEIGHT, _L1)]
    hf += [turned((1, 8, 4, 64), (1, 8, 1, 64), shard=False, tail=", is_decode_mode=True")]
    hf += [turned(s, c, d, e, False) for s, c in (((1, 4, 64, 64), (1, 1, 64, 64)), ((1, 4, 64, 32), (1, 1, 64, 32)), ((1, 4, 64, 96), (1, 1, 64, 96)), ((1, 4, 64, 128), (1, 1, 128, 128)), ((2, 4, 64, 64), (1, 1, 64, 64)), ((1, 4, 64, 64), (1, 1, 32, 64)), ((1, 4, 64, 64), (1, 4, 64, 64)), ((1, 4, 40, 64), (1, 1, 40, 64))) for d, e in ((_BF16, _BF16), ("float32", _BF16), (_BF16, "float32"))]
    user, cache = _tall((1, 8, 4, 64), (32, 64), 8), _tall((1, 8, 1, 64), (32, 64), 8)
    plain = [(1, 8, 1, 64)]
    mats = [_tall((1, 1, 32 * n, 32), (32, 32), n) for n in (1, 4, 8)] + [_tall((1, 1, 512, 32), (64, 32), 8), [(1, 1, 32, 32)]]
    llama: list[Row] = [([one, *[c] * 2, mat], f"{_X}rotary_embedding_llama(a[0], a[1], a[2], a[3], is_decode_mode=True)") for one in (user, [(1, 8, 4, 64)], _tall((1, 8, 40, 64), (64, 64), 8)) for c in (cache, plain) for mat in mats]
    return {"rotary_embedding_hf": hf, "rotary_embedding_llama_decode": llama}


def _caches() -> dict[str, list[Row]]:
    cache = [(4, 2, 64, 64)]
    first, second = _tall((1, 4, 32, 64), (32, 64), 4), _tall((1, 4, 32, 64), (32, 64), 4, y=1)
    fused = f"{_X}paged_fused_update_cache(a[0], a[1], a[2], a[3], "
    rows: list[Row] = [([cache, first, cache, second], fused + f"update_idxs={tail})") for tail in ("[1, 2, 3, 4]", "[1, 2, 3]", "[]", "[1, 2, 3, -1]", "[1, 2, 3, 4], batch_offset=1", "[1, 2, 3, 4], share_cache=True")]
    rows += [([cache, first, cache, first], fused + "update_idxs=[1, 2, 3, 4])"), ([[(1, 2, 64, 64)], first, [(1, 2, 64, 64)], second], fused + "update_idxs=[1, 2, 3, 4], share_cache=True)")]
    rows += [([[(4, 2, 64, 64), d], first, [(4, 2, 64, 64), e], second], fused + "update_idxs=[1, 2, 3, 4])") for d, e in (("float32",) * 2, ("bfloat8_b",) * 2, ("bfloat4_b",) * 2, ("int32",) * 2, ("bfloat8_b", _BF16))]
    rows += [([cache, first, cache, second, [(n,), d, _RM]], fused + "update_idxs_tensor=a[4])") for n, d in ((4, "int32"), (4, "uint32"), (5, "int32"))]
    rows += [([[(16, 2, 32, 64)], first, [(16, 2, 32, 64)], second, [(4,), "int32", _RM], [t, d, _RM]], fused + "update_idxs_tensor=a[4], page_table=a[5])") for t, d in (((4, 4), "int32"), ((4, 20), "int32"), ((3, 4), "int32"), ((4, 4), "uint32"))]
    rows += [([cache, one, cache, two], fused + "update_idxs=[1, 2, 3, 4])") for one, two in (([(1, 4, 32, 64)], second), (_tall((1, 4, 2, 64), (32, 64), 4), _tall((1, 4, 2, 64), (32, 64), 4, y=1)), (_tall((1, 4, 2, 64), (2, 64), 4, layout=_RM), _tall((1, 4, 2, 64), (2, 64), 4, y=1, layout=_RM)), (first, _tall((1, 4, 32, 64), (64, 64), 2, y=1)), (_tall((1, 4, 32, 64), (32, 64), 4, dtype="float32"), second))]
    rows += [([[(4, 8, 64, 128)], _tall((1, 4, 8, 128), (8, 128), 4, layout=_RM), [(4, 8, 64, 128)], _tall((1, 4, 8, 128), (8, 128), 4, y=1, layout=_RM)], fused + "update_idxs=[1, 2, 3, 4])")]
    rows += [([cache, first, other, second], fused + "update_idxs=[1, 2, 3, 4])") for other in ([(4, 1, 96, 64)], [(4, 2, 64, 96)], [(5, 2, 64, 64)])]
    pages, packed, places = [(8, 2, 64, 64)], [(1, 2, 5, 64)], [(1, 5), "int32", _RM]
    call = f"{_X}indexed_fused_update_cache(a[0], a[1], a[2], a[3], a[4])"
    indexed: list[Row] = [([pages, packed, pages, packed, one], call) for one in (places, [(1, 8), "int32", _RM], [(1, 4), "int32", _RM], [(5,), "int32", _RM], [(1, 5), "uint32", _RM], [(1, 5), "int32"], [(1, 300), "int32", _RM])]
    indexed += [([one, two, one, two, places], call) for one, two in (([(8, 2, 64, 64), _BF16, "tile", _L1], packed), ([(8, 2, 40, 64)], packed), ([(8, 2, 64, 64), "bfloat8_b"], packed), (pages, [(2, 2, 5, 64)]), (pages, [(1, 3, 5, 64)]), (pages, [(1, 2, 5, 64), "float32"]))]
    indexed += [([pages, packed, pages, [(1, 2, 6, 64)], places], call), ([pages, packed, [(9, 2, 64, 64)], packed, places], call)]
    indexed += [([pages, [(1, 2, n, 64)], pages, [(1, 2, n, 64)], [(1, n), "int32", _RM]], call) for n in (256, 257)]
    return {"paged_fused_update_cache": rows, "indexed_fused_update_cache": indexed}


def _moves() -> dict[str, list[Row]]:
    image = [(1, 8, 8, 32), _BF16, _RM]
    height = {n: shards("HEIGHT", (8, w), n) for n, w in ((4, 32), (3, 32))}
    cut = f"{_X}padded_slice(a[0], "
    sliced: list[Row] = [([image], cut + f"{bounds}, memory_config={memory})") for bounds in ("[0, 0, 0, 0], [1, 4, 8, 32], [1, 1, 1, 1]", "[0, 2, 1, 0], [1, 6, 7, 32]", "[0, 2, 1, 0], [1, 6, 7, 20]", "[0, 0, 0, 0], [1, 4, 8, 32], [1, 1, 2, 1]", "[0, 0, 0], [1, 4, 8]", "[0, 0, 0, 0], [1, 4, 9, 32]", "[0, 4, 0, 0], [1, 2, 8, 32]", "[0, 0, 0, 0], [1, -4, 8, 32]") for memory in (height[4], shards("HEIGHT", (16, 32), 4), shards("BLOCK", (8, 16), 2, 4), _DRAM)]
    sliced += [([image], cut + f"[0, 0, 0, 0], [1, 8, 8, 32], memory_config={shards('HEIGHT', (16, w), 4)})") for w in (32, 64)]
    sliced += [([[(1, 8, 32, 64), d, layout]], cut + f"[0, 1, 8, 0], [1, 4, 24, 64], memory_config={m})") for d, layout in ((_BF16, "tile"), ("bfloat8_b", "tile"), ("float32", "tile"), ("int32", _RM)) for m in (shards("HEIGHT", (16, 64), 3), shards("BLOCK", (16, 32), 2, 3), height[3])]
    sliced += [([[(1, 8, 8, 20), _BF16, _RM]], cut + f"[0, 0, 0, 0], [1, 4, 8, 20], memory_config={shards('HEIGHT', (8, w), 4)})") for w in (20, 24, 32)]
    whole = [(1, 1, 256, 64)]
    to = "ttnn.interleaved_to_sharded_partial(a[0], "
    kind = "ttnn.TensorMemoryLayout.{}_SHARDED, ttnn.ShardOrientation.ROW_MAJOR"
    tall = kind.format("HEIGHT")
    partial: list[Row] = [([whole], to + f"{arguments})") for arguments in (f"ttnn.CoreCoord(4, 1), [32, 64], 2, 0, {tall}", f"ttnn.CoreCoord(4, 1), [32, 64], 2, 1, {tall}", f"ttnn.CoreCoord(4, 1), [32, 64], 2, 2, {tall}", f"ttnn.CoreCoord(4, 1), [32, 64], 3, 0, {tall}", f"ttnn.CoreCoord(2, 4), [32, 32], 2, 0, {kind.format('BLOCK')}", f"ttnn.CoreCoord(2, 1), [128, 32], 2, 0, {kind.format('WIDTH')}", f"ttnn.CoreCoord(20, 8), [32, 64], 2, 0, {tall}", f"ttnn.CoreCoord(2, 1), [32, 64], 2, 0, {tall}", f"{cores(0, 0, 4, 1)}, [32, 64], 2, 0, {tall}", f"ttnn.CoreCoord(4, 1), [32, 64], 2, 0, {tall}, output_dtype=ttnn.bfloat8_b", "ttnn.CoreCoord(4, 2), [32, 64], 2, 1, ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.ShardOrientation.COL_MAJOR")]
    partial += [([one], to + f"ttnn.CoreCoord(4, 1), [32, 64], 2, 0, {tall})") for one in ([(1, 1, 256, 64), _BF16, _RM], [(1, 1, 256, 64), "float32"], [(2, 4, 32, 64)], [(256, 64)], [(1, 1, 250, 60)], _tall((1, 1, 256, 64), (64, 64), 4))]
    part = _tall((1, 1, 128, 64), (32, 64), 4)
    back = "ttnn.sharded_to_interleaved_partial(a[0], a[1], "
    partial += [([one, whole], back + f"{arguments})") for one in (part, [(1, 1, 128, 64)], _tall((1, 1, 128, 64), (32, 64), 4, layout=_RM), _block((1, 1, 128, 64), (64, 32), 2, 2)) for arguments in ("2, 0", f"2, 1, memory_config={_DRAM}", "2, 2", "3, 0")]
    some = "ttnn.copy_host_to_device_tensor_partial(a[0], a[1], "
    host = [(1, 1, 128, 64), _BF16, "tile", _HOST]
    partial += [([one, part], some + f"{cores(1, 0, 2, 1)})") for one in (host, [(1, 1, 128, 64), "float32", "tile", _HOST], [(1, 1, 128, 32), _BF16, "tile", _HOST], [(1, 1, 128, 64), _BF16, _RM, _HOST], part)]
    partial += [([host, part], some + f"{cores(5, 5, 2, 2)})"), ([host, whole], some + "ttnn.CoreRangeSet([]))")]
    chw = [_tall((1, 1, 128, c), (rows, max(32, c)), 128 // rows) for c in (3, 16, 32, 64) for rows in (32, 64)]
    channels: list[Row] = [([one], f"{_X}convert_to_chw(a[0])") for one in (*chw, _tall((1, 1, 120, 16), (32, 32), 4), _tall((1, 2, 64, 16), (32, 32), 4), _tall((1, 1, 96, 16), (64, 32), 2), _tall((1, 1, 128, 16), (32, 32), 4, dtype="float32"), _tall((1, 1, 128, 16), (32, 32), 4, dtype="bfloat8_b"), [(1, 1, 128, 16)], _wide((1, 1, 128, 32), (128, 32), 1), [(128, 16)])]
    channels += [([chw[2]], f"{_X}convert_to_chw(a[0], dtype=ttnn.{d})") for d in ("float32", "bfloat8_b")]
    for c in (1, 3, 8, 32, 40):
        channels += [([[(1, 1, c, 128), d, _RM, shards("WIDTH", (c, 32), 4)]], f"{_X}convert_to_hwc(a[0])") for d in (_BF16, "float32")]
    channels += [([[(1, b, 3, n), _BF16, _RM, shards("WIDTH", (3 * b, w), k)]], f"{_X}convert_to_hwc(a[0])") for b, n, w, k in ((2, 128, 32, 4), (1, 120, 32, 4), (1, 128, 24, 6), (1, 100, 25, 4))]
    channels += [([[(1, 1, 3, 128), _BF16, _RM, where]], f"{_X}convert_to_hwc(a[0]{tail})") for where in (shards("WIDTH", (3, 32), 4), shards("WIDTH", (3, 32), 4, where="DRAM"), _DRAM) for tail in ("", f", memory_config={shards('HEIGHT', (32, 8), 4)}", f", memory_config={shards('HEIGHT', (64, 8), 2)}", f", memory_config={_DRAM}", f", memory_config={shards('HEIGHT', (32, 3), 4)}")]
    one_row = f"{_X}deepseek_moe_post_combine_tilize(a[0], output_memory_config=ttnn.MemoryConfig(buffer_type=ttnn.BufferType.{{}}, nd_shard_spec=ttnn.NdShardSpec({{}}, ttnn.CoreRangeSet({{{{ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, {{}}))}}}}))))"
    rows: list[Row] = [([[(8, 1, 32, 256), _BF16, _RM]], one_row.format(place, shard, last)) for place, shard, last in (("L1", [32, 64], 3), ("L1", [32, 64], 2), ("L1", [64, 64], 1), ("L1", [32, 96], 3), ("DRAM", [32, 64], 3))]
    rows += [([[shape, d, layout]], one_row.format("L1", [32, 64], 3)) for shape, d, layout in (((8, 1, 32, 256), "float32", _RM), ((8, 1, 32, 256), _BF16, "tile"), ((16, 1, 16, 256), _BF16, _RM))]
    return {"padded_slice": sliced, "partial_moves": partial, "channel_order": channels, "post_combine_tilize": rows}


def _computed() -> dict[str, list[Row]]:
    reduce: list[Row] = [([[(2, 3, 64, 96), d]], f"{_X}fast_reduce_nc_split(a[0], dim={i}, split_output_width={w}{m})") for d in (_BF16, "float32", "bfloat8_b", "bfloat4_b", "int32") for i, w, m in ((0, 32, ""), (1, 64, f", memory_config={_L1}"), (-3, 32, ""), (2, 32, ""), (0, 96, ""), (0, 0, ""), (0, 20, ""), (1, 32, f", memory_config={_HEIGHT}"))]
    reduce += [([one], f"{_X}fast_reduce_nc_split(a[0], dim=0, split_output_width=64)") for one in ([(2, 3, 40, 96)], [(2, 3, 40, 90)], [(3, 40, 96)], [(2, 3, 40, 96), _BF16, _RM])]
    hidden = 5120
    interleave = f"{_X}repeat_and_interleave_eltwise_mul(a[0], a[1]"
    mul: list[Row] = [([[(1, 1, u, w), d], [(1, 1, u, v)]], interleave + f"{tail})") for u, w, v, d, tail in ((32, 32, hidden, _BF16, ""), (32, 32, 32 * hidden, _BF16, ""), (32, 32 * hidden, hidden, _BF16, ""), (32, 32 * hidden, 32 * hidden, _BF16, ""), (32, 32, 64, _BF16, ""), (64, 32, hidden, _BF16, ""), (20, 32, hidden, _BF16, ""), (32, 32, hidden, "bfloat8_b", ""), (32, 32, hidden, "float32", ""), (32, 32, hidden, _BF16, ", dtype=ttnn.bfloat8_b"), (32, 32, hidden, _BF16, ", dtype=ttnn.float32"), (32, 32, hidden, _BF16, f", memory_config={_L1}, math_fidelity=ttnn.MathFidelity.LoFi"))]
    a, b = _wide((32, 128), (32, 32), 4), _wide((128, 256), (128, 64), 4)
    call = f"{_X}matmul_decode(a[0], a[1]"
    product: list[Row] = [([a, one], call + f"{tail})") for one in (b, _wide((128, 256), (128, 32), 8), _wide((128, 256), (128, 64), 4, dtype="bfloat8_b"), _wide((96, 256), (96, 64), 4), [(128, 256)]) for tail in ("", ", dtype=ttnn.float32", ", dtype=ttnn.bfloat8_b", f", output_mem_config={shards('WIDTH', (32, 64), 4)}", f", output_mem_config={_DRAM}", ", partial_width_sharded=True")]
    product += [([one, b], call + ")") for one in (_wide((64, 128), (64, 64), 2), _wide((20, 128), (32, 64), 2), _wide((300, 128), (320, 32), 4), _wide((1, 32, 128), (32, 32), 4), _wide((1, 1, 32, 128), (32, 32), 4), [(32, 128)], _wide((32, 128), (32, 32), 4, dtype="float32"))]
    product += [([one, folded], call + ", partial_width_sharded=True)") for one in (a, _wide((32, 256), (32, 64), 4)) for folded in (_wide((64, 512), (64, 64), 8), _wide((64, 512), (64, 64), 4, 2), _wide((32, 1024), (32, 128), 8))]
    product += [([_wide(s, (128, 32), 4), one], call + ")") for s in ((1, 4, 32, 128), (4, 1, 32, 128)) for one in (_wide((1, 1, 256, 128), (256, 32), 4), _wide((1, 1, 512, 64), (512, 32), 2), _wide((1, 4, 128, 64), (512, 64), 1), b)]
    row, one = [(4, 4096), _BF16, _RM], [(1,), "uint32", _RM]
    top = f"{_X}topk_large_indices(a[0], "
    large: list[Row] = [([row], top + f"k={tail})") for tail in ("64", "16", "2048", "2064", "20", "0", "64, valid_length=100", "64, valid_length=63", "64, valid_length=4097", "64, valid_length_offset=32", f"64, sub_core_grids={cores(1, 0, 2, 1)}")]
    large += [([x], top + "k=64)") for x in ([(4, 32), _BF16, _RM], [(2, 3, 4096), _BF16, _RM], [(4096,), _BF16, _RM], [(4, 4096)], [(4, 4096), "float32", _RM], [(4, 4096), _BF16, _RM, _L1], [(4, 4090), _BF16, _RM])]
    large += [([row, x, one], top + f"k=64, {tail})") for x in (one, [(1,), "int32", _RM], [(2,), "uint32", _RM]) for tail in ("valid_length_tensor=a[1]", "valid_length_tensor=a[1], valid_length_offset=32", "valid_length=64, valid_length_tensor=a[1]", "valid_length_tensor=a[1], valid_end_tensor=a[2]", "valid_end_tensor=a[1]")]
    glu: list[Row] = [([[s, d], [t, e]], f"ttnn.situ_glu(a[0], a[1], {b1}, 25.0{tail})") for s, t, d, e, b1, tail in (((1, 1, 64, 64), (1, 1, 64, 64), _BF16, _BF16, 4.0, ""), ((1, 1, 64, 64), (1, 1, 64, 64), "bfloat8_b", "bfloat8_b", 4.0, ""), ((1, 1, 64, 64), (1, 1, 64, 64), "float32", "float32", 4.0, ""), ((64, 64), (1, 1, 64, 64), _BF16, _BF16, 4.0, ""), ((64, 64), (64, 1), _BF16, _BF16, 4.0, ""), ((64, 64), (64, 64), _BF16, "bfloat8_b", 4.0, ""), ((64, 64), (64, 64), _BF16, _BF16, 0.0, ""), ((64, 64), (64, 64), _BF16, _BF16, -1.0, ""), ((33, 50), (33, 50), _BF16, _BF16, 4.0, ""), ((64, 64), (64, 64), _BF16, _BF16, 4.0, f", memory_config={_L1}"), ((64, 64), (64, 64), _BF16, _BF16, 4.0, f", sub_core_grids={cores(1, 0, 2, 1)}, memory_config={_L1}"), ((64, 64), (64, 64), _BF16, _BF16, 4.0, f", sub_core_grids={cores(1, 0, 2, 1)}"))]
    glu += [([[(64, 64), _BF16, _RM]] * 2, "ttnn.situ_glu(a[0], a[1], 1.0, 25.0)"), ([_tall((64, 64), (32, 64), 2)] * 2, "ttnn.situ_glu(a[0], a[1], 1.0, 25.0)")]
    groups: list[Row] = []
    for o, i, g in ((64, 64, 1), (64, 64, 2), (64, 64, 4), (96, 96, 3), (64, 96, 2), (64, 64, 64), (60, 64, 4), (64, 64, 5)):
        weight = [(o, max(1, i // g), 3, 3, 3), _BF16, _RM, _HOST]
        window = f"dtype=ttnn.bfloat16, output_channels={o}, kernel_size=[3, 3, 3], groups={g}, padding=[1, 1, 1]"
        groups.append(([[(1, 4, 6, 6, i), _BF16, _RM], weight], f"{_X}conv3d(input_tensor=a[0], weight_tensor=a[1], device=device, {window})"))
        if o % g == 0:
            groups.append(([weight], f"{_X}prepare_conv3d_weights(weight_tensor=a[0], groups={g}, device=device)"))
    return {"fast_reduce_nc_split": reduce, "repeat_and_interleave_eltwise_mul": mul, "matmul_decode": product, "topk_large_indices": large, "situ_glu": glu, "conv3d_groups": groups}


def _samples() -> dict[str, list[Row]]:
    image = [(1, 16, 16, 32), _BF16, _RM]
    call = "ttnn.grid_sample(a[0], a[1]"
    modes = ("", ", use_precomputed_grid=True", ", mode='nearest'", ", mode='nearest', use_precomputed_grid=True", ", batch_output_channels=True", ", use_precomputed_grid=True, batch_output_channels=True", ", mode='nearest', use_precomputed_grid=True, batch_output_channels=True", f", memory_config={_L1}", f", memory_config={_HEIGHT}", f", memory_config={shards('HEIGHT', (16, 32), 4)}")
    rows: list[Row] = [([image, [(1, 8, 8, n), d, _RM]], call + f"{mode})") for n in (2, 4, 6, 12) for d in (_BF16, "float32") for mode in modes]
    rows += [([[(2, 16, 16, 32), _BF16, _RM], [(2, h, w, 2), _BF16, _RM]], call + ", mode='nearest', use_precomputed_grid=True)") for h, w in ((8, 8), (7, 9), (40, 40))]
    rows += [([image, [(1, 8, 8, n), _BF16, _RM, shards("HEIGHT", (16, n), 4)]], call + f"{mode})") for n in (2, 6, 8) for mode in modes[:7]]
    rows += [([[(1, 16, 16, c), d, _RM], [(1, 8, 8, 2), _BF16, _RM]], call + f"{mode})") for c in (32, 48, 256) for d in (_BF16, "float32") for mode in modes[:4]]
    grid = [(1, 8, 8, 2), "float32", _RM, _HOST]
    prepare = "ttnn.operations.pool.prepare_grid_sample_grid(a[0], "
    rows += [([grid], prepare + f"{tail})") for tail in ("[1, 32, 32, 64]", "[1, 32, 32, 64], mode='nearest'", "[1, 32, 32, 64], padding_mode='border'", "[1, 32, 32, 64], align_corners=True", "[32, 32, 64]", "[1, 32, 32, 64], output_dtype=ttnn.bfloat16", "[1, 32, 32, 64], output_dtype=ttnn.float32", "(1, 32, 32, 64)")]
    rows += [([one], prepare + "[1, 32, 32, 64])") for one in ([(1, 8, 8, 2), _BF16, _RM, _HOST], [(1, 8, 8, 2), "float32", "tile", _HOST], [(1, 8, 8, 4), "float32", _RM, _HOST], [(8, 8, 2), "float32", _RM, _HOST], [(1, 8, 8, 2), "float32", _RM])]
    rows += [([grid], "ttnn.prepare_grid_sample_grid(a[0], [1, 32, 32, 64])")]
    value, places, weights = [(8, 16, 16, 32), _BF16, _RM], [(8, 400, 1, 2), _BF16, _RM], [(8, 100, 4), _BF16, _RM]
    attend = f"{_X}multi_scale_deformable_attn(a[0], a[1], a[2]"
    deform: list[Row] = [([value, places, weights], attend + f"{tail})") for tail in ("", ", align_corners=True", f", memory_config={_L1}", f", memory_config={_HEIGHT}")]
    deform += [([[(8, 16, 16, d), e, layout], places, weights], attend + ")") for d, e, layout in ((16, _BF16, _RM), (64, _BF16, _RM), (288, _BF16, _RM), (40, _BF16, _RM), (32, "float32", _RM), (32, _BF16, "tile"))]
    deform += [([value, [(8, n, 1, 2), _BF16, _RM], [(8, 100, p), _BF16, _RM]], attend + ")") for n, p in ((300, 3), (400, 3), (100, 1), (1600, 16))]
    deform += [([value, [(8, 100, 4, 2), _BF16, _RM], weights], attend + ")"), ([value, places, [(7, 100, 4), _BF16, _RM]], attend + ")"), ([value, places, [(8, 100, 4)]], attend + ")")]
    return {"grid_sample": rows, "multi_scale_deformable_attn": deform}


def _older_caches() -> dict[str, list[Row]]:
    cache, tokens, where = [(4, 2, 64, 64)], _tall((1, 4, 2, 64), (32, 64), 4), [(4,), "int32", _RM]
    pages, table = [(16, 2, 32, 64)], [(4, 4), "int32", _RM]
    update = f"{_X}paged_update_cache(a[0], a[1], "
    rows: list[Row] = [([cache, tokens], update + f"update_idxs={tail})") for tail in ("[1, 2, 3, 4]", "[1, 2, 3, -1]", "[1, 2, 3]", "[]", "[1, 2, 3, 4], share_cache=True", "[1, 2, 3, 4], batch_offset=1", "[1, 2, 3, 4], block_size=32", "[1, 2, 3, 4], cache_position_modulo=32")]
    rows += [([one, tokens], update + "update_idxs=[1, 2, 3, 4])") for one in ([(4, 2, 64, 64), "float32"], [(4, 2, 64, 64), "bfloat4_b"], [(4, 2, 64, 64), "int32"], [(8, 2, 64, 64)], [(4, 2, 64, 96)])]
    rows += [([cache, one], update + "update_idxs=[1, 2, 3, 4])") for one in ([(1, 4, 2, 64)], _tall((1, 4, 2, 64), (32, 64), 4, dtype="bfloat8_b"), _tall((1, 4, 2, 64), (2, 64), 4, layout=_RM), _tall((1, 4, 40, 64), (64, 64), 4), _tall((1, 4, 1, 64), (32, 64), 4))]
    rows += [([cache, tokens, one], update + "update_idxs_tensor=a[2])") for one in (where, [(4,), "uint32", _RM], [(5,), "int32", _RM], [(4,), "int32"], [(4,), "int32", _RM, _L1])]
    rows += [([pages, tokens, where, one], update + "update_idxs_tensor=a[2], page_table=a[3])") for one in (table, [(4, 4), "uint32", _RM], [(3, 4), "int32", _RM], [(4, 20), "int32", _RM], [(4, 4), "int32"])]
    rows += [([pages, tokens, where, table], update + f"update_idxs_tensor=a[2], page_table=a[3], {tail})") for tail in ("block_size=32", "block_size=64", "block_size=16", "num_kv_heads=2", "cache_position_modulo=64", "cache_position_modulo=40", "block_size=64, num_kv_heads=1")]
    fill = f"{_X}paged_fill_cache(a[0], a[1], a[2]"
    rows += [([pages, one, table], fill + ", batch_idx=0)") for one in ([(1, 2, 64, 64)], [(1, 2, 40, 64)], [(1, 2, 160, 64)], [(2, 2, 64, 64)], [(1, 3, 64, 64)], [(1, 2, 64, 96)], [(1, 2, 64, 64), "float32"])]
    rows += [([pages, [(1, 2, 64, 64)], table], fill + f", batch_idx={tail})") for tail in ("3", "4", "0, block_size=32", "0, block_size=64", "0, cache_position_modulo=64")]
    rows += [([pages, [(1, 2, 64, 64)], one], fill + ", batch_idx=0)") for one in ([(4, 4), "uint32", _RM], [(16,), "int32", _RM], [(4, 4), "int32", _RM, _L1])]
    rows += [([pages, [(1, 2, 64, 64)], table, one], fill + ", batch_idx_tensor=a[3])") for one in ([(1,), "uint32", _RM], [(1,), "int32", _RM], [(2,), "uint32", _RM])]
    rows += [([[(2, 4, 64, 64)], one], "ttnn.fill_cache(a[0], a[1], 0)") for one in ([(1, 4, 64, 64)], [(1, 4, 96, 64)], [(1, 4, 20, 64)], [(2, 4, 32, 64)], [(1, 3, 32, 64)], [(1, 4, 32, 64), "bfloat8_b"], [(1, 4, 32, 64), _BF16, _RM])]
    rows += [([[(2, 4, 64, 64)], [(1, 4, 32, 64)]], f"ttnn.fill_cache(a[0], a[1], {tail})") for tail in ("1", "2", "0, update_idx=32", "0, update_idx=16", "0, update_idx=64")]
    rows += [([[(4, 4, 64, 64)], one], "ttnn.update_cache(a[0], a[1], 3)") for one in ([(1, 4, 4, 64)], [(1, 4, 40, 64)], [(1, 4, 2, 64)], [(2, 4, 4, 64)], [(1, 3, 4, 64)], [(1, 4, 4, 64), "float32"], [(1, 4, 4, 64), "bfloat4_b"])]
    rows += [([[(4, 4, 64, 64)], [(1, 4, 32, 64)]], f"ttnn.update_cache(a[0], a[1], 3, batch_offset={n})") for n in (1, 28, 29)]
    q, call = [(1, 4, 8, 64)], "ttnn.transformer.paged_scaled_dot_product_attention_decode(a[0], a[1], a[2], a[3]"
    rows += [([q, pages, pages, table, where], call + f"{tail})") for tail in ("", ", cur_pos_tensor=a[4]", ", is_causal=False", ", cur_pos_tensor=a[4], sliding_window_size=8")]
    rows += [([q, pages, two, t, at], call + ", cur_pos_tensor=a[4])") for two, t, at in ((pages, table, [(4,), "uint32", _RM]), (pages, table, [(5,), "int32", _RM]), (pages, [(4, 4), "uint32", _RM], where), (pages, [(3, 4), "int32", _RM], where), ([(16, 2, 32, 96)], table, where))]
    chunk = "ttnn.transformer.chunked_scaled_dot_product_attention(a[0], a[1], a[2], a[3], "
    config = "program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size=32)"
    rows += [([[(1, 4, 64, 64)], pages, pages, [(1, 16), d, _RM]], chunk + f"{tail})") for d in ("int32", "uint32") for tail in ("0", "64", f"0, {config}", f"48, {config}")]
    return {"caches": rows}


def _latent() -> dict[str, list[Row]]:
    call, paged = (f"ttnn.transformer.{p}flash_multi_latent_attention_decode(a[0], a[1], " for p in ("", "paged_"))
    positions = "cur_pos=[1, 2, 3, 4, 5, 6, 7, 8]"
    config = "program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size=64)"
    rows: list[Row] = [([[(1, 8, h, d)], [(8, kv, s, d), e]], call + f"None, {v}, {positions}{tail})") for h, kv, s, d, e in ((16, 1, 256, 576, _BF16), (16, 1, 256, 64, _BF16), (8, 1, 512, 128, "bfloat8_b"), (32, 2, 128, 64, _BF16), (40, 1, 256, 576, _BF16), (128, 1, 256, 576, "bfloat8_b")) for v in (32, 64, 512, 600) for tail in ("", f", {config}", f", memory_config={_L1}")]
    rows += [([[(1, 8, 16, 64)], one], call + f"None, 32{tail})") for one in ([(8, 1, 256, 64)], [(1, 1, 256, 64)], [(8, 1, 256, 96)], [(8, 1, 256, 64), "float32"]) for tail in ("", f", {positions}", f", {positions}, scale=0.1, sliding_window_size=4", ", is_causal=False")]
    rows += [([[(1, 8, 16, 64)], [(8, 1, 256, 64)], [(8, 1, 256, w)]], call + f"a[2], 32, {positions})") for w in (32, 64)]
    table, where = [(8, 8), "int32", _RM], [(8,), "int32", _RM]
    rows += [([[(1, 8, 16, 64)], [(64, 1, 32, 64)], t, where], paged + f"None, 32, a[2]{tail})") for t in (table, [(8, 8), "uint32", _RM], [(4, 8), "int32", _RM]) for tail in ("", ", cur_pos_tensor=a[3]", f", cur_pos_tensor=a[3], memory_config={_L1}")]
    return {"multi_latent_attention": rows}


ROWS: dict[str, list[Row]] = {**_heads(), **_rotary(), **_caches(), **_older_caches(), **_moves(), **_computed(), **_samples(), **_latent()}
