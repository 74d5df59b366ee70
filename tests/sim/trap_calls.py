"""Calls whose prices were wrong, or whose configurations are traps: each is made on a simulated card without values and priced.

python tests/sim/trap_calls.py    # a JSON object: name -> {"us", "cores", "factory", "fidelity", "l1_bytes", "gb_per_s"} or {"refused"}

Uses nothing of the project but `ttnn` and a device, so that an earlier checkout's Python prices the same calls.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

BF16, BFP8 = "bfloat16", "bfloat8_b"


class Card:
    """`ttnn` and an open device of a card, with short words for tensors."""

    def __init__(self, ttnn: Any, device: Any) -> None:
        self.ttnn, self.device = ttnn, device
        self.dram, self.l1 = ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG

    def shards(self, kind: str, shard: tuple[int, int], x: int, y: int, buffer: str = "L1") -> Any:
        ttnn = self.ttnn
        cores = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(x - 1, y - 1))})
        spec = ttnn.ShardSpec(cores, list(shard), ttnn.ShardOrientation.ROW_MAJOR)
        return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED"), getattr(ttnn.BufferType, buffer), spec)

    def tensor(self, shape: tuple[int, ...], memory: Any = None, dtype: str = BF16, layout: str = "TILE") -> Any:
        ttnn = self.ttnn
        return ttnn.empty(list(shape), getattr(ttnn, dtype), getattr(ttnn, f"{layout}_LAYOUT"), self.device, memory or self.dram)

    def compute(self, fidelity: str, wide: bool = False) -> Any:
        ttnn = self.ttnn
        return ttnn.WormholeComputeKernelConfig(
            math_fidelity=getattr(ttnn.MathFidelity, fidelity), math_approx_mode=False, fp32_dest_acc_en=wide, packer_l1_acc=True
        )


Call = Callable[[Card], Any]


def fc1(gelu: bool) -> Call:
    """ViT-B/16 b8: the first product of the MLP, block-sharded over 8 x 8 cores."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        x, w = card.tensor((1, 1, 1792, 768), card.shards("BLOCK", (224, 96), 8, 8)), card.tensor((1, 1, 768, 3072))
        bias = card.tensor((1, 1, 1, 3072))
        config = ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
            compute_with_storage_grid_size=(8, 8),
            in0_block_w=3,
            out_subblock_h=1,
            out_subblock_w=6,
            per_core_M=7,
            per_core_N=12,
            transpose_mcast=False,
            fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU, 0.0) if gelu else None,
        )
        memory = card.shards("BLOCK", (224, 384), 8, 8)
        return ttnn.linear(x, w, bias=bias, program_config=config, memory_config=memory, compute_kernel_config=card.compute("HiFi2"))

    return call


def encoder_product(gelu: bool) -> Call:
    """512 x 768 x 2048 on 10 x 8 cores with bfloat8_b weights, with and without the exact GELU (published)."""

    def call(card: Card) -> Any:
        a, b = card.tensor((1, 1, 512, 768)), card.tensor((1, 1, 768, 2048), None, BFP8)
        options = {"activation": "gelu"} if gelu else {}
        grid = card.ttnn.CoreGrid(x=10, y=8)
        return card.ttnn.linear(a, b, core_grid=grid, compute_kernel_config=card.compute("HiFi2", wide=True), **options)

    return call


def norm(rms: bool, shape: tuple[int, ...], kind: str, shard: tuple[int, int], x: int, y: int) -> Call:
    def call(card: Card) -> Any:
        ttnn = card.ttnn
        tiles = shard[0] // 32, shard[1] // 32
        config = ttnn.LayerNormShardedMultiCoreProgramConfig(
            compute_with_storage_grid_size=(x, y), subblock_w=tiles[1] if tiles[1] <= 4 else 1, block_h=tiles[0], block_w=tiles[1], inplace=False
        )
        memory = card.shards(kind, shard, x, y)
        tensor = card.tensor(shape, memory)
        function = ttnn.rms_norm if rms else ttnn.layer_norm
        weights = {"weight": card.tensor((1, 1, 1, shape[-1]))} | ({} if rms else {"bias": card.tensor((1, 1, 1, shape[-1]))})
        return function(tensor, **weights, program_config=config, memory_config=memory, compute_kernel_config=card.compute("HiFi2"))

    return call


