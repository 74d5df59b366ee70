"""What choices cost against each other: programs, shards, waits, passes over rows. An optimizer relies on these relations."""

from __future__ import annotations

from typing import Any

import pytest
from ttnn_shim.simlib import Simulator

from tests.sim.prices import price, sharded, tensor


@pytest.mark.parametrize("card", ["n150", "p150"])
def test_what_a_choice_of_configuration_costs(sim: Simulator, card: str) -> None:
    """Relations that an optimizer relies on; figures of published timings stand beside them."""

    def ns(op: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], attrs: dict[str, Any], **compute: Any) -> float:
        return price(sim, {"op": op, "inputs": inputs, "outputs": outputs, "attrs": attrs, "compute": {"fidelity": "HiFi2", **compute}}, card).ns

    # A fused activation is work of the math thread: tt-metal's 512 x 768 x 2048 with GELU takes 48.5 us, without 24.6.
    a, b, out = tensor([1, 1, 512, 768]), tensor([1, 1, 768, 2048]), tensor([1, 1, 512, 2048])
    bare, table, exact = (ns("matmul", [a, b], [out], extra) for extra in ({}, {"activation": "GELU", "activation_approx": True}, {"activation": "GELU"}))
    assert 1.3 * bare < exact
    assert bare < table < bare + 0.2 * (exact - bare)
    assert ns("matmul", [a, b], [out], {"activation": "RELU"}) == bare
    # A silu on an operand of a product: 2.8 us against less than 1.
    row = sharded([1, 1, 32, 512], (32, 32), 16, (8, 2), "width_sharded")
    assert ns("binary", [row, row], [row], {"op": "MUL", "pre_ops": ["SILU"]}) > 1.8 * ns("binary", [row, row], [row], {"op": "MUL"})
    # Functions on an operand follow each other on a tile that is copied once; a column of them serves its row of tiles.
    wide, column = tensor([1, 1, 1024, 1024]), tensor([1, 1, 1024, 32])
    steps = [ns("binary", [row, row], [row], {"op": "MUL", "pre_ops": ["ABS"] * count}) for count in range(4)]
    assert steps[2] - steps[1] == pytest.approx(steps[3] - steps[2], abs=2) and steps[1] - steps[0] > 1.5 * (steps[2] - steps[1])
    chains = {"pre_ops": ["TANH"], "pre_ops_b": ["TANH"]}
    assert ns("binary", [row, row], [row], {"op": "MUL", **chains}) > ns("binary", [row, row], [row], {"op": "MUL", "pre_ops": ["TANH"]})
    on_all, on_column = (ns("binary", [wide, column], [wide], {"op": "MUL", "broadcast": "COL_B", chain: ["TANH"] * 4}) for chain in ("pre_ops", "pre_ops_b"))
    assert on_column < 0.5 * on_all
    # Weights beside the banks stream faster than interleaved ones (240 against 190 GB/s).
    x = sharded([1, 1, 32, 8192], (32, 256), 32, (8, 4), "width_sharded")
    w, y = tensor([1, 1, 8192, 4096], "bfloat8_b"), sharded([1, 1, 32, 4096], (32, 128), 32, (8, 4), "width_sharded")
    near = {"program_config": "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig", "in0_block_w": 8, "per_core_M": 1, "per_core_N": 4}
    far = {"program_config": "MatmulMultiCoreReuseMultiCast1DProgramConfig", "in0_block_w": 8, "per_core_M": 1, "per_core_N": 4, "mcast_in0": True}
    gain = 0.85 if card == "n150" else 1.2  # Blackhole reads interleaved weights at the same 400 GB/s
    assert ns("matmul", [x, w], [y], near, fidelity="LoFi") < gain * ns("matmul", [x, w], [y], far, fidelity="LoFi")
    # Decode attention reads the cache up to the position, a whole chunk after the other.
    q, cache = tensor([1, 32, 32, 64]), tensor([32, 8, 1024, 64])

    def decode_at(positions: list[int], **chosen: int) -> float:
        return ns("sdpa_decode", [q, cache, cache], [q], {"is_causal": True, "cur_pos": positions, **chosen})

    at = [decode_at([position] * 32, k_chunk=128) for position in (31, 127, 511, 1023)]
    assert at == sorted(at)
    assert at[0] == at[1] < 0.4 * at[3]
    assert ns("sdpa_decode", [q, cache, cache], [q], {"is_causal": True, "k_chunk": 128}) == at[3]
    assert at[1] < decode_at([1023] + [127] * 31, k_chunk=128) <= at[3]
    assert decode_at([31] * 32) == decode_at([511] * 32) < decode_at([512] * 32)  # without a size: the largest power of two in 1024, at most 512

    # Partial statistics of a sharded norm are gathered once, in two stages over several rows of cores: 16 cores of a tile take 6.7 us.
    def norm(cores: int, grid: tuple[int, int]) -> float:
        t = sharded([1, 1, 32, 32 * cores], (32, 32), cores, grid, "width_sharded")
        return ns("layernorm", [t], [t], {"rms": True})

    assert norm(64, (8, 8)) < 2 * norm(16, (8, 2))
    if card == "n150":
        assert norm(16, (2, 8)) == pytest.approx(6680, rel=0.2)
    # Softmax: the exact exponential costs its SFPU program; prefill attention pays for 32-bit sums and an additive mask.
    s = tensor([1, 8, 224, 224])
    assert ns("softmax", [s], [s], {}, math_approx=True) < ns("softmax", [s], [s], {}, math_approx=False)
    p, mask = tensor([1, 8, 1024, 64]), tensor([1, 1, 1024, 1024])
    chunks = {"is_causal": False, "q_chunk": 128, "k_chunk": 128}
    plain = ns("sdpa", [p, p, p], [p], chunks)
    assert plain < ns("sdpa", [p, p, p], [p], chunks, fp32_dest_acc=True)
    assert plain < ns("sdpa", [p, p, p, mask], [p], {**chunks, "mask": True})
    assert plain < ns("sdpa", [p, p, p], [p], {**chunks, "core_grid": [4, 4]})


