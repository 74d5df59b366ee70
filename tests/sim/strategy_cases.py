"""Op configurations whose device programs are compared with the real ttnn 0.81.1: one line of a TT-NN program and our OpConfig for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

GRIDS = {"wormhole": (8, 8), "blackhole": (13, 10)}
SHORT = {"bfloat16": "BF16", "bfloat8_b": "BF8", "float32": "F32", "uint32": "U32", "bfloat4_b": "BF4"}

PRELUDE = """import ttnn
d = ttnn.open_device(device_id=0)
BF16, BF8, BF4, F32, U32 = ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat4_b, ttnn.float32, ttnn.uint32
TILE, RM = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT
DRAM, L1 = ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG
HS, WS, BS = ttnn.ShardStrategy.HEIGHT, ttnn.ShardStrategy.WIDTH, ttnn.ShardStrategy.BLOCK
def T(shape, dtype=BF16, layout=TILE, mem=DRAM):
    return ttnn.empty(shape, dtype=dtype, layout=layout, device=d, memory_config=mem)
def SH(shape, x, y, strategy):
    return ttnn.create_sharded_memory_config(shape, core_grid=ttnn.CoreGrid(x=x, y=y), strategy=strategy)
"""


@dataclass(frozen=True)
class Case:
    """One line of the program, the device operation to look at, and the configuration that we plan."""

    family: str
    line: str
    device_op: str
    config: dict[str, Any]


def pad32(shape: list[int]) -> list[int]:
    """Shape with the last two dimensions rounded up to tiles."""
    out = list(shape)
    for i in (-1, -2):
        out[i] = -(-out[i] // 32) * 32
    return out


def desc(
    shape: list[int],
    dtype: str = "bfloat16",
    layout: str = "tile",
    buffer: str = "dram",
    memory: str = "interleaved",
    shard: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Tensor of an OpConfig."""
    out: dict[str, Any] = {
        "logical": shape,
        "padded": pad32(shape) if layout == "tile" else shape,
        "dtype": dtype,
        "layout": layout,
        "buffer": buffer,
        "memory": memory,
    }
    if shard:
        out["shard"] = shard
    return out


def text(shape: list[int], dtype: str = "bfloat16", layout: str = "tile", buffer: str = "dram") -> str:
    """The T(...) call for an interleaved tensor."""
    return f"T({shape}, {SHORT[dtype]}, {'TILE' if layout == 'tile' else 'RM'}, {'DRAM' if buffer == 'dram' else 'L1'})"