def softmax(shape: tuple[int, ...], dtype: str, l1: bool) -> Call:
    return lambda card: card.ttnn.softmax(card.tensor(shape, card.l1 if l1 else card.dram, dtype), -1)


def masked_softmax(card: Card) -> Any:
    """BERT b8: scores of 12 heads with an additive mask (tt-metal issue 51145)."""
    scores, mask = card.tensor((8, 12, 384, 384), None, BFP8), card.tensor((8, 1, 384, 384))
    return card.ttnn.transformer.attention_softmax_(scores, head_size=64, attention_mask=mask)


def decode(position: int, cache: int, chunk: int | None, fidelity: str = "HiFi2", grid: tuple[int, int] = (8, 8)) -> Call:
    """Llama-3.2-1B: 32 users, 32 heads of queries on 8 of keys."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        q, kv = card.tensor((1, 32, 32, 64)), card.tensor((32, 8, cache, 64))
        options = {"compute_kernel_config": card.compute(fidelity)}
        if chunk is not None:
            options["program_config"] = ttnn.SDPAProgramConfig(
                compute_with_storage_grid_size=ttnn.CoreCoord(*grid), q_chunk_size=0, k_chunk_size=chunk, exp_approx_mode=False
            )
        return ttnn.transformer.scaled_dot_product_attention_decode(q, kv, kv, cur_pos=[position] * 32, **options)

    return call


def paged_decode(chunk: int) -> Call:
    """Llama-70B on a galaxy: eight users at position 127, eight heads of queries on one of keys (tt-metal's CI target)."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        q, cache = card.tensor((1, 8, 8, 128)), card.tensor((8 * 4, 1, 32, 128), None, BFP8)
        table, at = card.tensor((8, 4), None, "int32", "ROW_MAJOR"), card.tensor((8,), None, "int32", "ROW_MAJOR")
        config = ttnn.SDPAProgramConfig(compute_with_storage_grid_size=ttnn.CoreCoord(8, 4), q_chunk_size=0, k_chunk_size=chunk)
        return ttnn.transformer.paged_scaled_dot_product_attention_decode(q, cache, cache, table, cur_pos_tensor=at, program_config=config)

    return call


def latent(cores: int) -> Call:
    """DeepSeek-V3: 4 users at position 1024, 128 heads, latent keys of 512 + 64 in bfloat8_b (tt-metal issue 56785)."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        q, cache = card.tensor((1, 4, 128, 576), card.shards("HEIGHT", (32, 576), 8, 2)), card.tensor((4, 1, 4096, 576), None, BFP8)
        config = ttnn.SDPAProgramConfig(compute_with_storage_grid_size=ttnn.CoreCoord(11, 10), q_chunk_size=0, k_chunk_size=128, max_cores_per_head_batch=cores)
        return ttnn.transformer.flash_multi_latent_attention_decode(
            q, cache, head_dim_v=512, cur_pos=[1024] * 4, program_config=config, compute_kernel_config=card.compute("HiFi4")
        )

    return call


def ring(sizes: tuple[int, int], in0: str, in1: str, fidelity: str) -> Call:
    """A decoder's product on a ring of 24 cores, weights in shards (tt-metal's CI targets)."""
    k, n = sizes

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        depth, width = -(-k // 32 // 24) * 32, -(-n // 32 // 24) * 32
        x, w = card.tensor((1, 1, 32, k), card.shards("WIDTH", (32, depth), 6, 4), in0), card.tensor((1, 1, k, n), card.shards("WIDTH", (k, width), 6, 4), in1)
        config = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
            compute_with_storage_grid_size=(6, 4),
            in0_block_w=1,
            out_subblock_h=1,
            out_subblock_w=width // 32,
            per_core_M=1,
            per_core_N=width // 32,
            fuse_batch=True,
            fused_activation=None,
            mcast_in0=False,
            gather_in0=True,
        )
        memory = card.shards("WIDTH", (32, width), 6, 4)
        return ttnn.matmul(x, w, program_config=config, memory_config=memory, dtype=ttnn.bfloat8_b, compute_kernel_config=card.compute(fidelity))

    return call


def from_banks(in0_block_w: int, fidelity: str = "LoFi", rows: int = 32) -> Call:
    """[32, 2048] x [2048, 8192] with bfloat8_b weights in shards over the 12 banks of an n150."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        x = card.tensor((1, 1, rows, 2048), card.shards("WIDTH", (rows, 64), 8, 4))
        w = card.tensor((1, 1, 2048, 8192), card.shards("WIDTH", (2048, 704), 12, 1, "DRAM"), BFP8)
        config = ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=in0_block_w, per_core_M=rows // 32, per_core_N=8, fused_activation=None)
        memory = card.shards("WIDTH", (rows, 256), 8, 4)
        return ttnn.matmul(x, w, program_config=config, memory_config=memory, compute_kernel_config=card.compute(fidelity))

    return call


