"""Reorders columns by products with constant matrices and recognizes rotary embeddings among them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import elements, shape
from alchemist.ir.attributes import DeviceType
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, erase, functions, replace
from alchemist.ir.layout import TILE_EDGE, TTNNLayout, layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ir.scopes import loop_of
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import COLUMN_MATRICES, LIFTED_NAME, NOTE, inline_scalar
from alchemist.optimizer.movement import are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.lower.configs import wide_sums_config
from alchemist.passes.registry import Pass, register

# --- The normal form of a selection of columns by slices, concatenations, reshapes and negations: one list of column numbers.
# equal.

_MOST_ROOTS = 4
"""Limit of roots per value that `ColumnViews` tracks; it keeps the nearest ones."""

Integers = np.ndarray[Any, np.dtype[np.int64]]
Matrix = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of `root` with other columns. rows: the dims in front, as many elements as the root's own. picked: what stands in each of the dims behind them:
    1 for the root's first column, -1 for its negative. cut: begins and ends of the root's dims in front, where not all of its rows are here."""

    root: SSAValue
    rows: tuple[int, ...]
    picked: Integers
    cut: tuple[tuple[int, int], ...] | None = None

    @staticmethod
    def whole(root: SSAValue) -> Columns:
        dims = shape(root)
        return Columns(root, dims[:-1], np.arange(1, dims[-1] + 1))

    def reshape(self, dims: Sequence[int]) -> Columns | None:
        row_count = math.prod(self.rows)
        ahead = next((count for count in range(len(dims) + 1) if math.prod(dims[:count]) == row_count), None)
        if ahead is None or math.prod(dims[ahead:]) != self.picked.size:  # without elements anything fits
            return None
        return dataclasses.replace(self, rows=tuple(dims[:ahead]), picked=self.picked.reshape(tuple(dims[ahead:])))

    def permute(self, order: Sequence[int]) -> Columns | None:
        ahead = len(self.rows)
        if list(order[:ahead]) != list(range(ahead)):
            return None
        return dataclasses.replace(self, picked=self.picked.transpose([place - ahead for place in order[ahead:]]))

    def slice(self, begins: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> Columns | None:
        cuts = [slice(*cut) for cut in zip(begins, ends, steps, strict=True)]
        ahead = len(self.rows)
        sliced = dataclasses.replace(self, picked=self.picked[tuple(cuts[ahead:])])
        if all((cut.start, cut.stop, cut.step) == (0, size, 1) for cut, size in zip(cuts, self.rows, strict=False)):
            return sliced
        if self.cut is not None or self.rows != shape(self.root)[:-1] or any(cut.step != 1 for cut in cuts[:ahead]):
            return None
        rows = tuple((cut.start, cut.stop) for cut in cuts[:ahead])
        return dataclasses.replace(sliced, rows=tuple(end - begin for begin, end in rows), cut=rows)

    @staticmethod
    def concat(parts: Sequence[Columns], dim: int) -> Columns | None:
        first = parts[0]
        if dim < len(first.rows) or any(not part.has_rows_of(first) for part in parts):
            return None
        return dataclasses.replace(first, picked=np.concatenate([part.picked for part in parts], axis=dim - len(first.rows)))

    def negative(self) -> Columns:
        return dataclasses.replace(self, picked=-self.picked)

    def has_rows_of(self, other: Columns) -> bool:
        return self.root is other.root and self.rows == other.rows and self.cut == other.cut

    def matrix(self) -> Matrix:
        """[columns of the root, columns here]"""
        picked = self.picked.reshape(-1)
        entries = np.zeros((shape(self.root)[-1], picked.size), dtype=np.float32)
        entries[np.abs(picked) - 1, np.arange(picked.size)] = np.sign(picked)
        return entries


class ColumnViews:
    """For each value of a function, its columns as a selection of the columns of its (indirect) operands."""

    def __init__(self, func: FuncOp, fixed: FixedValues) -> None:
        self._found: dict[SSAValue, dict[SSAValue, Columns]] = {}
        for op in func.body.block.ops:
            moves = has_trait(op, "chooses_columns") and all(shape(value) for value in op.operands if inline_scalar(value) is None)
            if moves and op.results[0] not in fixed and (columns := self._step(op)):
                self._found[op.results[0]] = columns

    def behind(self, value: SSAValue) -> list[Columns]:
        """`value` as columns of each tracked root, the furthest root first."""
        return list(self._found.get(value, {}).values())

    def of(self, value: SSAValue) -> dict[SSAValue, Columns]:
        """`value` as columns by root, including itself as its own root."""
        return {**self._found.get(value, {}), value: Columns.whole(value)}

    def _step(self, op: Operation) -> dict[SSAValue, Columns]:
        sources = [self.of(value) for value in op.operands if inline_scalar(value) is None]
        columns_of: dict[SSAValue, Columns] = {}
        for root in sources[0]:
            columns = _step_columns(op, [source[root] for source in sources]) if all(root in source for source in sources) else None
            if columns is not None:
                columns_of[root] = columns
        return dict(list(columns_of.items())[-_MOST_ROOTS:])


def _step_columns(op: Operation, parts: Sequence[Columns]) -> Columns | None:
    first = parts[0]
    if op.name == "ttnn.slice_static":
        begins, ends, steps = (access.attr(op, name) for name in ("begins", "ends", "step"))
        return first.slice(begins, ends, steps)
    if op.name == "ttnn.concat":
        return Columns.concat(parts, access.attr(op, "dim") % len(shape(op.results[0])))
    if op.name == "ttnn.reshape":
        return first.reshape(shape(op.results[0]))
    if has_trait(op, "transposition"):
        return first.permute(access.order_of(op))
    if op.name == "ttnn.to_layout":
        return first
    return first.negative() if op.name == "ttnn.neg" or (len(parts) == 1 and inline_scalar(op.operands[1]) == -1) else None


# --- TTNN: slices, concatenations and negations of columns become one product with a constant matrix of 0, 1 and -1. ---

MOST_ENTRIES = 256 * 256
"""Limit of the matrix's elements: the cost of a product grows with its width, the cost of moving columns does not."""
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
    """Replaces selections of columns of a function's values by matrix products."""

    def __init__(self, func: FuncOp, options: CompilerOptions) -> None:
        self._func, self.options = func, options
        self.fixed = FixedValues(func)
        self.views = ColumnViews(func, self.fixed)
        self._place = {op: place for place, op in enumerate(func.body.block.ops)}
        self._rounded = {
            key
            for op in self._place
            if len(op.results) == 1 and loop_of(sources_of(op))
            for columns in self.views.behind(op.results[0])
            if may_round(columns.root, op.results[0]) and (key := self._in_loop(op, columns))
        }
        self._matrices: dict[tuple[str, bytes, tuple[int, ...]], SSAValue] = {}
        self._tables: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        for op in reversed(list(self._func.body.block.ops)):
            if op.parent is not None and len(op.results) == 1:
                any(self._replace(op, columns) for columns in self.views.behind(op.results[0]))

    def _replace(self, op: Operation, columns: Columns) -> bool:
        result, root = op.results[0], columns.root
        if not fits(root, result) or columns.picked.size != shape(result)[-1]:
            return False
        if not may_round(root, result) and self._in_loop(op, columns) not in self._rounded:
            return False
        dying = self.between(root, op)
        value, product = self.product(columns, dying)
        if product is not None and not are_faster([product], dying, self.options):
            erase(product)
            return False
        replace(op, [value])
        for dead in dying[1:]:
            erase(dead)
        return True

    @staticmethod
    def _in_loop(op: Operation, columns: Columns) -> object:
        """Equal for the same selection in all iterations of a loop: if one of them rounds the values, so does the last one, which no product reads."""
        loop = loop_of(sources_of(op))
        return (loop, columns.picked.tobytes(), columns.root.type, op.results[0].type) if loop else None

    def product(self, columns: Columns, replaced: Sequence[Operation]) -> tuple[SSAValue, Operation | None]:
        """Creates the product for the columns before `replaced[0]`: (value, op). (root, None) if the columns are all columns of the root in order."""
        root, last = columns.root, replaced[0]
        matrix, of = columns.matrix(), layout_of(root.type)
        assert of is not None
        dims = (*shape(root)[:-1], matrix.shape[1])
        if shape(root) == dims and np.array_equal(matrix, np.eye(len(matrix))):
            return root, None
        attributes = {"compute_config": wide_sums_config(self.options), NOTE: _note_of(matrix)}
        matmul = Builder.before(last).make("ttnn.matmul", [root, self.matrix(matrix, of, last)], attributes)
        set_source(matmul, *sources_of(last))
        add_sources(matmul, *reversed(replaced[1:]))
        return matmul.results[0], matmul

    def between(self, root: SSAValue, last: Operation, *others: SSAValue) -> list[Operation]:
        """Ops between the root (and `others`) and the last op's result whose results have no other use, the last one first."""
        ops, pending = [last], list(last.operands)
        while pending:
            value = pending.pop()
            op = value.owner
            if value is root or value in others or value in self.fixed or not isinstance(op, Operation) or op in ops or op not in self._place:
                continue
            if all(use.operation in ops for result in op.results for use in result.uses):
                ops.append(op)
                pending += list(op.operands)
        return sorted(ops, key=lambda op: -self._place[op])

    def matrix(self, values: Matrix, of: TTNNLayout, before: Operation, dims: tuple[int, ...] = ()) -> SSAValue:
        """The matrix in tiles with the dtype of `of` and these dims (default: its own); ops with equal matrices share one value."""
        dims = dims or values.shape
        key = (of.dtype, values.tobytes(), dims)
        if key not in self._matrices:
            block = self._func.body.block
            device = next((op for op in block.ops if op.name == "ttnn.get_device"), None)
            b = Builder(block, block.first_op) if device is None else Builder.after(device)
            b.source = sources_of(before)
            handle = b.op("ttnn.get_device", [], {}, [DeviceType()]) if device is None else device.results[0]
            stored, tiled = (TTNNLayout.make(dims, of.dtype, page).type_for(dims) for page in ("row_major", "tile"))
            constant = b.op("ttnn.constant", [handle], {"value": elements(values.reshape(dims), "f32"), LIFTED_NAME: _name(values)}, [stored])
            self._matrices[key] = b.op("ttnn.to_layout", [constant], {}, [tiled])
        return self._matrices[key]

    def table(self, values: SSAValue) -> SSAValue:
        """Reshapes [.., rows, columns], shared by all heads, to four dims; ops that read the same values share one reshape."""
        dims = (1, 1, *shape(values)[-2:])
        if shape(values) == dims:
            return values
        if values not in self._tables:
            self._tables[values] = Builder.behind(values).op("ttnn.reshape", [values], {"shape": dims})
        return self._tables[values]


def fits(root: SSAValue, result: SSAValue) -> bool:
    """Whether the result may be a product of the root: both tiled, of one float type, interleaved in DRAM, with equal rows."""
    of, to, dims = layout_of(root.type), layout_of(result.type), shape(root)
    if of is None or to is None or of.with_(shape(result)) != to or (of.dtype, of.page, of.is_sharded) not in _KINDS or of.buffer != "dram":
        return False
    return 2 <= len(dims) <= 4 and shape(result)[:-1] == dims[:-1] and dims[-1] * shape(result)[-1] <= MOST_ENTRIES


def may_round(root: SSAValue, result: SSAValue) -> bool:
    """Whether matrix products round the values anyway, before or after."""
    of = layout_of(root.type)
    return (of is not None and of.dtype == "bf16") or _made_by_product(root) or _read_by_product(result)


def _is_half_turn(matrix: Matrix, pairs: bool) -> bool:
    """Whether the matrix maps columns (x1, x2), as halves or as pairs, to (-x2, x1) and keeps the columns after them."""
    numbers = np.arange(len(matrix))
    if matrix.shape != (len(numbers), len(numbers)):
        return False
    half_columns = int(np.sum(np.diagonal(matrix) == 0))
    places = numbers[:half_columns].reshape((-1, 2) if pairs else (2, -1))
    first, second = places.T if pairs else places
    expected = np.diag((numbers >= half_columns).astype(np.float32))
    expected[second, first], expected[first, second] = -1, 1
    return np.array_equal(matrix, expected)


def _name(matrix: Matrix) -> str:
    half_turn, pair_turn, chosen = COLUMN_MATRICES
    for pairs, name in ((False, half_turn), (True, pair_turn)):
        if int(np.sum(np.diagonal(matrix) == 0)) % 2 == 0 and _is_half_turn(matrix, pairs):
            return name
    return _neighbours(matrix) or chosen


def _neighbours(matrix: Matrix) -> str:
    """The name of a matrix that selects adjacent columns in order; "" for any other matrix."""
    places, columns = np.nonzero(matrix)
    if (
        len(places) != matrix.shape[1]
        or not np.all(matrix[places, columns] == 1)
        or not np.array_equal(np.diff(places[np.argsort(columns)]), np.ones(len(places) - 1))
    ):
        return ""
    where = "first" if places.min() == 0 else "last" if places.max() == len(matrix) - 1 else "middle"
    return f"{where}_{len(places)}_columns"


def _note_of(matrix: Matrix) -> str:
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
        if isinstance(op, Operation) and has_trait(op, "rounds_as_product"):
            return True
        if isinstance(op, Operation) and has_trait(op, "passes_rounding"):
            pending += list(op.operands)
    return False


def _read_by_product(value: SSAValue) -> bool:
    pending, seen = [value], 0
    while pending and seen < _MOST_STEPS:
        for use in pending.pop().uses:
            seen += 1
            if has_trait(use.operation, "rounds_as_product"):
                return True
            if has_trait(use.operation, "passes_rounding"):
                pending += list(use.operation.results)
    return False


# --- TTNN: x * cos + rotated x * sin becomes one program if the library has one for these columns. ---

WIDEST_IN_TILES = 256
"""Largest head size, in columns, that rotary_embedding_llama supports."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """result = x * cos + turned * sin. op: makes the result. turned: columns of x. free: columns of which sin is zero, so that it does not matter what
    turns into them."""

    op: Operation
    x: SSAValue
    turned: Columns
    cos: SSAValue
    sin: SSAValue
    free: frozenset[int] = frozenset()

    def written(self, products: Products, replaced: Sequence[Operation]) -> list[Operation]:
        """The rotation as one program in front of its op, and a cast where the op's result is of another type; nothing where the library has none.

        replaced: what it stands for, the last op first.

        rotary_embedding and rotary_embedding_hf turn halves of one tile or of whole tiles, the latter in float32 too; rotary_embedding_llama multiplies
        each tile by one and the same matrix, in bfloat16.
        """
        x, result = self.x, self.op.results[0]
        of = layout_of(x.type)
        if of is None or not self._fits():
            return []
        b = Builder.before(self.op)
        operands, size = [x, products.table(self.cos), products.table(self.sin)], shape(x)[-1]
        if turns_halves(self.turned.picked) and (size == TILE_EDGE or size % (2 * TILE_EDGE) == 0):
            if of.dtype == "bf16" and size > TILE_EDGE and shape(x)[-2] % TILE_EDGE == 0:
                new_ops = [b.make("ttnn.rotary_embedding", operands, {}, [x.type])]
            else:
                sums = {"compute_config": wide_sums_config(products.options)} if of.dtype == "f32" else {}
                new_ops = [b.make("ttnn.rotary_embedding_hf", operands, {"is_decode_mode": False, **sums}, [x.type])]
        else:
            matrix = tile_matrix(self.turned.picked, self.free) if of.dtype == "bf16" and size <= WIDEST_IN_TILES else None
            if matrix is None:
                return []
            turn = products.matrix(matrix, of, self.op, (1, 1, TILE_EDGE, TILE_EDGE))
            new_ops = [b.make("ttnn.rotary_embedding_llama", [*operands, turn], {"is_decode_mode": False})]
        set_source(new_ops[0], *sources_of(self.op))
        add_sources(new_ops[0], *reversed(replaced[1:]))
        if result.type != x.type:
            note = {NOTE: self.op.attributes[NOTE]} if NOTE in self.op.attributes else {}
            new_ops.append(b.make("ttnn.typecast", [new_ops[-1].results[0]], note, [result.type]))
            set_source(new_ops[-1], *sources_of(self.op))
        return new_ops

    def _fits(self) -> bool:
        """Whether the kernels support it: whole tiles in interleaved memory, one table for all batches and heads, equal types."""
        dims, result = shape(self.x), self.op.results[0]
        if len(dims) != 4 or shape(result) != dims or dims[-1] % TILE_EDGE or self.turned.rows != dims[:-1] or self.turned.cut is not None:
            return False
        tables = [shape(table) for table in (self.cos, self.sin)]
        if self.turned.picked.size != dims[-1] or any(table[-2:] != dims[2:] or any(size != 1 for size in table[:-2]) for table in tables):
            return False
        layouts = [layout_of(value.type) for value in (self.x, self.cos, self.sin)]
        kinds = {None if layout is None else (layout.dtype, layout.page, layout.is_sharded, layout.buffer) for layout in layouts}
        return kinds in ({("bf16", "tile", False, "dram")}, {("f32", "tile", False, "dram")}) and may_round(self.x, result)


def half_turn(size: int) -> Integers:
    """The columns (-x2, x1) of two halves, counted from 1."""
    order = np.arange(1, size + 1)
    return np.concatenate([-order[size // 2 :], order[: size // 2]])


def turns_halves(picked: Integers) -> bool:
    """Whether the columns (x1, x2) of two halves become (-x2, x1)."""
    return picked.size % 2 == 0 and np.array_equal(picked.reshape(-1), half_turn(picked.size))


def tile_matrix(picked: Integers, free: Sequence[int] | frozenset[int] = frozenset()) -> Matrix | None:
    """The matrix of 0, 1 and -1 that computes the columns of every tile from the same tile; None if tiles need different matrices.

    free: columns that may take any value.
    """
    matrix = np.zeros((TILE_EDGE, TILE_EDGE), dtype=np.float32)
    for column, number in enumerate(picked.reshape(-1)):
        source = abs(int(number)) - 1
        if column in free:
            continue
        if source // TILE_EDGE != column // TILE_EDGE:
            return None
        unit = np.zeros(TILE_EDGE, dtype=np.float32)
        unit[source % TILE_EDGE] = np.sign(number)
        have = matrix[:, column % TILE_EDGE]
        if have.any() and not np.array_equal(have, unit):
            return None
        matrix[:, column % TILE_EDGE] = unit
    return matrix