def sharded(shape: list[int], x: int, y: int, strategy: str, dtype: str = "bfloat16") -> tuple[str, dict[str, Any]]:
    """A sharded tensor: source text and description."""
    rows = 1
    for d in shape[:-1]:
        rows *= d
    n = x * y
    h, w = {"HS": (rows // n, shape[-1]), "WS": (rows, shape[-1] // n), "BS": (rows // y, shape[-1] // x)}[strategy]
    memory = {"HS": "height_sharded", "WS": "width_sharded", "BS": "block_sharded"}[strategy]
    return (
        f"T({shape}, {SHORT[dtype]}, TILE, SH({shape}, {x}, {y}, {strategy}))",
        desc(shape, dtype, buffer="l1", memory=memory, shard={"shape": [h, w], "cores": n, "grid": [x, y]}),
    )


SHAPES: list[list[int]] = [
    [1, 1, 32, 32],
    [1, 1, 32, 1024],
    [1, 1, 512, 512],
    [1, 1, 1024, 2048],
    [8, 1, 384, 1024],
    [1, 16, 128, 128],
    [1, 3, 224, 224],
    [1, 1, 197, 768],
    [2, 12, 384, 64],
    [1, 1, 4096, 320],
    [1, 1, 33, 65],
    [1, 1, 3136, 256],
]


def eltwise() -> Iterator[Case]:
    for shape in SHAPES:
        for dtype, buffer in (("bfloat16", "dram"), ("bfloat8_b", "l1"), ("float32", "dram")):
            t = desc(shape, dtype, buffer=buffer)
            for name, ops in (("relu", ["RELU"]), ("exp", ["EXP"])):
                if name == "exp" and buffer == "l1":
                    continue
                yield Case(
                    "unary",
                    f"ttnn.{name}({text(shape, dtype, buffer=buffer)})",
                    "Unary",
                    {"op": "unary", "inputs": [t], "outputs": [t], "attrs": {"ops": ops}},
                )
            op = "add" if dtype != "bfloat8_b" else "multiply"
            yield Case(
                "binary",
                f"ttnn.{op}({text(shape, dtype, buffer=buffer)}, {text(shape, dtype, buffer=buffer)})",
                "BinaryNg",
                {
                    "op": "binary",
                    "inputs": [t, t],
                    "outputs": [t],
                    "attrs": {"op": "ADD" if op == "add" else "MUL", "is_sfpu": dtype == "float32"},
                },
            )
        t = desc(shape)
        yield Case(
            "binary",
            f"ttnn.multiply({text(shape)}, 2.0)",
            "BinaryNg",
            {"op": "binary", "inputs": [t], "outputs": [t], "attrs": {"op": "MUL", "scalar": True}},
        )
        row = [1, 1, 1, shape[-1]]
        yield Case(
            "binary",
            f"ttnn.add({text(shape)}, {text(row)})",
            "BinaryNg",
            {
                "op": "binary",
                "inputs": [t, desc(row)],
                "outputs": [t],
                "attrs": {"op": "ADD", "broadcast": "ROW_B" if shape[-2] > 1 else "NONE"},
            },
        )
        yield Case(
            "typecast",
            f"ttnn.typecast({text(shape)}, BF8)",
            "Typecast",
            {"op": "typecast", "inputs": [t], "outputs": [desc(shape, "bfloat8_b")]},
        )
    for shape, x, y, s in (
        ([1, 1, 2048, 256], 8, 8, "HS"),
        ([1, 1, 1024, 512], 8, 4, "HS"),
        ([1, 1, 1024, 1024], 8, 8, "BS"),
        ([1, 1, 32, 2048], 8, 4, "WS"),
    ):
        src, t = sharded(shape, x, y, s)
        yield Case(
            "unary",
            f"ttnn.relu({src})",
            "Unary",
            {"op": "unary", "inputs": [t], "outputs": [t], "attrs": {"ops": ["RELU"]}},
        )
        yield Case(
            "binary",
            f"ttnn.add({src}, {src})",
            "BinaryNg",
            {"op": "binary", "inputs": [t, t], "outputs": [t], "attrs": {"op": "ADD"}},
        )
        i = desc(shape)
        yield Case(
            "interleaved_to_sharded",
            f"ttnn.to_memory_config({text(shape)}, SH({shape}, {x}, {y}, {s}))",
            "InterleavedToSharded",
            {"op": "interleaved_to_sharded", "inputs": [i], "outputs": [t]},
        )
        yield Case(
            "sharded_to_interleaved",
            f"ttnn.to_memory_config({src}, DRAM)",
            "ShardedToInterleaved",
            {"op": "sharded_to_interleaved", "inputs": [t], "outputs": [i]},
        )


MATMULS: list[tuple[int, int, int]] = [
    (512, 512, 512),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (1024, 1024, 2048),
    (384, 1024, 1024),
    (384, 1024, 4096),
    (384, 4096, 1024),
    (3072, 768, 768),
    (3072, 768, 3072),
    (3072, 3072, 768),
    (32, 4096, 4096),
    (32, 4096, 14336),
    (32, 14336, 4096),
    (32, 768, 2304),
    (128, 768, 768),
    (197, 768, 2304),
    (64, 512, 64),
    (256, 256, 256),
    (4096, 320, 320),
    (4096, 64, 256),
    (3136, 256, 64),
    (3136, 64, 64),
    (196, 1024, 256),
    (784, 128, 512),
    (49, 2048, 512),
    (1024, 32, 1024),
    (1280, 1664, 1664),
    (2560, 3328, 3328),
    (1280, 1408, 1408),
    (96, 1536, 512),
    (640, 2560, 640),
    (32, 2048, 1000),
    (1, 2048, 1000),
    (12544, 160, 64),
]


def matmuls() -> Iterator[Case]:
    for m, k, n in MATMULS:
        for dtype, weights in (
            ("bfloat16", "bfloat16"),
            ("bfloat8_b", "bfloat8_b"),
            ("bfloat16", "bfloat8_b"),
        ):
            a, b, out = [1, 1, m, k], [1, 1, k, n], [1, 1, m, n]
            fidelity = "LoFi" if dtype == "bfloat8_b" else "HiFi2"
            yield Case(
                "matmul",
                f"ttnn.matmul({text(a, dtype)}, {text(b, weights)})",
                "Matmul",
                {
                    "op": "matmul",
                    "inputs": [desc(a, dtype), desc(b, weights)],
                    "outputs": [desc(out, dtype)],
                    "compute": {"fidelity": fidelity, "packer_l1_acc": True},
                },
            )
    for batch, m, k, n in (
        (12, 384, 64, 384),
        (12, 384, 384, 64),
        (16, 128, 64, 128),
        (8, 32, 128, 64),
        (32, 197, 64, 197),
        (96, 128, 128, 64),
        (2, 1024, 64, 1024),
    ):
        a, b, out = [1, batch, m, k], [1, batch, k, n], [1, batch, m, n]
        yield Case(
            "matmul_batched",
            f"ttnn.matmul({text(a)}, {text(b)})",
            "Matmul",
            {
                "op": "matmul",
                "inputs": [desc(a), desc(b)],
                "outputs": [desc(out)],
                "compute": {"fidelity": "HiFi2", "packer_l1_acc": True},
            },
        )
    for shape, x, y, s, n in (
        ([1, 1, 2048, 256], 8, 8, "HS", 128),
        ([1, 1, 1024, 64], 8, 4, "HS", 64),
        ([1, 1, 1024, 1024], 8, 8, "BS", 1024),
        ([1, 1, 512, 512], 4, 4, "BS", 512),
        ([1, 1, 32, 2048], 8, 4, "WS", 1024),
        ([1, 1, 64, 1024], 8, 2, "WS", 512),
    ):
        src, t = sharded(shape, x, y, s)
        b = [1, 1, shape[-1], n]
        out = desc([1, 1, shape[-2], n])
        yield Case(
            "matmul_sharded",
            f"ttnn.matmul({src}, {text(b)})",
            "Matmul",
            {
                "op": "matmul",
                "inputs": [t, desc(b)],
                "outputs": [out],
                "compute": {"fidelity": "HiFi2", "packer_l1_acc": True},
            },
        )


def norms() -> Iterator[Case]:
    for shape in (
        [1, 1, 32, 32],
        [1, 1, 32, 768],
        [1, 1, 384, 1024],
        [8, 1, 384, 1024],
        [1, 12, 384, 384],
        [1, 16, 197, 197],
        [1, 1, 1024, 4096],
        [2, 1, 77, 1280],
        [1, 1, 3136, 96],
    ):
        t = desc(shape)
        yield Case(
            "softmax",
            f"ttnn.softmax({text(shape)}, dim=-1)",
            "Softmax",
            {"op": "softmax", "inputs": [t], "outputs": [t], "attrs": {"dim": 3}},
        )
        w = [1, 1, 1, shape[-1]]
        yield Case(
            "layernorm",
            f"ttnn.layer_norm({text(shape)}, weight={text(w)}, bias={text(w)})",
            "LayerNorm",
            {
                "op": "layernorm",
                "inputs": [t, desc(w), desc(w)],
                "outputs": [t],
                "attrs": {"weight": True, "bias": True},
                "compute": {"fp32_dest_acc": True},
            },
        )
        yield Case(
            "layernorm",
            f"ttnn.rms_norm({text(shape)}, weight={text(w)})",
            "LayerNorm",
            {
                "op": "layernorm",
                "inputs": [t, desc(w)],
                "outputs": [t],
                "attrs": {"rms": True, "weight": True},
            },
        )
        out = desc([*shape[:-1], 1])
        yield Case(
            "reduce",
            f"ttnn.sum({text(shape)}, dim=-1, keepdim=True)",
            "Reduce",
            {"op": "reduce", "inputs": [t], "outputs": [out], "attrs": {"dim": "W"}},
        )
        out = desc([*shape[:-2], 1, shape[-1]])
        yield Case(
            "reduce",
            f"ttnn.max({text(shape)}, dim=-2, keepdim=True)",
            "Reduce",
            {"op": "reduce", "inputs": [t], "outputs": [out], "attrs": {"dim": "H"}},
        )


def movement() -> Iterator[Case]:
    for shape in (
        [1, 1, 32, 32],
        [1, 1, 512, 1024],
        [1, 12, 384, 64],
        [1, 1, 1024, 2048],
        [1, 16, 224, 224],
        [2, 8, 128, 64],
        [1, 1, 4096, 320],
    ):
        t = desc(shape)
        swapped = [shape[0], shape[1], shape[3], shape[2]]
        yield Case(
            "transpose",
            f"ttnn.transpose({text(shape)}, -2, -1)",
            "Transpose",
            {"op": "transpose", "inputs": [t], "outputs": [desc(swapped)], "attrs": {"dim": "WH"}},
        )
        hc = [shape[0], shape[2], shape[1], shape[3]]
        yield Case(
            "transpose",
            f"ttnn.transpose({text(shape)}, 1, 2)",
            "Transpose",
            {"op": "transpose", "inputs": [t], "outputs": [desc(hc)], "attrs": {"dim": "HC"}},
        )
        joined = [*shape[:-1], 2 * shape[-1]]
        yield Case(
            "concat",
            f"ttnn.concat([{text(shape)}, {text(shape)}], dim=3)",
            "Concat",
            {"op": "concat", "inputs": [t, t], "outputs": [desc(joined)], "attrs": {"dim": 3}},
        )
        rm = desc(shape, layout="row_major")
        yield Case(
            "tilize",
            f"ttnn.to_layout({text(shape, layout='row_major')}, TILE)",
            "Tilize",
            {"op": "tilize", "inputs": [rm], "outputs": [t]},
        )
        yield Case(
            "untilize",
            f"ttnn.to_layout({text(shape)}, RM)",
            "Untilize",
            {"op": "untilize", "inputs": [t], "outputs": [rm]},
        )
        if shape[-2] >= 64:
            part = [shape[0], shape[1], 32, shape[3]]
            yield Case(
                "slice",
                f"ttnn.slice({text(shape)}, [0, 0, 0, 0], {part})",
                "Slice",
                {"op": "slice", "inputs": [t], "outputs": [desc(part)]},
            )
            flat = [1, 1, shape[0] * shape[1] * shape[2] * shape[3] // 64 // 2, 128]
            if shape[-1] != 128:
                yield Case(
                    "reshape",
                    f"ttnn.reshape({text(shape)}, {flat})",
                    "ReshapeView",
                    {"op": "reshape", "inputs": [t], "outputs": [desc(flat)]},
                )
    for shape in ([1, 1, 197, 768], [1, 1, 7, 2048], [1, 3, 200, 300], [1, 1, 50, 100], [1, 64, 49, 512]):
        t, rm = desc(shape), desc(shape, layout="row_major")
        yield Case(
            "tilize_with_val_padding",
            f"ttnn.to_layout({text(shape, layout='row_major')}, TILE)",
            "TilizeWithValPadding",
            {"op": "tilize_with_val_padding", "inputs": [rm], "outputs": [t]},
        )
        yield Case(
            "untilize_with_unpadding",
            f"ttnn.to_layout({text(shape)}, RM)",
            "UntilizeWithUnpadding",
            {"op": "untilize_with_unpadding", "inputs": [t], "outputs": [rm]},
        )
    for tokens, vocab, width in ((32, 1000, 768), (384, 30522, 1024), (128, 512, 768), (77, 49408, 1280)):
        ids = {
            "logical": [1, tokens],
            "padded": [1, tokens],
            "dtype": "uint32",
            "layout": "row_major",
            "buffer": "dram",
            "memory": "interleaved",
        }
        table = desc([1, 1, vocab, width], layout="row_major")
        out = desc([1, 1, tokens, width], layout="row_major")
        yield Case(
            "embedding",
            f"ttnn.embedding(T([1, {tokens}], U32, RM), T([{vocab}, {width}], BF16, RM))",
            "Embedding",
            {"op": "embedding", "inputs": [ids, table], "outputs": [out]},
        )


def others() -> Iterator[Case]:
    for batch, heads, length, width in (
        (8, 12, 384, 64),
        (1, 16, 128, 64),
        (1, 12, 256, 64),
        (2, 20, 1024, 128),
    ):
        shape = [batch, heads, length, width]
        t, joined = desc(shape), desc([batch, 1, length, heads * width])
        q = text(shape)
        for causal in (False, True):
            yield Case(
                "sdpa",
                f"ttnn.transformer.scaled_dot_product_attention({q}, {q}, {q}, is_causal={causal})",
                "SDPA",
                {"op": "sdpa", "inputs": [t, t, t], "outputs": [t], "attrs": {"is_causal": causal}},
            )
        yield Case(
            "concat_heads",
            f"ttnn.experimental.nlp_concat_heads({q})",
            "NLPConcatHeads",
            {"op": "concat_heads", "inputs": [t], "outputs": [joined]},
        )
        fused = [batch, 1, length, 3 * heads * width]
        yield Case(
            "create_heads",
            f"ttnn.experimental.nlp_create_qkv_heads({text(fused)}, num_heads={heads}, num_kv_heads={heads})",
            "NlpCreateHeads",
            {
                "op": "create_heads",
                "inputs": [desc(fused)],
                "outputs": [t, t, t],
                "attrs": {"num_heads": heads, "num_kv_heads": heads, "transpose_k_heads": True},
            },
        )
        cache = [batch, heads, 2048, width]
        new = [1, heads, length, width]
        yield Case(
            "update_cache",
            f"ttnn.kv_cache.fill_cache_for_user_({text(cache)}, {text(new)}, 0)",
            "UpdateKVCache",
            {
                "op": "update_cache",
                "inputs": [desc(cache), desc(new)],
                "outputs": [desc(cache)],
                "attrs": {"op": "FILL"},
            },
        )
    for shape in ([1, 1, 64, 768], [2, 1, 384, 1024], [1, 64, 56, 64]):
        t, rm = desc(shape), desc(shape, layout="row_major")
        yield Case(
            "ternary",
            f"ttnn.where({text(shape)}, {text(shape)}, {text(shape)})",
            "Ternary",
            {"op": "ternary", "inputs": [t, t, t], "outputs": [t], "attrs": {"op": "WHERE"}},
        )
        yield Case("clone", f"ttnn.clone({text(shape)})", "Clone", {"op": "clone", "inputs": [t], "outputs": [t]})
        turned = [shape[0], shape[1], shape[3], shape[2]]
        yield Case(
            "permute",
            f"ttnn.permute({text(shape, layout='row_major')}, [0, 1, 3, 2])",
            "Permute",
            {
                "op": "permute",
                "inputs": [rm],
                "outputs": [desc(turned, layout="row_major")],
                "attrs": {"dims": [0, 1, 3, 2]},
            },
        )
        swapped = [shape[0], shape[2], shape[1], shape[3]]
        yield Case(
            "permute",
            f"ttnn.permute({text(shape, layout='row_major')}, [0, 2, 1, 3])",
            "Permute",
            {
                "op": "permute",
                "inputs": [rm],
                "outputs": [desc(swapped, layout="row_major")],
                "attrs": {"dims": [0, 2, 1, 3]},
            },
        )
        tall = [shape[0], shape[1], 4 * shape[2], shape[3]]
        yield Case(
            "repeat",
            f"ttnn.repeat({text(shape)}, [1, 1, 4, 1])",
            "Repeat",
            {"op": "repeat", "inputs": [t], "outputs": [desc(tall)]},
        )
        part = [shape[0], shape[1], 1, shape[3]]
        yield Case(
            "slice",
            f"ttnn.slice({text(shape, layout='row_major')}, [0, 0, 0, 0], {part})",
            "Slice",
            {"op": "slice", "inputs": [rm], "outputs": [desc(part, layout="row_major")]},
        )
        longer = [shape[0], shape[1], shape[2] + 1, shape[3]]
        yield Case(
            "concat",
            f"ttnn.concat([{text(part, layout='row_major')}, {text(shape, layout='row_major')}], dim=2)",
            "Concat",
            {
                "op": "concat",
                "inputs": [desc(part, layout="row_major"), rm],
                "outputs": [desc(longer, layout="row_major")],
                "attrs": {"dim": 2},
            },
        )
    for tokens, width in ((384, 1024), (64, 768), (2048, 4096)):
        ids = {
            "logical": [1, tokens],
            "padded": [1, tokens],
            "dtype": "uint32",
            "layout": "row_major",
            "buffer": "dram",
            "memory": "interleaved",
        }
        table = desc([1, 1, 32000, width], layout="row_major")
        yield Case(
            "embedding",
            f"ttnn.embedding(T([1, {tokens}], U32, RM), T([32000, {width}], BF16, RM), layout=TILE)",
            "Embedding",
            {"op": "embedding", "inputs": [ids, table], "outputs": [desc([1, 1, tokens, width])]},
        )
    for c, h in ((256, 32), (64, 64)):
        source, target = [1, h, h, c], [1, 2 * h, 2 * h, c]
        yield Case(
            "upsample",
            f"ttnn.upsample({text(source, layout='row_major')}, 2)",
            "Upsample",
            {
                "op": "upsample",
                "inputs": [desc(source, layout="row_major")],
                "outputs": [desc(target, layout="row_major")],
                "attrs": {"scale_hw": [2, 2]},
            },
        )
    for shape in ([1, 64, 56, 64], [8, 256, 32, 32]):
        t, s = desc(shape), [1, shape[1], 1, 1]
        yield Case(
            "batch_norm",
            f"ttnn.batch_norm({text(shape)}, running_mean={text(s)}, running_var={text(s)}, training=False)",
            "BatchNorm",
            {"op": "batch_norm", "inputs": [t, desc(s), desc(s)], "outputs": [t]},
        )
    for m, k, n, activation in (
        (384, 1024, 1024, None),
        (384, 1024, 4096, None),
        (3072, 768, 768, None),
        (64, 768, 768, "relu"),
        (1024, 1024, 1024, "relu"),
    ):
        a, b, bias, out = [1, 1, m, k], [1, 1, k, n], [1, 1, 1, n], [1, 1, m, n]
        fused = f', activation="{activation}"' if activation else ""
        yield Case(
            "linear",
            f"ttnn.linear({text(a)}, {text(b)}, bias={text(bias)}{fused})",
            "Matmul",
            {
                "op": "matmul",
                "inputs": [desc(a), desc(b)],
                "outputs": [desc(out)],
                "compute": {"fidelity": "HiFi2", "packer_l1_acc": True},
            },
        )


def cases() -> list[Case]:
    """All configurations, in a fixed order."""
    return [*eltwise(), *matmuls(), *norms(), *movement(), *others()]


def program() -> tuple[str, dict[int, int]]:
    """The TT-NN program (one case per line) and the case index of each line number."""
    lines = PRELUDE.splitlines()
    where: dict[int, int] = {}
    for index, case in enumerate(cases()):
        lines.append(f"r = {case.line}")
        where[len(lines)] = index
    return "\n".join(lines) + "\n", where
