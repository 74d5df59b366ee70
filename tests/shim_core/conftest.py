"""The C door as fixtures."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from ttnn_shim.native import load

DTYPES = {"BFLOAT16": 0, "FLOAT32": 1, "UINT32": 2, "BFLOAT8_B": 3, "BFLOAT4_B": 4, "UINT8": 5, "UINT16": 6, "INT32": 7}
HOST_TYPES = {"FLOAT32": np.float32, "UINT32": np.uint32, "UINT8": np.uint8, "UINT16": np.uint16, "INT32": np.int32}


@dataclass(frozen=True)
class Input:
    """Index of an input tensor, as an attribute."""

    index: int


class CoreError(Exception):
    """What the core reported."""

    def __init__(self, code: int, op: str, message: str, hint: str) -> None:
        super().__init__(f"{op}: {message} ({hint})")
        self.code, self.op, self.message, self.hint = code, op, message, hint


def encode(value: Any) -> bytes:
    """One attribute value in the format of abi.h."""
    if isinstance(value, Input):
        return b"t" + struct.pack("<I", value.index)
    if isinstance(value, bool):
        return b"b" + struct.pack("<B", value)
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"d" + struct.pack("<d", value)
    if isinstance(value, str):
        return b"s" + struct.pack("<I", len(value)) + value.encode()
    if isinstance(value, dict):
        return b"r\x00" + blob_of(value)
    if any(type(item) is not int for item in value):
        return b"l" + struct.pack("<I", len(value)) + b"".join(map(encode, value))
    return b"I" + struct.pack("<I", len(value)) + struct.pack(f"<{len(value)}q", *value)


def blob_of(attrs: dict[str, Any]) -> bytes:
    fields = b"".join(bytes([len(name)]) + name.encode() + encode(value) for name, value in attrs.items())
    return struct.pack("<H", len(attrs)) + fields


class Core:
    """A thin face over the C door: every status is checked."""

    def __init__(self) -> None:
        self.ffi, self.lib, _ = load()

    def check(self, status: int) -> None:
        if status:
            text = [self.ffi.string(f()).decode() for f in (self.lib.shim_error_op, self.lib.shim_error_message, self.lib.shim_error_hint)]
            assert status == self.lib.shim_error_code()
            raise CoreError(status, *text)

    def open(self, card: str = "n150", *, l1_small: int = 0, trace: int = 0, estimate: bool = False) -> Any:
        out = self.ffi.new("shim_device **")
        self.check(self.lib.shim_device_open(card.encode(), l1_small, trace, int(estimate), out))
        return self.ffi.gc(out[0], self.lib.shim_device_free)

    def attrs(self, attrs: dict[str, Any]) -> Any:
        blob = blob_of(attrs)
        out = self.ffi.new("shim_attrs **")
        self.check(self.lib.shim_attrs_new(blob, len(blob), out))
        return self.ffi.gc(out[0], self.lib.shim_attrs_free)

    def tensor(self, array: Any, dtype: str = "BFLOAT16", layout: int = 1, device: Any = None, **attrs: Any) -> Any:
        array = np.ascontiguousarray(array)
        given = next(name for name, kind in HOST_TYPES.items() if array.dtype == kind)
        out = self.ffi.new("shim_tensor **")
        made = self.attrs(attrs) if attrs else self.ffi.NULL
        shape = self.ffi.new("uint32_t[]", list(array.shape))
        data = self.ffi.from_buffer(array) if array.size else self.ffi.NULL
        self.check(self.lib.shim_tensor_new(device or self.ffi.NULL, DTYPES[dtype], layout, array.ndim, shape, made, data, array.nbytes, DTYPES[given], out))
        return self.ffi.gc(out[0], self.lib.shim_tensor_free)

    def info(self, tensor: Any) -> Any:
        out = self.ffi.new("shim_tensor_info *")
        self.check(self.lib.shim_tensor_get_info(tensor, out))
        return out

    def read(self, tensor: Any, dtype: str = "FLOAT32") -> Any:
        info = self.info(tensor)
        out = np.empty([info.shape[i] for i in range(info.rank)], HOST_TYPES[dtype])
        self.check(self.lib.shim_tensor_read(tensor, DTYPES[dtype], self.ffi.from_buffer(out), out.nbytes))
        return out

    def invoke(self, op: str, inputs: list[Any], device: Any = None, **attrs: Any) -> list[Any]:
        op_id = self.ffi.new("int *")
        self.check(self.lib.shim_op_find(op.encode(), op_id))
        result = self.ffi.new("shim_result *")
        handles = self.ffi.new("shim_tensor *[]", inputs)
        self.check(self.lib.shim_invoke(op_id[0], handles, len(inputs), device or self.ffi.NULL, self.attrs(attrs), result))
        return [self.ffi.gc(result.tensors[i], self.lib.shim_tensor_free) for i in range(result.n_tensors)]

    def text(self, function: Callable[..., int], *args: Any) -> str:
        out = self.ffi.new("char **")
        self.check(function(*args, out))
        try:
            return self.ffi.string(out[0]).decode()
        finally:
            self.lib.shim_string_free(out[0])


@pytest.fixture(scope="session")
def core() -> Core:
    return Core()


@pytest.fixture
def device(core: Core) -> Iterator[Any]:
    opened = core.open()
    yield opened
    core.lib.shim_device_close(opened)
