"""What depends on parameters and constants alone moves to private functions, called through `ttcore.load_cached`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.location import sources_of
from alchemist.ops.spec import INLINE, NOTE
from alchemist.passes.registry import Pass, erase_dead, functions, is_const_eval, register, replace

_NEVER = ("ttnn.rand", "ttnn.empty", "ttnn.get_device")


def _is_inline(op: Operation) -> bool:
    return INLINE in op.attributes


def constant_values(func: FuncOp) -> set[SSAValue]:
    """Values that depend on parameters and constants alone. What the program writes (caches, counters) is not among them."""
    described = access.argument_attrs(func)
    constant: set[SSAValue] = {arg for arg, facts in zip(func.args, described, strict=False) if access.is_fixed(facts)}
    for op in func.body.block.ops:
        if not has_trait(op, "pure") and not isinstance(op, ReturnOp) and op.operands and op.name != "ttnn.get_device":
            constant -= {value for value in op.operands[:1]}
    for op in func.body.block.ops:
        if op.name in _NEVER or not op.results or not _computable(op):
            continue
        tensors = [value for value in op.operands if not _is_device(value)]
        if all(value in constant or _is_inline_value(value) for value in tensors):
            constant.update(op.results)
    return constant


def _computable(op: Operation) -> bool:
    return op.name.startswith("ttnn.") and (has_trait(op, "pure") or op.name in ("ttnn.constant", "ttnn.load_tensor"))


def _is_device(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "ttnn.get_device"


def _is_inline_value(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and _is_inline(value.owner)


def _share(func: FuncOp, constant: set[SSAValue]) -> None:
    """Ops that make the same of the same parameters become one: a weight that several ops read is prepared once."""
    made: dict[tuple[object, ...], Operation] = {}
    weights: set[SSAValue] = {value for value in constant if isinstance(value, BlockArgument)}
    for op in list(func.body.block.ops):
        if not op.results or not constant.issuperset(op.results) or weights.isdisjoint(op.operands):
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


def _hoist(module: ModuleOp, func: FuncOp, value: SSAValue, number: int, constant: set[SSAValue]) -> None:
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


def _runs(op: Operation, constant: set[SSAValue]) -> bool:
    return not op.results or not all(result in constant for result in op.results)


def _used_at_run_time(value: SSAValue, constant: set[SSAValue]) -> bool:
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
            constant = constant_values(func)
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
