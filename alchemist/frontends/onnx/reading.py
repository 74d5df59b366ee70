"""Reads an ONNX file as a checked model: every size and offset in the file is compared with the actual data first."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from alchemist.errors import FileError, FrontendError, ParseError, VerifyError, file_error, quoted
from alchemist.frontends.onnx.emitter import Array, DType
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import FIRST_OPSET, LAST_OPSET

MOST_FILE_BYTES = (1 << 31) - 1
"""Protobuf's own limit; larger models keep their weights in external data files."""
SMALL_ELEMENTS = 64
"""Initializers up to this size go through the checker and shape inference with their values."""
CONVERT = "python -c \"import onnx; from onnx import version_converter as v; onnx.save(v.convert_version(onnx.load('model.onnx'), {}), 'new.onnx')\""


def read_model(path: Path) -> onnx.ModelProto:
    """The model of a file, without its external data.

    Raises:
        FileError: not readable, or larger than 2 GiB. ParseError: no ONNX model.
    """
    try:
        if path.is_dir():
            raise FileError("expected a file, but this is a directory", location=str(path), hint="pass the .onnx file in it")
        with open(path, "rb") as file:
            raw = file.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise file_error(error, path, "read") from None
    except ValueError as error:
        raise FileError("invalid file name", location=str(path), got=str(error)) from None
    if len(raw) > MOST_FILE_BYTES:
        hint = "onnx.save(model, path, save_as_external_data=True) keeps the weights beside it"
        raise FileError("the file is too large", location=str(path), expected=f"at most {MOST_FILE_BYTES} bytes", hint=hint)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(raw)
    except DecodeError as error:
        raise ParseError("not an ONNX file, or a damaged ONNX file", location=str(path), got=str(error)[:200], hint="write the file with onnx.save") from None
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise ParseError("not an ONNX model: it has no graph", location=str(path), hint="write the file with onnx.save")
    return model


def opset_of(model: onnx.ModelProto, where: str) -> int:
    """The version of the standard ops. Raises: FrontendError outside 13 to 28."""
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    version = max(versions, default=1)
    if not FIRST_OPSET <= version <= LAST_OPSET:
        nearest = FIRST_OPSET if version < FIRST_OPSET else LAST_OPSET
        hint = f"export with opset_version={max(nearest, 18)}, or convert the file: {CONVERT.format(max(nearest, 18))}"
        raise FrontendError("the model's opset is not supported", location=where, expected=f"opset {FIRST_OPSET} to {LAST_OPSET}", got=str(version), hint=hint)
    return version


def dtype_of(kind: int) -> DType:
    """numpy dtype of a TensorProto type. Raises: Unsupported for strings, complex numbers and types that no tensor on a card has."""
    try:
        dtype: DType = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    except (KeyError, TypeError, ValueError):
        raise Unsupported(f"tensors of type {quoted(kind)}") from None
    if dtype.kind in "OSUc":
        raise Unsupported(f"tensors of type {TensorProto.DataType.Name(kind)}")
    return dtype


# --- stored tensors -----------------------------------------------------------------------------------------------------------


