"""Tracing: the function runs once as plain Python on `ResultWrapper`s, with TT-NN's ops replaced by recorders.

Loops, conditions on Python values, closures and calls of helper functions are resolved while it runs. Results are inferred by the ops
themselves, on a device of the same card that computes no values.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ttnn
from ttnn import _core, _device
from ttnn._operation import Operation
from ttnn._tensor import empty_handle
from ttnn_shim.nested import leaves, replaced

from ttnn_jit.graph import Graph, Node, Ref, Spec
from ttnn_jit.rearrange import rearrange
from ttnn_jit.supported import BINARY, SUPPORTED, dtypes_of


class ResultWrapper:
    """A traced value. It has no operators, and no values that a condition could ask for."""

    __slots__ = ("_tensor", "_value")

    def __init__(self, value: int, tensor: Any) -> None:
        self._value = value
        self._tensor = tensor

    @property
    def shape(self) -> Any:
        return self._tensor.shape

    @property
    def dtype(self) -> Any:
        return self._tensor.dtype

    @property
    def layout(self) -> Any:
        return self._tensor.layout

    def __bool__(self) -> bool:
        raise TypeError("a traced value has no truth value: conditions in a ttnn_jit function may depend on Python values only")


@contextmanager
def private_device(with_values: bool) -> Iterator[Any]:
    """A device of the run's card that nothing else sees; closed after."""
    device = _device.private_device(with_values)
    try:
        yield device
    finally:
        _core.check(_core.lib.shim_device_close(device._handle))


