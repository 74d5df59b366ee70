"""TTNN: columns that slices, concatenations and negations rearrange, as one product with a constant matrix of 0, 1 and -1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import elements, shape
from alchemist.ir.attributes import DeviceType
from alchemist.ir.builder import Builder
from alchemist.ir.edit import add_sources, erase, functions, replace
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import COLUMN_MATRICES, LIFTED_NAME, NOTE
from alchemist.optimizer.movement import products_are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.columns import Columns, ColumnViews, Matrix
from alchemist.passes.lower.configs import wide_sums_config
from alchemist.passes.registry import Pass, register

MOST_ENTRIES = 256 * 256
"""Of the matrix: what a product costs beside reading its operand grows with its width, what moving columns costs does not."""
PRODUCTS = ("ttnn.matmul", "ttnn.linear", "ttnn.conv2d", "ttnn.scaled_dot_product_attention", "ttnn.split_query_key_value_and_split_heads")
"""What rounds float32 operands as the product does, and what only such ops come from."""
_THROUGH = ("ttnn.add", "ttnn.subtract", "ttnn.multiply", "ttnn.typecast", "ttnn.to_layout", "ttnn.reshape", "ttnn.permute", "ttnn.transpose", "ttnn.concat")
_MOST_STEPS = 64
_KINDS = (("bf16", "tile", False), ("f32", "tile", False))


@register("columns-by-product", fusing=True)
class ColumnsByProduct(Pass):
    """concat(-x[..., D/2:], x[..., :D/2]) and other choices of columns that take several programs become matmul(x, matrix of 0, 1 and -1).

    A column that does not begin a tile takes three programs to slice, a product of a few tiles takes one; the clock decides.
    bfloat16 values stay as they are; float32 ones are rounded as any product rounds them, so those are left alone that no other product reads or makes.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            Products(func, self.options).run()


class Products:
    """Choices of columns of a function's values as products."""

    def __init__(self, func: FuncOp, options: CompilerOptions) -> None:
        self._func, self.options = func, options
        self.fixed = FixedValues(func)
        self.views = ColumnViews(func, self.fixed)
        self._place = {op: place for place, op in enumerate(func.body.block.ops)}
        self._matrices: dict[tuple[str, bytes, tuple[int, ...]], SSAValue] = {}
        self._tables: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        for op in reversed(list(self._func.body.block.ops)):
            if op.parent is not None and len(op.results) == 1:
                any(self._replace(op, columns) for columns in self.views.behind(op.results[0]))

    def _replace(self, op: Operation, columns: Columns) -> bool:
        result, root = op.results[0], columns.root
        if not fits(root, result) or columns.picked.size != shape(result)[-1] or not may_round(root, result):
            return False
        dying = self.between(root, op)
        made, product = self.product(columns, dying)
        if product is not None and not products_are_faster([product], dying, self.options):
            erase(product)
            return False
        replace(op, [made])
        for one in dying[1:]:
            erase(one)
        return True

    def product(self, columns: Columns, replaced: Sequence[Operation]) -> tuple[SSAValue, Operation | None]:
        """The columns in front of `replaced[0]`, made by a product; the value itself and no op where they are all of it, as they are."""
        root, last = columns.root, replaced[0]
        matrix, of = columns.matrix(), layout_of(root.type)
        assert of is not None
        dims = (*shape(root)[:-1], matrix.shape[1])
        if shape(root) == dims and np.array_equal(matrix, np.eye(len(matrix))):
            return root, None
        attributes = {"compute_config": wide_sums_config(self.options), NOTE: _said(matrix)}
        made = Builder.before(last).make("ttnn.matmul", [root, self.matrix(matrix, of, last)], attributes, [of.with_(dims).type_for(dims)])
        set_source(made, *sources_of(last))
        add_sources(made, *reversed(replaced[1:]))
        return made.results[0], made

    def between(self, root: SSAValue, last: Operation, *others: SSAValue) -> list[Operation]:
        """Ops between the root (and other values) and the last one's result that nothing else reads, the last one first."""
        found, pending = [last], list(last.operands)
        while pending:
            value = pending.pop()
            op = value.owner
            if value is root or value in others or value in self.fixed or not isinstance(op, Operation) or op in found or op not in self._place:
                continue
            if all(use.operation in found for result in op.results for use in result.uses):
                found.append(op)
                pending += list(op.operands)
        return sorted(found, key=lambda one: -self._place[one])

    def matrix(self, values: Matrix, of: TTNNLayout, before: Operation, dims: tuple[int, ...] = ()) -> SSAValue:
        """The matrix in tiles of the element type of `of`, of these dims where they are given; one value for all ops that read the same."""
        dims = dims or values.shape
        key = (of.dtype, values.tobytes(), dims)
        if key not in self._matrices:
            block = self._func.body.block
            device = next((op for op in block.ops if op.name == "ttnn.get_device"), None)
            b = Builder(block, block.first_op) if device is None else Builder.after(device)
            b.source = sources_of(before)
            handle = b.op("ttnn.get_device", [], {}, [DeviceType()]) if device is None else device.results[0]
            stored, tiled = (TTNNLayout.make(dims, of.dtype, page).type_for(dims) for page in ("row_major", "tile"))
            made = b.op("ttnn.constant", [handle], {"value": elements(values.reshape(dims), "f32"), LIFTED_NAME: _name(values)}, [stored])
            self._matrices[key] = b.op("ttnn.to_layout", [made], {}, [tiled])
        return self._matrices[key]

    def table(self, values: SSAValue) -> SSAValue:
        """Values [.., rows, columns] that all heads share with four dims; one value for all ops that read the same."""
        dims, of = (1, 1, *shape(values)[-2:]), layout_of(values.type)
        if shape(values) == dims:
            return values
        if values not in self._tables:
            assert of is not None
            owner = values.owner
            b = Builder.after(owner) if isinstance(owner, Operation) else Builder(owner, owner.first_op)
            b.source = (sources_of(owner) or None) if isinstance(owner, Operation) else None
            self._tables[values] = b.op("ttnn.reshape", [values], {"shape": dims}, [of.with_(dims).type_for(dims)])
        return self._tables[values]


