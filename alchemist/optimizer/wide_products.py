"""Splits a product of one row of tiles by very many columns (a decoder's vocabulary) into parts.

The program that reads its weight from all banks of DRAM at once leaves its whole result in L1: a part of a vocabulary fits there, all of it does not.
"""

from __future__ import annotations

import math

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import query
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named, op_classes
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ir.value import Value
from alchemist.ops.spec import NOTE
from alchemist.optimizer import matmul, stream
from alchemist.optimizer.calls import NotAskable, spec_of
from alchemist.optimizer.candidate import Priced
from alchemist.optimizer.choose import FAMILIES, price_all
from alchemist.optimizer.graph import DRAM, L1
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.movement import device_ns

MOST_PARTS = 4
"""Limit of parts: each is a statement of the program with a separate weight."""
FEWEST_COLUMNS = 1 << 15
"""Least columns: the result of a narrower product fits into L1."""


def parts_of(op: Operation, machine: Machine, cap: float) -> int:
    """The number of equal parts of the weight into which an op should be split; 1 for none, or if the gain is within the cost model's error."""
    if not has_trait(op, "product") or len(op.operands) != 2 or access.attr(op, "activation"):
        return 1
    rows, columns = math.prod(shape(op.results[0])[:-1]), shape(op.results[0])[-1]
    if rows > TILE_EDGE or columns < FEWEST_COLUMNS or not stream.weight_may_move(op):
        return 1
    whole = price_all(op, machine, FAMILIES[op.name](op, machine, {0: L1}, DRAM), cap, {})
    best_ns = min((_with_move_ns(op, priced, machine) for priced in (*whole, *streamed(op, machine, cap))), default=math.inf)
    best = 1
    for parts in range(2, MOST_PARTS + 1):
        if columns % (parts * TILE_EDGE):
            continue
        part = _detached(op, columns // parts)
        candidates = streamed(part, machine, cap)
        if not candidates:
            continue
        error_ns = parts * candidates[0].answer.ratio_error_ns
        total_ns = parts * _with_move_ns(part, candidates[0], machine) + _joined_ns(op, parts, machine) + error_ns
        if total_ns < best_ns:
            best, best_ns = parts, total_ns
    return best


def wide_products(func: FuncOp, machine: Machine, cap: float) -> list[tuple[Operation, int]]:
    """Products that should be split, and into how many parts."""
    return [(op, parts) for op in func.body.block.ops if (parts := parts_of(op, machine, cap)) > 1]


def split_product(op: Operation, parts: int) -> None:
    """Replaces the product by products with equal parts of the weight, one const-eval function each, and a concatenation."""
    weight = op.operands[1]
    loaded = weight.owner
    maker = stream.maker_of_weight(op)
    assert isinstance(loaded, Operation)
    assert isinstance(maker, FuncOp)
    columns = shape(weight)[-1] // parts
    build = Builder.in_place_of(op)
    results = []
    for number in range(parts):
        func = _part_of(maker, number, columns)
        load = loaded.clone()
        access.set_attr(load, "callee", func.sym_name.data)
        load.results[0]._type = func.function_type.outputs.data[0]
        Builder.before(loaded).insert(load)
        product = _narrowed(op, [op.operands[0], load.results[0]], columns)
        build.insert(product)
        results.append(product.results[0])
    note = f"the columns in {parts} parts: the results of one lie in L1"
    joined = build.make("ttnn.concat", [results], {"dim": len(shape(op.results[0])) - 1, NOTE: note}, [op.results[0].type])
    set_source(joined, *sources_of(op))
    op.results[0].replace_all_uses_with(joined.results[0])
    Rewriter.erase_op(op)
    Rewriter.erase_op(loaded)
    Rewriter.erase_op(maker)


def streamed(op: Operation, machine: Machine, cap: float) -> list[Priced]:
    """Candidates that read the weight from all banks, fastest first."""
    sizes = matmul.sizes(op, matmul.is_fp32_dest(op, machine))
    if sizes is None:
        return []
    priced_list = [priced for group in stream.from_banks(op, machine, sizes) for priced in price_all(op, machine, group, cap, {})]
    return sorted(priced_list, key=lambda priced: priced.ns)


def _with_move_ns(op: Operation, priced: Priced, machine: Machine) -> float:
    """Time including the move of the result to DRAM."""
    memory = priced.candidate.result or DRAM
    if memory == DRAM:
        return priced.ns
    try:
        return priced.ns + query("ttnn.to_memory_config", [spec_of(op.results[0], memory), DRAM], card=machine.card).device_ns
    except (NotAskable, ShimError):
        return math.inf


def _joined_ns(op: Operation, parts: int, machine: Machine) -> float:
    part = _detached(op, shape(op.results[0])[-1] // parts)
    block = Block(arg_types=[part.results[0].type] * parts)
    concat = Builder(block).make("ttnn.concat", [list(block.args)], {"dim": len(shape(op.results[0])) - 1}, [op.results[0].type])
    return device_ns([concat], machine.card)


def _detached(op: Operation, columns: int) -> Operation:
    """The op with fewer columns of the weight, in a separate block, for a query."""
    kind = layout_of(op.operands[1].type)
    assert kind is not None
    dims = (shape(op.operands[1])[0], columns)
    block = Block(arg_types=[op.operands[0].type, kind.with_(dims).type_for(dims)])
    product = _narrowed(op, list(block.args), columns)
    block.add_op(product)
    return product


def _narrowed(op: Operation, operands: list[SSAValue], columns: int) -> Operation:
    """Clones the op on other operands, with this number of columns in its result."""
    kind = layout_of(op.results[0].type)
    assert kind is not None
    dims = (*shape(op.results[0])[:-1], columns)
    product = op_classes()[op.name].create(
        operands=operands, result_types=[kind.with_(dims).type_for(dims)], properties=dict(op.properties), attributes=dict(op.attributes)
    )
    set_source(product, *sources_of(op))
    return product


def _part_of(maker: FuncOp, number: int, columns: int) -> FuncOp:
    """Copies a const-eval function so that it computes some columns of its result, and slices as early as possible."""
    func = maker.clone()
    func.properties["sym_name"] = StringAttr(f"{maker.sym_name.data}_{number}")
    module = maker.parent
    assert module is not None
    module.insert_op_before(func, maker)
    end = func.get_return_op()
    assert end is not None
    behind: list[Operation] = []
    value, dim = end.operands[0], len(shape(end.operands[0])) - 1
    while isinstance(value.owner, Operation) and value.owner.name in named("ttnn", "transposition", "conversion"):
        step = value.owner
        behind.insert(0, step)
        if has_trait(step, "transposition"):
            dim = access.order_of(step)[dim]
        value = step.operands[0]
    first = behind[0] if behind else end
    b = Builder.before(first)
    b.source = sources_of(value.owner if isinstance(value.owner, Operation) else first) or None
    first.operands[0] = Value(b, value).cut(dim, number * columns, (number + 1) * columns).ssa
    for step in behind:
        before, after = shape(step.operands[0]), layout_of(step.results[0].type)
        assert after is not None
        source_dims = tuple(before[axis] for axis in access.order_of(step)) if has_trait(step, "transposition") else before
        step.results[0]._type = after.with_(source_dims).type_for(source_dims)
    func.properties["function_type"] = FunctionType.from_lists([argument.type for argument in func.args], [end.operands[0].type])
    return func
