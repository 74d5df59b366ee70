"""Calls with program configs, sharded operands and sharded results as experts' models and an optimizer make them: drawn around valid ones, so
that about half are refused by the real package for one reason. Rows as in `rule_rows.py`, with a fixed seed per family.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import edge_rows
from edge_rows import cores, shards
from rule_rows import Row

_D, _L1, _RM = "ttnn.DRAM_MEMORY_CONFIG", "ttnn.L1_MEMORY_CONFIG", "row_major"
COUNTS = {"matmul": 500, "norm": 160, "softmax": 120, "decode": 120, "decode_heads": 60, "fused_rotary": 50, "heads": 150, "moved": 100, "conv": 160,
          "windows": 120, "plain_matmul": 260, "full_l1": 240, "edge": 160}


def placed(kind: str) -> str:
    return f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.{kind}_SHARDED, ttnn.BufferType.L1)"


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def _up(number: int, part: int) -> int:
    return -(-number // part)


def _matmul(rng: random.Random) -> Row:
    """One product with a config: operands and result in any memory; every number right or one of them wrong."""
    kind = rng.choice(("2D", "2D", "1D-in0", "1D-in0", "1D-in1", "1D-in1", "Reuse", "DRAM"))
    batch = rng.choice((1, 1, 1, 2, 4)) if kind != "DRAM" else 1
    m, k, n = rng.choice((1, 2, 4, 7, 8, 14)), rng.choice((2, 4, 6, 8)), rng.choice((1, 2, 4, 6, 8, 12))
    b_batch = batch if kind == "Reuse" or rng.random() < 0.1 else 1
    x, y = rng.choice(((8, 8), (4, 2), (2, 4), (1, 4), (4, 1), (8, 1), (3, 2)))
    fuse = rng.random() < 0.85
    rows = m * (batch if fuse and kind != "Reuse" else 1)
    if kind == "DRAM":
        m = rows = rng.choice((1, 1, 1, 2))
    per_m, per_n = {
        "2D": (_up(rows, y), _up(n, x)), "1D-in0": (rows, _up(n, x * y)), "1D-in1": (_up(rows, x * y), n), "Reuse": (rng.choice(_divisors(m)), n),
        "DRAM": (m, _up(n, x * y)),
    }[kind]  # fmt: skip
    roll = rng.random()
    if roll < 0.06:
        per_m += 1
    elif roll < 0.12:
        per_n += 1
    elif roll < 0.16 and kind == "Reuse":
        per_m *= 2
    block_k = rng.choice(_divisors(k)) if rng.random() < 0.93 else rng.choice((3, 5))
    sub_h, sub_w = rng.choice(_divisors(per_m)), rng.choice(_divisors(per_n))
    if rng.random() < 0.5:
        sub_h = 1
    # where A lies
    down, across = min(x * y, _up(m * batch, per_m)), _up(n, per_n)
    a_memory = rng.choice((_D, _L1, "match", "match", "match"))
    if a_memory == "match":
        all_rows = m * batch
        if kind == "2D":
            a_memory = shards("BLOCK", (per_m * 32, _up(k, min(k, x)) * 32), min(k, x), _up(all_rows, per_m), order="COL_MAJOR" if rng.random() < 0.1 else "ROW_MAJOR")
            if rng.random() < 0.1:
                a_memory = shards("HEIGHT", (per_m * 32, k * 32), 1, _up(all_rows, per_m))
        elif kind in ("1D-in0", "DRAM"):
            parts = rng.choice([d for d in _divisors(k) if d <= x * y])
            a_memory = shards("WIDTH", (all_rows * 32, k // parts * 32), parts, 1)
        else:
            a_memory = shards("HEIGHT", (per_m * 32, k * 32), *((down, 1) if down <= 8 else (8, _up(down, 8))))
    # where B lies
    b_memory = _D if rng.random() < 0.7 else _L1
    if kind == "DRAM" and rng.random() < 0.9:
        b_memory = shards("WIDTH", (k * 32, _up(n, 12) * 32), 12, 1, "DRAM")
    elif rng.random() < 0.12:
        b_memory = shards("WIDTH", (k * 32, per_n * 32), min(8, across), 1)
    elif kind == "Reuse" and rng.random() < 0.2:
        b_memory = shards("HEIGHT", (k * 32, n * 32), *((b_batch, 1)))
    # where the result goes
    natural = {"2D": "BLOCK", "1D-in0": "WIDTH", "1D-in1": "HEIGHT", "Reuse": "HEIGHT", "DRAM": "WIDTH"}[kind]
    roll = rng.random()
    if roll < 0.35:
        out = rng.choice((_D, _L1))
    elif roll < 0.75:
        out = placed(natural)
    elif roll < 0.9:
        out = shards(natural, (per_m * 32 * rng.choice((1, 1, 2)), per_n * 32), *((across, _up(rows, per_m)) if kind == "2D" else (min(8, across * down), 1)))
    else:
        out = placed(rng.choice(("HEIGHT", "WIDTH", "BLOCK")))
    numbers = f"in0_block_w={block_k}, per_core_M={per_m}, per_core_N={per_n}"
    grid = f"compute_with_storage_grid_size=({x}, {y})"
    block = f"{grid}, {numbers}, out_subblock_h={sub_h}, out_subblock_w={sub_w}"
    fused = rng.choice(("None", "None", "ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)"))
    if kind == "2D":
        config = f"ttnn.MatmulMultiCoreReuseMultiCastProgramConfig({block}, transpose_mcast={rng.random() < 0.1}, fused_activation={fused}, fuse_batch={fuse})"
    elif kind.startswith("1D"):
        config = f"ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig({block}, fuse_batch={fuse}, fused_activation={fused}, mcast_in0={kind == '1D-in0'})"
    elif kind == "Reuse":
        config = f"ttnn.MatmulMultiCoreReuseProgramConfig({block})"
    else:
        config = f"ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig({numbers}, fused_activation={fused})"
    dtype = rng.choice(("bfloat16", "bfloat16", "bfloat16", "bfloat8_b", "float32"))
    lead = (batch,) if rng.random() < 0.5 else (1, batch)
    b_lead = (b_batch,) if len(lead) == 1 else (1, b_batch)
    inputs: list[tuple[object, ...]] = [((*lead, m * 32, k * 32), dtype, "tile", a_memory), ((*b_lead, k * 32, n * 32), rng.choice((dtype, "bfloat8_b")), "tile", b_memory)]
    tail = ""
    if rng.random() < 0.1:
        tail += ", activation='relu'"
    if rng.random() < 0.15:
        tail += f", dtype=ttnn.{rng.choice(('bfloat8_b', 'float32'))}"
    if rng.random() < 0.15:
        tail += ", compute_kernel_config=ttnn.WormholeComputeKernelConfig(fp32_dest_acc_en=True, packer_l1_acc=True)"
    if rng.random() < 0.25:
        inputs.append(((1, n * 32), "bfloat16"))
        return inputs, f"ttnn.linear(a[0], a[1], bias=a[2], program_config={config}, memory_config={out}{tail})"
    return inputs, f"ttnn.matmul(a[0], a[1], program_config={config}, memory_config={out}{tail})"


def _norm(rng: random.Random) -> Row:
    kind = rng.choice(("BLOCK", "BLOCK", "BLOCK", "WIDTH", "WIDTH", "HEIGHT"))
    m, k = rng.choice((1, 2, 4, 8)), rng.choice((2, 4, 8, 12))
    x, y = rng.choice(_divisors(k)), rng.choice(_divisors(m))
    x, y = min(x, 8), (1 if kind == "WIDTH" else min(y, 8))
    if kind == "HEIGHT":
        x = 1
    if k % x:
        x = 1
    order = "COL_MAJOR" if rng.random() < 0.1 else "ROW_MAJOR"
    gx, gy = (y, x) if order == "COL_MAJOR" and kind == "BLOCK" else (x, y)
    memory = shards(kind, (m // y * 32, k // x * 32), gx, gy, order=order)
    block_h, block_w = m // y, k // x
    grid = (gx, gy)
    roll = rng.random()
    if roll < 0.1:
        grid = (max(1, gx - 1), gy)
    elif roll < 0.2:
        grid = (8, 8)
    elif roll < 0.3:
        block_h *= 2
    elif roll < 0.4:
        block_w = max(1, block_w // 2)
    subblock = rng.choice(_divisors(block_w)) if rng.random() < 0.9 else block_w + 1
    config = f"ttnn.LayerNormShardedMultiCoreProgramConfig(compute_with_storage_grid_size={grid}, subblock_w={subblock}, block_h={block_h}, block_w={block_w}, inplace={rng.random() < 0.3})"
    if rng.random() < 0.12:
        config = rng.choice(("None", "ttnn.LayerNormDefaultProgramConfig()"))
    out = rng.choice(("", "", f", memory_config={memory}", f", memory_config={placed(kind)}", f", memory_config={_D}", f", memory_config={_L1}", f", memory_config={placed('WIDTH' if kind == 'BLOCK' else 'BLOCK')}"))
    inputs: list[tuple[object, ...]] = [((1, 1, m * 32, k * 32), rng.choice(("bfloat16", "bfloat16", "bfloat8_b", "float32")), "tile", memory if rng.random() < 0.93 else _D)]
    tail = ""
    if rng.random() < 0.5:
        inputs.append(((1, 1, k, 32), "bfloat16", _RM) if rng.random() < 0.5 else ((1, 1, 1, k * 32),))
        tail += f", weight=a[{len(inputs) - 1}]"
        if rng.random() < 0.5:
            inputs.append(inputs[-1])
            tail += f", bias=a[{len(inputs) - 1}]"
    if rng.random() < 0.3:
        inputs.append(((1, 1, m * 32, k * 32), "bfloat16", "tile", rng.choice((memory, memory, _D))))
        tail += f", residual_input_tensor=a[{len(inputs) - 1}]"
    return inputs, f"ttnn.{rng.choice(('layer_norm', 'rms_norm'))}(a[0], epsilon=1e-5{tail}, program_config={config}{out})"


def _softmax(rng: random.Random) -> Row:
    batch, heads = rng.choice((1, 2, 4)), rng.choice((1, 2, 4))
    m, k = rng.choice((1, 2, 4)), rng.choice((2, 4, 6))
    kind = rng.choice(("HEIGHT", "BLOCK", "BLOCK", "interleaved"))
    y, x = batch, heads
    block_h, block_w = m, k
    memory = shards("BLOCK", (block_h * heads * 32, block_w * 32), 1, y) if kind == "BLOCK" else shards("HEIGHT", (block_h * 32, block_w * 32), x, y) if kind == "HEIGHT" else rng.choice((_D, _L1))
    grid = (x, y) if kind == "HEIGHT" else (1, y)
    if kind == "BLOCK":
        block_h *= heads
    roll = rng.random()
    if roll < 0.1:
        block_w = max(1, block_w // 2)
    elif roll < 0.2:
        block_h *= 2
    elif roll < 0.3:
        grid = (8, 8)
    subblock = rng.choice(_divisors(block_w)) if rng.random() < 0.9 else block_w + 1
    config = f"ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size={grid}, subblock_w={subblock}, block_h={block_h}, block_w={block_w})"
    if rng.random() < 0.15:
        config = "ttnn.SoftmaxDefaultProgramConfig()"
    inputs: list[tuple[object, ...]] = [((batch, heads, m * 32, k * 32), rng.choice(("bfloat16", "bfloat16", "bfloat8_b")), "tile", memory)]
    name = rng.choice(("softmax_in_place", "scale_mask_softmax_in_place", "transformer.attention_softmax_"))
    if name == "softmax_in_place":
        return inputs, f"ttnn.softmax_in_place(a[0], program_config={config})"
    inputs.append(((batch, 1, 1, k * 32), "bfloat16", "tile") if rng.random() < 0.6 else ((batch, 1, k, 32), "bfloat16", _RM))
    if name.startswith("scale"):
        return inputs, f"ttnn.{name}(a[0], 0.125, a[1], program_config={config})"
    return inputs, f"ttnn.{name}(a[0], head_size=64, attention_mask=a[1], program_config={config})"


def _decode(rng: random.Random) -> Row:
    """Attention of one token per user: where the query and the result lie, heads in groups, positions in a list or a tensor."""
    users, kv = rng.choice((1, 2, 4, 8)), rng.choice((1, 1, 2, 8))
    heads, depth, keys = kv * rng.choice((1, 4, 8)), rng.choice((32, 64, 64, 128)), rng.choice((64, 128, 256, 96))
    padded = -(-heads // 32) * 32
    one_each = shards("HEIGHT", (padded, depth), users, 1)
    query = rng.choice((_D, _D, _L1, one_each, one_each, shards("WIDTH", (users * padded, depth), 1, 1)))
    cache = rng.choice(("bfloat16", "bfloat8_b"))
    q_dtype = "bfloat16" if rng.random() < 0.85 else "bfloat8_b"
    where = _D if rng.random() < 0.92 else _L1
    inputs: list[tuple[object, ...]] = [((1, users, heads, depth), q_dtype, "tile", query), ((users, kv, keys, depth), cache, "tile", where), ((users, kv, keys, depth), cache, "tile", _D)]
    tail = ""
    paged = rng.random() < 0.25
    if paged:
        pages = keys // 32
        inputs[1:] = [((users * pages, kv, 32, depth), cache)] * 2
        inputs += [((users, pages), "int32", _RM), ((users,), "int32", _RM)]
        tail = ", page_table_tensor=a[3], cur_pos_tensor=a[4]"
    elif rng.random() < 0.5:
        inputs.append(((users,), rng.choice(("int32", "int32", "uint32")), _RM))
        tail = ", cur_pos_tensor=a[3]"
    else:
        tail = f", cur_pos={[rng.choice((0, 31, keys - 1, keys)) if rng.random() < 0.2 else keys - 1 for _ in range(users)]}"
    if rng.random() < 0.35:
        tail += f", program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=32, k_chunk_size={rng.choice((32, 64, 128, 96))})"
    out = rng.choice(("", "", _D, _L1, one_each, one_each, placed("HEIGHT"), shards("WIDTH", (users * padded, depth), 1, 1)))
    tail += f", memory_config={out}" if out else ""
    return inputs, f"ttnn.transformer.{'paged_' if paged else ''}scaled_dot_product_attention_decode(a[0], a[1], a[2]{tail})"


def _decode_heads(rng: random.Random) -> Row:
    users, kv, depth = rng.choice((1, 8, 16, 32, 32)), rng.choice((1, 2, 4, 8)), rng.choice((32, 64, 128))
    heads = kv * rng.choice((1, 2, 4))
    width = (heads + 2 * kv) * depth
    parts = rng.choice([n for n in (1, 2, 4, 8, 16, 32) if width // 32 % n == 0])
    memory = rng.choice((_D, _L1, shards("WIDTH", (32, width // parts), *((parts, 1) if parts <= 8 else (8, parts // 8)))))
    x, y = rng.choice(((8, 4), (8, 4), (8, 5), (8, 8), (4, 2), (8, 1)))
    out = rng.choice(("", ", memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG", f", memory_config={shards('HEIGHT', (32, depth), x, y)}", f", memory_config={shards('HEIGHT', (32, depth), x, y)}"))
    overlap = rng.choice(("", ", overlap_qk_coregrid=True", ", overlap_qk_coregrid=False"))
    return [((1, 1, users, width), "bfloat16", "tile", memory)], f"ttnn.experimental.nlp_create_qkv_heads_decode(a[0], num_heads={heads}, num_kv_heads={kv}{overlap}{out})"


def _fused_rotary(rng: random.Random) -> Row:
    users, heads, kv, depth = rng.choice((1, 4, 8, 16)), rng.choice((1, 8, 32)), rng.choice((1, 8)), rng.choice((32, 64, 128))

    def on(first: int, count: int, rows: int, width: int) -> str:
        ranges = ", ".join(f"ttnn.CoreRange(ttnn.CoreCoord({i % 8}, {i // 8}), ttnn.CoreCoord({i % 8}, {i // 8}))" for i in range(first, first + count))
        return f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(ttnn.CoreRangeSet([{ranges}]), [{rows}, {width}], ttnn.ShardOrientation.ROW_MAJOR))"

    apart = users if rng.random() < 0.9 else 0
    tables = rng.choice((2 * users, 2 * users, 2 * users, users))
    rows = rng.choice((1, 1, 32))
    cos: tuple[object, ...] = ((1, tables, rows, depth), "bfloat16", "tile", on(0, tables, 32, depth) if rng.random() < 0.9 else _D)
    inputs: list[tuple[object, ...]] = [((1, users, heads, depth), "bfloat16", "tile", on(0, users, 32, depth)), ((1, users, kv, depth), "bfloat16", "tile", on(apart, users, 32, depth)), cos, cos]
    count = rng.choice((2 * users, 2 * users, 2 * users, users))
    inputs.append(((1, 1, 32 * count, 32), "bfloat16", "tile", on(0, count, 32, 32)))
    return inputs, "ttnn.experimental.rotary_embedding_llama_fused_qk(a[0], a[1], a[2], a[3], a[4])"


def _heads(rng: random.Random) -> Row:
    """Splitting and joining heads on shards, as encoders of experts' models do."""
    batch, heads, depth, length = rng.choice((1, 2, 4, 7, 8)), rng.choice((2, 4, 12, 16)), rng.choice((32, 64)), rng.choice((32, 64, 96, 224))
    columns = rng.choice([n for n in (1, 2, 4, 6, 8) if heads % n == 0])
    out = rng.choice((_D, _L1, placed("HEIGHT"), placed("HEIGHT"), placed("BLOCK"), "ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG"))
    kind = rng.randrange(4)
    order = "COL_MAJOR" if rng.random() < 0.25 else "ROW_MAJOR"
    grid = (batch, columns) if order == "COL_MAJOR" else (columns, batch)
    if kind == 0:
        width = 3 * heads * depth
        memory = rng.choice((_D, _L1, *[shards("BLOCK", (length, width // columns), *grid, order=order)] * 3))
        tail = rng.choice(("", "", ", transpose_key=False"))
        rank3 = (batch, length, width)
        return [(rank3, rng.choice(("bfloat16", "bfloat8_b")), "tile", memory)], f"ttnn.transformer.split_query_key_value_and_split_heads(a[0], num_heads={heads}{tail}, memory_config={out})"
    joined = shards("HEIGHT", (heads // columns * length, depth), *grid, order=order)
    memory = rng.choice((_D, _L1, *[joined] * 4))
    out = rng.choice((_D, _L1, placed("BLOCK"), placed("BLOCK"), "ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG", shards("BLOCK", (length, heads * depth // columns), *grid, order=order)))
    call = ("ttnn.transformer.concatenate_heads(a[0]", "ttnn.experimental.nlp_concat_heads(a[0]", "ttnn.experimental.concatenate_heads(a[0], ttnn.CoreCoord(8, 8)")[kind - 1]
    if kind == 3:
        call = "ttnn.experimental.nlp_concat_heads(a[0]"
    return [((batch, heads, length, depth), rng.choice(("bfloat16", "bfloat8_b")), "tile", memory)], f"{call}, memory_config={out})"


def _moved(rng: random.Random) -> Row:
    """Embedding to shards, untilize of shards, sharded upsample and fold."""
    kind = rng.randrange(4)
    if kind == 0:
        ids, width = rng.choice(((1, 32), (1, 128), (8, 32), (4, 64))), rng.choice((64, 128, 256, 96))
        rows = ids[0] * ids[1]
        parts = rng.choice([n for n in (1, 2, 4, 8) if width // 32 % n == 0])
        x, y = parts, rng.choice([n for n in (1, 2, 4, 8) if rows // 32 % n == 0])
        out = rng.choice((_D, _L1, shards("WIDTH", (rows, width // parts), parts, 1), shards("WIDTH", (rows, width // parts), parts, 1), shards("BLOCK", (rows // y, width // parts), x, y), shards("HEIGHT", (rows // y, width), y, 1), shards("HEIGHT", (rows // y, width), y, 1)))
        tail = rng.choice(("", ", layout=ttnn.TILE_LAYOUT", ", layout=ttnn.TILE_LAYOUT", ", padding_idx=3", ", dtype=ttnn.bfloat16"))
        return [(ids, "uint32", _RM), ((512, width), "bfloat16", _RM)], f"ttnn.embedding(a[0], a[1]{tail}, memory_config={out})"
    m, k = rng.choice((1, 2, 4)), rng.choice((4, 8, 16, 64))
    parts = rng.choice([n for n in (1, 2, 4, 8) if k % n == 0])
    if kind == 1:
        memory = rng.choice((shards("WIDTH", (m * 32, k // parts * 32), parts, 1), shards("HEIGHT", (32, k * 32), m, 1), shards("BLOCK", (32, k // parts * 32), parts, m)))
        out = rng.choice((f", memory_config={_D}", f", memory_config={_L1}", "", f", memory_config={memory}"))
        return [((1, 1, m * 32, k * 32), rng.choice(("bfloat16", "float32", "bfloat8_b")), "tile", memory)], f"ttnn.untilize(a[0]{out}{rng.choice(('', ', use_multicore=True'))})"
    channels, h = rng.choice((16, 32, 64, 4)), rng.choice((4, 8, 16))
    rows = 2 * h * h
    cores_y = rng.choice([n for n in (2, 4, 8) if rows % n == 0])
    memory = rng.choice((_D, _L1, shards("HEIGHT", (rows // cores_y, channels), cores_y, 1), shards("HEIGHT", (rows // cores_y, channels), cores_y, 1), shards("BLOCK", (rows // cores_y, channels // 2), 2, cores_y)))
    image = [((2, h, h, channels), "bfloat16", _RM, memory)]
    if kind == 2:
        mode = rng.choice(("", "", ", mode='bilinear'")) if "BLOCK" not in memory else ""
        return image, f"ttnn.upsample(a[0], {'2' if mode else rng.choice(('2', '(2, 2)', '(2, 1)', '3'))}{mode})"
    if rng.random() < 0.5 and "BLOCK" not in memory:  # the transposes go through whole tiles
        height = [((2, h, 16, 24), "bfloat16", _RM, memory if memory in (_D, _L1) else shards("HEIGHT", (2 * h * 16 // cores_y, 24), cores_y, 1))]
        stride = rng.choice(("2, 2", "2, 2", "4, 4"))
        return height, f"ttnn.fold(a[0], {stride}, use_transpose_as_fold=True{rng.choice(('', ', padding=[3, 3, 3, 3, 0, 1]'))})"
    if "BLOCK" in memory:
        image = [(image[0][0], "bfloat16", _RM)]
    padding = rng.choice(("", "", ", padding=[1, 1, 1, 1]")) if memory in (_D, _L1) else ""
    return image, f"ttnn.fold(a[0], {rng.choice(('2, 2', '2, 2', '4, 4', '3, 3'))}{padding})"


def _conv(rng: random.Random) -> Row:
    """Convolutions whose input is sharded, or whose config names a sharding: 1x1 and windows, resharded or freed on the way."""
    batch, h, channels, outputs = rng.choice((1, 2, 8)), rng.choice((8, 14, 16, 28)), rng.choice((32, 64, 128, 256)), rng.choice((32, 64, 96, 256))
    kernel = rng.choice((1, 1, 3))
    stride, padding = rng.choice((1, 1, 2)), kernel // 2
    pixels, layout = batch * h * h, rng.choice(("tile", "tile", _RM))
    kind = rng.choice(("HEIGHT", "HEIGHT", "BLOCK", "BLOCK", "WIDTH"))
    down = rng.choice([n for n in (1, 2, 4, 7, 8) if _up(_up(pixels, 32), n) * (n - 1) < _up(pixels, 32)])
    columns = rng.choice([n for n in (1, 2, 4, 8) if channels // 32 % n == 0])
    rows = _up(_up(pixels, 32), down) * 32
    if kind == "HEIGHT":
        memory = shards(kind, (rows, channels), down, 1)
    elif kind == "BLOCK":
        order = "COL_MAJOR" if rng.random() < 0.2 else "ROW_MAJOR"
        memory = shards(kind, (rows, channels // columns), *((down, columns) if order == "COL_MAJOR" else (columns, down)), order=order)
    else:
        memory = shards(kind, (_up(pixels, 32) * 32, channels // columns), columns, 1)
    memory = rng.choice((memory, memory, memory, _L1, _D))
    fields = []
    if rng.random() < 0.6 or memory in (_L1, _D):
        fields.append(f"shard_layout=ttnn.TensorMemoryLayout.{kind if rng.random() < 0.7 else rng.choice(('HEIGHT', 'BLOCK', 'WIDTH'))}_SHARDED")
        if rng.random() < 0.3:
            fields.append("reshard_if_not_optimal=True")
        elif rng.random() < 0.2:
            fields.append(f"override_sharding_config=True, core_grid={cores(rng.choice((2, 4)), rng.choice((1, 2)))}")
    fields += [
        text
        for text, share in (
            ("activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)", 0.3), ("deallocate_activation=True", 0.4), ("act_block_h_override=32", 0.2), ("act_block_h_override=96", 0.1),
            ("enable_act_double_buffer=True", 0.2), ("enable_weights_double_buffer=True", 0.2), ("reallocate_halo_output=False", 0.2), ("weights_dtype=ttnn.bfloat8_b", 0.3),
            ("output_layout=ttnn.ROW_MAJOR_LAYOUT", 0.1), ("full_inner_dim=True", 0.1), ("transpose_shards=True", 0.05),
        )
        if rng.random() < share
    ]  # fmt: skip
    fields = list({field.partition("=")[0]: field for field in fields}.values())  # of two heights of an activation block the last
    if memory == _D:  # how slices of an image in DRAM take a given grid is not modelled
        fields = [field for field in fields if "core_grid" not in field]
    groups = channels if kernel == 3 and outputs == channels and rng.random() < 0.5 else 1
    dtype = rng.choice(("bfloat16", "bfloat16", "bfloat8_b")) if layout == "tile" else "bfloat16"
    tail = rng.choice(("", "", ", dtype=ttnn.bfloat8_b", f", memory_config={_D}", f", memory_config={_L1}"))
    if rng.random() < 0.2 and memory not in (_L1, _D):
        tail += ", slice_config=ttnn.Conv2dL1FullSliceConfig"
    inputs: list[tuple[object, ...]] = [((1, 1, pixels, channels), dtype, layout, memory), ((outputs, channels // groups, kernel, kernel), "bfloat16", _RM, "host")]
    bias = ""
    if rng.random() < 0.6:
        inputs.append(((1, 1, 1, outputs), "bfloat16", _RM, "host"))
        bias = "bias_tensor=a[2], "
    sizes = f"in_channels={channels}, out_channels={outputs}, batch_size={batch}, input_height={h}, input_width={h}, kernel_size=({kernel}, {kernel}), stride=({stride}, {stride}), padding=({padding}, {padding}), groups={groups}"
    return inputs, f"ttnn.conv2d(input_tensor=a[0], weight_tensor=a[1], {bias}device=device, {sizes}, conv_config=ttnn.Conv2dConfig({', '.join(fields)}){tail})"


def _windows(rng: random.Random) -> Row:
    """Convolutions and transposed ones of an interleaved image in L1: channels that are padded, sharding chosen or asked for, little room left."""
    held, channels = rng.choice(((16, 3), (8, 3), (16, 16), (32, 32), (64, 64), (64, 40), (128, 128)))
    outputs, side, transposed = rng.choice((32, 64, 96)), rng.choice((16, 32, 64)), rng.random() < 0.5
    layout = _RM if held % 32 else rng.choice((_RM, "tile"))
    fields = [f"weights_dtype=ttnn.{rng.choice(('bfloat16', 'bfloat8_b'))}", f"output_layout=ttnn.{rng.choice(('ROW_MAJOR', 'TILE'))}_LAYOUT"]
    if held != channels or rng.random() < 0.7:
        fields.append(f"shard_layout=ttnn.TensorMemoryLayout.{rng.choice(('HEIGHT', 'HEIGHT', 'BLOCK', 'WIDTH'))}_SHARDED")
    fields += [
        text
        for text, share in (
            ("deallocate_activation=True", 0.5), ("reallocate_halo_output=False", 0.3), ("reshard_if_not_optimal=True", 0.3), ("enable_act_double_buffer=True", 0.4),
            ("enable_weights_double_buffer=True", 0.3), (f"act_block_h_override={rng.choice((32, 64, 128))}", 0.5),
        )
        if rng.random() < share
    ]  # fmt: skip
    compute = f"ttnn.WormholeComputeKernelConfig(fp32_dest_acc_en={rng.random() < 0.3}, packer_l1_acc={rng.random() < 0.5})"
    kernel, name = (rng.choice((2, 4)), "conv_transpose2d") if transposed else (3, "conv2d")
    geometry = f"kernel_size=({kernel}, {kernel}), stride=(2, 2), padding=({kernel // 2 - 1}, {kernel // 2 - 1}), output_padding=(0, 0)"
    if not transposed:
        geometry = "kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)"
    weights = (channels, outputs, kernel, kernel) if transposed else (outputs, channels, kernel, kernel)
    inputs: list[tuple[object, ...]] = [((1, 1, side * side, held), "bfloat16", layout, _L1), (weights, "bfloat16", _RM, "host")]
    inputs.append(((32 * rng.choice((1, 200, 500, 700)), 1024), "bfloat16", _RM, _L1))  # what else lies in L1
    sizes = f"in_channels={channels}, out_channels={outputs}, batch_size=1, input_height={side}, input_width={side}, {geometry}"
    tail = rng.choice(("", ", dtype=ttnn.bfloat8_b")) if "ROW" not in fields[1] else ""
    return inputs, f"ttnn.{name}(input_tensor=a[0], weight_tensor=a[1], device=device, {sizes}, compute_config={compute}, conv_config=ttnn.Conv2dConfig({', '.join(fields)}){tail})"


def _plain_matmul(rng: random.Random) -> Row:
    """A product without a config whose operands or result are sharded: the package chooses the program by them."""
    batch = rng.choice((1, 1, 1, 2, 4))
    m, k, n = rng.choice((1, 2, 4, 7, 8, 14, 32)), rng.choice((1, 2, 4, 6, 8, 16)), rng.choice((1, 2, 4, 6, 8, 12, 24))
    b_batch = batch if rng.random() < 0.35 else 1
    x, y = rng.choice(((8, 8), (4, 2), (2, 4), (1, 4), (4, 1), (8, 1), (1, 8), (1, 1), (3, 2)))
    rows = m * batch

    def sharded(kind: str, down: int, across: int, even: bool) -> str:
        """Shards of `down` x `across` tiles over about (x, y) cores; an uneven share or a wrong grid where not `even`."""
        order = "ROW_MAJOR" if rng.random() < 0.9 else "COL_MAJOR"
        if kind == "HEIGHT":
            parts = rng.choice([d for d in _divisors(down) if d <= 32]) if even else min(down, x * y)
            return shards(kind, (_up(down, parts) * 32, across * 32), *((parts, 1) if parts <= 8 else (8, _up(parts, 8))), order=order)
        if kind == "WIDTH":
            parts = rng.choice([d for d in _divisors(across) if d <= 32]) if even else min(across, x * y)
            return shards(kind, (down * 32, _up(across, parts) * 32), *((parts, 1) if parts <= 8 else (8, _up(parts, 8))), order=order)
        columns, lines = rng.choice([d for d in _divisors(across) if d <= 8]), rng.choice([d for d in _divisors(down) if d <= 8])
        if not even:
            columns, lines = min(across, x), min(down, y)
        return shards(kind, (_up(down, lines) * 32, _up(across, columns) * 32), *((columns, lines) if order == "ROW_MAJOR" else (lines, columns)), order=order)

    kinds = ("HEIGHT", "WIDTH", "BLOCK")
    kind = rng.choice(kinds)
    even = rng.random() < 0.75
    roll = rng.random()
    a_memory = sharded(kind, rows, k, even) if roll < 0.7 else rng.choice((_D, _L1))
    b_kind = rng.choice(("HEIGHT", "HEIGHT", *kinds)) if b_batch > 1 else rng.choice(kinds)
    b_memory = sharded(b_kind, k * b_batch, n, even) if rng.random() < 0.2 else rng.choice((_D, _D, _L1))
    if b_batch > 1 and roll < 0.35:  # whole matrices on the same cores
        parts = rng.choice([d for d in _divisors(batch) if d <= 8])
        a_memory = shards("HEIGHT", (rows // parts * 32, k * 32), parts, 1)
        b_memory = rng.choice((_D, shards("HEIGHT", (k * batch // parts * 32, n * 32), parts, 1)))
    roll = rng.random()
    if roll < 0.3:
        out = ""
    elif roll < 0.4:
        out = f", memory_config={rng.choice((_D, _L1))}"
    elif roll < 0.75:
        out = f", memory_config={placed(kind)}"
    elif roll < 0.9:
        out = f", memory_config={sharded(kind, rows, n, even)}"
    else:
        out = f", memory_config={placed(rng.choice(kinds))}"
    dtype = rng.choice(("bfloat16", "bfloat16", "bfloat16", "bfloat8_b", "float32"))
    lead = (batch,) if rng.random() < 0.5 else (1, batch)
    b_lead = (b_batch,) if len(lead) == 1 else (1, b_batch)
    if b_batch == 1 and rng.random() < 0.3:
        b_lead = ()
    inputs: list[tuple[object, ...]] = [((*lead, m * 32, k * 32), dtype, "tile", a_memory), ((*b_lead, k * 32, n * 32), rng.choice((dtype, "bfloat8_b")), "tile", b_memory)]
    tail = out
    if rng.random() < 0.15:
        tail += f", core_grid=ttnn.CoreGrid(x={x}, y={y})"
    if rng.random() < 0.08:
        tail += ", activation='relu'"
    if rng.random() < 0.15:
        tail += f", dtype=ttnn.{rng.choice(('bfloat8_b', 'float32'))}"
    if rng.random() < 0.15:
        tail += ", compute_kernel_config=ttnn.WormholeComputeKernelConfig(fp32_dest_acc_en=True, packer_l1_acc=True)"
    if rng.random() < 0.25:
        inputs.append(((32 * rng.choice((100, 300, 500)), 1024), "bfloat16", "row_major", _L1))  # what else lies in L1
    roll = rng.random()
    if roll < 0.5:
        return inputs, f"ttnn.matmul(a[0], a[1]{tail})"
    if roll < 0.75:
        return inputs, f"ttnn.linear(a[0], a[1]{tail})"
    inputs.append(((1, n * 32), "bfloat16") if rng.random() < 0.8 else ((1, 1, 32, n * 32), "bfloat16"))
    return inputs, f"ttnn.linear(a[0], a[1], bias=a[{len(inputs) - 1}]{tail})"


DRAWN = {"matmul": _matmul, "norm": _norm, "softmax": _softmax, "decode": _decode, "decode_heads": _decode_heads, "fused_rotary": _fused_rotary, "heads": _heads, "moved": _moved, "conv": _conv,
         "windows": _windows, "plain_matmul": _plain_matmul, "full_l1": edge_rows.full_l1, "edge": edge_rows.edge}


def rows() -> Iterator[Row]:
    for name, draw in DRAWN.items():
        rng = random.Random(name)
        for _ in range(COUNTS[name]):
            yield draw(rng)