def product(shape: tuple[int, int, int], out_l1: bool = False, in_l1: bool = False, fidelity: str | None = None, grid: tuple[int, int] | None = None) -> Call:
    """[m, k] x [k, n] of bfloat16, interleaved."""
    m, k, n = shape

    def call(card: Card) -> Any:
        a, b = card.tensor((1, 1, m, k), card.l1 if in_l1 else card.dram), card.tensor((1, 1, k, n))
        options: dict[str, Any] = {"memory_config": card.l1 if out_l1 else card.dram}
        if fidelity:
            options["compute_kernel_config"] = card.compute(fidelity)
        if grid:
            options["core_grid"] = card.ttnn.CoreGrid(x=grid[0], y=grid[1])
        return card.ttnn.matmul(a, b, **options)

    return call


def batched(grid: tuple[int, int] | None) -> Call:
    """384 products of 256 x 256 x 64 (tt-metal issue 35396)."""

    def call(card: Card) -> Any:
        a, b = card.tensor((64, 6, 256, 256)), card.tensor((64, 6, 256, 64))
        options = {"core_grid": card.ttnn.CoreGrid(x=grid[0], y=grid[1])} if grid else {}
        return card.ttnn.matmul(a, b, compute_kernel_config=card.compute("HiFi4"), **options)

    return call


def prefill(chunk: int) -> Call:
    """Causal attention of 4096 positions, 8 heads of queries on one of keys, 256 wide."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        q, kv = card.tensor((1, 8, 4096, 256)), card.tensor((1, 1, 4096, 256))
        config = ttnn.SDPAProgramConfig(compute_with_storage_grid_size=ttnn.CoreCoord(11, 10), q_chunk_size=chunk, k_chunk_size=chunk)
        return ttnn.transformer.scaled_dot_product_attention(q, kv, kv, is_causal=True, program_config=config)

    return call


def heads_of_decode(heads: int, kv: int, size: int, sharded: bool) -> Call:
    def call(card: Card) -> Any:
        width = (heads + 2 * kv) * size
        x = card.tensor((1, 1, 32, width), card.shards("WIDTH", (32, 32), 8, width // 256) if sharded else card.dram)
        return card.ttnn.experimental.nlp_create_qkv_heads_decode(x, num_heads=heads, num_kv_heads=kv)

    return call


def heads_of_encoder(sharded: bool) -> Call:
    """ViT-B/16 b8: queries, keys and values of 12 heads, block-sharded over 6 x 8 cores or interleaved in L1."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        memory = card.shards("BLOCK", (224, 384), 6, 8) if sharded else card.l1
        x = card.tensor((8, 1, 224, 2304), memory)
        out = ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG if sharded else card.l1
        if sharded:
            return ttnn.experimental.create_qkv_heads(x, num_heads=12, num_kv_heads=12, transpose_k_heads=False, memory_config=out)
        return ttnn.experimental.nlp_create_qkv_heads(x, num_heads=12, num_kv_heads=12, transpose_k_heads=False, memory_config=out)

    return call


