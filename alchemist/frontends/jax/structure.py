"""Modules of a flax model, as `alchemist.frontends.structure` compares them; its variables are arguments and compared as such."""

from __future__ import annotations

import dataclasses
import functools
import sys
from typing import Any

from alchemist.frontends.structure import Structure

_PLAIN = (bool, int, float, str, type(None), type)


def structure_of(model: Any) -> Structure:
    """Class and settings of every nnx module, of a linen module (`module.apply` too) and of the modules in its fields; {} of a function."""
    while isinstance(model, functools.partial):
        model = model.func
    model = getattr(model, "__self__", model)
    nnx, linen = sys.modules.get("flax.nnx"), sys.modules.get("flax.linen")
    if nnx is not None and isinstance(model, nnx.Module):
        return {"module": {".".join(map(str, path)): _described(module, vars(module)) for path, module in nnx.iter_modules(model)}}
    if linen is not None and isinstance(model, linen.Module):
        found: dict[str, str] = {}
        _of_linen("", model, linen.Module, found)
        return {"module": found}
    return {}


def _of_linen(path: str, module: Any, kind: type, found: dict[str, str]) -> None:
    fields = {field.name: getattr(module, field.name) for field in dataclasses.fields(module) if field.name not in ("parent", "name")}
    found[path] = _described(module, fields)
    for name, value in fields.items():
        for index, part in enumerate(value if isinstance(value, list | tuple) else [value]):
            if isinstance(part, kind):
                place = f"{name}_{index}" if isinstance(value, list | tuple) else name
                _of_linen(f"{path}.{place}".lstrip("."), part, kind, found)


def _described(module: Any, values: dict[str, Any]) -> str:
    """Numbers, texts and named functions; initialisers do not count, and variables are arguments."""
    settings = {name: _setting(value) for name, value in values.items() if not name.startswith("_") and not name.endswith("_init")}
    return f"{type(module).__name__}({', '.join(f'{name}={text}' for name, text in sorted(settings.items()) if text)})"


def _setting(value: Any) -> str:
    if isinstance(value, list | tuple):
        parts = [_setting(part) for part in value]
        return f"({', '.join(parts)})" if all(parts) else ""
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, _PLAIN):
        return repr(value)
    return str(getattr(value, "__name__", "")) if callable(value) else ""
