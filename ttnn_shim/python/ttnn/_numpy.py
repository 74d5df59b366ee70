"""Arrays in and out: numpy, ml_dtypes, torch (never imported unless a torch tensor or `to_torch` is used)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from ttnn_shim.errors import InvalidArgument, NotSupported

from ttnn._convert import MISMATCH, register_class
from ttnn._enums import DataType

# dtype.str without byte order -> (DataType the real package gives it, bytes reinterpreted or converted)
_BY_NUMPY = {
    "float32": DataType.FLOAT32, "int32": DataType.INT32, "uint32": DataType.UINT32, "uint16": DataType.UINT16, "uint8": DataType.UINT8,
    "bfloat16": DataType.BFLOAT16, "int16": DataType.UINT16, "int8": DataType.INT8, "int64": DataType.UINT32, "uint64": DataType.UINT32, "bool": DataType.UINT8,
}  # fmt: skip
_CONVERTED = {"int16": np.uint16, "int64": np.uint32, "uint64": np.uint32, "bool": np.uint8}
_TO_NUMPY = {"FLOAT32": np.float32, "INT32": np.int32, "UINT32": np.uint32, "UINT16": np.uint16, "UINT8": np.uint8, "INT8": np.int8, "BFLOAT8_B": np.float32,
             "BFLOAT4_B": np.float32}  # fmt: skip


class ArrayLike:
    """What `Tensor(array)` takes: objects with an array interface that are not scalars."""


def _array_from(value: Any) -> Any:
    if isinstance(value, np.generic | list | tuple | str | bytes | int | float) or (type(value).__name__ == "Tensor" and hasattr(value, "_handle")):
        return MISMATCH
    named = ("__array_interface__", "__array__", "__dlpack__")
    return value if any(hasattr(value, name) for name in named) else MISMATCH


register_class("ArrayLike", ArrayLike, _array_from)


def bfloat16_dtype() -> Any:
    """ml_dtypes.bfloat16, or uint16 (the bit patterns) where ml_dtypes is not installed."""
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)


def check_source(name: str, target: Any) -> None:
    """Whether values of element type `name` may become `target`.

    Raises:
        InvalidArgument: fp8_e4m3 is made from float32 only.
    """
    if target is DataType.FP8_E4M3 and name != "float32":
        raise InvalidArgument(f"fp8_e4m3 is made from float32 values only, got {name}; convert them to float32 first", op="ttnn.Tensor")


def as_numpy(value: Any, target: Any = None) -> tuple[np.ndarray[Any, Any], Any]:
    """(C-contiguous array, DataType of its elements) of an array-like object; `target` is the DataType that it will become.

    Raises:
        InvalidArgument: element types that the real package does not take.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(torch, value, target)
    array = np.asarray(value)
    if target is not None and target.name in _TO_NUMPY and array.dtype.name in ("float16", "int16"):  # numpy converts what has no DataType
        array = array.astype(_TO_NUMPY[target.name])
    name = array.dtype.name
    dtype = _BY_NUMPY.get(name)
    check_source(name, target)
    if target is DataType.BFLOAT16 and name in ("int16", "int64", "uint64"):
        raise InvalidArgument(f"numpy has no bfloat16 to convert {name} to; convert the array to float32 first", op="ttnn.Tensor")
    if dtype is None:
        raise InvalidArgument(f"parse_py_tensor: element type {name} is not supported; use one of {', '.join(_BY_NUMPY)}", op="ttnn.Tensor")
    if name in ("int64", "uint64") and target is not None and target.name in ("FLOAT32", "BFLOAT16", "BFLOAT8_B", "BFLOAT4_B"):
        array, dtype = array.astype(np.float32), DataType.FLOAT32
    elif name in _CONVERTED:
        array = array.astype(_CONVERTED[name])
    return np.ascontiguousarray(array).reshape(array.shape), dtype


def _from_torch(torch: Any, value: Any, target: Any) -> tuple[np.ndarray[Any, Any], Any]:
    value = value.detach().cpu().contiguous()
    check_source(str(value.dtype).removeprefix("torch."), target)
    if value.dtype == torch.int64 and target is DataType.BFLOAT16:
        value = value.to(torch.float32)
    if value.dtype in (torch.float16, torch.int16):  # torch converts them, float16 to bfloat16 where nothing is asked
        if target is DataType.BFLOAT16 or (target is None and value.dtype == torch.float16):
            value = value.to(torch.bfloat16)
        elif target is not None:
            value = value.to(getattr(torch, np.dtype(_TO_NUMPY.get(target.name, np.float32)).name))
    if value.dtype == torch.bfloat16:
        return value.view(torch.uint16).numpy(), DataType.BFLOAT16
    return as_numpy(value.numpy(), target)


def numpy_dtype(dtype: Any) -> tuple[Any, Any]:
    """(numpy dtype that holds the values of `dtype`, DataType in which the core delivers them)."""
    if dtype is DataType.BFLOAT16:
        return bfloat16_dtype(), DataType.BFLOAT16
    if dtype.name in ("BFLOAT8_B", "BFLOAT4_B"):
        return np.dtype(np.float32), DataType.FLOAT32
    if dtype.name not in _TO_NUMPY:
        raise NotSupported(f"{dtype.name} has no numpy or torch type; convert it with ttnn.to_dtype(tensor, ttnn.float32) first", op="ttnn.Tensor")
    return np.dtype(_TO_NUMPY[dtype.name]), dtype


def to_torch(array: np.ndarray[Any, Any], dtype: Any) -> Any:
    """A torch tensor that shares `array`'s memory."""
    import torch

    if dtype is DataType.BFLOAT16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)