def fused_rotary(card: Card) -> Any:
    """Llama-70B on a galaxy: queries and keys of eight users (tt-metal's CI target)."""
    ttnn = card.ttnn
    first, second = (ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, y), ttnn.CoreCoord(7, y))}) for y in (0, 1))

    def on(cores: Any, height: int, width: int) -> Any:
        spec = ttnn.ShardSpec(cores, [height, width], ttnn.ShardOrientation.ROW_MAJOR)
        return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)

    q, k = card.tensor((1, 8, 8, 128), on(first, 32, 128)), card.tensor((1, 8, 1, 128), on(second, 32, 128))
    both = card.shards("HEIGHT", (32, 128), 8, 2)
    cos, sin = card.tensor((1, 16, 1, 128), both), card.tensor((1, 16, 1, 128), both)
    turn = card.tensor((1, 1, 16 * 32, 32), card.shards("HEIGHT", (32, 32), 8, 2))
    return ttnn.experimental.rotary_embedding_llama_fused_qk(q, k, cos, sin, turn)


def convolution(doubled: bool) -> Call:
    """ResNet-50 b16: 3 x 3 on 14 x 14 pixels of 256 channels, block-sharded."""

    def call(card: Card) -> Any:
        ttnn = card.ttnn
        x = card.tensor((1, 1, 16 * 14 * 14, 256), card.shards("BLOCK", (416, 32), 8, 8), BFP8)
        weights = ttnn.zeros([256, 256, 3, 3], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
        config = ttnn.Conv2dConfig(
            weights_dtype=ttnn.bfloat8_b,
            shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED,
            enable_act_double_buffer=doubled,
            enable_weights_double_buffer=doubled,
        )
        return ttnn.conv2d(
            input_tensor=x,
            weight_tensor=weights,
            device=card.device,
            in_channels=256,
            out_channels=256,
            batch_size=16,
            input_height=14,
            input_width=14,
            kernel_size=(3, 3),
            stride=(1, 1),
            padding=(1, 1),
            conv_config=config,
            compute_config=card.compute("LoFi"),
            dtype=ttnn.bfloat8_b,
        )

    return call


def to_hwc(card: Card) -> Any:
    """ResNet-50 b16: six planes of half an image's rows -> pixels of eight channels."""
    memory = card.shards("WIDTH", (6, 7168), 8, 7)
    x = card.tensor((1, 1, 6, 16 * 224 * 112), memory, BF16, "ROW_MAJOR")
    out = card.shards("HEIGHT", (7168, 8), 8, 7)
    return card.ttnn.experimental.convert_to_hwc(x, memory_config=out, dtype=card.ttnn.bfloat16)


def short_sticks(card: Card) -> Any:
    """Pixels of three channels, 6 bytes each, into shards: 16 images of 224 x 224."""
    x = card.tensor((1, 1, 16 * 224 * 224, 3), None, BF16, "ROW_MAJOR")
    return card.ttnn.to_memory_config(x, card.shards("HEIGHT", (14336, 3), 8, 7))


CALLS: dict[str, tuple[str, Call]] = {
    "fc1": ("n150", fc1(False)),
    "fc1_gelu": ("n150", fc1(True)),
    "encoder_product": ("p150:11x10", encoder_product(False)),
    "encoder_product_gelu": ("p150:11x10", encoder_product(True)),
    "layer_norm_block": ("n150", norm(False, (1, 1, 1792, 768), "BLOCK", (224, 96), 8, 8)),
    "rms_norm_16": ("n150", norm(True, (1, 1, 32, 512), "WIDTH", (32, 32), 8, 2)),
    "rms_norm_64": ("n150", norm(True, (1, 1, 32, 2048), "WIDTH", (32, 32), 8, 8)),
    "softmax_vit": ("n150", softmax((8, 12, 224, 224), BF16, True)),
    "softmax_bert": ("n150", masked_softmax),
    "decode_127": ("n150", decode(127, 1024, 128)),
    "decode_127_default": ("n150", decode(127, 1024, None)),
    "decode_1023": ("n150", decode(1023, 1024, 128)),
    "decode_chunk_32": ("n150", decode(1023, 1024, 32)),
    "decode_grid_4x8": ("n150", decode(1023, 1024, 128, grid=(4, 8))),
    "paged_127": ("n150", paged_decode(0)),
    "paged_127_chunk_256": ("n150", paged_decode(256)),
    "latent_1": ("p100:11x10", latent(1)),
    "latent_3": ("p100:11x10", latent(3)),
    "latent_6": ("p100:11x10", latent(6)),
    "ring_ff13": ("n150", ring((2048, 3584), BF16, "bfloat4_b", "LoFi")),
    "ring_ff2": ("n150", ring((3584, 2048), BFP8, BFP8, "HiFi2")),
    "from_banks": ("n150", from_banks(2)),
    "from_banks_1": ("n150", from_banks(1)),
    "from_banks_hifi4": ("n150", from_banks(2, "HiFi4")),
    "from_banks_256": ("n150", from_banks(2, rows=256)),
    "default_32": ("n150", product((32, 2048, 8192))),
    "lofi_default": ("n150", product((1024, 2048, 2048))),
    "lofi_grid": ("n150", product((1024, 2048, 2048), grid=(8, 8))),
    "lofi_grid_hifi2": ("n150", product((1024, 2048, 2048), grid=(8, 8), fidelity="HiFi2")),
    "l1_operand": ("p150:11x10", product((1024, 5376, 5376), in_l1=True, fidelity="HiFi2")),
    "l1_operand_dram": ("p150:11x10", product((1024, 5376, 5376), fidelity="HiFi2")),
    "l1_operand_grid": ("p150:11x10", product((1024, 5376, 5376), in_l1=True, fidelity="HiFi2", grid=(11, 10))),
    "l1_result": ("n150", product((1024, 640, 5120), out_l1=True, in_l1=True, fidelity="HiFi4")),
    "l1_result_dram": ("n150", product((1024, 640, 5120), fidelity="HiFi2")),
    "batched_auto": ("p150:13x10", batched(None)),
    "batched_8x8": ("p150:13x10", batched((8, 8))),
    "batched_12x10": ("p150:13x10", batched((12, 10))),
    "prefill_32": ("p150:11x10", prefill(32)),
    "prefill_128": ("p150:11x10", prefill(128)),
    "heads_decode": ("n150", heads_of_decode(32, 8, 64, False)),
    "heads_decode_galaxy": ("n150", heads_of_decode(8, 1, 128, True)),
    "heads_sharded": ("n150", heads_of_encoder(True)),
    "heads_interleaved": ("n150", heads_of_encoder(False)),
    "rotary_fused": ("n150", fused_rotary),
    "convolution": ("n150", convolution(False)),
    "convolution_doubled": ("n150", convolution(True)),
    "convert_to_hwc": ("n150", to_hwc),
    "short_sticks": ("n150", short_sticks),
}


def prices() -> dict[str, dict[str, Any]]:
    """Every call's price; of several programs the sum, and the facts of the slowest one."""
    import ttnn_shim
    from ttnn_shim import session

    ttnn_shim.activate(explicit=True)
    ttnn = importlib.import_module("ttnn")
    cards: dict[str, Card] = {}
    found: dict[str, dict[str, Any]] = {}
    for name, (chip, call) in CALLS.items():
        if chip not in cards:
            session.settings.estimate = True
            create = importlib.import_module("ttnn._device").MeshDevice._create
            try:
                session.settings.card = chip
                device = create(len(cards), 32768, 0)
            except (RuntimeError, ValueError):  # earlier checkouts know cards without a grid
                session.settings.card = chip.partition(":")[0]
                device = create(len(cards), 32768, 0)
            device.events_enable(True)
            cards[chip] = Card(ttnn, device)
        card = cards[chip]
        try:
            card.device.clock_reset()
            result = call(card)
            events = card.device.events()
            del result
        except (RuntimeError, TypeError, ValueError, AttributeError) as refused:
            found[name] = {"refused": " ".join(str(refused).split())[:160]}
            continue
        if not events:
            found[name] = {"refused": "nothing runs on the device"}
            continue
        slowest = max(events, key=lambda event: event["ns"])
        found[name] = {
            "us": round(sum(event["ns"] for event in events) / 1000, 3),
            "programs": len(events),
            "cores": slowest["cores"],
            "factory": slowest["factory"],
            "fidelity": slowest.get("fidelity", ""),
            "l1_bytes": slowest["l1_bytes"],
        }
    return found


if __name__ == "__main__":
    print(json.dumps(prices(), indent=1))
