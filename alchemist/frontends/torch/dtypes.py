"""Torch dtypes as element types and numpy arrays."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import torch

from alchemist.errors import InputError
from alchemist.frontends.torch.errors import Unsupported

_TABLE: dict[torch.dtype, tuple[str, Any]] = {
    torch.float32: ("f32", np.float32),
    torch.bfloat16: ("bf16", ml_dtypes.bfloat16),
    torch.float16: ("f16", np.float16),
    torch.float64: ("f64", np.float64),
    torch.int64: ("i64", np.int64),
    torch.int32: ("i32", np.int32),
    torch.int16: ("i16", np.int16),
    torch.int8: ("i8", np.int8),
    torch.uint8: ("ui8", np.uint8),
    torch.uint16: ("ui16", np.uint16),
    torch.uint32: ("ui32", np.uint32),
    torch.bool: ("i1", np.bool_),
}


def is_known(dtype: torch.dtype) -> bool:
    """Whether tensors of this dtype can be expressed."""
    return dtype in _TABLE


def element_of(dtype: torch.dtype) -> str:
    """MLIR element type name; Unsupported for complex and quantised types."""
    if dtype not in _TABLE:
        raise Unsupported(f"dtype {dtype}")
    return _TABLE[dtype][0]


def numpy_of(dtype: torch.dtype) -> np.dtype[Any]:
    if dtype not in _TABLE:
        raise Unsupported(f"dtype {dtype}")
    dtype_: np.dtype[Any] = np.dtype(_TABLE[dtype][1])
    return dtype_


def numpy_name(dtype: torch.dtype) -> str:
    """The numpy dtype name of a torch dtype ("float32", "bfloat16", "int64", "bool")."""
    return str(numpy_of(dtype).name)


def to_numpy(value: torch.Tensor) -> np.ndarray[Any, Any]:
    """C-contiguous numpy array of the same values; shares memory where the tensor is contiguous on the CPU.

    Raises:
        InputError: the tensor has none (meta device).
    """
    if value.is_meta:
        hint = "load the weights (load_state_dict(..., assign=True) accepts memory-mapped weights), or pass export_tensors=False"
        raise InputError("a tensor on the meta device has no values", got=f"shape {list(value.shape)}", hint=hint)
    value = value.detach().cpu().contiguous()
    if value.dtype == torch.bfloat16:
        value = value.view(torch.int16)
        return np.asarray(value.numpy().view(ml_dtypes.bfloat16))
    return np.asarray(value.resolve_conj().resolve_neg().numpy())


def limits(dtype: torch.dtype) -> tuple[float, float]:
    """A number below and one above all values of a type."""
    if dtype.is_floating_point:
        return -math.inf, math.inf
    bounds = torch.iinfo(torch.int32 if dtype == torch.int64 else dtype)
    return int(bounds.min), int(bounds.max)
