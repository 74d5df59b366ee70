"""ONNX files -> FrontendResult."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

try:
    import onnx
except ImportError as _error:
    from alchemist.errors import ToolchainError

    raise ToolchainError("the onnx package is not installed", hint="pip install 'alchemist-ttnn[onnx]'") from _error

from alchemist.errors import FrontendError, quoted
from alchemist.frontends.base import Argument, ArgumentKind, FrontendResult, Output
from alchemist.frontends.mlir.values import Values
from alchemist.frontends.onnx.emitter import Array, DType, Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.inputs import declared_inputs, examples, shapes_of
from alchemist.frontends.onnx.locations import Sources, weight_names
from alchemist.frontends.onnx.parameters import separate_merged
from alchemist.frontends.onnx.reading import SMALL_ELEMENTS, Stored, checked, complete, opset_of, read_model, stored_tensors
from alchemist.frontends.onnx.reference import evaluate
from alchemist.frontends.onnx.walk import Scope, Walk
from alchemist.frontends.vocabulary import FOLD_LIMIT
from alchemist.ir.builder import Builder
from alchemist.ir.location import SourceInfo
from alchemist.options import Init

Inputs = list[tuple[str, Any, str, SourceInfo | None]]


def load(
    path: str | Path, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, dims: Mapping[str, int] | None = None,
    values: Mapping[str, Array] | None = None, init: Init = "randn", seed: int = 0,
) -> FrontendResult:  # fmt: skip
    """An ONNX file with standard ops of opset 13 to 28.

    Args:
        args, kwargs: example inputs, by position and by name (numpy arrays or tensors); they fix the open dimensions.
        dims: sizes of named dimensions ("batch").
        values: inputs by name, as files give them. init, seed: values of the other inputs.

    Raises:
        FileError: no readable file. ParseError: no ONNX model. VerifyError: the onnx package's checker refuses it.
        FrontendError: another opset, inputs or weights that cannot be handled. UnsupportedOpError: nodes without a rule, all at once.
        InputError: inputs that do not fit the model, or a dimension that stays open.
    """
    path = Path(path)
    where = str(path)
    model = read_model(path)
    separate_merged(model)
    opset = opset_of(model, where)
    stored = stored_tensors(model, path.parent)
    declared = declared_inputs(model.graph, stored)
    inputs_by_name = examples(declared, args, kwargs or {})
    for name, array in (values or {}).items():
        if any(item.name == name for item in declared):
            inputs_by_name.setdefault(name, np.asarray(array))
    shapes = shapes_of(declared, dims or {}, inputs_by_name)
    inferred = checked(model, stored, shapes, where)

    weights = {name: item for name, item in stored.items() if not _is_number(item)}
    typed: Inputs = [(item.name, _type(item.name, shapes[item.name], item.dtype), "input", None) for item in declared]
    model_name = _model_name(model, path)
    sources = Sources(model.graph.node, model_name)
    called = weight_names(model.graph.node, weights, sources)
    typed += [(called[name], _type(name, item.shape, item.dtype), "parameter", None) for name, item in weights.items()]
    builder = Builder.module("forward", typed)
    emitter = Emitter(builder, (name for name, *_ in typed))
    known_shapes: dict[str, Tensor | None] = {}
    places = dict(zip([*(item.name for item in declared), *weights], builder.args, strict=True))
    below = {name for name, array in inputs_by_name.items() if array.dtype.kind == "i" and bool((array < 0).any())}
    emitter.negative_inputs = {places[name] for name in below}
    for tensor in declared:
        known_shapes[tensor.name] = Tensor(emitter, shapes[tensor.name], tensor.dtype, places[tensor.name], name=tensor.name)
    for name, held in stored.items():
        small = name not in weights or held.size_bytes <= 8 * SMALL_ELEMENTS
        const = held.values() if small else None
        known_shapes[name] = Tensor(emitter, held.shape, held.dtype, places.get(name), const, name, weight=name in weights)

    walk = Walk(emitter, inferred, sources)
    results = walk.graph(model.graph.node, Scope(known_shapes, opset, {}), [value.name for value in model.graph.output])
    walk.raise_refused(opset, where)
    outputs = [Output(value.name, result.shape, result.dtype.name) for value, result in zip(model.graph.output, results, strict=True)]
    emitter.info = None
    try:
        module, kept_arguments = emitter.finish(results, [item.name for item in outputs], set(range(len(declared))))
    except Unsupported as error:
        raise FrontendError(str(error), location=where) from None

    weight_values = Values(init, seed, inputs_by_name)
    by_name = {called[name]: stored_tensor for name, stored_tensor in weights.items()}
    arguments: list[Argument] = []
    names = [*(name for name, *_ in typed), *(constant.name for constant in emitter.lifted)]
    constants = {constant.name: constant.value for constant in emitter.lifted}
    for place, index in enumerate(kept_arguments):
        name, arg = names[index], builder.block.args[place]
        if index < len(declared):
            arguments.append(weight_values.argument(arg, {"ttir.name": name}, "input", index))
        elif name in by_name:
            held = by_name[name]
            arguments.append(_argument(name, "parameter", held.shape, held.dtype, held.values))
        else:
            value = np.ascontiguousarray(constants[name])
            arguments.append(_argument(name, "constant", value.shape, value.dtype, partial(np.array, value)))
    inputs = arguments[: len(declared)]
    return FrontendResult(
        module=module,
        framework="onnx",
        model_name=model_name,
        arguments=arguments,
        outputs=outputs,
        golden=lambda: [_plain(array) for array in _evaluated(model, stored, inputs, where)[0]],
        made_from={"onnx": onnx.__version__, **_producer(model)},
        golden_ops=lambda: _evaluated(model, stored, inputs, where)[1],
        source_files=sources.files,
    )


def _is_number(tensor: Stored) -> bool:
    """Whether an initializer belongs to the program (a single number, a shape, indices) and is no weight."""
    count = int(np.prod(tensor.shape, dtype=np.int64))
    return count == 1 or (tensor.dtype.kind in "iub" and tensor.dtype.itemsize != 1 and count <= FOLD_LIMIT) or tensor.dtype == np.bool_ or count == 0


def _type(name: str, shape: Sequence[int], dtype: DType) -> Any:
    try:
        return Emitter.type_of(None, tuple(shape), dtype)  # type: ignore[arg-type]
    except Unsupported as error:
        raise FrontendError(str(error), location=quoted(name)) from None


def _argument(name: str, kind: ArgumentKind, shape: tuple[int, ...], dtype: DType, value: Callable[[], Array]) -> Argument:
    return Argument(name, kind, shape, dtype.name, value)


def _model_name(model: onnx.ModelProto, path: Path) -> str:
    """The graph's name where somebody gave it one, else the file's."""
    name = model.graph.name
    generic = re.fullmatch(r"(main_?graph|torch[-_]jit.*|graph|torch|model|main)?", name)
    return path.stem if generic or not name.isprintable() else name[:100]


def _producer(model: onnx.ModelProto) -> dict[str, str]:
    name = model.producer_name
    return {name[:40]: model.producer_version[:40]} if name and name.isprintable() and name != "onnx" else {}


# --- reference ----------------------------------------------------------------------------------------------------------------


def _evaluated(model: onnx.ModelProto, stored: Mapping[str, Stored], inputs: Sequence[Argument], where: str) -> tuple[list[Array], dict[str, Array]]:
    """Outputs, and every value by name, from the standard's reference implementation."""
    feeds = {argument.name: argument.value() for argument in inputs}
    try:
        with np.errstate(all="ignore"):
            results = evaluate(complete(model, stored), opset_of(model, where), feeds)
    except (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError, NotImplementedError, ArithmeticError) as error:
        hint = 'export_golden="none" exports without reference outputs'
        got = f"{type(error).__name__}: {str(error)[:300]}"
        raise FrontendError("onnx's reference implementation fails on the model", location=where, got=got, hint=hint) from error
    outputs = [np.asarray(results[value.name]) for value in model.graph.output]
    return outputs, {name: _plain(np.asarray(value)) for name, value in results.items() if isinstance(value, np.ndarray)}


def _plain(array: Array) -> Array:
    """As float32 or an integer array (booleans as uint8)."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    return array if array.dtype.kind in "iu" else array.astype(np.float32)


__all__ = ["load"]