class Stored:
    """An initializer: its type, and its values on demand.

    Raises (when made):
        FrontendError: values and shape do not fit, or external data that is not all inside the model's directory.
    """

    def __init__(self, proto: TensorProto, directory: Path) -> None:
        self.name: str = proto.name
        self._proto = proto
        self.shape = tuple(int(size) for size in proto.dims)
        try:
            self.dtype = dtype_of(proto.data_type)
        except Unsupported as error:
            raise FrontendError(str(error), location=proto.name) from None
        self._file: Path | None = None
        self._offset = 0
        if any(size < 0 for size in self.shape) or math.prod(self.shape) > 1 << 40:
            raise FrontendError("an initializer with an impossible shape", location=proto.name, got=str(list(self.shape)))
        bits = 4 if proto.data_type in (TensorProto.INT4, TensorProto.UINT4) else 8 * self.dtype.itemsize
        self.size_bytes = -(-math.prod(self.shape) * bits // 8)
        if proto.data_location == TensorProto.EXTERNAL:
            self._find(directory)
        else:
            self._check_size()

    def _check_size(self) -> None:
        if self._proto.HasField("raw_data"):
            actual, expected = len(self._proto.raw_data), self.size_bytes
        else:
            fields = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
            actual, expected = max(len(getattr(self._proto, field)) for field in fields), math.prod(self.shape)
            if self._proto.data_type in (TensorProto.INT4, TensorProto.UINT4):
                expected = -(-expected // 2)
        if actual != expected:
            raise FrontendError("the values of an initializer do not match its shape", location=self.name, expected=f"{expected}", got=f"{actual}")

    def _find(self, directory: Path) -> None:
        facts = {entry.key: entry.value for entry in self._proto.external_data}
        relative = facts.get("location", "")
        root = directory.resolve()
        file = (root / relative).resolve() if relative and "\0" not in relative else root
        if not relative or os.path.isabs(relative) or not file.is_relative_to(root) or file == root:
            hint = "external data has to be inside the model's directory"
            raise FrontendError("external data outside the model's directory", location=self.name, got=quoted(relative), hint=hint)
        try:
            found, file_bytes = file.is_file(), file.stat().st_size
        except FileNotFoundError:
            found = False
        except OSError as error:
            raise file_error(error, file, "read") from None
        if not found:
            raise FileError("no such file of external data", location=str(file), hint="copy the file to the directory of the .onnx file")
        try:
            offset, length = int(facts.get("offset", 0) or 0), int(facts.get("length", self.size_bytes) or self.size_bytes)
        except ValueError:
            raise FrontendError("external data without a valid location", location=self.name, got=quoted(facts)) from None
        if offset < 0 or length != self.size_bytes or offset + length > file_bytes:
            got = f"{length} bytes at {offset} of {file_bytes}"
            raise FrontendError("external data does not match the shape of the initializer", location=self.name, expected=f"{self.size_bytes} bytes", got=got)
        self._file, self._offset = file, offset

    def values(self) -> Array:
        """A C-contiguous array, not kept."""
        if self._file is None:
            return np.ascontiguousarray(numpy_helper.to_array(self._proto)).reshape(self.shape)
        with open(self._file, "rb") as file:
            file.seek(self._offset)
            raw = file.read(self.size_bytes)
        if len(raw) != self.size_bytes:
            raise FileError("the file of external data became shorter during the export", location=str(self._file))
        if self._proto.data_type in (TensorProto.INT4, TensorProto.UINT4):
            return np.ascontiguousarray(numpy_helper.to_array(self.filled(raw)))
        return np.frombuffer(raw, dtype=self.dtype).reshape(self.shape).copy()

    def filled(self, raw: bytes | None = None) -> TensorProto:
        """The initializer with its values in it."""
        if self._file is None:
            return self._proto
        proto = TensorProto(name=self.name, data_type=self._proto.data_type, dims=self.shape)
        proto.raw_data = self.values().tobytes() if raw is None else raw
        return proto


def stored_tensors(model: onnx.ModelProto, directory: Path) -> dict[str, Stored]:
    """The initializers of the graph by name."""
    if model.graph.sparse_initializer:
        raise FrontendError("sparse initializers", location=model.graph.sparse_initializer[0].values.name, hint="store them as dense tensors")
    tensors: dict[str, Stored] = {}
    for proto in model.graph.initializer:
        if proto.name in tensors:
            raise VerifyError("two initializers with one name", location=quoted(proto.name))
        tensors[proto.name] = Stored(proto, directory)
    return tensors


# --- checking -----------------------------------------------------------------------------------------------------------------


def checked(model: onnx.ModelProto, stored: Mapping[str, Stored], shapes: Mapping[str, Sequence[int]], where: str) -> onnx.ModelProto:
    """The model through the `onnx` package's checker and shape inference, without its large weights.

    shapes: of the graph's inputs. Raises: VerifyError with the checker's words.
    """
    bare = onnx.ModelProto()
    for name in ("ir_version", "producer_name", "producer_version", "domain", "model_version"):
        setattr(bare, name, getattr(model, name))
    bare.opset_import.extend(model.opset_import)
    bare.functions.extend(model.functions)
    graph, source = bare.graph, model.graph
    graph.name = source.name or "graph"
    graph.node.extend(source.node)
    graph.output.extend(source.output)
    graph.value_info.extend(source.value_info)
    declared = set()
    for value in source.input:
        entry = graph.input.add()
        entry.CopyFrom(value)
        declared.add(value.name)
        if value.name in shapes:
            entry.type.tensor_type.ClearField("shape")
            for size in shapes[value.name]:
                entry.type.tensor_type.shape.dim.add().dim_value = int(size)
    for name, tensor in stored.items():
        if math.prod(tensor.shape) <= SMALL_ELEMENTS:
            graph.initializer.append(tensor.filled())
        elif name not in declared:
            graph.input.append(helper.make_tensor_value_info(name, tensor._proto.data_type, tensor.shape))
    try:
        onnx.checker.check_model(bare)
        inferred: onnx.ModelProto = onnx.shape_inference.infer_shapes(bare, check_type=True, strict_mode=True, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        text = " ".join(str(error).split())
        hint = "onnx.checker.check_model(path, full_check=True) says the same"
        raise VerifyError(f"the onnx checker rejects the model: {text[:600]}", location=where, hint=hint) from None
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError) as error:
        text = " ".join(str(error).split())
        raise VerifyError(f"the onnx package cannot check the model: {text[:600]}", location=where) from None
    return inferred


def complete(model: onnx.ModelProto, stored: Mapping[str, Stored]) -> onnx.ModelProto:
    """The model with its external data read in."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(tensor.filled() for tensor in stored.values())
    return copy


def known_shape(type_: onnx.TypeProto) -> tuple[int, ...] | None:
    """The shape of a tensor type where all of it is a number."""
    if not type_.HasField("tensor_type") or not type_.tensor_type.HasField("shape"):
        return None
    dims = type_.tensor_type.shape.dim
    return tuple(dim.dim_value for dim in dims) if all(dim.HasField("dim_value") for dim in dims) else None


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    """An attribute as a plain value: text as str, tensors as arrays, graphs as they are."""
    if attribute.type == onnx.AttributeProto.TENSOR:
        return Stored(attribute.t, Path("/nonexistent")).values()
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (onnx.GraphProto, onnx.TensorProto, int, float)):
        return value
    parts = list(value) if not isinstance(value, (str, onnx.SparseTensorProto, onnx.TypeProto)) else value
    return [part.decode("utf-8", "replace") if isinstance(part, bytes) else part for part in parts] if isinstance(parts, list) else parts
