"""An emitted program with more inputs at once: its functions have the sizes of the export, so that sizes of the batch are put right call by call.

For the clock alone. A program for which that does not work (its outputs have not the shapes of the larger batch) has no price: a new export has.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_REDUCTIONS = ("mean", "sum", "max", "min")
_WITH_BATCH_SIZE = ("conv2d", "conv1d", "conv_transpose2d", "max_pool2d", "avg_pool2d", "upsample")


def batch_of(manifest: Mapping[str, Any]) -> int:
    """How many inputs the program takes at once; 0 where its inputs do not say, or it writes state in place."""
    tensors = manifest["tensors"].values()
    inputs = [entry["shape"] for entry in tensors if entry["kind"] == "input"]
    sizes = {shape[0] for shape in inputs if len(shape) > 1}
    state = any("written" in entry or "mutates" in entry for entry in manifest["outputs"].values())
    return sizes.pop() if len(sizes) == 1 and not state and all(len(shape) > 1 for shape in inputs) else 0


def with_batch(manifest: Mapping[str, Any], factor: int) -> dict[str, Any]:
    """The manifest with inputs `factor` times as many, made of ones."""
    tensors = {}
    for name, entry in manifest["tensors"].items():
        if entry["kind"] == "input":
            entry = {key: value for key, value in entry.items() if key != "file"} | {"shape": [entry["shape"][0] * factor, *entry["shape"][1:]]}
        tensors[name] = entry
    outputs = {name: {key: value for key, value in entry.items() if key != "golden"} for name, entry in manifest["outputs"].items()}
    return {**manifest, "tensors": tensors, "outputs": outputs}


def as_expected(manifest: Mapping[str, Any], result: Mapping[str, Any], factor: int) -> bool:
    """Whether every output of a run (`--json`) is `factor` times as many."""
    found = {row["name"]: row["shape"] for row in result["outputs"]}
    return all(entry["shape"] and found.get(name) == [entry["shape"][0] * factor, *entry["shape"][1:]] for name, entry in manifest["outputs"].items())


@contextlib.contextmanager
def sizes_for(factor: int) -> Iterator[None]:
    """Inside, calls with sizes written out for the export's batch are taken as if for `factor` times as many."""
    import ttnn

    changed: dict[str, Callable[..., Any]] = {}

    def wrap(name: str, call: Callable[..., Any]) -> None:
        changed[name] = getattr(ttnn, name)
        setattr(ttnn, name, call)

    def reshape(tensor: Any, shape: Any, *rest: Any, **named: Any) -> Any:
        return changed["reshape"](tensor, reshaped(tuple(tensor.shape), list(shape), factor), *rest, **named)

    def slice_(tensor: Any, begins: Any, ends: Any, *rest: Any, **named: Any) -> Any:
        ends = list(ends)
        if begins[0] == 0 and tensor.shape[0] == factor * ends[0]:
            ends[0] *= factor
        return changed["slice"](tensor, begins, ends, *rest, **named)

    def concat(tensors: Any, *rest: Any, **named: Any) -> Any:
        most = max(tensor.shape[0] for tensor in tensors)
        same = [ttnn.repeat(tensor, [factor] + [1] * (len(tensor.shape) - 1)) if tensor.shape[0] * factor == most else tensor for tensor in tensors]
        return changed["concat"](same, *rest, **named)

    def layer_norm(tensor: Any, *rest: Any, **named: Any) -> Any:
        residual = named.get("residual_input_tensor")
        if residual is not None and tuple(residual.shape) != tuple(tensor.shape):
            named.pop("residual_input_tensor")
            tensor = ttnn.add(tensor, residual)
        return changed["layer_norm"](tensor, *rest, **named)

    def windows(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if "batch_size" in named:
                named["batch_size"] *= factor
            return changed[name](*arguments, **named)

        return call

    def reduction(name: str) -> Callable[..., Any]:
        def call(tensor: Any, *rest: Any, **named: Any) -> Any:
            shape = tuple(tensor.shape)
            dim = named.get("dim")
            dims = set(dim) if isinstance(dim, (list, tuple)) else {dim}
            if len(shape) == 4 and shape[:2] == (1, 1) and dims & {2, -2} and shape[2] % factor == 0:  # rows of all inputs
                tensor = changed["reshape"](tensor, [factor, 1, shape[2] // factor, shape[3]])
            return changed[name](tensor, *rest, **named)

        return call

    try:
        for name in _REDUCTIONS:
            wrap(name, reduction(name))
        for name, call in (("reshape", reshape), ("slice", slice_), ("concat", concat), ("layer_norm", layer_norm)):
            wrap(name, call)
        for name in _WITH_BATCH_SIZE:
            if hasattr(ttnn, name):
                wrap(name, windows(name))
        yield
    finally:
        for name, call in changed.items():
            setattr(ttnn, name, call)


def reshaped(before: tuple[int, ...], shape: list[int], factor: int) -> list[int]:
    """`shape` for a tensor that has `factor` times its elements: the batch is its first dimension, or of [1, 1, rows, channels] the rows."""
    if -1 in shape or math.prod(before) != factor * math.prod(shape):
        return shape
    as_rows = len(shape) == 4 and shape[:2] == [1, 1] and len(before) == 4 and math.prod(before[:3]) == factor * shape[2]
    axis = 2 if as_rows else 0
    return [size * factor if index == axis else size for index, size in enumerate(shape)]