def fits(root: SSAValue, result: SSAValue) -> bool:
    """Whether the result may be a product of the root: both in tiles of one float type, in interleaved DRAM, with equal rows."""
    of, to, dims = layout_of(root.type), layout_of(result.type), shape(root)
    if of is None or to is None or of.with_(shape(result)) != to or (of.dtype, of.page, of.is_sharded) not in _KINDS or of.buffer != "dram":
        return False
    return 2 <= len(dims) <= 4 and shape(result)[:-1] == dims[:-1] and dims[-1] * shape(result)[-1] <= MOST_ENTRIES


def may_round(root: SSAValue, result: SSAValue) -> bool:
    """Whether products round the values anyway, before or after."""
    of = layout_of(root.type)
    return (of is not None and of.dtype == "bf16") or _made_by_product(root) or _read_by_product(result)


def _turns(matrix: Matrix, pairs: bool) -> bool:
    """Whether columns (x1, x2), the halves or every second column of each pair, become (-x2, x1); columns behind them may stay as they are."""
    kept = np.arange(len(matrix))
    if matrix.shape != (len(kept), len(kept)):
        return False
    turned = int(np.sum(np.diagonal(matrix) == 0))
    places = kept[:turned].reshape((-1, 2) if pairs else (2, -1))
    first, second = places.T if pairs else places
    found = np.diag((kept >= turned).astype(np.float32))
    found[second, first], found[first, second] = -1, 1
    return np.array_equal(matrix, found)


def _name(matrix: Matrix) -> str:
    half_turn, pair_turn, chosen = COLUMN_MATRICES
    for pairs, name in ((False, half_turn), (True, pair_turn)):
        if int(np.sum(np.diagonal(matrix) == 0)) % 2 == 0 and _turns(matrix, pairs):
            return name
    return _neighbours(matrix) or chosen


def _neighbours(matrix: Matrix) -> str:
    """What a matrix is called that chooses columns next to each other, in their order; "" for any other one."""
    places, columns = np.nonzero(matrix)
    if (
        len(places) != matrix.shape[1]
        or not np.all(matrix[places, columns] == 1)
        or not np.array_equal(np.diff(places[np.argsort(columns)]), np.ones(len(places) - 1))
    ):
        return ""
    where = "first" if places.min() == 0 else "last" if places.max() == len(matrix) - 1 else "middle"
    return f"{where}_{len(places)}_columns"


def _said(matrix: Matrix) -> str:
    notes = (
        "[-x2, x1] of the two halves, as one product with ones and minus ones",
        "(-x2, x1) of each pair of columns, as one product with ones and minus ones",
        "columns chosen by one product with a matrix of zeros and ones",
    )
    name = _name(matrix)
    return notes[COLUMN_MATRICES.index(name) if name in COLUMN_MATRICES else -1]


def _made_by_product(value: SSAValue) -> bool:
    pending, seen = [value], 0
    while pending and seen < _MOST_STEPS:
        op = pending.pop().owner
        seen += 1
        if isinstance(op, Operation) and op.name in PRODUCTS:
            return True
        if isinstance(op, Operation) and op.name in _THROUGH:
            pending += list(op.operands)
    return False


def _read_by_product(value: SSAValue) -> bool:
    pending, seen = [value], 0
    while pending and seen < _MOST_STEPS:
        for use in pending.pop().uses:
            seen += 1
            if use.operation.name in PRODUCTS:
                return True
            if use.operation.name in _THROUGH:
                pending += list(use.operation.results)
    return False
