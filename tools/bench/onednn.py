"""Raw oneDNN through its C interface: the peer for matmul and convolution, from the very library that the shim has loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Values of dnnl_types.h / dnnl_common_types.h.
_BF16, _F32 = 2, 3
_ANY_TAG = 1
_CPU = 1
_FORWARD_INFERENCE = 96
_CONVOLUTION_DIRECT = 1
_SRC, _WEIGHTS, _DST = 1, 33, 17
_QUERY_WEIGHTS_MD, _QUERY_SRC_MD, _QUERY_DST_MD = 131, 129, 133
_MEMORY_ALLOCATE = ctypes.c_void_p(-1)


def loaded_library() -> str | None:
    """Path of the libdnnl in this process, or None."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.rsplit(" ", 1)[-1]
        if "libdnnl.so" in path:
            return path
    return None


class _Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


class RawOneDnn:
    """Makes timed closures: one primitive each, weights packed as the primitive wants them, made once."""

    def __init__(self) -> None:
        path = loaded_library()
        if path is None:
            raise OSError("the shim was built without oneDNN")
        self.lib = ctypes.CDLL(path)
        self.engine, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.lib.dnnl_engine_create(ctypes.byref(self.engine), _CPU, ctypes.c_size_t(0)))
        self._check(self.lib.dnnl_stream_create(ctypes.byref(self.stream), self.engine, 1))

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise OSError(f"oneDNN status {status}")

    def _desc(self, dims: Sequence[int], strides: Sequence[int] | None) -> ctypes.c_void_p:
        """bf16 descriptor; strides None: any format."""
        out = ctypes.c_void_p()
        extents = (ctypes.c_int64 * 12)(*dims)
        if strides is None:
            status = self.lib.dnnl_memory_desc_create_with_tag(ctypes.byref(out), len(dims), extents, _BF16, _ANY_TAG)
        else:
            status = self.lib.dnnl_memory_desc_create_with_strides(ctypes.byref(out), len(dims), extents, _BF16, (ctypes.c_int64 * 12)(*strides))
        self._check(status)
        return out

    def _memory(self, desc: Any) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        self._check(self.lib.dnnl_memory_create(ctypes.byref(out), desc, self.engine, _MEMORY_ALLOCATE))
        handle, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._check(self.lib.dnnl_memory_get_data_handle(out, ctypes.byref(handle)))
        self.lib.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        size.value = self.lib.dnnl_memory_desc_get_size(desc)
        assert handle.value is not None
        # 0x3c00 is a small normal bfloat16: no denormals, no NaN
        np.frombuffer((ctypes.c_char * size.value).from_address(handle.value), np.uint16, size.value // 2)[:] = 0x3C00
        return out

    def _runner(self, primitive_desc: ctypes.c_void_p) -> Callable[[], None]:
        primitive = ctypes.c_void_p()
        self._check(self.lib.dnnl_primitive_create(ctypes.byref(primitive), primitive_desc))
        query = self.lib.dnnl_primitive_desc_query_md
        query.restype = ctypes.c_void_p
        arguments = (_Argument * 3)()
        for slot, (which, argument) in enumerate(((_QUERY_SRC_MD, _SRC), (_QUERY_WEIGHTS_MD, _WEIGHTS), (_QUERY_DST_MD, _DST))):
            desc = ctypes.c_void_p(query(primitive_desc, which, 0))
            arguments[slot] = _Argument(argument, self._memory(desc).value)

        def run() -> None:
            self._check(self.lib.dnnl_primitive_execute(primitive, self.stream, 3, arguments))
            self._check(self.lib.dnnl_stream_wait(self.stream))

        return run

    def matmul(self, m: int, k: int, n: int) -> Callable[[], None]:
        desc = ctypes.c_void_p()
        self._check(
            self.lib.dnnl_matmul_primitive_desc_create(
                ctypes.byref(desc), self.engine, self._desc((m, k), (k, 1)), self._desc((k, n), None), None, self._desc((m, n), (n, 1)), None
            )
        )
        return self._runner(desc)

    def convolution(self, batch: int, channels: int, size: int, out_channels: int, kernel: int, stride: int, padding: int) -> Callable[[], None]:
        """NHWC activations of size x size pixels."""
        out_size = (size + 2 * padding - kernel) // stride + 1

        def nhwc(c: int, s: int) -> ctypes.c_void_p:
            return self._desc((batch, c, s, s), (s * s * c, 1, s * c, c))

        pair = ctypes.c_int64 * 2
        desc = ctypes.c_void_p()
        self._check(
            self.lib.dnnl_convolution_forward_primitive_desc_create(
                ctypes.byref(desc), self.engine, _FORWARD_INFERENCE, _CONVOLUTION_DIRECT, nhwc(channels, size),
                self._desc((out_channels, channels, kernel, kernel), None), None, nhwc(out_channels, out_size),
                pair(stride, stride), pair(0, 0), pair(padding, padding), pair(padding, padding), None,
            )
        )  # fmt: skip
        return self._runner(desc)
