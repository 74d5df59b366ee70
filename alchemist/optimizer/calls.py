"""Queries `ttnn_shim.query` about the calls of IR ops."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ttnn_shim.queries import CallAnswer, Memory, Record, Spec, query
from xdsl.ir import Operation, SSAValue

from alchemist.errors import InternalError
from alchemist.ir import access
from alchemist.ir.attributes import StructAttr
from alchemist.ir.edit import function_named
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ops.library_names import DTYPES, FIDELITIES, class_name, field_name
from alchemist.ops.spec import TTNN_OPS, Arg, Kind, inline_scalar

IN_PLACE = "alchemist.in_place"
"""Among changed attributes: the index of the operand that the result overwrites."""
OVERWRITING = {"ttnn.add": "ttnn.add_in_place", "ttnn.multiply": "ttnn.multiply_in_place"}
NATURAL = Memory("NATURAL")
"""Marks a query without a result memory: the library chooses it."""


class NotAskable(Exception):
    """The op is not a call that can be queried."""


def memory_of(layout: TTNNLayout) -> Memory:
    """The memory of a tensor with this layout."""
    if not layout.is_sharded or layout.data.ranges is None:
        return Memory(layout.buffer.upper(), "INTERLEAVED" if not layout.is_sharded else layout.memory.upper())
    corners = tuple(part for (x0, y0), (x1, y1) in layout.data.ranges for part in (x0, y0, x1, y1))
    rows, columns = layout.shard_shape()
    return Memory(layout.buffer.upper(), layout.memory.upper(), ((rows, columns), corners, layout.orientation.upper()))


def spec_of(value: SSAValue, memory: Memory | None = None) -> Spec:
    """The tensor's spec; `memory` instead of its own. Prepared weights of a convolution are asked for as they were before: the call prepares them
    itself, with the padding that its input's memory needs and that no type says.

    Raises:
        NotAskable: no TTNN tensor.
    """
    maker = maker_of(value)
    if maker is not None and maker.name.startswith("ttnn.prepare_") and maker.operands:
        value = maker.operands[0]
    layout = layout_of(value.type)
    if layout is None or layout.dtype not in DTYPES:
        raise NotAskable(str(value.type))
    if layout.on_host:
        return Spec(access.shape(value), DTYPES[layout.dtype], layout.page, on_host=True)
    return Spec(access.shape(value), DTYPES[layout.dtype], layout.page, memory or memory_of(layout))


def maker_of(value: SSAValue) -> Operation | None:
    """The op that computes the value: here, or in the const-eval function that the program loads it from."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "ttcore.load_cached":
        return owner if isinstance(owner, Operation) else None
    func = function_named(str(access.attr(owner, "callee")), owner)
    end = func.get_return_op() if func is not None else None
    maker = end.operands[owner.results.index(value)].owner if end is not None else None
    return maker if isinstance(maker, Operation) else None


def record_of(config: StructAttr) -> Record:
    """A config attribute as an object of the library."""
    fields: Mapping[str, Any] = config.python()
    return Record(class_name(config.name), tuple((field_name(name), _field(name, value)) for name, value in fields.items() if value is not None))


def _field(name: str, value: Any) -> Any:
    if name == "math_fidelity":
        return FIDELITIES[str(value).lower()]
    if name in ("activation", "fused_activation"):
        return _unary(value)
    if name == "shard_layout":
        return str(value).upper()
    if name in ("weights_dtype", "output_dtype", "dtype"):
        return DTYPES.get(str(value), str(value)).upper()
    if name == "output_layout":
        return str(value).upper()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value)
    return value


def _unary(value: Any) -> Record:
    spec = {"op_type": value} if isinstance(value, str) else dict(value)
    parameters = tuple(float(part) for part in spec.get("params") or ())
    return Record("UnaryWithParam", (("op_type", str(spec["op_type"]).upper()), ("params", parameters)))


def ask(
    op: Operation,
    card: str,
    attributes: Mapping[str, Any] | None = None,
    operands: Mapping[int, Memory] | None = None,
    results: Memory | None = None,
    l1_small_bytes: int = 0,
    l1_taken_bytes: int = 0,
    cache: dict[Any, Any] | None = None,
) -> CallAnswer:
    """Queries the result and cost of the op's call.

    Args:
        attributes: replace the op's own, by IR name; None removes one. cache: shared by queries about the same op.
        operands: memories by operand index, instead of those of their types. results: of the first result.

    Raises:
        NotAskable: an op without description.
    """
    places = {id(value): memory for index, value in enumerate(op.operands) if (memory := (operands or {}).get(index)) is not None}
    shared: dict[Any, Any] = cache if cache is not None else {}

    def tensor(value: SSAValue) -> Spec:
        key = (id(value), places.get(id(value)))
        if key not in shared:
            shared[key] = spec_of(value, key[1])
        spec: Spec = shared[key]
        return spec

    target, first, arguments = call_of(op, attributes or {}, results, tensor, shared)
    return query(target, first, card=card, l1_small_bytes=l1_small_bytes, l1_taken_bytes=l1_taken_bytes, **arguments)


