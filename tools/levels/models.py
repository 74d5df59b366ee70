"""The models of docs/lab/optimizer.md's tables by name, with their arguments. Imports no compiler: another checkout's may run on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from models.whole import CHECKED, MODELS, Whole

LEVELS, ZOO = "levels", "zoo"


def zoo_models() -> dict[str, Callable[[], tuple[Any, tuple[Any, ...], dict[str, Any]]]]:
    """Builders by name: those of the benchmarks first, they are larger."""
    from models.tables import table
    from tools.bench import models, patterns

    made: dict[str, Callable[[], Any]] = {f"bench {name}": lambda name=name: models.build(name) for name in models.NAMES}
    made |= {name: lambda build=build: (*build(), {}) for name, build in patterns.CASES.items()}
    return made | {name: build for name, (_, build) in table().items()}


def names_of(table: str) -> list[str]:
    return list(zoo_models() if table == ZOO else MODELS)


def built(table: str, name: str) -> Whole:
    """The model as it is captured: those of the first table in bfloat16."""
    torch.manual_seed(0)
    if table == LEVELS:
        return _in_bfloat16(MODELS[name]())
    model, args, kwargs = zoo_models()[name]()
    return Whole(model.eval() if isinstance(model, torch.nn.Module) else model, args, kwargs)


def with_values(name: str) -> Whole:
    """A model of the first table whose weights have values: the Llamas have two layers then."""
    torch.manual_seed(0)
    return _in_bfloat16(CHECKED.get(name, MODELS[name])())


def _in_bfloat16(whole: Whole) -> Whole:
    model = whole.model.eval() if next(whole.model.parameters()).dtype == torch.bfloat16 else whole.model.to(torch.bfloat16).eval()
    return Whole(model, whole.args, whole.kwargs, whole.batch, whole.options)
