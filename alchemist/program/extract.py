"""TTNN module -> `Graph`: every op becomes a node with language-neutral arguments, read off its `OpSpec`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from alchemist.errors import EmitError, InternalError
from alchemist.ir import access
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import sources_of
from alchemist.ir.op_class import named
from alchemist.ops.library_names import DEFAULTS, DTYPES, FIDELITIES, class_name, field_name, looked_up
from alchemist.ops.spec import INLINE, LIFTED_NAME, NOTE, REQUIRED, TTNN_OPS, WHY, Arg, EnumRef, Kind, OpSpec, inline_scalar
from alchemist.program import model
from alchemist.program.graph import ConstEval, Graph, Node, Raw, TensorType, Use, Value


def extract(module: ModuleOp) -> Graph:
    """The graph of `@forward`, or else of the first public function.

    Raises:
        EmitError: an op without description, a data type or attribute that TT-NN code cannot spell, a tensor read after `ttnn.deallocate`.
    """
    functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp)}
    return _Extraction(functions).graph(_forward(functions))


def _forward(functions: Mapping[str, FuncOp]) -> FuncOp:
    if "forward" in functions:
        return functions["forward"]
    public = [op for op in functions.values() if op.sym_visibility is None or op.sym_visibility.data == "public"]
    if not public:
        raise EmitError("the module has no public function", expected="func.func @forward")
    return public[0]


def tensor_type(type_: Attribute) -> TensorType:
    """Raises EmitError for a type without TTNN layout."""
    layout = layout_of(type_)
    if layout is None:
        raise EmitError("a tensor without #ttnn.ttnn_layout cannot be emitted", got=str(type_), hint="lower it to TTNN first")
    dtype = DTYPES.get(layout.dtype)
    if dtype is None:
        raise EmitError(f"TT-NN has no data type {layout.dtype}", expected=", ".join(sorted(set(DTYPES.values()))))
    return TensorType(access.shape(type_), dtype, layout.page, memory_config(layout))


def memory_config(layout: TTNNLayout) -> model.MemoryConfig | None:
    if layout.on_host:
        return None
    if not layout.is_sharded or layout.data.ranges is None:
        return model.MemoryConfig(layout.buffer, layout.memory or "interleaved")
    return model.MemoryConfig(layout.buffer, layout.memory, (layout.shard_shape(), tuple(layout.data.ranges), layout.orientation))


class _Extraction:
    def __init__(self, functions: Mapping[str, FuncOp]) -> None:
        self._functions = functions
        self._const_evals: list[ConstEval] = []
        self._freed: set[Value] = set()

    def graph(self, forward: FuncOp) -> Graph:
        inputs: list[Value] = []
        weights: list[Value] = []
        environment: dict[SSAValue, Value] = {}
        described = access.argument_attrs(forward)
        for index, argument in enumerate(forward.args):
            facts = described[index] if index < len(described) else {}
            kind = str(facts.get("ttcore.argument_type", "input"))
            name = str(facts.get("ttir.name", "")) or f"{'arg' if kind == 'input' else 'weight'}_{index}"
            weight = "" if kind == "input" else name
            value = Value(tensor_type(argument.type), name, weight, (weight,) if weight else ())
            (inputs if kind == "input" else weights).append(value)
            environment[argument] = value
        nodes: list[Node] = []
        outputs = self._block(forward, environment, nodes)
        result_facts = access.result_attrs(forward)
        names = [str(facts.get("ttir.name", "")) for facts in result_facts] or [""] * len(outputs)
        return Graph(tuple(inputs), tuple(weights), nodes, outputs, tuple(names), tuple(self._const_evals))

    def _block(self, function: FuncOp, environment: dict[SSAValue, Value], nodes: list[Node]) -> tuple[Value, ...]:
        """Appends the function's nodes; calls of other functions are inlined."""
        for op in function.body.block.ops:
            if isinstance(op, ReturnOp):
                return tuple(environment[value] for value in op.operands)
            if op.name == "ttnn.get_device" or INLINE in op.attributes:
                continue
            if op.name == "ttnn.deallocate":
                self._free(environment[op.operands[0]], nodes)
            elif op.name == "ttcore.load_cached":
                self._load_cached(op, environment)
            elif isinstance(op, CallOp):
                callee = self._functions[op.callee.root_reference.data]
                inner: dict[SSAValue, Value] = {}
                inner.update((argument, environment[value]) for argument, value in zip(callee.args, op.operands, strict=True))
                results = self._block(callee, inner, nodes)
                environment.update(zip(op.results, results, strict=True))
            else:
                node = self._node(op, environment)
                environment.update(zip(op.results, node.results, strict=True))
                nodes.append(node)
        raise InternalError(f"function @{function.sym_name.data} does not return")

    def _free(self, value: Value, nodes: Sequence[Node]) -> None:
        """The op before a deallocation ends the value's life; arguments and weights are the caller's."""
        if value.node is not None:
            nodes[-1].frees.append(value)
            self._freed.add(value)

    def _load_cached(self, op: Operation, environment: dict[SSAValue, Value]) -> None:
        name = str(access.attr(op, "callee"))
        function = self._functions[name]
        inputs = tuple(
            Value(tensor_type(argument.type), environment[value].name, environment[value].key)
            for argument, value in zip(function.args, op.operands, strict=True)
        )
        nodes: list[Node] = []
        inner: dict[SSAValue, Value] = {}
        inner.update(zip(function.args, inputs, strict=True))
        outputs = self._block(function, inner, nodes)
        results = tuple(Value(value.type) for value in outputs)
        environment.update(zip(op.results, results, strict=True))
        self._const_evals.append(ConstEval(name, inputs, tuple(nodes), outputs, results))

    def _node(self, op: Operation, environment: dict[SSAValue, Value]) -> Node:
        spec = TTNN_OPS.get(op.name)
        if spec is None:
            raise EmitError("the op has no description", op=op.name, hint="`alchemist ops` lists the supported ops")
        results = tuple(Value(tensor_type(result.type)) for result in op.results)
        arguments: list[tuple[Arg, Raw]] = []
        for arg in spec.args:
            try:
                raw = self._argument(op, spec, arg, environment)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise EmitError(f"cannot emit argument {arg.name}", op=op.name, got=f"{type(error).__name__}: {error}") from error
            if raw is not None:
                arguments.append((arg, raw))
            elif arg.default is REQUIRED:
                raise EmitError(f"required argument {arg.name} has no value", op=op.name, expected=arg.source)
        return Node(spec, tuple(arguments), results, sources_of(op), str(access.attr(op, NOTE, "")), called=str(access.attr(op, LIFTED_NAME, "")))

    def _argument(self, op: Operation, spec: OpSpec, arg: Arg, environment: dict[SSAValue, Value]) -> Raw | None:
        """The argument's value, None when it is absent or the library's default."""
        source, _, name = arg.source.partition(":")
        if source == "operand":
            return self._operand(op, arg, name, environment)
        if source == "device":
            return model.DeviceRef()
        if source == "const":
            return to_value(ast.literal_eval(name), arg)
        if source == "attr":
            attribute = op.properties.get(name) or op.attributes.get(name)
            value = access.attr(op, name)
            if value is None or (_same(value, arg.default) and not arg.explicit):
                return None
            made = to_value(value, arg, attribute.name if attribute is not None else "")
            if arg.kind is Kind.PROGRAM_CONFIG and isinstance(made, model.Record):
                return replace(made, comment=str(access.attr(op, WHY, "")))
            if arg.name == "scale" and isinstance(made, model.Literal):
                return replace(made, head_dim=_head_dim(made.value, tensor_type(op.operands[0].type).shape))
            return _dim(made, len(tensor_type(op.operands[0].type).shape)) if arg.name == "dim" and spec.name in _ALONG_DIM else made
        type_ = tensor_type(op.results[0].type)
        if source == "changed_dtype":
            return None if tensor_type(op.operands[0].type).dtype == type_.dtype else model.DType(type_.dtype)
        if source == "changed_memory_config":
            return None if type_.config is None or tensor_type(op.operands[0].type).config == type_.config else type_.config
        derived: dict[str, Raw | None] = {
            "dtype": model.DType(type_.dtype),
            "layout": model.Layout(type_.layout),
            "memory_config": type_.config,
            "shape": integers(type_.shape),
        }
        if source not in derived:
            raise InternalError(f"unknown source {arg.source!r} of argument {arg.name}", op=op.name)
        value = derived[source]
        return None if isinstance(arg.default, str) and _spelled(value) == arg.default else value

    def _operand(self, op: Operation, arg: Arg, name: str, environment: dict[SSAValue, Value]) -> Raw | None:
        values = access.operands(op, name)
        if not values:
            return None
        raws: list[Raw] = []
        for value in values:
            scalar = inline_scalar(value)
            if scalar is None and environment[value] in self._freed:
                raise EmitError(
                    "an op reads a tensor after its ttnn.deallocate", op=op.name, got=f"argument {arg.name}", hint="move the deallocate after the last use"
                )
            raws.append(model.Literal(scalar) if scalar is not None else Use(environment[value]))
        return tuple(raws) if arg.kind is Kind.TENSOR_LIST else raws[0]


