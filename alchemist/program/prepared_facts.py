"""The header's row on weights that const-eval makes: their names, and what each is made from."""

from __future__ import annotations

from collections.abc import Iterable

from alchemist.frontends.base import Argument
from alchemist.ir.scopes import common_prefix
from alchemist.ops.spec import TABLE_PARTS
from alchemist.program.functions import INITIAL
from alchemist.program.graph import Graph

_MOST_SHOWN = 8
_MEANINGS = {"_t": "transposed", "_prepared": "in a convolution's layout", f"_{TABLE_PARTS[-1]}": "bfloat16 parts that add up to it"}
"""What the ending of a prepared weight's name means, where it does not say so."""


def weight_count(arguments: Iterable[Argument]) -> str:
    """ ", 21 parameter tensors, 1 buffer" behind the model's name; each name counts once."""
    held = {argument.name: argument.buffer for argument in arguments if argument.kind == "parameter"}
    counts = ((len(held) - sum(held.values()), "parameter tensor"), (sum(held.values()), "buffer"))
    return "".join(f", {count} {what}{'s' * (count > 1)}" for count, what in counts if count)


def prepared_fact(graph: Graph, maker: str) -> str:
    """Names in `weights` that the model does not have; "" without any. Layers are named once. maker: the file or function that makes them."""
    endings: dict[str, None] = {}
    sources: dict[str, dict[str, None]] = {}
    for result in (result for const_eval in graph.const_evals for result in const_eval.results):
        files = result.made_from
        if len(files) == 1 and result.key.startswith(files[0]):
            endings[result.key.removeprefix(files[0])] = None
            continue
        paths = [name.split(".") for name in (result.key, *files)]
        around = len(common_prefix([path[:-1] for path in paths]))
        name, *made_from = (".".join(path[around:]) for path in paths)
        sources.setdefault(", ".join(made_from) or "constants", {})[name] = None
    endings.pop("", None)
    shown = [f"*{ending} ({_MEANINGS[ending]})" if ending in _MEANINGS else f"*{ending}" for ending in endings]
    parts = [f"{', '.join(shown)} from the weight of that name"] if shown else []
    made = [f"{', '.join(names)} from {files}" for files, names in sources.items()]
    parts += made[:_MOST_SHOWN] + ([f"{len(made) - _MOST_SHOWN} more"] if len(made) > _MOST_SHOWN else [])
    rows = [f"made once at start by {maker}: {'; '.join(parts)}"] if parts else []
    starts = [value.key for value in graph.weights if INITIAL.fullmatch(value.key) and value.users]
    return "; ".join([*rows, *([f"{', '.join(starts)}: what the loops start from"] if starts else [])])
