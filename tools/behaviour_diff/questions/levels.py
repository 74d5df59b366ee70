"""What levels 1 and 2 choose for small modules, and what they may choose from at all, for more sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ttnn_shim.queries import Memory

from alchemist.frontends.mlir.read import parse_module
from alchemist.ir import access
from alchemist.ir.edit import functions
from alchemist.ir.layout import layout_of
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.choose import FAMILIES
from alchemist.optimizer.graph import forward_of
from alchemist.optimizer.machine import machine
from alchemist.optimizer.placement import ON_SHARDS
from alchemist.optimizer.sharded import SHARDED
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.device import L1_SMALL_BYTES
from tests.optimizer.modules import attention, bottlenecks, convolutions, layers, mlp, product

SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": (mlp(512, 256, 1024), {}),
    "a short mlp of odd sizes": (mlp(200, 144, 330), {}),
    "a float32 mlp": (mlp(256, 128, 512, "f32"), {}),
    "an mlp with 8-bit weights": (mlp(512, 256, 1024), {"precision": "bfp8"}),
    "little L1": (mlp(1024, 512, 2048), {"tensor_l1_usage_cap": 0.2}),
    "overridden": (
        mlp(256, 256, 512).replace("-> tensor<256x512xbf16>\n", '-> tensor<256x512xbf16> loc("up")\n', 1),
        {"override_output_layout": "up=l1:interleaved"},
    ),
    "blocks": (layers(2, 512, 256), {}),
    "blocks of a decoder's row": (layers(1, 32, 1024), {}),
    "a vocabulary": (mlp(32, 512, 70000), {"precision": "bfp8"}),
    "attention": (attention(1, 4, 128, 64), {}),
    "images": (convolutions(2, 40), {}),
    "bottlenecks": (bottlenecks(1, 2, 14, 128, 32), {}),
}
CASES = [(name, card, level) for name in SMALL for card, level in (("n150", 1), ("n150", 2), ("p150", 2))]
_BAND = re.compile(r" \+-[\d.]+ us")  # of the price: made anew with each calibration


def decided(name: str, card: str, level: int) -> list[str]:
    """The decision file without bands, and where the program's tensors lie."""
    text, options = SMALL[name]
    made = lower_to_ttnn(parse_module(text)[0], CompilerOptions.parse({"arch": card, "optimization_level": level, **options}))
    return [*(_BAND.sub("", line) for line in made.decisions.splitlines()), *_places(made.module)]


def _places(module: Any) -> Iterator[str]:
    for func in functions(module):
        for op in func.body.block.ops:
            layouts = [layout_of(result.type) for result in op.results]
            config = access.attr(op, "matmul_program_config") or access.attr(op, "conv2d_config")
            said = ", ".join(f"{key} {value}" for key, value in sorted(config.items())) if isinstance(config, dict) else ""
            yield f"{op.name} {' '.join(f'{one.buffer} {one.memory} {one.dtype}' for one in layouts if one is not None)}  {said}".rstrip()


SIZES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: case for name, case in SMALL.items() if not case[1].keys() - {"precision"}},
    **{
        f"an mlp of {'x'.join(map(str, dims))}": (mlp(*dims), {})
        for dims in ((32, 64, 96), (64, 2048, 64), (4096, 64, 64), (1, 256, 1000), (197, 768, 3072), (320, 160, 480), (2048, 32, 4096), (96, 4096, 32), (704, 1056, 416))
    },
    **{f"a float32 mlp of {rows}": (mlp(rows, 352, 224, "f32"), {}) for rows in (32, 416, 2080)},
    **{f"products of {batch} {m}x{k}x{n}": (product(batch, m, k, n), {}) for batch, m, k, n in (("8x12", 256, 64, 256), ("1x3", 40, 96, 320), ("2x64", 32, 128, 1024))},
    **{f"attention of {'x'.join(map(str, dims))}": (attention(*dims), {}) for dims in ((1, 1, 32, 32), (2, 8, 2048, 128), (1, 12, 197, 64), (4, 2, 96, 256))},
    **{f"{count} images of {size}": (convolutions(count, size), {}) for count, size in ((1, 224), (8, 14), (1, 7))},
    "bottlenecks of 28": (bottlenecks(1, 1, 28, 256, 64), {}),
    "blocks of 64 rows": (layers(1, 64, 2048), {}),
}  # fmt: skip


def offered(name: str, card: str) -> list[str]:
    """Lines for each op of a module of level 0 and each family of candidates: how many, and each group."""
    text, options = SIZES[name]
    module = lower_to_ttnn(parse_module(text)[0], CompilerOptions.parse({"arch": card, **options})).module
    chip, found = machine(card), list[str]()
    for func in functions(module, const_eval=False):
        for step in forward_of(func).steps:
            op, groups = step.op, dict[str, list[list[Candidate]]]()
            if op.name in FAMILIES:
                places = {"in DRAM": ({}, None), "in L1": ({0: Memory("L1")}, Memory("L1"))}
                groups = {place: [list(FAMILIES[op.name](op, chip, *memories))] for place, memories in places.items()}
            if op.name in SHARDED:
                groups["on shards"] = [list(group) for group in SHARDED[op.name](step, chip)]
            if op.name in ON_SHARDS:
                groups["on shards"] = [list(group) for group in ON_SHARDS[op.name](step, chip, L1_SMALL_BYTES)]
            for place, made in groups.items():
                found.append(f"{op.name} {access.shape(op.results[0])} {place}: {len(made)} groups, {sum(map(len, made))} candidates")
                found += map(repr, made)
    return found


OFFERED = [(name, card) for name in SIZES for card in ("n150", "p150")]
