"""ONNX graph -> TTIR: the walk over the nodes.

A node is computed where its inputs are known, else lowered by the rule of its op and opset; an op that the standard defines by
a function of simpler ops, and a function of the model itself, are lowered in place by their body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import defs

from alchemist.errors import AlchemistError, FrontendError, InternalError, UnsupportedOpError, VerifyError, quoted
from alchemist.frontends.onnx import rules as _rules  # noqa: F401 (registers them)
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.folding import fold
from alchemist.frontends.onnx.locations import Sources
from alchemist.frontends.onnx.reading import attribute_value, dtype_of, known_shape
from alchemist.frontends.onnx.registry import FIRST_OPSET, LAST_OPSET, Node, find
from alchemist.ir.location import set_source, sources_of

MOST_NODES = 200_000
MOST_DEPTH = 32
CONTROL = ("If", "Loop", "Scan", "SequenceMap")
RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
HINTS = {
    "control": "branches and loops must be known at export: select the branch or unroll the loop in the model",
    "random": "pass random numbers as an input",
    "domain": "export without fusions of a runtime (com.microsoft), or define a function for the op in the file",
    "op": f"docs/onnx.md lists the ops of opsets {FIRST_OPSET} to {LAST_OPSET}; replace the op by supported ones before the export",
}


@dataclass(slots=True)
class Scope:
    """Values by name while walking a graph or function body. attributes: those that a function's body refers to by `ref_attr_name`."""

    values: dict[str, Tensor | None]
    opset: int
    attributes: Mapping[str, onnx.AttributeProto]


_FLOATS = frozenset((onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE))


def _casts_to_float(node: onnx.NodeProto) -> bool:
    return node.op_type == "Cast" and any(attribute.name == "to" and attribute.i in _FLOATS for attribute in node.attribute)


