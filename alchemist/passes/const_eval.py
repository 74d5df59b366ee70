"""What depends on parameters and constants alone moves to private functions, called through `ttcore.load_cached`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.edit import erase_dead, functions, is_const_eval, replace
from alchemist.ir.location import sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import INLINE, NOTE
from alchemist.passes.registry import Pass, register


def _is_inline(op: Operation) -> bool:
    return INLINE in op.attributes


def _share(func: FuncOp, constant: FixedValues) -> None:
    """Ops that make the same of the same parameters become one: a weight that several ops read is prepared once."""
    made: dict[tuple[object, ...], Operation] = {}
    weights: set[SSAValue] = {value for value in func.args if value in constant}
    for op in list(func.body.block.ops):
        if not op.results or not all(result in constant for result in op.results) or weights.isdisjoint(op.operands):
            continue
        facts = {**op.properties, **{name: fact for name, fact in op.attributes.items() if name != NOTE}}
        key = (op.name, tuple(op.operands), tuple(op.result_types), tuple(sorted(facts.items(), key=lambda item: item[0])))
        first = made.setdefault(key, op)
        if first is op:
            weights.update(op.results)
        else:
            replace(op, list(first.results))


def _slice(value: SSAValue) -> tuple[list[Operation], list[BlockArgument]]:
    """The ops that make `value`, operands first, and the function arguments that they read in order of first use."""
    ops: list[Operation] = []
    arguments: dict[BlockArgument, None] = {}
    seen: set[Operation] = set()
    stack: list[tuple[Operation, bool]] = [(value.owner, False)] if isinstance(value.owner, Operation) else []
    while stack:
        op, ready = stack.pop()
        if ready:
            ops.append(op)
            continue
        if op in seen:
            continue
        seen.add(op)
        stack.append((op, True))
        for operand in reversed(op.operands):
            if isinstance(operand.owner, Operation):
                stack.append((operand.owner, False))
        for operand in op.operands:
            if isinstance(operand, BlockArgument):
                arguments.setdefault(operand)
    return ops, list(arguments)


def _hoist(module: ModuleOp, func: FuncOp, value: SSAValue, number: int, constant: FixedValues) -> None:
    ops, arguments = _slice(value)
    described = access.argument_attrs(func)
    inputs = []
    for argument in arguments:
        facts = described[argument.index]
        inputs.append((str(facts.get("ttir.name", "")), argument.type, str(facts.get("ttcore.argument_type", "parameter")), None))
    name = f"const_eval_{number}" if func.sym_name.data == "forward" else f"{func.sym_name.data}_const_eval_{number}"
    b = Builder.function(module, name, inputs, visibility="private", before=func)
    assert b.func is not None
    b.func.attributes["const_eval"] = UnitAttr()
    mapping: dict[SSAValue, SSAValue] = dict(zip(arguments, b.args, strict=True))
    for op in ops:
        copied = op.clone(mapping)
        copied.location = op.location
        b.insert(copied)
    b.ret([mapping[value]])
    owner = value.owner
    assert isinstance(owner, Operation)
    maker = Builder.after(owner)
    loaded = maker.op("ttcore.load_cached", [list(arguments)], {"callee": name}, [value.type], source=sources_of(owner) or None)
    # Constant users keep the original: a const-eval function reads parameters, not the results of another one.
    value.replace_uses_with_if(loaded, lambda use: _runs(use.operation, constant))


def _runs(op: Operation, constant: FixedValues) -> bool:
    return not op.results or not all(result in constant for result in op.results)


def _used_at_run_time(value: SSAValue, constant: FixedValues) -> bool:
    return any(_runs(use.operation, constant) for use in value.uses)


@register("const-eval")
class ConstEval(Pass):
    """Hoists constant subgraphs into @const_eval_<n>, one function per value that the forward function reads."""

    enable_const_eval: bool = True

    def run(self, module: ModuleOp) -> None:
        if not self.enable_const_eval:
            return
        for func in list(functions(module)):
            if is_const_eval(func):
                continue
            constant = FixedValues(func)
            _share(func, constant)
            number = 0
            for op in list(func.body.block.ops):
                if _is_inline(op):
                    continue
                for result in op.results:
                    if result in constant and _used_at_run_time(result, constant):
                        _hoist(module, func, result, number, constant)
                        number += 1
            erase_dead(func)
