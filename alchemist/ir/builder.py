"""Builds ops from plain Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, ModuleOp, StringAttr, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues

from alchemist.errors import InternalError
from alchemist.ir import infer
from alchemist.ir.access import element_type, from_python, set_attr
from alchemist.ir.attribute_classes import enum
from alchemist.ir.dialects import SEGMENTS, op_classes
from alchemist.ir.location import SourceInfo, place_of, set_place, sources_of, to_location

Sources = SourceInfo | Sequence[SourceInfo] | None
OperandValue = SSAValue | Sequence[SSAValue] | None


class Builder:
    """Inserts ops at one point of a block.

    module, func: the enclosing module and function (None when the block has none yet). source: default origin of new ops.
    place: the position in the source text of the op that they replace, for error messages.
    """

    def __init__(self, block: Block, before: Operation | None = None) -> None:
        self.block = block
        self._before = before
        self.source: Sources = None
        self.place = ""
        parent = block.parent_op()
        self.func = parent if isinstance(parent, FuncOp) else None
        while parent is not None and not isinstance(parent, ModuleOp):
            parent = parent.parent_op()
        self._module = parent

    @property
    def module_op(self) -> ModuleOp:
        if self._module is None:
            raise InternalError("the builder's block is not in a module")
        return self._module

    @staticmethod
    def module(name: str = "forward", inputs: Sequence[tuple[str, Attribute, str, SourceInfo | None]] = ()) -> Builder:
        """A new module with one public function; inputs are (name, type, kind, source), kind as in `argument_type`."""
        module = ModuleOp([])
        return Builder.function(module, name, inputs)

    @staticmethod
    def function(
        module: ModuleOp,
        name: str,
        inputs: Sequence[tuple[str, Attribute, str, SourceInfo | None]] = (),
        *,
        visibility: str = "",
        before: Operation | None = None,
    ) -> Builder:
        """A new function in `module` (at its end or before an op); close it with `ret`."""
        block = Block(arg_types=[type_ for _, type_, _, _ in inputs])
        for arg, (_, _, _, source) in zip(block.args, inputs, strict=True):
            if source is not None:
                arg.location = to_location([source])
        described = [
            DictionaryAttr(({"ttcore.argument_type": enum("ttcore.argument_type", kind)} if kind else {}) | ({"ttir.name": StringAttr(label)} if label else {}))
            for label, _, kind, _ in inputs
        ]
        func = FuncOp(
            name,
            ([type_ for _, type_, _, _ in inputs], []),
            Region(block),
            visibility or None,
            arg_attrs=ArrayAttr(described) if any(part.data for part in described) else None,
        )
        if before is not None:
            module.body.block.insert_op_before(func, before)
        else:
            module.body.block.add_op(func)
        return Builder(block)

    @staticmethod
    def before(op: Operation) -> Builder:
        """Inserts before `op`."""
        if op.parent is None:
            raise InternalError("the op is not in a block", op=op.name)
        return Builder(op.parent, op)

    @staticmethod
    def in_place_of(op: Operation) -> Builder:
        """Inserts before `op` the ops that replace it, with its source locations."""
        builder = Builder.before(op)
        builder.source = sources_of(op) or None
        builder.place = place_of(op)
        return builder

    @staticmethod
    def after(op: Operation) -> Builder:
        """Inserts after `op`, each new op after the one before."""
        if op.parent is None:
            raise InternalError("the op is not in a block", op=op.name)
        return Builder(op.parent, op.next_op)

    @staticmethod
    def behind(value: SSAValue) -> Builder:
        """Inserts after the op that computes the value, with its sources; for an argument at the beginning of its block."""
        owner = value.owner
        builder = Builder.after(owner) if isinstance(owner, Operation) else Builder(owner, owner.first_op)
        builder.source = (sources_of(owner) or None) if isinstance(owner, Operation) else None
        return builder

    @property
    def args(self) -> tuple[SSAValue, ...]:
        """Arguments of the builder's block."""
        return tuple(self.block.args)

    def insert(self, op: Operation) -> Operation:
        """Inserts a finished op at the builder's point."""
        if self._before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self._before)
        return op

    def make(
        self,
        name: str,
        operands: Sequence[OperandValue] = (),
        attributes: Mapping[str, Any] | None = None,
        result_types: Sequence[Attribute] | None = None,
        source: Sources = None,
        *,
        of: str = "",
    ) -> Operation:
        """Like `op`, returning the operation."""
        cls = op_classes().get(name)
        if cls is None:
            raise InternalError(f"no such op: {name}", op=name)
        info = cls.info
        padded = [*operands, *[None] * (len(info.operands) - len(operands))]
        if len(padded) > len(info.operands):
            raise InternalError(f"{len(padded)} operands for {len(info.operands)} groups", op=name)
        flat: list[SSAValue] = []
        sizes: list[int] = []
        for value, group in zip(padded, info.operands, strict=True):
            values = [] if value is None else [value] if isinstance(value, SSAValue) else list(value)
            if not group.variadic and (len(values) > 1 or (not values and not group.optional)):
                raise InternalError(f"operand {group.name!r} takes one value, got {len(values)}", op=name)
            flat += values
            sizes.append(len(values))
        properties: dict[str, Attribute] = {}
        extra: dict[str, Attribute] = {}
        for key, plain in (attributes or {}).items():
            declared = info.attributes.get(key)
            if declared is None and "." not in key:
                raise InternalError(f"no attribute {key!r}", op=name, expected=", ".join(info.attributes))
            if plain is not None:
                target = properties if declared is not None else extra
                target[key] = from_python(plain, declared.type if declared is not None else "")
        if info.segmented:
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
        origin = source if source is not None else self.source
        location = None if origin is None else to_location([origin] if isinstance(origin, SourceInfo) else origin)
        op = cls.create(operands=flat, result_types=result_types or (), properties=properties, attributes=extra, location=location)
        if result_types is None:
            op.results = SSAValues(OpResult(of_result, op, place) for place, of_result in enumerate(infer.result_types(op, of)))
        if self.place:
            set_place(op, self.place)
        return self.insert(op)

    def op(
        self,
        name: str,
        operands: Sequence[OperandValue] = (),
        attributes: Mapping[str, Any] | None = None,
        result_types: Sequence[Attribute] | None = None,
        source: Sources = None,
        *,
        of: str = "",
    ) -> Any:
        """Makes an op and returns its result (a tuple of results unless there is exactly one).

        operands: positional in table order; None = absent optional, a list for a variadic group; trailing ones may be left out.
        attributes: plain values, converted to the table's types; None = absent. Names with a dot are discardable attributes.
        result_types: None = inferred from operands and attributes, with elements of type `of` or of the operand's (`alchemist.ir.infer`).
        """
        results: tuple[OpResult, ...] = tuple(self.make(name, operands, attributes, result_types, source, of=of).results)
        return results[0] if len(results) == 1 else results

    def value(
        self,
        name: str,
        operands: Sequence[OperandValue] = (),
        attributes: Mapping[str, Any] | None = None,
        result_types: Sequence[Attribute] | None = None,
        *,
        of: str = "",
    ) -> OpResult:
        """Like `op`, of an op with one result."""
        return self.make(name, operands, attributes, result_types, of=of).results[0]

    def like(self, op: Operation, operands: Mapping[int, SSAValue], **attributes: Any) -> OpResult:
        """Clones `op` with some operands (by index) and attributes replaced; the element type of the result stays, its shape is inferred."""
        clone = op.clone()
        for place, value in operands.items():
            clone.operands[place] = value
        for name, plain in attributes.items():
            set_attr(clone, name, plain)
        result: OpResult = clone.results[0]
        (result._type,) = infer.result_types(clone, element_type(result))
        clone.location = to_location([self.source] if isinstance(self.source, SourceInfo) else self.source or [])
        self.insert(clone)
        return result

    def call(
        self,
        callee: str,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        source: Sources = None,
    ) -> tuple[OpResult, ...]:
        """`func.call`."""
        op = CallOp(callee, list(operands), list(result_types))
        origin = source if source is not None else self.source
        if origin is not None:
            op.location = to_location([origin] if isinstance(origin, SourceInfo) else origin)
        return tuple(self.insert(op).results)

    def ret(self, values: Sequence[SSAValue], names: Sequence[str] | None = None) -> None:
        """`func.return`; sets the function's result types and, with `names`, `ttir.name` of each result."""
        self.insert(ReturnOp(*values))
        func = self.func
        if func is None:
            raise InternalError("return outside a function")
        func.properties["function_type"] = FunctionType.from_lists([arg.type for arg in self.block.args], [value.type for value in values])
        if names is not None:
            func.properties["res_attrs"] = ArrayAttr([DictionaryAttr({"ttir.name": StringAttr(name)}) for name in names])