class Walk:
    """One capture: the emitter, the model's functions, and nodes without a rule so far."""

    def __init__(self, emitter: Emitter, model: onnx.ModelProto, sources: Sources) -> None:
        self.c = emitter
        self.sources = sources
        self.functions = {(function.domain, function.name): function for function in model.functions}
        self.types = {value.name: value.type for value in (*model.graph.value_info, *model.graph.output)}
        self.refused: dict[tuple[str, str], tuple[int, str, str]] = {}
        self._count = 0
        self._depth = 0

    def graph(self, nodes: Sequence[onnx.NodeProto], scope: Scope, results: Sequence[str]) -> list[Tensor]:
        """Lowers the nodes in order; the tensors called `results`."""
        read = {name for node in nodes for name in node.input} | set(results)
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("g"):  # a branch reads names of the graph around it
                    read.update(name for inner in attribute.g.node for name in inner.input)
                    read.update(value.name for value in attribute.g.output)
        counted = read - {name for node in nodes if _casts_to_float(node) for name in node.input}
        counted |= {name for node in nodes if not _casts_to_float(node) for name in node.input} | set(results)
        for node in nodes:
            self._count += 1
            if self._count > MOST_NODES:
                raise FrontendError(f"inlined functions have more than {MOST_NODES} nodes", op=node.op_type)
            for name, value in zip(node.output, self._node(node, scope, read, counted), strict=False):
                if name:
                    if value is not None and not value.name:
                        value.name = name
                    scope.values[name] = value
        missing = [name for name in results if scope.values.get(name) is None]
        if missing and not self.refused:
            raise VerifyError("no node computes this result", location=quoted(missing[0]))
        return [value for name in results if (value := scope.values.get(name)) is not None]

    # --- a node ---------------------------------------------------------------------------------------------------------

    def _node(self, node: onnx.NodeProto, scope: Scope, read: set[str], counted: set[str]) -> Sequence[Tensor | None]:
        """read: names that something reads; counted: those that are not just cast to floats."""
        inputs = [scope.values.get(name) if name else None for name in node.input]
        if any(name and value is None for name, value in zip(node.input, inputs, strict=True)):
            if self.refused:  # computed by a node without a rule
                return [None] * len(node.output)
            missing = next(name for name, value in zip(node.input, inputs, strict=True) if name and value is None)
            raise VerifyError("a node reads an undefined value", op=node.op_type, location=node.name, got=quoted(missing))
        outer = self.c.info, self.c.place, self.c.new_values
        if self._depth == 0:
            self.c.info = self.sources.info(node, "")
            self.c.place = node.name or next((name for name in node.output if name), "")
        self.c.new_values = []
        try:
            is_read = tuple(bool(name) and name in read for name in node.output)
            outputs = self._lowered(node, scope, inputs, is_read, any(name in counted for name in node.output))
            self._check(node, outputs)
            if self._depth == 0:
                self._name(node, outputs)
            return outputs
        except Unsupported as error:
            return self._refuse(node, str(error), HINTS["op"])
        finally:
            self.c.info, self.c.place, self.c.new_values = outer

    def _lowered(self, node: onnx.NodeProto, scope: Scope, inputs: list[Tensor | None], is_read: tuple[bool, ...], counted: bool) -> list[Tensor | None]:
        own = self.functions.get((node.domain, node.op_type))
        if own is not None:
            return self._body(node, own, inputs, scope)
        if node.domain not in ("", "ai.onnx"):
            return self._refuse(node, f"not a standard op: its domain is {quoted(node.domain)}", HINTS["domain"])
        resolved = self._resolved(node, scope)
        attributes = {attribute.name: attribute_value(attribute) for attribute in resolved.attribute}
        if node.op_type == "Constant":
            return [self._constant(attributes)]
        if node.op_type == "If":
            return self._branch(resolved, inputs, scope)
        if node.op_type in ("Loop", "Scan"):
            return (self._loop if node.op_type == "Loop" else self._scan)(resolved, inputs, scope)
        if node.op_type in CONTROL:
            return self._refuse(node, "control flow", HINTS["control"])
        if node.op_type in RANDOM:
            return self._refuse(node, "it generates random numbers", HINTS["random"])
        constants = [None if value is None else value.known for value in inputs]
        if inputs and all(value is None or part is not None for value, part in zip(inputs, constants, strict=True)):
            folded = fold(resolved, scope.opset, constants, attributes)
            if folded is not None:
                return [self.c.constant(value) for value in folded]
        rule_of_op = find(node.op_type, scope.opset)
        if rule_of_op is not None:
            rule, known_opset = rule_of_op
            later = _later(attributes, node.op_type, known_opset) if scope.opset > known_opset else []
            if later:
                raise Unsupported(f"attribute {later[0]}, which came after opset {known_opset}")
            described = Node(node.op_type, scope.opset, node.name, attributes, is_read, counted)
            return self._ruled(rule, described, inputs)
        function = self._standard_function(resolved, inputs, scope)
        if function is not None:
            return self._body(node, function, inputs, scope)
        return self._refuse(node, f"no rule for opset {scope.opset}", HINTS["op"])

    def _ruled(self, rule: Any, node: Node, inputs: list[Tensor | None]) -> list[Tensor | None]:
        try:
            result = rule(self.c, node, *inputs)
        except (AlchemistError, Unsupported):
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise Unsupported(f"this form of the op ({type(error).__name__}: {str(error)[:100]})") from error
        results: list[Tensor | None] = [result] if isinstance(result, Tensor) else list(result)
        if any(node.wants(i) for i in range(len(results), len(node.wanted))):
            raise Unsupported(f"its output {next(i for i in range(len(results), len(node.wanted)) if node.wants(i))} is used")
        return results

    def _resolved(self, node: onnx.NodeProto, scope: Scope) -> onnx.NodeProto:
        """The node with attributes from the caller of its function."""
        if not any(attribute.ref_attr_name for attribute in node.attribute):
            return node
        resolved = onnx.NodeProto()
        resolved.CopyFrom(node)
        del resolved.attribute[:]
        for item in node.attribute:
            bound = scope.attributes.get(item.ref_attr_name) if item.ref_attr_name else item
            if bound is not None:
                entry = resolved.attribute.add()
                entry.CopyFrom(bound)
                entry.name = item.name
        return resolved

    def _constant(self, attributes: Mapping[str, Any]) -> Tensor:
        for name, value in attributes.items():
            if name == "value":
                return self.c.constant(value)
            if name in ("value_float", "value_floats", "value_int", "value_ints"):
                return self.c.constant(np.array(value, np.float32 if "float" in name else np.int64))
        raise Unsupported("a constant of text or sparse values")

    def _branch(self, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope) -> list[Tensor | None]:
        """The branch of an If whose condition is known; of both branches the one that the condition selects on the device."""
        condition = inputs[0]
        if condition is not None and condition.const is not None and condition.const.size == 1:
            return list(self._side(node, "then_branch" if condition.const.reshape(-1)[0] else "else_branch", scope))
        then, other = (self._side(node, side, scope) for side in ("then_branch", "else_branch"))
        if self.refused:
            return [None] * len(node.output)
        pairs = list(zip(then, other, strict=True))
        if condition is None or any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in pairs):
            return self._refuse(node, "branches whose results differ in shape or type, selected by the model's inputs", HINTS["control"])
        return [self.c.where(self.c.reshape(condition, [1] * max(a.rank, 1)), a, b) for a, b in pairs]

    def _side(self, node: onnx.NodeProto, name: str, scope: Scope, arguments: Sequence[Tensor | None] = ()) -> list[Tensor]:
        """The results of a graph that is an attribute."""
        body = next(a.g for a in node.attribute if a.name == name)
        values = {**scope.values, **dict(zip((value.name for value in body.input), arguments, strict=False))}
        for proto in body.initializer:
            values[proto.name] = self.c.constant(attribute_value(onnx.helper.make_attribute("value", proto)), proto.name)
        return self.graph(body.node, Scope(values, scope.opset, scope.attributes), [a.name for a in body.output])

    def _loop(self, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope) -> list[Tensor | None]:
        """The steps of a Loop one after another; their number is known."""
        limit, proceeds, *carried = [*inputs, None][: max(2, len(inputs))]
        more = True if proceeds is None else proceeds.known
        collected: list[list[Tensor]] = []
        step = 0
        while more is not None and bool(np.asarray(more).reshape(-1)[0]) and (limit is None or (limit.known is not None and step < limit.known.reshape(-1)[0])):
            given = [self.c.constant(np.array(step)), self.c.constant(np.array(True)), *carried]
            results = self._side(node, "body", scope, given)
            if self.refused:
                return [None] * len(node.output)
            more, carried = results[0].known, [*results[1 : 1 + len(carried)]]
            collected.append(results[1 + len(carried) :])
            step += 1
        if more is None or (limit is not None and limit.known is None):
            return self._refuse(node, "a loop whose number of steps depends on the model's inputs", HINTS["control"])
        if not step and len(node.output) > len(carried):
            return self._refuse(node, "a loop without steps", HINTS["control"])
        return [*carried, *(self._stacked(values, 0) for values in zip(*collected, strict=True))]

    def _scan(self, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope) -> list[Tensor | None]:
        """The steps of a Scan, one for each slice of its inputs."""
        attributes = {a.name: attribute_value(a) for a in node.attribute if a.name != "body"}
        split = len(inputs) - attributes["num_scan_inputs"]
        carried, scanned = inputs[:split], [value for value in inputs[split:] if value is not None]
        collected: list[list[Tensor]] = []
        axes = attributes.get("scan_input_axes") or [0] * len(scanned)
        back = attributes.get("scan_input_directions") or [0] * len(scanned)
        for step in range(scanned[0].shape[axes[0]]):
            slices = [self._slice(x, axis, x.shape[axis] - 1 - step if reverse else step) for x, axis, reverse in zip(scanned, axes, back, strict=True)]
            given = [*carried, *slices]
            results = self._side(node, "body", scope, given)
            if self.refused:
                return [None] * len(node.output)
            carried = [*results[:split]]
            collected.append(results[split:])
        outputs = list(zip(*collected, strict=True))
        axes = attributes.get("scan_output_axes") or [0] * len(outputs)
        back = attributes.get("scan_output_directions") or [0] * len(outputs)
        return [*carried, *(self._stacked(values[::-1] if reverse else values, axis) for values, axis, reverse in zip(outputs, axes, back, strict=True))]

    def _slice(self, x: Tensor, axis: int, place: int) -> Tensor:
        axis %= x.rank
        return self.c.reshape(self.c.slice(x, axis, place, place + 1), [size for dim, size in enumerate(x.shape) if dim != axis])

    def _stacked(self, values: Sequence[Tensor], axis: int) -> Tensor:
        axis %= values[0].rank + 1
        return self.c.concat([self.c.reshape(value, [*value.shape[:axis], 1, *value.shape[axis:]]) for value in values], axis)

    # --- functions ------------------------------------------------------------------------------------------------------

    def _inside(self, walk: Any) -> list[Tensor | None]:
        self._depth += 1
        try:
            if self._depth > MOST_DEPTH:
                raise FrontendError("functions of the model are nested too deeply", got=f"more than {MOST_DEPTH}", hint="a function that calls itself?")
            return list(walk())
        finally:
            self._depth -= 1

    def _body(self, node: onnx.NodeProto, function: onnx.FunctionProto, inputs: list[Tensor | None], scope: Scope) -> list[Tensor | None]:
        own = {item.name: item for item in self._resolved(node, scope).attribute}
        attributes = {item.name: item for item in function.attribute_proto} | own
        values: dict[str, Tensor | None] = dict.fromkeys(function.input)
        values.update(zip(function.input, inputs, strict=False))
        opset = max((item.version for item in function.opset_import if item.domain in ("", "ai.onnx")), default=scope.opset)
        present = {name for name, value in values.items() if value is not None}
        body = []
        for inner in function.node:  # optional inputs that were left out are left out of the nodes that take them
            if any(name in values and name not in present for name in inner.input):
                copy = onnx.NodeProto()
                copy.CopyFrom(inner)
                copy.input[:] = ["" if name in values and name not in present else name for name in inner.input]
                inner = copy
            body.append(inner)
        used_outputs = [name for name, used in zip(function.output, node.output, strict=False) if used]  # the body may skip the others
        results = iter(self._inside(lambda: self.graph(body, Scope(values, opset, attributes), used_outputs)))
        return [next(results, None) if used else None for used in node.output]

    def _standard_function(self, node: onnx.NodeProto, inputs: list[Tensor | None], scope: Scope) -> onnx.FunctionProto | None:
        """The standard's definition of the op as a function."""
        try:
            schema: Any = defs.get_schema(node.op_type, scope.opset, "")
        except defs.SchemaError:
            return None
        if schema.has_function:
            body = onnx.FunctionProto()
            body.CopyFrom(schema.function_body)
            body.attribute_proto.extend(attribute.default_value for attribute in schema.attributes.values() if attribute.default_value.name)
            return body
        if not schema.has_context_dependent_function:
            return None
        types = []
        for value in inputs:
            type_ = onnx.TypeProto()
            if value is not None:
                type_.CopyFrom(onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
            types.append(type_.SerializeToString())
        try:
            text = schema.get_context_dependent_function(node.SerializeToString(), types)
        except RuntimeError:
            return None
        function = onnx.FunctionProto()
        function.ParseFromString(text)
        return function if function.node else None

    # --- results of a node ----------------------------------------------------------------------------------------------

    def _check(self, node: onnx.NodeProto, outputs: Sequence[Tensor | None]) -> None:
        """Checks that the results have the types of the model and of the standard's shape inference."""
        if self._depth or self.refused:
            return
        for name, value in zip(node.output, outputs, strict=False):
            type_ = self.types.get(name)
            if value is None or type_ is None or not type_.HasField("tensor_type"):
                continue
            shape, dtype = known_shape(type_), dtype_of(type_.tensor_type.elem_type)
            if (shape is not None and shape != value.shape) or dtype != value.dtype:
                raise InternalError(
                    "the rule's result has another type", op=node.op_type, location=self.c.location() or quoted(name),
                    expected=f"{shape} {dtype.name}", got=f"{value.shape} {value.dtype.name}",
                )  # fmt: skip

    def _name(self, node: onnx.NodeProto, outputs: Sequence[Tensor | None]) -> None:
        """Names the op that computes a node's value after the value; helper ops of the node stay unnamed."""
        for name, value in zip(node.output, outputs, strict=False):
            if value is None or not value.has_ssa or not any(new_value is value.ssa for new_value in self.c.new_values[-16:]):
                continue
            owner: Any = value.ssa.owner
            infos = sources_of(owner)
            if infos and not infos[0].name:
                set_source(owner, self.sources.info(node, name))

    def _refuse(self, node: onnx.NodeProto, reason: str, hint: str) -> list[Tensor | None]:
        """Records a node without a rule; the walk continues with independent nodes, so that all of them are reported at once."""
        op = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        count, where, _ = self.refused.get((op, reason), (0, self.c.location() or node.name, ""))
        self.refused[op, reason] = (count + 1, where, hint)
        return [self._stand_in(name) for name in node.output]

    def _stand_in(self, name: str) -> Tensor | None:
        type_ = self.types.get(name)
        shape = None if type_ is None or self._depth else known_shape(type_)
        if shape is None or type_ is None:
            return None
        try:
            return self.c.emit("empty", [], shape=shape, dtype=dtype_of(type_.tensor_type.elem_type))
        except Unsupported:
            return None

    def raise_refused(self, opset: int, where: str) -> None:
        """Raises: UnsupportedOpError for everything that had no rule."""
        if not self.refused:
            return
        rows = tuple((op, count, place or where, reason) for (op, reason), (count, place, _) in self.refused.items())
        hints = "; ".join(dict.fromkeys(hint for _, _, hint in self.refused.values()))
        raise UnsupportedOpError(f"{len(rows)} kinds of nodes cannot be lowered (the model has opset {opset})", ops=rows, hint=hints)


__all__ = ["Scope", "Walk"]


def _later(attributes: Mapping[str, Any], op: str, opset: int) -> list[str]:
    """Of the node's attributes those that the op does not have in this opset. A rule for an op that came later was written for what it has."""
    try:
        return sorted(attributes.keys() - defs.get_schema(op, opset, "").attributes.keys())
    except defs.SchemaError:
        return []
