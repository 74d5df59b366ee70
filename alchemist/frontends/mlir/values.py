"""Values of a module's arguments: the user's, or generated ones that suit the ops that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict

import numpy as np
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.errors import InputError
from alchemist.frontends.base import Argument, ArgumentKind
from alchemist.frontends.stablehlo.convert import prop
from alchemist.frontends.stablehlo.rules_shape import numbers
from alchemist.ir.access import attr, element_type, operands, shape
from alchemist.ir.attributes import numpy_dtype
from alchemist.ir.dialects import TTOp
from alchemist.ir.op_class import named, short_names
from alchemist.options import Init

Array = np.ndarray[Any, Any]
Range = Literal["normal", "positive", "weight"]


class ValueOptions(TypedDict, total=False):
    """The fields of `Values` as keyword arguments."""

    init: Init
    seed: int
    values: Mapping[str, Array] | None


class LoadOptions(ValueOptions, total=False):
    """entry: name of the only function that is wanted. mesh: the compiler option `mesh_shape`."""

    entry: str
    mesh: str


@dataclass(frozen=True, slots=True)
class Values:
    """How argument values are made (`init`, `seed`), and given ones by argument name (`values`; shapes must match)."""

    init: Init = "randn"
    seed: int = 0
    values: Mapping[str, Array] | None = None

    def argument(self, arg: BlockArgument, facts: Mapping[str, Any], kind: ArgumentKind, index: int, bound: int | None = None) -> Argument:
        """bound: `index_bound` of the argument before conversion. Raises InputError for a given value of another shape."""
        name, dims = str(facts["ttir.name"]), shape(arg)
        dtype = numpy_dtype(element_type(arg))
        if self.values is not None and name in self.values:
            array = np.asarray(self.values[name])
            if array.shape != dims:
                raise InputError(f"{name} has a wrong shape", expected=str(list(dims)), got=str(list(array.shape)))
            value: Callable[[], Array] = partial(np.array, array, dtype, order="C")
        else:
            value = partial(make_value, dims, dtype, self.init, self.seed + index, bound or index_bound(arg), _range(arg))
        return Argument(name, kind, dims, dtype.name, value)


def make_value(dims: Sequence[int], dtype: np.dtype[Any], init: Init, seed: int, bound: int | None, range_: Range = "normal") -> Array:
    """Values of an argument. Integers, and whatever has a bound, of "randn" and "arange" stay below `bound` (16 and the size without one).

    range_: "positive" (variances, operands of roots): "randn" gives numbers in [0.5, 1.5); "weight" (of products): normal
    numbers divided by the root of a row's length, so that values keep their size from layer to layer.
    """
    count = int(np.prod(dims, dtype=np.int64))
    if (fill := {"ones": 1, "zeros": 0}.get(init)) is not None:
        return np.full(dims, fill, dtype)
    if dtype.kind == "b":
        return np.random.default_rng(seed).integers(0, 2, dims).astype(dtype)
    if dtype.kind in "iu" or bound:  # numbers of places may be floats, which a bfloat16 holds up to 256
        limit = int(np.iinfo(dtype).max) if dtype.kind in "iu" else 2 ** (8 * dtype.itemsize - 8)
        highest = min(bound or (16 if init == "randn" else max(count, 1)), limit)
        whole = np.arange(count) if init == "arange" else np.random.default_rng(seed).integers(0, highest, count)
        return (whole % highest).astype(dtype).reshape(dims)
    if init == "arange":
        return np.arange(count, dtype=np.float64).astype(dtype).reshape(dims)
    generator = np.random.default_rng(seed)
    if range_ == "positive":
        return (generator.random(dims, dtype=np.float32) + 0.5).astype(dtype)
    values = generator.standard_normal(dims, dtype=np.float32)
    if range_ == "weight":
        values /= np.float32(max(np.prod(dims[1:], dtype=np.float64), 1.0) ** 0.5)
    return values.astype(dtype)


_VARIANCES = {"variance", "running_var", "running_variance"}
_ROOTS = {"rsqrt", "sqrt", "log", "log2", "log10", "log1p"}
_MOVES = short_names("ttir", "keeps_weight", "move") | short_names("ttnn", "placement")


def _range(arg: BlockArgument) -> Range:
    if _must_be_positive(arg):
        return "positive"
    return "weight" if len(shape(arg)) > 1 and _is_weight(arg) else "normal"


_PRODUCTS = {"matmul": 1, "linear": 1, "dot_general": 1, "sparse_matmul": 1}


def _is_weight(value: SSAValue, depth: int = 8) -> bool:
    """Whether an argument is the right operand of a matrix product or the kernel of a convolution, and no computed value."""
    for use in value.uses:
        op = use.operation
        short = op.name.partition(".")[2]
        if _PRODUCTS.get(short) == use.index or (short.startswith(("conv", "prepare_conv")) and use.index == int(short.startswith("conv"))):
            return True
        if depth and op.name in ("ttcore.load_cached", "func.call"):
            callee = _callee(op)
            if callee is not None and _is_weight(callee.args[use.index], depth - 1):
                return True
            results = op.results if op.name == "ttcore.load_cached" else ()
            if any(_is_weight(result, depth - 1) for result in results):
                return True
        elif depth and op.results and short in _MOVES and _is_weight(op.results[0], depth - 1):
            return True
    return False


_CONVOLUTIONS = named("ttir", "convolution", "convolution2d")


def is_prepared(value: SSAValue, depth: int = 3) -> bool:
    """Whether an argument is a tensor that the library prepares before the first call: kernel or bias of such a convolution, perhaps moved."""
    for use in value.uses:
        op = use.operation
        if op.name in _CONVOLUTIONS and use.index > 0:
            return True
        if depth and op.results and op.name.startswith("ttir.") and op.name[5:] in _MOVES and is_prepared(op.results[0], depth - 1):
            return True
    return False


def _must_be_positive(value: SSAValue, depth: int = 8) -> bool:
    """Whether an argument is a variance: read by a batch norm as such, or by a root, perhaps after `+ epsilon`."""
    for use in value.uses:
        op = use.operation
        short = op.name.partition(".")[2]
        if short in _ROOTS:
            return True
        if short.startswith("batch_norm"):
            groups = {group.name for group in op.info.operands} if isinstance(op, TTOp) else set()
            if any(value in operands(op, group) for group in _VARIANCES & groups):
                return True
        elif depth and op.name in ("ttcore.load_cached", "func.call"):
            callee = _callee(op)
            if callee is not None and _must_be_positive(callee.args[use.index], depth - 1):
                return True
        elif depth and op.results and (short in _MOVES or short == "add") and _must_be_positive(op.results[0], depth - 1):
            return True
    return False


def _callee(op: Operation) -> FuncOp | None:
    module: Operation | None = op
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    callee = op.properties.get("callee")
    if module is None or not isinstance(callee, SymbolRefAttr):
        return None
    name = callee.root_reference.data
    return next((f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == name and f.body.blocks), None)


def index_bound(value: SSAValue, depth: int = 4) -> int | None:
    """Below which number an integer argument is a place in everything that it looks up or writes, through casts and moves."""
    bounds: list[int] = []
    for use in value.uses:
        op = use.operation
        short = op.name.partition(".")[2]
        dims = shape(op.operands[0]) if op.operands and isinstance(op.operands[0].type, TensorType) else ()
        if short.startswith("embedding") and use.index == 0:
            bounds.append(shape(op.operands[1])[-2])
        elif op.name == "stablehlo.gather" and use.index == 1:
            sizes, places = prop(op, "slice_sizes", ()), numbers(prop(op, "dimension_numbers", ""))
            bounds += [dims[axis] - sizes[axis] + 1 for axis in places.get("start_index_map", ()) if axis < min(len(dims), len(sizes))]
        elif op.name == "stablehlo.scatter" and use.index == 1:
            places = numbers(prop(op, "scatter_dimension_numbers", ""))
            inserted = places.get("inserted_window_dims", ())
            bounds += [dims[axis] if axis in inserted else 1 for axis in places.get("scatter_dims_to_operand_dims", ()) if axis < len(dims)]
        elif use.index == 1 and isinstance(op, TTOp) and [group.name for group in op.info.operands][1:2] == ["index"]:
            bounds.append(dims[attr(op, "dim") or 0])
        elif depth and op.results and short in _MOVES | {"convert", "slice"}:
            bounds += [bound for result in op.results if (bound := index_bound(result, depth - 1)) is not None]
    return max(min(bounds), 1) if bounds else None
