"""Ops as callables: `Operation` checks a call against its signatures and passes what was given to the core, by parameter name."""

from __future__ import annotations

import inspect
from typing import Any

from ttnn_shim.errors import NotSupported

from ttnn import _core
from ttnn._binding import BoundOverload, Overloads
from ttnn._convert import encode, name_prefix
from ttnn._device import MeshDevice
from ttnn._events import called, on_call
from ttnn._extras import extra
from ttnn._facts import facts, function_overloads, qualified_name, spellings, wrapped_overloads
from ttnn._tensor import Tensor

_NULL = _core.ffi.NULL
# Encoded tensor references by position.
_TENSOR_INDEX = tuple(b"t" + index.to_bytes(4, "little") for index in range(1024))
_PLAIN = (list, tuple, dict, set)


# What the padding of a result's tiles holds: the value of an argument, or what the argument's own padding held. Programs do not read padding.
_PADDING = {
    "ttnn.fill_implicit_tile_padding": "fill_value", "ttnn.tilize_with_val_padding": "pad_value", "ttnn.from_device": "", "ttnn.to_device": "",
    "ttnn.clone": "", "ttnn.to_memory_config": "",
}  # fmt: skip
# What None means where it differs from leaving the argument out: of the parameters that take None and have another default, only this one.
_NONE_MEANS = {("ttnn.group_norm", "inplace"): False}


def _mark_padding(name: str, bound: dict[str, Any], tensors: list[Any]) -> None:
    value_of = bound.get(_PADDING[name]) if _PADDING[name] else next(value._pad_value for value in bound.values() if type(value) is Tensor)
    for tensor in tensors:
        tensor._pad_value = value_of or 0.0


class Operation:
    """`ttnn.softmax` and its like. `__overloads__` holds the signatures; `__signature__` is there when there is one."""

    def __init__(self, name: str) -> None:
        self.names = spellings(name)  # the core may know an op by any of them
        self.table_name = name
        self.name = name = qualified_name(name)
        self.overloads = Overloads(name, wrapped_overloads(self.table_name), "op", int_kinds=facts()["int_kinds"].get(self.table_name))
        self._plans: dict[Any, BoundOverload] = {}
        self._op_id: int | None = None
        self._golden: Any = None  # attached by a caller
        self.__name__ = self.__qualname__ = name
        self.__module__ = name.rsplit(".", 1)[0]
        self.python_fully_qualified_name = name

    @property
    def __overloads__(self) -> Overloads:
        return Overloads(self.name, function_overloads(self.table_name), "op")

    @property
    def __signature__(self) -> inspect.Signature | None:
        return self.__overloads__.signature()

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self.overloads.doc()

    def __repr__(self) -> str:
        return f"FastOperation(python_fully_qualified_name='{self.name}')"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:  # the real package's ops take a queue; the simulator runs queues in order
            if "queue_id" in kwargs:
                del kwargs["queue_id"]
            elif "cq_id" in kwargs:
                del kwargs["cq_id"]
        return called(self, args, kwargs, self.run) if on_call.watchers else self.run(args, kwargs)

    @property
    def golden_function(self) -> Any:
        """What the op computes, on torch tensors; None where nothing is known."""
        return self._golden or extra("golden").golden_of(self.name)

    @golden_function.setter
    def golden_function(self, function: Any) -> None:
        self._golden = function

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call itself, which no watcher sees."""
        overload, bound = self._bind(args, kwargs)
        op_id = self._op_id
        if op_id is None:
            op_id = self._find()
        handles: list[Any] = []
        fields = []
        device = _NULL
        for name, value in bound.items():
            if value is None:
                if (self.name, name) not in _NONE_MEANS:
                    continue
                value = _NONE_MEANS[self.name, name]
            kind = type(value)
            if kind is Tensor:
                fields.append(name_prefix(name) + _TENSOR_INDEX[len(handles)])
                handles.append(value._handle)
            elif kind is MeshDevice:
                device = value._handle
            elif kind is not tuple or value or not _default_is_empty(overload, name):
                fields.append(name_prefix(name) + encode(value, handles))
        blob = len(fields).to_bytes(2, "little") + b"".join(fields)
        tensors, numbers = _core.invoke(op_id, self.name, handles, device, blob, Tensor._adopt)
        if self.name in _PADDING:
            _mark_padding(self.name, bound, tensors)
        if overload.single:
            return tensors[0]
        return self._result(overload, bound, tensors, numbers)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[BoundOverload, dict[str, Any]]:
        """Overload choice; calls with the same argument types skip the search."""
        key = (*map(type, args), *kwargs, *map(type, kwargs.values()))
        plan = self._plans.get(key)
        if plan is not None:
            bound = plan.bind(args, kwargs, True)
            if bound is not None:
                return plan, bound
        overload, bound = self.overloads.bind(args, kwargs)
        if len(self.overloads.overloads) == 1 or not any(isinstance(value, _PLAIN) for value in (*args, *kwargs.values())):
            self._plans[key] = overload
        return overload, bound

    def _find(self) -> int:
        op_id = _core.find_op(self.names)
        if op_id is None:
            raise _core.error(NotSupported, "no kernel for this op yet", self.name)
        self._op_id = op_id
        return op_id

    def _result(self, overload: BoundOverload, bound: dict[str, Any], tensors: list[Any], numbers: list[int]) -> Any:
        returns = overload.overload.returns
        if returns == "None":
            return None
        if " | tuple[" in returns and ("int" in returns or "Tensor | None" in returns):
            return _convolution_result(returns, bound, tensors, numbers)
        if returns.startswith("list["):
            return tensors
        if returns.startswith("tuple["):
            return tuple(tensors)
        return tensors[0] if len(tensors) == 1 else tensors


def _default_is_empty(overload: BoundOverload, name: str) -> bool:
    return any(param.name == name and param.default == [] for param in overload.overload.params)


def _convolution_result(returns: str, bound: dict[str, Any], tensors: list[Any], numbers: list[int]) -> Any:
    """Output, then sizes and prepared weights as the flags ask."""
    parts: list[Any] = [tensors[0]]
    if bound.get("return_output_dim"):
        parts.append(numbers[0] if len(numbers) == 1 else tuple(numbers))
    if bound.get("return_weights_and_bias"):
        parts.append((tensors[1], tensors[2] if len(tensors) > 2 else None))
    return parts[0] if len(parts) == 1 else tuple(parts)
