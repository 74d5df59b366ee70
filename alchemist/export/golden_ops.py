"""golden/ops: the framework's own intermediate values, each assigned to the TT-NN call that computes it.

`golden/ops.json` lists the calls of one forward pass in program order: {"op", "shape", "value", "golden"}; the last two are
absent where the framework has no such value (an op of several that implement one, an op that was rewritten). "form": the call
only gives its input another shape or order, which may be another one than the framework's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from alchemist.errors import OptionError
from alchemist.export.stored import LIMITS, to_stored
from alchemist.export.tensorbin import WrittenTensor, write_tensor
from alchemist.pipeline import Compiled
from alchemist.program.model import Step

INDEX = "golden/ops.json"
_WIDEST = np.iinfo(np.int32)


def write_golden_ops(directory: Path, compiled: Compiled, written: dict[str, WrittenTensor]) -> None:
    """Writes one file per framework value that a call computes, and the index.

    Raises:
        OptionError: the front end has no intermediate values.
    """
    if compiled.captured.golden_ops is None:
        raise OptionError(
            f'export_golden="ops" is not offered for {compiled.captured.framework} models',
            expected='"outputs" or "none"',
            got='"ops"',
        )
    values = {name: value for name, value in compiled.captured.golden_ops().items() if _storable(value)}
    assigned = assign(compiled.steps, values)
    (directory / "golden" / "ops").mkdir()
    files: dict[str, str] = {}
    for number, name in enumerate(dict.fromkeys(name for name in assigned if name)):
        value = values[name]
        files[name] = file = f"golden/ops/{number:04}_{''.join(c if c.isalnum() else '_' for c in name)[:80]}.tensorbin"
        dtype = "int32" if value.dtype.kind in "iub" else "float32"
        written[file] = write_tensor(directory / file, to_stored(value, dtype, name))
    rows: list[dict[str, Any]] = []
    for step, name in zip(compiled.steps, assigned, strict=True):
        row: dict[str, Any] = {"op": step.op, "shape": list(step.shape) if step.shape is not None else None}
        if name:
            row |= {"form": step.same_value, "value": name, "golden": files[name], **LIMITS["float32" if step.dtype == "float32" else "bfloat16"]}
        rows.append(row)
    (directory / INDEX).write_text(json.dumps(rows, indent=0) + "\n")


def _storable(value: np.ndarray[Any, Any]) -> bool:
    if value.dtype.kind not in "iu" or not value.size:
        return bool(value.size)
    return bool(value.min() >= _WIDEST.min and value.max() <= _WIDEST.max)


def assign(steps: Sequence[Step], values: Mapping[str, np.ndarray[Any, Any]]) -> list[str]:
    """For each call the name of the value it computes, "" for none.

    A value that several calls compute belongs to the last of them, and to earlier ones if the later ones only change its form.
    A call that implements several framework ops computes the last one's value.
    """
    order = {name: number for number, name in enumerate(values)}
    last = {name: number for number, step in enumerate(steps) for name in step.values}
    assigned = [""] * len(steps)
    for number, step in enumerate(steps):
        if step.shape is None:
            continue
        size = int(np.prod(step.shape))
        # The framework's mask may be boolean, ours is added to the scores: different numbers.
        whole = "int" in step.dtype
        names = [
            name
            for name in step.values
            if name in order
            and last[name] == number
            and values[name].size == size
            and (values[name].dtype.kind in "iub") == whole
            and not _is_permuted(values[name].shape, step.shape)
        ]
        if names:
            assigned[number] = max(names, key=order.__getitem__)
    for number in range(len(steps) - 1, -1, -1):
        step, name = steps[number], assigned[number]
        if not name or not step.same_value or step.source < 0 or assigned[step.source]:
            continue
        before = steps[step.source]
        if name in before.values and before.shape is not None and int(np.prod(before.shape)) == values[name].size:
            assigned[step.source] = name
    return assigned


def _is_permuted(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether the shapes differ by a permutation of dims greater than 1, so that a permute may have moved the elements."""
    first, second = [extent for extent in before if extent != 1], [extent for extent in after if extent != 1]
    return first != second and sorted(first) == sorted(second)
