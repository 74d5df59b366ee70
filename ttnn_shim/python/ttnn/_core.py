"""Errors, attribute sets and op calls of the C ABI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ttnn_shim.errors import BY_CODE, InternalError, ShimError
from ttnn_shim.native import load

ffi, lib, origin = load()
ABI_VERSION = 1
if lib.shim_abi_version() != ABI_VERSION:
    raise ImportError(f"{origin} has ABI version {lib.shim_abi_version()}, this package needs {ABI_VERSION}: build them together")


def text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def last_error(op: str = "") -> ShimError:
    """The core's last error of this thread, at the caller's line."""
    kind = BY_CODE.get(lib.shim_error_code(), InternalError)
    name = text(lib.shim_error_op()) or op
    return kind(text(lib.shim_error_message()), op=name, hint=text(lib.shim_error_hint()))


def check(status: int, op: str = "") -> None:
    if status:
        raise last_error(op)


def error(kind: type[ShimError], message: str, op: str = "", hint: str = "") -> ShimError:
    """An error of the Python layer, at the caller's line."""
    return kind(message, op=op, hint=hint)


# --- attributes: parsed once by the core, shared by equal calls -------------------------------------------------------

_ATTRS_LIMIT = 8192
_attrs: dict[bytes, Any] = {}


def attrs_of(blob: bytes) -> Any:
    """The core's attribute set for a blob."""
    cached = _attrs.get(blob)
    if cached is None:
        if len(_attrs) >= _ATTRS_LIMIT:
            _attrs.clear()
        out = ffi.new("shim_attrs **")
        check(lib.shim_attrs_new(blob, len(blob), out))
        cached = _attrs[blob] = ffi.gc(out[0], lib.shim_attrs_free)
    return cached


# --- op calls ---------------------------------------------------------------------------------------------------------


_results: list[Any] = []
after_call: Callable[[], None] | None = None
"""What follows each call while a mesh of several chips is open."""
Wrap = Callable[[Any], Any]


def op_names() -> frozenset[str]:
    """Ops of TT-NN that the core has kernels for; not those of the simulator itself."""
    return frozenset(name for name in text(lib.shim_op_names()).split() if name.startswith("ttnn."))


def find_op(names: tuple[str, ...]) -> int | None:
    """The core's id of an op under the first of its names that is registered, or None."""
    all_names = op_names()
    for name in names:
        if name in all_names:
            return op_id(name)
    return None


def op_id(name: str) -> int:
    """The core's id of an op, TT-NN's or the simulator's own. Raises NotSupported."""
    out = ffi.new("int *")
    check(lib.shim_op_find(name.encode(), out), name)
    return int(out[0])


def invoke(op_id: int, name: str, handles: list[Any], device: Any, blob: bytes, wrap: Wrap) -> tuple[list[Any], list[int]]:
    """Runs an op. handles: `shim_tensor *`; device: `shim_device *` or NULL; wrap: handle -> Tensor. Returns tensors and numbers."""
    result = _results.pop() if _results else ffi.new("shim_result *")
    attrs = _attrs.get(blob)
    if attrs is None:
        attrs = attrs_of(blob)
    inputs = ffi.new("shim_tensor *[]", handles) if handles else ffi.NULL
    if lib.shim_invoke(op_id, inputs, len(handles), device, attrs, result):
        _results.append(result)
        raise last_error(name)
    raw = result.tensors
    if result.n_tensors == 1 and not result.n_ints:
        tensors, numbers = [wrap(raw[0]) if raw[0] else None], []
    else:
        tensors = [wrap(raw[i]) if raw[i] else None for i in range(result.n_tensors)]
        numbers = [int(result.ints[i]) for i in range(result.n_ints)]
    _results.append(result)
    if after_call is not None:
        after_call()
    return tensors, numbers
