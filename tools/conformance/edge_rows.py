"""Rows at the edges of what programs take: configs one step beyond a rule, and programs whose circular buffers find no room. Part of `config_rows.py`."""

from __future__ import annotations

import random

from rule_rows import Row

_D, _L1 = "ttnn.DRAM_MEMORY_CONFIG", "ttnn.L1_MEMORY_CONFIG"
FILLED = "[20800, 32]"  # shard of what fills L1 up to some 30 KB: 650 tiles of bfloat16 on each of 64 cores, as on both cards


def cores(x: int, y: int, x0: int = 0, y0: int = 0) -> str:
    return f"ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord({x0}, {y0}), ttnn.CoreCoord({x0 + x - 1}, {y0 + y - 1}))])"


def shards(kind: str, shape: tuple[int, int], x: int, y: int, where: str = "L1", order: str = "ROW_MAJOR") -> str:
    spec = f"ttnn.ShardSpec({cores(x, y)}, [{shape[0]}, {shape[1]}], ttnn.ShardOrientation.{order})"
    return f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.{kind}_SHARDED, ttnn.BufferType.{where}, {spec})"


def filler(rows: int = 20800) -> tuple[object, ...]:
    spec = f"ttnn.ShardSpec({cores(8, 8)}, [{rows}, 32], ttnn.ShardOrientation.ROW_MAJOR)"
    return (64 * rows, 32), "bfloat16", "tile", f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, {spec})"


def full_l1(rng: random.Random) -> Row:
    """A program whose circular buffers find no room: the real package says where they would end."""
    batch, heads, rows, w = rng.choice((1, 2)), rng.choice((1, 2)), rng.choice((32, 64)), rng.choice((*range(1, 21), 36))
    width = 32 * w - rng.choice((0, 0, 0, 31))
    compute = rng.choice(("", "", "fp32_dest_acc_en=True", "fp32_dest_acc_en=False"))
    tail = f"numeric_stable={rng.random() < 0.6}" + (f", compute_kernel_config=ttnn.WormholeComputeKernelConfig({compute})" if compute else "")
    dtype, mask_dtype = rng.choice(("bfloat16", "bfloat16", "float32", "bfloat8_b")), rng.choice(("bfloat16", "bfloat8_b"))
    if rng.random() < 0.2:
        return _rows_beside_columns(rng)
    lead = (batch, heads)
    kind = rng.choice(("softmax", "softmax", "in place", "mask", "mask in place", "rank"))
    if kind == "rank":
        lead = rng.choice(((), (2,)))
    inputs: list[tuple[object, ...]] = [((*lead, rows, width), dtype)]
    if "mask" in kind:
        inputs.append(((batch, 1, 32, width), mask_dtype))
    inputs.append(filler())
    if kind == "mask":
        return inputs, f"ttnn.scale_mask_softmax(a[0], 0.5, a[1], {tail})"
    if kind == "mask in place":
        return inputs, f"ttnn.scale_mask_softmax_in_place(a[0], 0.5, a[1], {tail})"
    if kind == "in place":
        return inputs, f"ttnn.softmax_in_place(a[0], {tail})"
    return inputs, f"ttnn.softmax(a[0], dim=-1, {tail})"


def _rows_beside_columns(rng: random.Random) -> Row:
    """Height shards times a matrix in DRAM, without a config: A is copied where the program steps through its rows."""
    m, k, n, x, y = rng.choice((1, 2, 4)), rng.choice((2, 4)), rng.choice((2, 4, 8)), rng.choice((1, 2, 4)), rng.choice((1, 2))
    out = rng.choice((_D, "ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1)"))
    inputs: list[tuple[object, ...]] = [((m * 32 * x * y, k * 32), "bfloat16", "tile", shards("HEIGHT", (m * 32, k * 32), x, y))]
    inputs += [((k * 32, n * 32), rng.choice(("bfloat16", "bfloat8_b")), "tile", _D), filler()]
    return inputs, f"ttnn.matmul(a[0], a[1], memory_config={out})"