_ALONG_DIM = named("ttnn", "reduction", "indices", "along_dim")


def _dim(value: model.Value | None, rank: int) -> model.Value | None:
    """One dim in one spelling: `[2]` of a tensor with three dims is -1."""
    only = value.items[0] if isinstance(value, model.Items) and len(value.items) == 1 else value
    return (model.Literal(-1) if only.value == rank - 1 else only) if isinstance(only, model.Literal) else value


_SMALLEST_HEAD = 8
TILE_SIZE = 32


def _head_dim(scale: object, query: Sequence[int]) -> int:
    """The width of heads whose `head_dim ** -0.5` the scale of their attention is, 0 for other scales. query: its shape.

    Heads may be padded to whole tiles. Models have widths of whole eights then; another width is a scale of the model's own.
    """
    if not isinstance(scale, float) or scale <= 0 or not query:
        return 0
    width = round(scale**-2)
    fits = query[-1] == width or (width % _SMALLEST_HEAD == 0 and query[-1] == -(-width // TILE_SIZE) * TILE_SIZE)
    return width if width >= _SMALLEST_HEAD and fits and np.float32(width**-0.5) == np.float32(scale) else 0


def _spelled(value: Raw | None) -> str:
    return value.name if isinstance(value, model.DType | model.Layout) else ""


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return tuple(value) == tuple(default)
    return type(value) is type(default) and bool(value == default)


def integers(values: Sequence[int]) -> model.Items:
    return model.Items(tuple(model.Literal(int(value)) for value in values))


def to_value(value: Any, arg: Arg, attribute_name: str = "") -> model.Value | None:
    """A plain attribute value as program value, by the argument's kind. None = no argument."""
    if value is None:
        return None
    match arg.kind:
        case Kind.BOOL:
            return model.Literal(bool(value))
        case Kind.INT:
            return model.Literal(int(value))
        case Kind.FLOAT:
            return model.Literal(float(value))
        case Kind.SCALAR:
            return model.Literal(value if isinstance(value, int | float) else float(value))
        case Kind.STR:
            return model.Literal(str(value))
        case Kind.INT_LIST | Kind.SHAPE:
            return model.Literal(value) if isinstance(value, int) else integers(_flat(value))
        case Kind.PAIR_LIST:
            flat = _flat(value)
            return model.Items(tuple(integers(flat[i : i + 2]) for i in range(0, len(flat), 2)))
        case Kind.CORE_GRID:
            return model.Record("ttnn.CoreGrid", (("x", model.Literal(int(value[0]))), ("y", model.Literal(int(value[1])))))
        case Kind.FLOAT_LIST:
            return model.Items(tuple(model.Literal(_number(part)) for part in _flat(value)))
        case Kind.DTYPE:
            return model.DType(looked_up(DTYPES, str(value)))
        case Kind.LAYOUT:
            return model.Layout(str(value))
        case Kind.MEMORY_CONFIG:
            return value if isinstance(value, model.MemoryConfig) else _memory_config(value)
        case Kind.COMPUTE_CONFIG:
            return model.Record("ttnn.WormholeComputeKernelConfig", tuple((key, _field(key, part)) for key, part in value.items()))
        case Kind.CONV2D_CONFIG | Kind.PROGRAM_CONFIG:
            return record(value, attribute_name)
        case Kind.UNARY_LIST:
            parts = [value] if isinstance(value, str | Mapping) else value
            return model.Items(tuple(unary(part) for part in parts))
        case Kind.ENUM:
            if isinstance(value, EnumRef):
                return value
            owner = arg.default.enum if isinstance(arg.default, EnumRef) else arg.cpp_type.replace("::", ".")
            return EnumRef(owner, str(value).upper() if str(value).islower() else str(value))
        case _:
            raise InternalError(f"argument {arg.name} of kind {arg.kind.name} cannot come from an attribute")


def _flat(value: Any) -> Sequence[Any]:
    return list(value.reshape(-1).tolist()) if hasattr(value, "reshape") else list(value)


def _number(value: Any) -> int | float:
    return value if isinstance(value, int) else float(value)


def _memory_config(value: Mapping[str, Any]) -> model.MemoryConfig | None:
    if value["buffer"] == "system_memory":
        return None
    shard = value.get("shard")
    config = None
    if isinstance(shard, Mapping):
        config = (tuple(shard["shape"]), tuple(shard["ranges"]), str(shard["orientation"]))
    return model.MemoryConfig(value["buffer"], value.get("memory") or "interleaved", config)


def record(fields: Mapping[str, Any], attribute_name: str) -> model.Record:
    """#ttnn.conv2d_config -> ttnn.Conv2dConfig, #ttnn.matmul_multi_core_reuse_program_config -> ttnn.Matmul..."""
    default = DEFAULTS.get(attribute_name, {})
    given = {key: part for key, part in fields.items() if part is not None and (key not in default or part != default[key])}
    return model.Record(f"ttnn.{class_name(attribute_name)}", tuple((field_name(key), _field(key, part)) for key, part in given.items()))


def unary(value: Any) -> model.Unary:
    if isinstance(value, str):
        return model.Unary(value.upper())
    parameters = value.get("params") or ()
    return model.Unary(str(value["op_type"]).upper(), tuple(float(part) for part in parameters))


_FIELD_ENUMS = {"shard_layout": "ttnn.TensorMemoryLayout", "slice_type": "ttnn.Conv2dSliceConfig.SliceType"}


def _field(name: str, value: Any) -> model.Value:
    """A field of a config struct."""
    if name == "math_fidelity":
        return EnumRef("ttnn.MathFidelity", looked_up(FIDELITIES, str(value).lower()))
    if name in ("weights_dtype", "output_dtype", "dtype"):
        return model.DType(looked_up(DTYPES, str(value)))
    if name == "output_layout":
        return model.Layout(str(value))
    if name in ("activation", "fused_activation"):
        return unary(value)
    if name in _FIELD_ENUMS:
        return EnumRef(_FIELD_ENUMS[name], str(value).upper())
    if name in ("compute_with_storage_grid_size", "grid_size") and isinstance(value, Sequence):
        return model.Record("ttnn.CoreCoord", tuple(zip(("x", "y"), (model.Literal(int(part)) for part in value), strict=True)))
    if isinstance(value, bool | int | float | str):
        return model.Literal(value)
    if isinstance(value, Sequence):
        return model.Items(tuple(_field("", part) for part in value))
    raise EmitError(f"cannot emit config field {name}", got=repr(value))