def call_quietly(op: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """An op's call that a profile of the program does not see."""
    return getattr(ttnn, op).run(args, kwargs)


def spec_of(tensor: Any, memory_config: Any = None) -> Spec:
    return Spec(tuple(tensor.shape), tuple(tensor.padded_shape), tensor.dtype, tensor.layout, memory_config)


def trace(function: Callable[..., Any], tensors: tuple[Any, ...], kwargs: dict[str, Any]) -> Graph:
    """The ops that `function` calls on tensors like these.

    Raises:
        ValueError: more than one result, or dtypes, shards or captured tensors that ttnn.jit does not take.
        TypeError: an op that is not traced got a traced value.
    """
    with private_device(with_values=False) as device:
        tracer = _Tracer(device, [spec_of(tensor, tensor.memory_config()) for tensor in tensors])
        result = _Copier(tracer).copy(function)(*tracer.arguments(), **kwargs)
        if isinstance(result, list | tuple):
            raise ValueError(f"Only one output tensor is supported, got {len(result)}")
        if not isinstance(result, ResultWrapper):
            raise ValueError(f"Only one output tensor is supported: the function returned {type(result).__name__}")
        return Graph(tracer.inputs, tracer.nodes, result._value)


class _Tracer:
    """Stands in for the module `ttnn` while a function is traced."""

    def __init__(self, device: Any, inputs: list[Spec]) -> None:
        self.device = device
        self.inputs = inputs
        self.nodes: list[Node] = []

    def arguments(self) -> list[ResultWrapper]:
        """Stand-ins of the inputs, with their memory, so that errors about shards are those of the run."""
        stand_ins = []
        for value, spec in enumerate(self.inputs):
            stand_ins.append(ResultWrapper(value, empty_handle(self.device, spec.dtype, spec.layout, spec.shape, spec.memory_config)))
        return stand_ins

    def __getattr__(self, name: str) -> Any:
        real = None if name == "rearrange" else getattr(ttnn, name)  # TT-NN's own error for a name that it lacks
        return self.recorder(name) if name in SUPPORTED else real

    def recorder(self, name: str) -> Callable[..., Any]:
        if name == "rearrange":
            return lambda tensor, pattern: rearrange(self, tensor, pattern)

        def record(*args: Any, **kwargs: Any) -> ResultWrapper:
            kwargs.pop("memory_config", None)  # ttnn.jit ignores it; the result's is an argument of `jit`
            return self._add(name, args, kwargs)

        record.__name__ = name
        return record

    def _add(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ResultWrapper:
        def reference(leaf: Any) -> Any:
            if isinstance(leaf, ttnn.Tensor):
                raise ValueError(f"ttnn_jit.{name}: a tensor from outside the function cannot be traced; pass it as an argument")
            return Ref(leaf._value) if isinstance(leaf, ResultWrapper) else leaf

        recorded_args, recorded_kwargs = replaced(args, reference), replaced(kwargs, reference)
        wrappers = {leaf._value: leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, ResultWrapper)}
        self._check(name, wrappers)
        real_args, real_kwargs = (replaced(each, lambda leaf: leaf._tensor if isinstance(leaf, ResultWrapper) else leaf) for each in (args, kwargs))
        signature, bound = getattr(ttnn, name)._bind(real_args, real_kwargs)
        made = call_quietly(name, real_args, real_kwargs)
        values = {id(wrapper._tensor): Ref(value) for value, wrapper in wrappers.items()}
        in_order = {param.name: bound[param.name] for param in signature.overload.params if param.name in bound}
        by_name = replaced(in_order, lambda leaf: values.get(id(leaf), leaf))
        self.nodes.append(Node(name, recorded_args, recorded_kwargs, by_name, spec_of(made)))
        return ResultWrapper(len(self.inputs) + len(self.nodes) - 1, made)

    def _check(self, name: str, operands: dict[int, ResultWrapper]) -> None:
        known = dtypes_of(name)
        for tensor in operands.values():
            if known is not None and tensor.dtype.name not in known:
                raise ValueError(f"ttnn_jit.{name}: expected dtype {' or '.join(known)}, got {tensor.dtype.name}")
            if name == "matmul" and len(tensor.shape) != 2:
                raise ValueError(f"ttnn_jit.matmul: expected tensors of rank 2, got shape {list(tensor.shape)}")
        if name in BINARY:
            shards = [self.inputs[value].memory_config for value in operands if value < len(self.inputs)]
            shards = [config for config in shards if config.is_sharded()]
            if len(shards) == 2 and shards[0] != shards[1]:
                raise ValueError(f"ttnn_jit.{name}: sharded operands need the same shard spec, got {shards[0]} and {shards[1]}")


class _Copier:
    """Copies functions so that their `ttnn` is the tracer: its globals, closures and the functions that they name, each once."""

    def __init__(self, tracer: _Tracer) -> None:
        self.tracer = tracer
        self.copies: dict[int, types.FunctionType] = {}

    def copy(self, function: Any) -> Any:
        """The function on the tracer; a callable that is no plain function is returned as it is."""
        function = getattr(function, "func", function) if type(function).__name__ == "JitFunction" else function
        if not isinstance(function, types.FunctionType):
            return function
        if id(function) in self.copies:
            return self.copies[id(function)]
        names = dict(function.__globals__)
        cells = None if function.__closure__ is None else tuple(types.CellType() for _ in function.__closure__)
        made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        self.copies[id(function)] = made
        for name in _names_in(function.__code__):
            if name in names:
                names[name] = self.converted(names[name])
        for old, new in zip(function.__closure__ or (), cells or (), strict=True):
            try:
                new.cell_contents = self.converted(old.cell_contents)
            except ValueError:  # a cell that is still empty
                continue
        return made

    def converted(self, value: Any) -> Any:
        if value is ttnn:
            return self.tracer
        if isinstance(value, Operation):
            names = [name.removeprefix("ttnn.") for name in value.names]  # multiply is mul
            return next((self.tracer.recorder(name) for name in names if name in SUPPORTED), value)
        if type(value).__name__ == "JitFunction" or (isinstance(value, types.FunctionType) and not _of_ttnn(value)):
            return self.copy(value)
        return value


def _of_ttnn(function: types.FunctionType) -> bool:
    return str(function.__module__).split(".")[0] in ("ttnn", "ttnn_shim", "ttnn_jit", "tracy")


def _names_in(code: types.CodeType) -> set[str]:
    """Global names that a function and the functions in it may read."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names