def call_of(
    op: Operation, attributes: Mapping[str, Any], result: Memory | None, tensor: Callable[[SSAValue], Any], cache: dict[Any, Any] | None = None
) -> tuple[str, list[Any], dict[str, Any]]:
    """The op's callee, leading arguments by position and others by name. attributes, result, kept: as in `ask`. tensor: what stands for an operand.

    Where a number stands among the operands they go by position, as the program writes them: the library names a number's parameter otherwise than a tensor's.

    Raises:
        NotAskable: as `ask`.
    """
    place = attributes.get(IN_PLACE)
    spec = TTNN_OPS.get(op.name if place is None else OVERWRITING[op.name])
    if spec is None or not op.results:
        raise NotAskable(op.name)
    arguments: dict[str, Any] = {}
    cache = cache if cache is not None else {}
    for arg in spec.args:
        value = _argument(op, arg, attributes, result, tensor, cache)
        if value is not None:
            arguments[arg.name] = value
    if place == 1:
        first, second = (arg.name for arg in spec.args[:2])
        arguments[first], arguments[second] = arguments[second], arguments[first]
    if None not in cache:
        cache[None] = all(inline_scalar(value) is None for value in op.operands)
    if cache[None]:
        return spec.target, [], arguments
    leading = list(itertools.takewhile(lambda arg: arg.source.startswith("operand") and arg.name in arguments, spec.args))
    return spec.target, [arguments.pop(arg.name) for arg in leading], arguments


def _argument(op: Operation, arg: Arg, changed: Mapping[str, Any], result: Memory | None, tensor: Callable[[SSAValue], Any], cache: dict[Any, Any]) -> Any:
    source, _, name = arg.source.partition(":")
    if source == "operand":
        values = cache.get(name)
        if values is None:
            values = cache[name] = [(value, inline_scalar(value)) for value in access.operands(op, name)]
        tensors = [tensor(value) if scalar is None else scalar for value, scalar in values]
        return None if not tensors else tensors if arg.kind is Kind.TENSOR_LIST else tensors[0]
    if source == "attr" and name in changed:
        override = changed[name]
        if arg.kind is Kind.UNARY_LIST:
            return _plain(override, arg)
        return record_of(override) if isinstance(override, StructAttr) else override
    if source in ("memory_config", "changed_memory_config"):
        layout = layout_of(op.results[0].type)
        if layout is None:
            raise NotAskable(op.name)
        return None if layout.on_host or result == NATURAL else (result or memory_of(layout))
    if id(arg) not in cache:
        cache[id(arg)] = _own_argument(op, arg, source, name)
    return cache[id(arg)]


def _own_argument(op: Operation, arg: Arg, source: str, name: str) -> Any:
    """An argument that no query changes."""
    if source == "device":
        return None
    if source == "const":
        return ast.literal_eval(name)
    if source == "attr":
        attribute = op.properties.get(name) or op.attributes.get(name)
        if isinstance(attribute, StructAttr):
            return record_of(attribute)
        return _plain(access.attr(op, name), arg)
    layout = layout_of(op.results[0].type)
    if layout is None:
        raise NotAskable(op.name)
    if source == "changed_dtype":  # the result's dtype if the first operand's differs
        first = layout_of(op.operands[0].type)
        return DTYPES[layout.dtype] if first is not None and first.dtype != layout.dtype else None
    if source == "dtype":
        return DTYPES[layout.dtype]
    if source == "layout":
        return layout.page
    if source == "shape":
        return tuple(access.shape(op.results[0]))
    raise InternalError(f"{op.name}: an argument from {arg.source}")


def _plain(value: Any, arg: Arg) -> Any:
    if value is None:
        return None
    if hasattr(value, "reshape"):
        value = value.reshape(-1).tolist()
    if arg.kind is Kind.UNARY_LIST:
        parts = [value] if isinstance(value, str | Mapping) else value
        return [_unary(part) for part in parts]
    if arg.kind is Kind.FLOAT:
        return float(value)
    if arg.kind is Kind.DTYPE:
        return DTYPES[str(value)]
    if arg.kind is Kind.ENUM:
        return str(value).upper() if str(value).islower() else str(value)
    if arg.kind is Kind.PAIR_LIST:
        return [tuple(value[index : index + 2]) for index in range(0, len(value), 2)]
    if isinstance(value, Mapping):
        raise NotAskable(f"argument {arg.name}")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value)
    return value
