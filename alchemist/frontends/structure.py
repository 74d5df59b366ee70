"""The structure of a model, recorded at export and compared when the program replaces the model."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from alchemist.errors import InputError, printable

Structure = Mapping[str, Mapping[str, str]]
"""Kind ("module", "tensor", "output") -> name -> description: `0` -> "Linear(in_features=64, out_features=10, bias=True)", `0.bias` -> "float32 [10]"."""

_MOST_ROWS = 12


def compare_structure(recorded: Structure, now: Structure) -> None:
    """Compares the kinds that both have. Names of equal descriptions are listed side by side, in order: they may be renamed.

    Raises:
        InputError: a module, parameter, buffer or output that one side lacks, or that is described otherwise.
    """
    pairs = {kind: _differences(recorded[kind], now[kind]) for kind in recorded if kind in now}
    rows = [(f"{kind} {left}" if left else "", f"{kind} {right}" if right else "") for kind, found in pairs.items() for left, right in found]
    if not rows:
        return
    counts = ", ".join(f"{len(found)} {kind}{'s' if len(found) > 1 else ''}" for kind, found in pairs.items() if found)
    shown = [("in the export", "in this model"), *((printable(left) or "-", printable(right) or "-") for left, right in rows[:_MOST_ROWS])]
    width = max(len(left) for left, _ in shown)
    table = "".join(f"\n    {left:{width}}  {right}" for left, right in shown)
    more = f"\n    ({len(rows) - _MOST_ROWS} more)" if len(rows) > _MOST_ROWS else ""
    raise InputError(f"the model differs from the exported model: {counts} differ{table}{more}", hint="pass the exported model, or export this model")


def _differences(recorded: Mapping[str, str], now: Mapping[str, str]) -> list[tuple[str, str]]:
    """(export, model) pairs of differences: changed ones, renamed ones, then those that one side lacks."""

    def text(names: Mapping[str, str], name: str) -> str:
        return f"{name or '(the model)'}: {names[name]}"

    changed = [(text(recorded, name), text(now, name)) for name in recorded if name in now and recorded[name] != now[name]]
    added = [name for name in now if name not in recorded]
    renamed, missing = [], []
    for name in recorded:
        if name in now:
            continue
        twin = next((other for other in added if now[other] == recorded[name]), None)
        if twin is None:
            missing.append(name)
        else:
            added.remove(twin)
            renamed.append((text(recorded, name), text(now, twin)))
    rest = zip_longest([text(recorded, name) for name in missing], [text(now, name) for name in added], fillvalue="")
    return [*changed, *renamed, *rest]