@pytest.mark.parametrize("card", ["n150", "p150"])
def test_what_work_on_shards_costs(sim: Simulator, card: str) -> None:
    """Programs that touch no memory but L1: passes over blocks, copies of sticks and tiles without a barrier each (cycles of a core)."""
    clock = 1.0 if card == "n150" else 1.35

    def cycles(op: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], attrs: dict[str, Any], **compute: Any) -> float:
        config = {"op": op, "inputs": inputs, "outputs": outputs, "attrs": attrs, "compute": {"fidelity": "HiFi2", **compute}}
        return price(sim, config, card).ns * clock

    def rows(shape: list[int], shard: tuple[int, int], cores: int = 64) -> dict[str, Any]:
        return {**sharded(shape, shard, cores, (8, 8), "height_sharded"), "layout": "row_major"}

    def block(rows_of_tiles: int, columns: int, dtype: str = "bfloat8_b") -> dict[str, Any]:
        shape = [1, 1, 8 * 32 * rows_of_tiles, 8 * 32 * columns]
        return {**sharded(shape, (32 * rows_of_tiles, 32 * columns), 64, (8, 8), "block_sharded"), "dtype": dtype}

    # A bias is one pass over the sums of a block, a subblock at a time: less than unpacking and packing each tile by itself.
    x, y = block(12, 4), block(12, 12)
    w, bias = tensor([1, 1, 1024, 3072], "bfloat8_b"), tensor([1, 1, 32, 3072], "bfloat8_b")
    program = {
        "program_config": "MatmulMultiCoreReuseMultiCastProgramConfig",
        "in0_block_w": 4,
        "per_core_M": 12,
        "per_core_N": 12,
        "out_subblock_h": 1,
        "out_subblock_w": 6,
    }
    plain, summed = (cycles("matmul", [x, w, *more], [y], program, packer_l1_acc=True) for more in ([], [bias]))
    assert 20 < (summed - plain) / 144 < 120
    # A norm makes each of its passes once for all rows of a core, and gathers statistics once.
    one, many = (cycles("layernorm", [block(h, 3)], [block(h, 3)], {"rms": False}) for h in (1, 7))
    assert many < 4 * one
    assert (many - one) / 18 < 700
    # Softmax on shards: passes of blocks; the exact exponential costs its program.
    s = {**sharded([8, 12, 224, 224], (448, 224), 48, (6, 8), "height_sharded"), "dtype": "bfloat8_b"}
    fast, exact = (cycles("softmax", [s], [s], {"numeric_stable": True}, math_approx=approx) for approx in (True, False))
    assert fast / 98 < 900 < exact / 98
    # Heads cut out of a core's own shard.
    qkv, head = block(12, 12), {**sharded([8, 16, 384, 64], (768, 64), 64, (8, 8), "height_sharded"), "dtype": "bfloat8_b"}
    keys = {**sharded([8, 16, 64, 384], (128, 384), 64, (8, 8), "height_sharded"), "dtype": "bfloat8_b"}
    assert cycles("create_heads", [qkv], [head, keys, head], {"num_heads": 16, "num_kv_heads": 16, "transpose_k_heads": True}) < 30_000
    # Sticks between shards of rows: a request per stick, shared by both data movement cores; runs of sticks with one request.
    image = rows([16, 128, 128, 16], (4096, 16))
    assert cycles("permute", [image], [image], {"dims": [0, 2, 1, 3]}) < 100_000
    part = rows([16, 115, 115, 16], (3307, 16))
    assert cycles("slice", [image], [part], {"begins": [0, 0, 0, 0], "ends": [16, 115, 115, 16]}) < 20_000
    planes = rows([16, 4, 224, 256], (224, 256)), rows([16, 4, 256, 256], (256, 256))
    assert cycles("pad", [planes[0]], [planes[1]], {"padding": [0, 0, 0, 0, 3, 29, 0, 0]}) < 25_000
    turned = rows([16, 4, 256, 224], (256, 224)), rows([16, 4, 224, 256], (224, 256))
    assert cycles("permute", [turned[0]], [turned[1]], {"dims": [0, 1, 3, 2]}) < 40_000
    # Windows of a pool are counted without the padding of their tiles.
    pooled = {**sharded([1, 1, 16, 2048], (32, 32), 64, (8, 8), "width_sharded"), "padded": [1, 1, 32, 2048], "dtype": "bfloat8_b"}
    source = {**sharded([1, 1, 784, 2048], (784, 32), 64, (8, 8), "width_sharded"), "layout": "row_major"}
    assert cycles("pool2d", [source], [pooled], {"window_hw": [7, 7], "max": False, "core_count": 64}) < 16 * 49 * 50
    # Activation reuse: each further line of pixels gathers one row of the window.
    pixels, result = rows([1, 1, 228160, 16], (3565, 16)), {**sharded([1, 1, 200704, 64], (3136, 64), 64, (8, 8), "height_sharded")}
    weights = tensor([1, 1, 256, 64], "bfloat8_b")
    window = {
        "act_block_h": 49,
        "act_block_w": 8,
        "per_core_m": 98,
        "per_core_n": 2,
        "window_hw": [4, 4],
        "stride": [1, 1],
        "subblock_w": 2,
        "out_width": 112,
        "core_count": 64,
    }
    again, reused = (cycles("conv2d", [pixels, weights], [result], {**window, "activation_reuse": reuse}, fidelity="LoFi") for reuse in (False, True))
    assert reused < 0.95 * again
    # One block of weights in the buffer: the next is fetched when the product is done, so nothing of a longer product hides; with a second
    # buffer it runs beside the fetch. A packer that adds in L1 spares the copies of partial sums.
    narrow, made = rows([1, 1, 4096, 256], (64, 256)), sharded([1, 1, 2048, 512], (32, 512), 64, (8, 8), "height_sharded")
    deep = {**window, "act_block_h": 1, "act_block_w": 24, "per_core_m": 1, "per_core_n": 16, "window_hw": [3, 3], "out_width": 64}
    blocks = [narrow, tensor([1, 1, 2304, 512], "bfloat8_b")]

    def convolution(fidelity: str, double: bool, in_l1: bool = False) -> float:
        return cycles("conv2d", blocks, [made], {**deep, "weights_double_buffer": double}, fidelity=fidelity, packer_l1_acc=in_l1)

    products = 3 * 24 * 16 * 32  # cycles of two more phases
    assert convolution("HiFi4", False) - convolution("HiFi2", False) == pytest.approx(products, rel=0.02)
    assert convolution("HiFi4", True) < 0.9 * convolution("HiFi4", False)
    assert convolution("HiFi2", False, in_l1=True) < convolution("HiFi2", False) - 16 * 15
    # Shards joined side by side: both data movement cores copy half the rows of each input.
    thin, thick = rows([1, 1, 77824, 64], (1216, 64)), rows([1, 1, 77824, 128], (1216, 128))
    assert cycles("concat", [thin, thin], [thick], {"dim": 3}) < 1216 * 40