def edge(rng: random.Random) -> Row:
    return rng.choice((_multicast_product, _multicast_product, _norm, _width_conv, _width_conv))(rng)


def _multicast_product(rng: random.Random) -> Row:
    """Blocks of more rows than there are, and of a B in L1 shards that hold one block or two."""
    m, k, batch, fuse = rng.choice((2, 4)), rng.choice((4, 6)), rng.choice((1, 2, 4)), rng.random() < 0.6
    rows = m * (batch if fuse else 1)
    per_m, block_k = max(1, rows + rng.choice((-1, 0, 0, 1, 2))), rng.choice([d for d in (1, 2, 3, 6) if k % d == 0])
    b_memory, per_n = (shards("WIDTH", (k * 32, 32), 2, 1), 1) if rng.random() < 0.6 else (_D, rng.choice((1, 2)))
    config = (
        f"ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(8, {rng.choice((1, 8))}), in0_block_w={block_k}, per_core_M={per_m}, "
        f"per_core_N={per_n}, out_subblock_h=1, out_subblock_w=1, transpose_mcast=False, fused_activation=None, fuse_batch={fuse})"
    )
    inputs: list[tuple[object, ...]] = [((batch, m * 32, k * 32), "bfloat16"), ((1, k * 32, 64), "bfloat16", "tile", b_memory)]
    return inputs, f"ttnn.matmul(a[0], a[1], program_config={config}, memory_config={rng.choice((_D, _L1))})"


def _norm(rng: random.Random) -> Row:
    """Shards with the default config, and on one row of cores by columns."""
    kind, x, y = rng.choice((("WIDTH", 2, 1), ("WIDTH", 1, 2), ("WIDTH", 3, 1), ("WIDTH", 2, 2), ("WIDTH", 8, 1), ("BLOCK", 2, 1), ("BLOCK", 2, 2)))
    order = rng.choice(("ROW_MAJOR", "COL_MAJOR")) if kind == "WIDTH" else "ROW_MAJOR"
    across, down = (x * y, 1) if kind == "WIDTH" else (x, y)
    config = rng.choice(("None", "ttnn.LayerNormDefaultProgramConfig()"))
    memory = shards(kind, (64, 64), x, y, order=order)
    return [((1, 1, 64 * down, 64 * across), "bfloat16", "tile", memory)], f"ttnn.{rng.choice(('layer_norm', 'rms_norm'))}(a[0], program_config={config})"


def _width_conv(rng: random.Random) -> Row:
    """Blocks of rows that do not divide the result's, and given grids of more cores than the result's."""
    side, stride, kernel = rng.choice((4, 5, 8, 9, 10, 14, 16, 20)), rng.choice((1, 2)), rng.choice((1, 3))
    channels, out_channels = rng.choice((64, 128, 256)), rng.choice((32, 64, 96, 128, 256))
    x, y = rng.choice(((2, 1), (4, 1), (8, 1), (1, 4), (2, 2), (3, 2), (5, 2), (8, 2)))
    given = f"override_sharding_config=True, core_grid={cores(x, y)}" if rng.random() < 0.5 else f"act_block_h_override={32 * rng.choice((1, 2, 3, 4, 5))}"
    config = f"ttnn.Conv2dConfig(shard_layout=ttnn.TensorMemoryLayout.WIDTH_SHARDED, {given})"
    inputs: list[tuple[object, ...]] = [((1, 1, side * side, channels), "bfloat16", "row_major", _L1)]
    inputs += [((out_channels, channels, kernel, kernel), "bfloat16", "row_major", "host"), ((1, 1, 1, out_channels), "bfloat16", "row_major", "host")]
    return inputs, (
        f"ttnn.conv2d(input_tensor=a[0], weight_tensor=a[1], bias_tensor=a[2], device=device, in_channels={channels}, out_channels={out_channels}, "
        f"batch_size=1, input_height={side}, input_width={side}, kernel_size=({kernel}, {kernel}), stride=({stride}, {stride}), "
        f"padding=({kernel // 2}, {kernel // 2}), groups=1, conv_config={config})"
    )
