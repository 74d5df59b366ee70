"""Replays a sequence of calls on an idle device in estimate mode: the exact addresses, peaks and time of a program, without values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ttnn_shim.errors import BY_CODE, InternalError, ShimError
from ttnn_shim.native import load
from ttnn_shim.queries import Memory, Spec, bound_arguments, encoded_arguments


class Held:
    """A tensor of a replay; in a prepared call, what stands for one."""

    __slots__ = ("_handle",)
    spec = Spec(())
    layout = spec.layout  # of arguments, only which ones are tensors is read: the core knows their specs

    def __init__(self, handle: Any) -> None:
        self._handle = handle


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the core reads it, for any number of replays. tensors: what stood for its tensors, in the order in which `Replay.run` takes them."""

    op: str
    tensors: tuple[Any, ...]
    _number: int
    _attrs: Any


def prepared(op: str, inputs: Sequence[Any], configuration: Mapping[str, Any]) -> Call:
    """A call whose tensors are `Held`, with anything for a handle.

    Raises:
        ShimError: an unknown op, or arguments that it does not take.
    """
    arguments, wrong = bound_arguments(op, inputs, configuration)
    if wrong:
        raise BY_CODE[1](wrong, op=op)
    tensors: list[Held] = []
    blob = encoded_arguments(arguments, tensors)
    ffi, lib, _ = load()
    number = ffi.new("int *")
    _check(lib.shim_op_find(op.encode(), number), op)
    return Call(op, tuple(tensor._handle for tensor in tensors), number[0], _attributes(blob))


def _attributes(blob: bytes) -> Any:
    ffi, lib, _ = load()
    out = ffi.new("shim_attrs **")
    _check(lib.shim_attrs_new(blob, len(blob), out))
    return ffi.gc(out[0], lib.shim_attrs_free)


@lru_cache(maxsize=4096)
def _memory_attributes(memory: Memory) -> Any:
    return _attributes(b"\x01\x00\x0dmemory_config" + memory._encode())


def _check(status: int, op: str = "") -> None:
    if status:
        ffi, lib, _ = load()
        kind: type[ShimError] = BY_CODE.get(lib.shim_error_code(), InternalError)
        raise kind(ffi.string(lib.shim_error_message()).decode("utf-8", "replace"), op=op)


class Replay:
    """Tensors are made and freed by the caller; everything else happens as in a run with `--estimate`.

    Raises (all methods):
        ShimError: what the library refuses: OutOfMemory where L1 or DRAM is short, or circular buffers meet a tensor.
    """

    def __init__(self, card: str, l1_small_bytes: int = 0) -> None:
        self._ffi, self._lib, _ = load()
        device = self._ffi.new("shim_device **")
        _check(self._lib.shim_device_open(card.encode(), l1_small_bytes, 0, 1, device))
        self._device = device[0]
        self._result = self._ffi.new("shim_result *")

    def close(self) -> None:
        self._lib.shim_device_close(self._device)
        self._lib.shim_device_free(self._device)

    def tensor(self, spec: Spec) -> Held:
        """A tensor that is there already."""
        out = self._ffi.new("shim_tensor **")
        shape = self._ffi.new("uint32_t[]", list(spec.shape))
        device = self._ffi.NULL if spec.on_host else self._device
        layout, attributes = 1 if spec.layout == "tile" else 0, _memory_attributes(spec.memory)
        _check(self._lib.shim_tensor_new(device, _DTYPES[spec.dtype], layout, len(spec.shape), shape, attributes, self._ffi.NULL, 0, 0, out))
        return Held(out[0])

    def address(self, tensor: Held) -> int:
        """The tensor's address in every bank, in bytes."""
        info = self._ffi.new("shim_tensor_info *")
        _check(self._lib.shim_tensor_get_info(tensor._handle, info))
        return int(info.address)

    def free(self, tensor: Held) -> None:
        self._lib.shim_tensor_free(tensor._handle)

    def call(self, op: str, inputs: Sequence[Any], **configuration: Any) -> list[Held | None]:
        """Runs the call; tensors among its arguments are `Held`."""
        call = prepared(op, inputs, configuration)
        return self.run(call, [Held(handle) for handle in call.tensors])

    def run(self, call: Call, tensors: Sequence[Held]) -> list[Held | None]:
        """Runs a prepared call with these tensors."""
        handles = self._ffi.new("shim_tensor *[]", [tensor._handle for tensor in tensors])
        _check(self._lib.shim_invoke(call._number, handles, len(tensors), self._device, call._attrs, self._result), call.op)
        return [Held(handle) if handle else None for handle in self._result.tensors[0 : self._result.n_tensors]]

    @property
    def device_ns(self) -> float:
        """Kernel time and gaps so far."""
        clock = self._ffi.new("shim_clock *")
        _check(self._lib.shim_clock_get(self._device, clock))
        return float(clock.device_ns)

    @property
    def l1_peak_bytes(self) -> int:
        """Of tensors, per core."""
        view = self._ffi.new("shim_memory_view *")
        _check(self._lib.shim_memory_view_get(self._device, 1, view))
        return int(view.peak_bytes_per_bank)


_DTYPES = {"bfloat16": 0, "float32": 1, "uint32": 2, "bfloat8_b": 3, "bfloat4_b": 4, "uint8": 5, "uint16": 6, "int32": 7}
