"""What levels 1 and 2 choose for small modules, written down: a commit that changes the search, its candidates or the clock shows which choices it moved.

python -m tests.optimizer.recorded    # writes tests/data/decisions.txt and level_modules.txt; say in the commit why they changed
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alchemist.frontends.mlir.read import parse_module
from alchemist.ir import access
from alchemist.ir.layout import layout_of
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.passes.registry import functions
from tests.made_modules import record
from tests.optimizer.modules import attention, bottlenecks, convolutions, layers, mlp

RECORDED = Path(__file__).resolve().parents[1] / "data" / "decisions.txt"
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
    return [f"=== {name}, {card}, level {level}", *(_BAND.sub("", line) for line in made.decisions.splitlines()), *_places(made.module), ""]


def _places(module: Any) -> Iterator[str]:
    for func in functions(module):
        for op in func.body.block.ops:
            layouts = [layout_of(result.type) for result in op.results]
            config = access.attr(op, "matmul_program_config") or access.attr(op, "conv2d_config")
            said = ", ".join(f"{key} {value}" for key, value in sorted(config.items())) if isinstance(config, dict) else ""
            yield f"{op.name} {' '.join(f'{one.buffer} {one.memory} {one.dtype}' for one in layouts if one is not None)}  {said}".rstrip()


def recorded() -> dict[tuple[str, str, int], list[str]]:
    found: dict[tuple[str, str, int], list[str]] = {}
    for part in RECORDED.read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, _ = part.partition("\n")
        name, card, level = title.rsplit(", ", 2)
        found[name, card, int(level.removeprefix("level "))] = f"=== {part}".split("\n")[:-1]
    return found


def difference(before: list[str], after: list[str]) -> str:
    return "\n".join(difflib.unified_diff(before, after, "recorded", "now", lineterm="", n=1))


def main() -> None:
    RECORDED.write_text("".join("\n".join(decided(*case)) + "\n" for case in CASES), encoding="utf-8")
    record(Path(__file__).parent)


if __name__ == "__main__":
    main()
