"""Walks the functions of a TTIR module and builds their TTNN twins."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation

from alchemist.errors import LoweringError, UnsupportedOpError, UserError
from alchemist.ir import access
from alchemist.ir.location import place_of, sources_of
from alchemist.ops.expand import COLLECTIVES, STATEMENTS
from alchemist.ops.spec import MESH, TTIR_OPS
from alchemist.options import CompilerOptions
from alchemist.passes.lower.context import RULES, Lowering, layout, location_text
from alchemist.passes.lower.eltwise import one_to_one
from alchemist.passes.registry import Pass, register


def lower_module(module: ModuleOp, options: CompilerOptions) -> int:
    """Replaces every function with TTIR ops by its TTNN form, in place; returns the L1_SMALL bytes that it needs.

    Raises:
        UnsupportedOpError: ops without a TTNN form, all of them at once. LoweringError: one that cannot be lowered as it is.
    """
    funcs = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    _refuse_unsupported(funcs)
    small = 0
    for func in funcs:
        if any(op.name.startswith("ttir.") for op in func.body.block.ops) or not _is_lowered(func):
            small = max(small, _lower_function(func, options))
    return small


@register("ttir-to-ttnn")
class TtirToTtnn(Pass):
    """Lowers every TTIR function to TTNN with layouts."""

    options: CompilerOptions = CompilerOptions()

    def run(self, module: ModuleOp) -> None:
        lower_module(module, self.options)


def _is_lowered(func: FuncOp) -> bool:
    from alchemist.ir.layout import layout_of

    return all(layout_of(arg.type) is not None for arg in func.args)


def _is_for_a_mesh(func: FuncOp) -> bool:
    module = func.parent_op()
    return module is not None and MESH in module.attributes


def _has_rule(name: str) -> bool:
    spec = TTIR_OPS.get(name)
    return name in RULES or (spec is not None and bool(spec.target))


def _refuse_unsupported(funcs: list[FuncOp]) -> None:
    missing: dict[str, list[Operation]] = {}
    for func in funcs:
        for op in func.body.block.ops:
            is_supported = op.name.startswith(("ttnn.", "ttcore.")) or isinstance(op, ReturnOp | CallOp) or _has_rule(op.name)
            needs_chips = op.name[5:] in COLLECTIVES or access.attr(op, "cluster_axis") is not None
            is_supported = is_supported and (not needs_chips or _is_for_a_mesh(func))
            if not is_supported:
                missing.setdefault(op.name, []).append(op)
    if missing:
        rows = tuple((name, len(ops), place_of(ops[0]) or location_text(sources_of(ops[0])), _reason(name)) for name, ops in sorted(missing.items()))
        raise UnsupportedOpError("these ops have no TTNN form", ops=rows, hint="alchemist ops lists what is supported")


def _reason(name: str) -> str:
    if name.startswith("ttir."):
        return "a collective of several chips, in a module for one; codegen_mlir has mesh_shape" if name[5:] in COLLECTIVES else "no TTNN form"
    if name in STATEMENTS:
        return "a statement of several chips, in a module for one; codegen_py and codegen_mlir make programs for a mesh"
    return "programs are made from StableHLO, TOSA, TTIR or TTNN"


def _lower_function(func: FuncOp, options: CompilerOptions) -> int:
    block = Block()
    func.body.add_block(block)
    context = Lowering(func, block, options)
    returned: list[Operation] = []
    for op in func.body.blocks[0].ops:
        context.op = op
        context.b.source = sources_of(op) or None
        try:
            if isinstance(op, ReturnOp):
                returned.append(op)
            else:
                _lower_op(context, op)
        except UserError as error:
            error.location = place_of(op) or error.location
            raise
    context.op, context.b.source = None, None
    values = [context.get(value, _result_page(context, value)) for value in returned[0].operands]
    context.declare_unused()
    context.b.insert(ReturnOp(*values))
    types = FunctionType.from_lists([arg.type for arg in block.args], [value.type for value in values])
    old = func.body.blocks[0]
    _drop(func, old)
    func.properties["function_type"] = types
    return context.l1_small_bytes


def _lower_op(context: Lowering, op: Operation) -> None:
    if isinstance(op, CallOp):
        raise LoweringError("a call cannot be lowered", op=op.callee.root_reference.data, hint="inline private functions first")
    if op.name in RULES:
        RULES[op.name](context, op)
    elif op.name in TTIR_OPS:
        one_to_one(context, op)
    elif op.name.startswith("ttnn."):
        raise LoweringError("a TTNN op on tensors without a layout", op=op.name, expected="#ttnn.ttnn_layout<...> in every tensor type")
    else:
        raise LoweringError("no TTNN form", op=op.name)


def _result_page(context: Lowering, value: object) -> str:
    """Results leave in the layout that they have; a flat image in row-major layout is cheaper to unfold."""
    entry = context._entries.get(value)  # type: ignore[call-overload]
    return layout(entry.value).page if entry is not None else "row_major"


def _drop(func: FuncOp, block: Block) -> None:
    for op in reversed(list(block.ops)):
        op.detach()  # type: ignore[no-untyped-call]
        op.drop_all_references()
    func.body.detach_block(block)
