"""Shapes of a model's inputs: declared ones, named dimensions that the caller fixes, and example inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from alchemist.errors import FrontendError, InputError, quoted
from alchemist.frontends.onnx.emitter import Array, DType
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.reading import dtype_of

MOST_SIZE = 1 << 31


@dataclass(frozen=True, slots=True)
class Declared:
    """An input of the graph. dims: sizes, or names of dimensions that the file leaves open ("batch"; "x.0" where it names none)."""

    name: str
    dtype: DType
    dims: tuple[int | str, ...]

    @property
    def text(self) -> str:
        return f"{self.name}: {self.dtype.name}[{', '.join(str(dim) for dim in self.dims)}]"


def declared_inputs(graph: onnx.GraphProto, weights: Mapping[str, Any]) -> list[Declared]:
    """Inputs without an initializer. Raises: FrontendError for sequences, optional values, unknown ranks."""
    inputs = []
    for value in graph.input:
        if value.name in weights:
            continue
        if not value.type.HasField("tensor_type"):
            kind = value.type.WhichOneof("value") or "no type"
            raise FrontendError("an input that is not a tensor", location=quoted(value.name), got=kind, hint="pass the tensors separately")
        type_ = value.type.tensor_type
        if not type_.HasField("shape"):
            raise FrontendError(
                "an input of unknown rank", location=quoted(value.name), hint="set a shape before the export to ONNX (symbolic dimensions are enough)"
            )
        try:
            dtype = dtype_of(type_.elem_type)
        except Unsupported as error:
            raise FrontendError(str(error), location=quoted(value.name)) from None
        dims = tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or f"{value.name}.{i}" for i, dim in enumerate(type_.shape.dim))
        if any(isinstance(dim, int) and not 0 <= dim < MOST_SIZE for dim in dims):
            raise FrontendError("an input with an impossible shape", location=quoted(value.name), got=str(list(dims)))
        inputs.append(Declared(value.name, dtype, dims))
    return inputs


def examples(declared: Sequence[Declared], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Array]:
    """Example inputs by name, from positional and named ones. Raises: InputError for names and types that the model has not."""
    if len(args) > len(declared):
        raise InputError("too many inputs", expected=", ".join(entry.text for entry in declared) or "none", got=str(len(args)))
    examples_by_name = {entry.name: value for entry, value in zip(declared, args, strict=False)}
    for name, value in kwargs.items():
        if name in examples_by_name:
            raise InputError(f"input {name!r} is given twice")
        examples_by_name[name] = value
    by_name = {entry.name: entry for entry in declared}
    unknown = sorted(set(examples_by_name) - set(by_name))
    if unknown:
        raise InputError(f"the model has no input {unknown[0]!r}", expected=", ".join(entry.text for entry in declared) or "none")
    return {name: _array(by_name[name], value) for name, value in examples_by_name.items()}


def _array(declared: Declared, value: Any) -> Array:
    """A numpy array of an array or tensor of any framework."""
    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    array: Array = np.asarray(value)
    if array.dtype.kind not in "biufV" or array.dtype.names:
        raise InputError(f"input {declared.name!r} is not a tensor", expected=declared.text, got=quoted(type(value).__name__))
    if array.dtype.kind == "f" and declared.dtype.kind in "iub" and bool((array != np.round(array)).any()):
        raise InputError(f"input {declared.name!r} has the wrong type", expected=declared.text, got=str(array.dtype))
    return np.ascontiguousarray(array.astype(declared.dtype)).reshape(array.shape)


def shapes_of(declared: Sequence[Declared], dims: Mapping[str, int], examples: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    """The shape of every input. dims: sizes of named dimensions. Raises: InputError for contradictions, and for what stays open."""
    sizes: dict[str, tuple[int, str]] = {}
    names = {dim for entry in declared for dim in entry.dims if isinstance(dim, str)}
    for name, size in dims.items():
        if name not in names:
            raise InputError(f"the model has no dimension {name!r}", expected=", ".join(sorted(names)) or "none: all shapes are fixed")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 < size < MOST_SIZE:
            raise InputError(f"bad size of dimension {name!r}", expected="a whole number from 1", got=quoted(size))
        sizes[name] = (size, "dims")
    for item in declared:
        if item.name not in examples:
            continue
        shape = examples[item.name].shape
        fits = len(shape) == len(item.dims) and all(isinstance(dim, str) or dim == size for dim, size in zip(item.dims, shape, strict=True))
        if not fits:
            raise InputError(f"input {item.name!r} has a wrong shape", expected=item.text, got=str(list(shape)))
        for dim, size in zip(item.dims, shape, strict=True):
            if isinstance(dim, str) and sizes.setdefault(dim, (size, item.name))[0] != size:
                raise InputError(f"dimension {dim!r} has two sizes", expected=f"{sizes[dim][0]} (from {sizes[dim][1]})", got=f"{size} in input {item.name!r}")
    missing = sorted(names - set(sizes))
    if missing:
        words = ", ".join(f"{name}=..." for name in missing)
        raise InputError(
            f"the model has {'a symbolic dimension' if len(missing) == 1 else 'symbolic dimensions'} without a size: {', '.join(missing)}",
            expected=", ".join(entry.text for entry in declared),
            hint=f"pass example inputs, or dims={{{', '.join(f'{name!r}: ...' for name in missing)}}}; on the command line --dims {words.replace(' ', '')}",
        )
    return {entry.name: tuple(sizes[dim][0] if isinstance(dim, str) else dim for dim in entry.dims) for entry in declared}
