"""Replays a sequence of calls on an idle device in estimate mode: the exact addresses, peaks and time of a program, without values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ttnn_shim.errors import BY_CODE, InternalError, ShimError
from ttnn_shim.native import load
from ttnn_shim.queries import Memory, Spec, bound_arguments, encoded_arguments


@dataclass(slots=True)
class Held:
    """A tensor of a replay."""

    spec: Spec
    _handle: Any

    @property
    def layout(self) -> str:
        return self.spec.layout


class Replay:
    """Tensors are made and freed by the caller; everything else happens as in a run with `--estimate`.

    Raises (all methods):
        ShimError: what the library refuses: OutOfMemory where L1 or DRAM is short, or circular buffers meet a tensor.
    """

    def __init__(self, card: str, l1_small_bytes: int = 0) -> None:
        self._ffi, self._lib, _ = load()
        device = self._ffi.new("shim_device **")
        self._check(self._lib.shim_device_open(card.encode(), l1_small_bytes, 0, 1, device))
        self._device = device[0]
        self._result = self._ffi.new("shim_result *")

    def close(self) -> None:
        self._lib.shim_device_close(self._device)
        self._lib.shim_device_free(self._device)

    def _check(self, status: int, op: str = "") -> None:
        if status:
            text = self._ffi.string(self._lib.shim_error_message()).decode("utf-8", "replace")
            kind: type[ShimError] = BY_CODE.get(self._lib.shim_error_code(), InternalError)
            raise kind(text, op=op)

    def tensor(self, spec: Spec) -> Held:
        """A tensor that is there already."""
        out = self._ffi.new("shim_tensor **")
        shape = self._ffi.new("uint32_t[]", list(spec.shape))
        attrs = self._attrs(b"\x01\x00\x0dmemory_config" + spec.memory._encode())
        device = self._ffi.NULL if spec.on_host else self._device
        try:
            self._check(
                self._lib.shim_tensor_new(
                    device, _DTYPES[spec.dtype], 1 if spec.layout == "tile" else 0, len(spec.shape), shape, attrs, self._ffi.NULL, 0, 0, out
                )
            )
        finally:
            self._lib.shim_attrs_free(attrs)
        return Held(spec, out[0])

    def address(self, tensor: Held) -> int:
        """The tensor's address in every bank, in bytes."""
        info = self._ffi.new("shim_tensor_info *")
        self._check(self._lib.shim_tensor_get_info(tensor._handle, info))
        return int(info.address)

    def free(self, tensor: Held) -> None:
        self._lib.shim_tensor_free(tensor._handle)

    def _attrs(self, blob: bytes) -> Any:
        out = self._ffi.new("shim_attrs **")
        self._check(self._lib.shim_attrs_new(blob, len(blob), out))
        return out[0]

    def call(self, op: str, inputs: Sequence[Any], **configuration: Any) -> list[Held | None]:
        """Runs the call; tensors among its arguments are `Held`."""
        arguments, wrong = bound_arguments(op, inputs, configuration)
        if wrong:
            raise BY_CODE[1](wrong, op=op)
        tensors: list[Held] = []
        blob = encoded_arguments(arguments, tensors)
        number = self._ffi.new("int *")
        self._check(self._lib.shim_op_find(op.encode(), number), op)
        attrs = self._attrs(blob)
        try:
            handles = self._ffi.new("shim_tensor *[]", [tensor._handle for tensor in tensors])
            self._check(self._lib.shim_invoke(number[0], handles, len(tensors), self._device, attrs, self._result), op)
        finally:
            self._lib.shim_attrs_free(attrs)
        return [Held(self._spec(handle), handle) if handle else None for handle in self._result.tensors[0 : self._result.n_tensors]]

    def _spec(self, handle: Any) -> Spec:
        info = self._ffi.new("shim_tensor_info *")
        self._check(self._lib.shim_tensor_get_info(handle, info))
        shape = tuple(info.shape[0 : info.rank])
        names = {number: name for name, number in _DTYPES.items()}
        memory = Memory("L1" if info.buffer_type == 1 else "DRAM")
        return Spec(shape, names.get(info.dtype, "bfloat16"), "tile" if info.layout else "row_major", memory)

    @property
    def device_ns(self) -> float:
        """Kernel time and gaps so far."""
        clock = self._ffi.new("shim_clock *")
        self._check(self._lib.shim_clock_get(self._device, clock))
        return float(clock.device_ns)

    @property
    def l1_peak_bytes(self) -> int:
        """Of tensors, per core."""
        view = self._ffi.new("shim_memory_view *")
        self._check(self._lib.shim_memory_view_get(self._device, 1, view))
        return int(view.peak_bytes_per_bank)


_DTYPES = {"bfloat16": 0, "float32": 1, "uint32": 2, "bfloat8_b": 3, "bfloat4_b": 4, "uint8": 5, "uint16": 6, "int32": 7}