@pytest.mark.parametrize("card", ["n150", "p150"])
def test_configurations_that_look_harmless(sim: Simulator, card: str) -> None:
    """Traps that experts know; each beside its issue or published time."""

    def ns(op: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], attrs: dict[str, Any], **compute: Any) -> float:
        return price(sim, {"op": op, "inputs": inputs, "outputs": outputs, "attrs": attrs, "compute": {"fidelity": "HiFi2", **compute}}, card).ns

    # An operand in L1 and no grid: blocks of 16 x 16 tiles on 16 cores (tt-metal #56976, tt-mlir #7702).
    def product(buffer: str, **attrs: Any) -> float:
        a, b, out = tensor([1, 1, 4096, 1024], buffer=buffer), tensor([1, 1, 1024, 1024]), tensor([1, 1, 4096, 1024], buffer=buffer)
        return ns("matmul", [a, b], [out], attrs)

    # On a Wormhole writing the result to DRAM takes half of what the larger grid gains.
    assert product("l1") > (1.7 if card == "n150" else 2) * product("dram")
    assert product("l1", core_grid=[8, 8]) < 0.6 * product("l1")
    # Batches on their own cores: a grid that the batches do not fill evenly gains nothing (384 batches, tt-metal: 214 us on 64 cores, 256 on 120).
    x, y, z = tensor([64, 6, 256, 256]), tensor([64, 6, 256, 64]), tensor([64, 6, 256, 64])
    assert ns("matmul", [x, y], [z], {"core_grid": [8, 7]}) >= ns("matmul", [x, y], [z], {"core_grid": [8, 6]}) * 0.85
    # Attention: chunks of 32 positions take more steps than chunks of 128 or 256.
    q = tensor([1, 8, 4096, 64])
    steps = [ns("sdpa", [q, q, q], [q], {"is_causal": True, "q_chunk": size, "k_chunk": size}) for size in (32, 128)]
    assert steps[1] < 0.7 * steps[0]
    # Decode attention depends on the grid, the chunk and the fidelity.
    r, cache = tensor([1, 8, 32, 128]), tensor([8, 8, 4096, 128])
    decode = {"is_causal": True, "cur_pos": [4095] * 8}
    assert ns("sdpa_decode", [r, cache, cache], [r], {**decode, "core_grid": [8, 8]}) < ns(
        "sdpa_decode", [r, cache, cache], [r], {**decode, "core_grid": [4, 4]}
    )
    assert ns("sdpa_decode", [r, cache, cache], [r], {**decode, "k_chunk": 32}) > ns("sdpa_decode", [r, cache, cache], [r], {**decode, "k_chunk": 512})
    # Fidelity decides where neither the bytes nor the tile requests of DRAM do: more heads of queries on each head of keys.
    many, packed = tensor([1, 8, 256, 128]), tensor([8, 2, 4096, 128], "bfloat4_b")
    assert ns("sdpa_decode", [many, packed, packed], [many], decode, fidelity="HiFi4") > ns(
        "sdpa_decode", [many, packed, packed], [many], decode, fidelity="LoFi"
    )
    # Latent attention: three cores for a group of heads are faster than one, six slower again (tt-metal issue 56785).
    latent = sharded([1, 4, 128, 576], (32, 576), 16, (8, 2), "height_sharded")
    keys, result = tensor([4, 1, 4096, 576], "bfloat8_b"), tensor([1, 4, 128, 512])
    shared = {"is_causal": True, "cur_pos": [1024] * 4, "k_chunk": 128, "v_width": 512}
    one, three, six = (ns("sdpa_decode", [latent, keys, keys], [result], {**shared, "max_cores": n}, fidelity="HiFi4") for n in (1, 3, 6))
    assert three < 0.9 * one
    assert card == "n150" or three < 0.95 * six < 0.95 * one
    # A ring of cores: twice the depth of A's shards is twice the products and bytes handed on; B from DRAM is slower than from shards.
    step = {"program_config": "MatmulMultiCoreReuseMultiCast1DProgramConfig", "in0_block_w": 1, "per_core_M": 1, "mcast_in0": False, "gather_in0": True}

    def ring(k: int, in_dram: bool = False) -> float:
        x, y = sharded([1, 1, 32, k], (32, k // 16), 16, (8, 2), "width_sharded"), sharded([1, 1, 32, 1024], (32, 64), 16, (8, 2), "width_sharded")
        w = tensor([1, 1, k, 1024], "bfloat8_b") if in_dram else sharded([1, 1, k, 1024], (k, 64), 16, (8, 2), "width_sharded")
        return ns("matmul", [x, w], [y], {**step, "per_core_N": 2, "out_subblock_h": 1, "out_subblock_w": 2})

    assert 1.3 * ring(1024) < ring(2048) < 2 * ring(1024)
    assert ring(2048) < ring(2048, in_dram=True)
    # Queries and keys rotated in one launch take less than in two.
    heads, table = sharded([1, 32, 32, 64], (32, 64), 32, (8, 4), "height_sharded"), sharded([1, 32, 32, 64], (32, 64), 32, (8, 4), "height_sharded")
    one = {"llama": True, "decode": True}
    both = ns("rotary", [heads, table, table, table, heads], [heads, heads], {**one, "fused_qk": True})
    assert both < 2 * ns("rotary", [heads, table, table, table], [heads], one)


def test_what_waits_for_what(sim: Simulator) -> None:
    """Chains that no rate shows, each beside the published time of such a program."""
    # A halo of row-major shards: transfers are dealt out to the two data movement cores in turn, whatever their lengths (3.12 and 10.4 against 7.7 us).
    grid = (5, 4)

    def halo(image: tuple[int, int], channels: int, sticks: int, stride: int, padding: list[int]) -> float:
        out = [1, 1, 20, 20 * channels]
        shards = {**sharded([1, 1, image[0] * image[1], channels], (sticks, channels), 20, grid, "height_sharded"), "layout": "row_major"}
        attrs = {
            "input_hw": list(image),
            "window_hw": [3, 3],
            "stride_hw": [stride, stride],
            "dilation_hw": [1, 1],
            "padding": padding,
            "num_cores_nhw": 20,
            "in_nsticks": sticks,
            "is_out_tiled": True,
        }
        result = {**sharded(out, (1, 20 * channels), 20, grid, "height_sharded"), "layout": "row_major"}
        return price(sim, {"op": "halo", "inputs": [shards], "outputs": [result], "attrs": attrs}, "p150", grid).ns

    assert halo((48, 160), 128, 384, 2, [1, 1, 1, 1]) == pytest.approx(3120, rel=0.15)
    assert halo((40, 159), 256, 320, 1, [0, 1, 1, 1]) == pytest.approx(7710, rel=0.15)
    assert halo((41, 159), 256, 352, 1, [1, 0, 1, 1]) == pytest.approx(12470, rel=0.15)
    # The writer of a binary op fills a tile with its number first (Wormhole: 4.64 us, two tensors 2.73 us).
    t = tensor([1, 1, 32, 1280])
    number, tensors = (price(sim, {"op": "binary", "inputs": [t] * n, "outputs": [t], "attrs": {"op": "MUL", "scalar": n == 1}}, "n150").ns for n in (1, 2))
    assert number > 1.2 * tensors
    # Sticks of a shard: requested back to back since 2026, one by one before (41.7 us for 96 of 512 bytes on 20 cores), through scratch slots where they are
    # not aligned as the memory.

    def sticks(rows: int, channels: int, cores: int, card: str, **attrs: str) -> float:
        source = tensor([1, 1, rows, channels], layout="row_major")
        shards = {**sharded([1, 1, rows, channels], (rows // cores, channels), cores, grid, "height_sharded"), "layout": "row_major"}
        return price(sim, {"op": "interleaved_to_sharded", "inputs": [source], "outputs": [shards], "attrs": attrs}, card).ns

    assert sticks(1920, 256, 20, "p150", selector="table") == pytest.approx(41_700, rel=0.1)
    assert sticks(1920, 256, 20, "p150") < sticks(1920, 256, 20, "p150", selector="table") / 3
    assert 2 * sticks(64_000, 16, 20, "n150") < sticks(64_000, 8, 20, "n150") < sticks(64_000, 8, 20, "n150", selector="table") / 2
    # minimal_matmul on 110 cores without a config: 8 x 8 x 8 tiles, written while the next block is multiplied (196.8 and 200.7 us).
    for k, n, published_ns in ((1024, 3072, 196_800), (2816, 1024, 200_700)):
        operands = [tensor([1, 1, 4096, k]), tensor([1, 1, k, n], "bfloat8_b")]
        config = {"op": "minimal_matmul", "inputs": operands, "outputs": [tensor([1, 1, 4096, n])], "compute": {"fidelity": "HiFi3"}}
        assert price(sim, config, "p150", (11, 10)).ns == pytest.approx(published_ns, rel=0.12)


def test_rows_and_passes(sim: Simulator) -> None:
    """Rounds of rows, passes that wait for one another, partial sums that are copied: each beside the published time on a p150."""

    def ns(op: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], attrs: dict[str, Any], **compute: Any) -> float:
        config = {"op": op, "inputs": inputs, "outputs": outputs, "attrs": attrs, "compute": {"fidelity": "HiFi3", **compute}}
        return price(sim, config, "p150", (11, 10)).ns

    # 110 rows of tiles are one round; 18 more are another, though the cores of the first one share the memory (18.2 us for 16, 66.4 us for 128).
    def norm(rows: int) -> float:
        x = tensor([1, 1, 32 * rows, 1024])
        return ns("layernorm", [x, tensor([1, 1, 32, 1024])], [x], {"rms": False})

    assert norm(16) == pytest.approx(18_150, rel=0.2)
    assert norm(128) == pytest.approx(66_400, rel=0.15)
    assert norm(128) - norm(110) > 0.7 * norm(16)
    # Joined heads: rows of tiles on cores, as recorded, or all heads of all rows (21.7 us of two rows on one core).
    heads = tensor([8, 16, 512, 64], buffer="l1")
    joined = tensor([8, 1, 512, 1024], buffer="l1")
    assert ns("concat_heads", [heads], [joined], {"core_count": 110}) == pytest.approx(21_700, rel=0.1)
    assert ns("concat_heads", [heads], [joined], {}) < 16_000
    # K in blocks of one tile: sums that the packer does not add in L1 are copied back 31 times (347.9 us).
    a, b, out = tensor([1, 1, 4096, 1024]), tensor([1, 1, 1024, 2624], "bfloat8_b"), tensor([1, 1, 4096, 2624])
    program = {
        "program_config": "MatmulMultiCoreReuseMultiCastProgramConfig",
        "in0_block_w": 1,
        "per_core_M": 16,
        "per_core_N": 8,
        "out_subblock_h": 2,
        "out_subblock_w": 2,
    }
    copied, added = (ns("matmul", [a, b], [out], program, packer_l1_acc=here) for here in (False, True))
    assert copied == pytest.approx(347_900, rel=0.12)
    assert added < 0.9 * copied
    # The kernel rotates a shard row of two tiles in four passes and sets up each of them again (79.6 us for 32 rows).
    x = sharded([1, 1, 65536, 64], (1024, 64), 64, (8, 8), "height_sharded")
    assert ns("rotary", [x, x, x], [x], {"llama": False}) == pytest.approx(79_600, rel=0.12)


def test_what_is_left_out_of_a_shape(sim: Simulator) -> None:
    """What the shapes in tiles do not show: zeros behind K, the columns of a sharded result."""

    def ns(op: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], attrs: dict[str, Any]) -> float:
        return price(sim, {"op": op, "inputs": inputs, "outputs": outputs, "attrs": attrs, "compute": {"fidelity": "HiFi4"}}, "n150").ns

    # K is 19 of a tile of 32: the reader of A writes zeros to the other columns one element at a time (20 heads of CLIP, n150: 55.2 us).
    def heads(k: int, dtype: str = "bfloat16") -> float:
        a, b = tensor([1, 20, 32, 32], dtype), tensor([1, 20, 32, 64], dtype)
        return ns("matmul", [{**a, "logical": [1, 20, 32, k]}, {**b, "logical": [1, 20, k, 64]}], [tensor([1, 20, 32, 64], dtype)], {})

    assert 45e3 < heads(19) < 65e3
    assert heads(32) < 0.6 * heads(19)
    assert heads(19) > heads(25) > heads(31)
    assert heads(19, "bfloat8_b") == heads(32, "bfloat8_b")  # padded when it was made
    # An embedding into shards is the work of all their cores, each reading its columns (Llama 70B on Galaxy, 16 cores: 3.8 us), an interleaved one of 32
    # tokens that of one core.
    tokens, table = tensor([1, 32], "uint32", "row_major"), tensor([4096, 2048], "bfloat16", "row_major")
    shards = sharded([1, 1, 32, 2048], (32, 128), 16, (8, 2), "width_sharded")
    alone, together = (ns("embedding", [tokens, table], [out], {"tilized": True}) for out in (tensor([1, 1, 32, 2048]), shards))
    assert 3e3 < together < 6e3 < 3 * together < alone
