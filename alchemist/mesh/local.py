"""A captured model for one chip as the program of each chip of a mesh: local shapes, and collectives where chips need what others have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from alchemist.errors import InternalError, LoweringError
from alchemist.frontends.base import AXES, Argument, FrontendResult, Mesh, Placement, distinct
from alchemist.ir import access, infer
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import functions
from alchemist.ir.edit import replace as replace_op
from alchemist.ir.location import clone_with_places, place_of, sources_of
from alchemist.ir.text import print_module
from alchemist.ir.value import Value
from alchemist.mesh import lockstep, shardy
from alchemist.mesh.fused import split_fused
from alchemist.mesh.placements import cut_of, outer, placement_of
from alchemist.mesh.shardy import Answer, Cut, Step
from alchemist.mesh.stated import BOUNDARIES, arguments_as_stated, computing_ops, forget_statements, local_places, states_shardings
from alchemist.ops.expand import COLLECTIVES
from alchemist.ops.sharding import Factor, Rule
from alchemist.ops.spec import MESH
from alchemist.passes.stages import TTIR_STAGES

Shape = tuple[int, ...]


def partition(captured: FrontendResult, mesh: Mesh, placements: Sequence[Placement | None], *, is_compared: bool = True) -> FrontendResult:
    """The model as each chip runs it. The given module is left as it is; arguments and outputs say how they lie on the mesh.

    placements: of the arguments. None: as the module says; else an input is whole, and a weight lies as the ops around it want it (an input too where
    the module says something of any value).
    is_compared: a model of few operations is run whole and in parts on its arguments' values; each op has to compute the same.

    Raises:
        UserError: no Shardy; a placement that does not divide a dimension, or that some op cannot be run with.
        InternalError: an op of the parts computes something else.
    """
    module = clone_with_places(captured.module)
    TTIR_STAGES[0].run(module, _options())
    (func,) = functions(module)
    _refuse(captured, func)
    given = split_fused(func, list(zip(captured.arguments, arguments_as_stated(func, placements), strict=True)))
    _biases_apart(func)
    are_whole = () if states_shardings(captured) else ("input",)
    cuts = [
        cut_of(placement or (None, None), len(argument.shape), mesh) if placement is not None or argument.kind in are_whole else None
        for argument, placement in given
    ]
    localizer = _divided(func, mesh, cuts, [argument.name for argument, _ in given])
    answer = localizer.answer
    compared = is_compared and lockstep.is_cheap(func, [argument for argument, _ in given])
    (before,) = functions(clone_with_places(module)) if compared else (func,)
    outputs = localizer.run()
    forget_statements(func)
    arguments = [replace(argument, placement=placement_of(outer(cut))) for argument, cut in zip((one for one, _ in given), answer.arguments, strict=True)]
    if compared:
        lockstep.compare(before, func, localizer.lies(before), [*arguments, *localizer.added], mesh)
    made = [replace(one, placement=placement_of(cut)) for one, cut in zip(captured.outputs, outputs, strict=True)]
    module.attributes[MESH] = StringAttr(mesh.name)
    stages = {**captured.stages, "whole_ttir": lambda: print_module(captured.module)}
    return replace(captured, module=module, mesh=mesh, arguments=[*arguments, *localizer.added], outputs=made, golden_ops=None, stages=stages)


def _options() -> Any:
    from alchemist.options import CompilerOptions

    return CompilerOptions()


def _refuse(captured: FrontendResult, func: FuncOp) -> None:
    """Raises: LoweringError for what is written in place."""
    for op in func.body.block.ops:
        if not isinstance(op, ReturnOp) and not op.results:
            raise LoweringError("a tensor that the model writes in place is not spread over chips", op=op.name, location=place_of(op))
    written = [output.name for output in captured.outputs if output.mutates]
    if written:
        raise LoweringError("a tensor that the model writes in place is not spread over chips", got=", ".join(written[:4]))


def _biases_apart(func: FuncOp) -> None:
    """A product with a bias is a product and a sum: where the product is cut along its depth, each chip would add the bias."""
    for op in list(func.body.block.ops):
        bias = access.operand(op, "bias") if op.name == "ttir.linear" else None
        if bias is not None:
            b = Builder.in_place_of(op)
            product = b.value("ttir.linear", [*op.operands[:2]], access.declared(op), [op.results[0].type])
            replace_op(op, [b.value("ttir.add", [product, bias], {}, [op.results[0].type])])


def _divided(func: FuncOp, mesh: Mesh, cuts: Sequence[Cut | None], names: Sequence[str]) -> Localizer:
    """Shardy's answer. Shardy cuts what does not divide (four chips, two key-value heads): such ops run on whole tensors, and it is asked again."""
    uncut = local_places(func)
    while True:
        rules = shardy.rules_of(func, uncut)
        localizer = Localizer(func, mesh, shardy.partition(func, mesh.extents, cuts, rules), names, rules)
        wrong = localizer.check()
        if wrong.keys() <= uncut:
            for error in wrong.values():
                raise error
            return localizer
        uncut |= wrong.keys()


class Localizer:
    """added: arguments that the function has got, with other values on each chip. values: of the chip's function, by number."""

    def __init__(self, func: FuncOp, mesh: Mesh, answer: Answer, names: Sequence[str], rules: Sequence[Rule]) -> None:
        self.func, self.mesh, self.answer = func, mesh, answer
        self.extents = dict(zip(AXES, mesh.extents, strict=True))
        self.ops = computing_ops(func)
        self.returns = next(op for op in func.body.block.ops if isinstance(op, ReturnOp))
        self.names = list(names)
        self.cuts: list[Cut] = list(answer.arguments)
        self.steps: dict[int, Step] = {}
        for step in answer.steps:
            self.steps.update({len(self.cuts) + number: step for number in range(len(step.cuts))})
            self.cuts += step.cuts
        self.rules = rules
        self.added: list[Argument] = []
        self.values: list[SSAValue] = []
        self._summands: set[int | None] = set()
        """Places of ops whose results are summands."""
        self._first_rows: dict[tuple[int, str], SSAValue] = {}

    # --- what Shardy does not check -------------------------------------------------------------------------------------

    def check(self) -> dict[int, LoweringError]:
        """The ops, by place, that have parts of an axis or a cut that does not divide.

        Raises: LoweringError for such an argument; InternalError where the answer breaks the rule of an op.
        """
        wrong: dict[int, LoweringError] = {}
        for arg, cut, name in zip(self.func.args, self.answer.arguments, self.names, strict=True):
            self._check_cut(cut, access.shape(arg), name, "")
        whole = [access.shape(arg) for arg in self.func.args]
        for step in self.answer.steps:
            op = self.ops[step.op] if step.op is not None else None
            results = [access.shape(result) for result in op.results] if op is not None else [whole[step.operands[0]]]
            whole += results
            try:
                for dims, cut in zip(results, step.cuts, strict=True):
                    self._check_cut(cut, dims, op.name if op is not None else step.kind, place_of(op) if op is not None else "")
                if op is not None and not wrong:
                    self._check_rule(op, self.rules[step.op or 0], step)
            except LoweringError as error:
                readers = [one.op for one in self.answer.steps if any(self.steps.get(number) is step for number in one.operands)]
                for place in [step.op] if step.op is not None else readers:
                    if place is not None:
                        wrong.setdefault(place, error)
                if step.op is None and not any(place is not None for place in readers):
                    raise
        return wrong

    def _check_cut(self, cut: Cut, dims: Shape, what: str, where: str) -> None:
        for dim, (axes, size) in enumerate(zip(cut, dims, strict=True)):
            parts = [axis for axis in axes if axis not in self.extents]
            chips = math.prod(self.extents[axis] for axis in axes if not parts)
            if parts or size % chips:
                raise LoweringError(
                    f"dimension {dim} of {what} cannot be cut over the mesh", location=where, expected="a size that the chips of an axis divide",
                    got=f"{size} over {self.mesh.rows}x{self.mesh.columns} chips", hint="cut another dimension, or leave the tensor whole",
                )  # fmt: skip

    def _check_rule(self, op: Operation, rule: Any, step: Step) -> None:
        """Every factor is cut alike wherever it is, whole ones nowhere, and sums are added up by the next step."""
        seen: dict[Factor, tuple[str, ...]] = {}
        tensors = [(self.cuts[number], axes) for number, axes in zip(step.operands, rule.operands, strict=True)]
        tensors += list(zip(step.cuts, rule.results, strict=True)) if op.operands else []
        for cut, dims in tensors:
            for axes, factors in zip(cut, dims, strict=True):
                given = self._spread(axes, factors, op)
                for factor in factors:
                    if seen.setdefault(factor, given[factor]) != given[factor] or (factor.kind == "whole" and given[factor]):
                        raise InternalError("an op is cut otherwise than its rule says", op=op.name, location=place_of(op))
        summed = sorted(axis for factor, axes in seen.items() if factor.kind == "sum" for axis in axes)
        if summed:
            readers = [one for one in self.answer.steps if any(self.steps.get(number) is step for number in one.operands)]
            if any(sorted(one.summed) != summed for one in readers) or any(self.steps.get(number) is step for number in self.answer.returned):
                raise InternalError("parts of a sum are not added up", op=op.name, location=place_of(op))

    def _spread(self, axes: Sequence[str], factors: Sequence[Factor], op: Operation) -> dict[Factor, tuple[str, ...]]:
        """The axes of each factor of a dimension: the outermost factors are cut first."""
        given: dict[Factor, tuple[str, ...]] = {factor: () for factor in factors}
        rest = list(axes)
        for factor in factors:
            size = factor.size
            while rest and size % self.extents[rest[0]] == 0 and (size > 1 or self.extents[rest[0]] == 1):
                size //= self.extents[rest[0]]
                given[factor] += (rest.pop(0),)
            if size > 1 and rest:
                break
        if rest:
            raise LoweringError(
                "a cut does not fall between the parts that the op moves", op=op.name, location=place_of(op),
                got=f"{' and '.join(axes)} over {' x '.join(str(factor.size) for factor in factors)}", hint="cut another dimension of what it reads",
            )  # fmt: skip
        return given

    # --- the chip's program ---------------------------------------------------------------------------------------------

    def run(self) -> list[Cut]:
        """Changes the function; returns the cuts of its results."""
        values: list[SSAValue] = []
        whole = [access.shape(arg) for arg in self.func.args]
        first = Builder.before(self.func.body.block.first_op or self.returns)
        for arg, cut in zip(self.func.args, self.answer.arguments, strict=True):
            self._retype(arg, outer(cut))
            values.append(self._part_of(first, arg, tuple(axes[1:] for axes in cut)))  # stored in the parts of the outer axis
        behind: list[Operation] = []  # the op of the function before which each step stands
        place: Operation = self.returns
        for step in reversed(self.answer.steps):
            place = self.ops[step.op] if step.op is not None else place
            behind.append(place)
        for step, before in zip(self.answer.steps, reversed(behind), strict=True):
            if step.op is None:
                values.append(self._collective(step, values[step.operands[0]], before))
                whole.append(whole[step.operands[0]])
            else:
                op = self.ops[step.op]
                dims = [whole[number] for number in step.operands]
                whole += [access.shape(result) for result in op.results]
                values += self._localized(op, step, [values[number] for number in step.operands], dims)
        self.values = values
        last = Builder.before(self.returns)
        self.returns.operands = [self._joined(last, values[number], self.cuts[number]) for number in self.answer.returned]
        types = FunctionType.from_lists([arg.type for arg in self.func.args], [value.type for value in self.returns.operands])
        self.func.properties["function_type"] = types
        return [outer(self.cuts[number]) for number in self.answer.returned]

    def _part_of(self, b: Builder, value: SSAValue, cut: Cut) -> SSAValue:
        """A chip's part of what all have."""
        for dim, axes in enumerate(cut):
            for axis in axes:
                value = self._made(b, "mesh_partition", value, axis, -1, dim, dim=dim)
        return value

    def _joined(self, b: Builder, value: SSAValue, cut: Cut) -> SSAValue:
        """A result of which both axes cut a dimension leaves in the parts of the outer one."""
        for dim, axes in enumerate(cut):
            for axis in reversed(axes[1:]):
                value = self._made(b, "all_gather", value, axis, 2, dim, all_gather_dim=dim)
        return value

    def lies(self, before: FuncOp) -> dict[SSAValue, lockstep.Lies]:
        """Of the values that `run` made, without those of its own. before: the function as it was."""
        ops = computing_ops(before)
        wholes: list[SSAValue] = list(before.body.block.args)
        partial = [False] * len(wholes)
        for step in self.answer.steps:
            results = [wholes[step.operands[0]]] if step.op is None else list(ops[step.op].results)
            wholes += results
            partial += [step.op in self._summands] * len(results)
        return {value: lockstep.Lies(whole, cut, summed) for value, whole, cut, summed in zip(self.values, wholes, self.cuts, partial, strict=True)}

    def _parts(self, dims: Shape, cut: Cut) -> Shape:
        return tuple(size // math.prod(self.extents[axis] for axis in axes) for size, axes in zip(dims, cut, strict=True))

    def _retype(self, value: SSAValue, cut: Cut) -> None:
        if any(cut):
            value._type = tensor(self._parts(access.shape(value), cut), value.type.get_element_type())  # type: ignore[attr-defined]

    def _localized(self, op: Operation, step: Step, operands: list[SSAValue], whole: list[Shape]) -> list[SSAValue]:
        """The op on the parts of a chip."""
        if not op.operands and any(map(any, step.cuts)):
            b = Builder.before(op.next_op or self.returns)
            return [self._part_of(b, result, cut) for result, cut in zip(op.results, step.cuts, strict=True)]
        summed = [axis for factor, axes in self._cut_factors(step).items() if factor.kind == "sum" for axis in axes]
        if summed:
            self._summands.add(step.op)
        dims = [access.shape(result) for result in op.results]
        op.operands = operands
        for result, cut in zip(op.results, step.cuts, strict=True):
            self._retype(result, cut)
        if op.name in BOUNDARIES:
            if operands[0].type != op.results[0].type:
                raise InternalError("a value is cut otherwise than its statement says", op=op.name, location=place_of(op))
            replace_op(op, operands)
            return operands
        if op.name == "ttir.embedding" and summed:
            return [self._own_rows(op, summed, whole[1][0])]
        if op.name == "ttir.mean" and summed:
            return [self._mean(op, math.prod(whole[0]) // math.prod(dims[0]))]
        _set_shapes(op, whole, dims)
        try:
            inferred = [access.shape(kind) for kind in infer.result_types(op)]
        except InternalError:
            inferred = []  # the op's types are not said by its operands
        if any(one != access.shape(result) for one, result in zip(inferred, op.results, strict=False)):
            raise InternalError("the op on a chip's parts makes another shape", op=op.name, location=place_of(op), got=str(inferred))
        return list(op.results)

    def _cut_factors(self, step: Step) -> dict[Factor, tuple[str, ...]]:
        op, rule = self.ops[step.op or 0], self.rules[step.op or 0]
        found: dict[Factor, tuple[str, ...]] = {}
        for number, dims in zip(step.operands, rule.operands, strict=True):
            for axes, factors in zip(self.cuts[number], dims, strict=True):
                found |= self._spread(axes, factors, op)
        return found

    def _mean(self, op: Operation, count: int) -> SSAValue:
        """The sum of a chip's part by the count of all."""
        b = Builder.in_place_of(op)
        total = Value(b, b.value("ttir.sum", [op.operands[0]], access.declared(op), [op.results[0].type]))
        made = (total * (1.0 / count)).reshape(*total.shape).ssa  # a number has rank 1
        replace_op(op, [made])
        return made

    def _own_rows(self, op: Operation, summed: Sequence[str], rows: int) -> SSAValue:
        """A chip's table stands between two rows of zeros, which are found for the indices of other chips."""
        if len(summed) > 1:
            raise LoweringError("both axes of the mesh cut the rows of a table", op=op.name, location=place_of(op), hint="cut them over one axis")
        b = Builder.in_place_of(op)
        indices, table = (Value(b, value) for value in op.operands)
        own = rows // self.extents[summed[0]]
        places = (indices.cast("i32") - self._first_row(op, summed[0], own)).op("clamp_scalar", min=0, max=own + 1)
        padded = table.pad([(1, 1), (0, 0)])
        made = b.value("ttir.embedding", [places.cast(indices.of).ssa, padded.ssa], {}, [op.results[0].type])
        replace_op(op, [made])
        return made

    def _first_row(self, op: Operation, axis: str, own: int) -> SSAValue:
        """An argument with the number of a chip's first row, less one for the row of zeros before it."""
        if (own, axis) in self._first_rows:
            return self._first_rows[own, axis]
        table = op.operands[1]
        scope = self.names[table.index].rpartition(".")[0] if isinstance(table, BlockArgument) else ""
        name = f"{scope}.first_row" if scope else "first_row"
        (name,) = distinct([name], [*self.names, *(argument.name for argument in self.added)])
        block = self.func.body.block
        value = block.insert_arg(tensor((1,), "i32"), len(block.args))
        value.location = table.location if isinstance(table, BlockArgument) else value.location
        facts = DictionaryAttr({"ttcore.argument_type": enum("ttcore.argument_type", "constant"), "ttir.name": StringAttr(name)})
        declared = self.func.properties.get("arg_attrs")
        self.func.properties["arg_attrs"] = ArrayAttr([*(declared.data if isinstance(declared, ArrayAttr) else ()), facts])
        numbers = np.arange(self.extents[axis], dtype=np.int32) * own - 1
        placement = (0, None) if axis == AXES[0] else (None, 0)
        self.added.append(Argument(name, "constant", numbers.shape, "int32", lambda: numbers, placement))
        self._first_rows[own, axis] = value
        return value

    def _collective(self, step: Step, value: SSAValue, before: Operation) -> SSAValue:
        """What makes one cut of another: sums first, then what is gathered from the innermost axis on, then what is left out."""
        b = Builder.before(before)
        owner = value.owner
        b.source = sources_of(owner if isinstance(owner, Operation) else before) or None
        have, want = self.cuts[step.operands[0]], step.cuts[0]
        if step.kind.removeprefix("sdy.") not in COLLECTIVES | {"all_slice"}:
            raise LoweringError(f"the plan needs {step.kind}, which is not written yet", hint="another placement of the tensors around it")
        for axis in step.summed:
            dim = next((dim for dim, axes in enumerate(want) if axis in axes), None)
            if dim is None:
                value = self._made(b, "all_reduce", value, axis, 1, 0, reduce_type="sum")
            else:
                value = self._made(b, "reduce_scatter", value, axis, -1, dim, reduce_type="sum", scatter_dim=dim)
        kept = [_common(one, other) for one, other in zip(have, want, strict=True)]
        for dim, axes in enumerate(have):
            for axis in reversed(axes[kept[dim] :]):
                value = self._made(b, "all_gather", value, axis, 2, dim, all_gather_dim=dim)
        for dim, axes in enumerate(want):
            for axis in axes[kept[dim] :]:
                if axis not in step.summed:
                    value = self._made(b, "mesh_partition", value, axis, -1, dim, dim=dim)
        return value

    def _made(self, b: Builder, name: str, value: SSAValue, axis: str, change: int, place: int, **attributes: Any) -> SSAValue:
        """change: 1 leaves the shape, 2 grows dimension `place` by the chips of the axis, -1 shrinks it."""
        chips, dims = self.extents[axis], list(access.shape(value))
        if chips == 1:
            return value
        dims[place : place + 1] = [dims[place] * chips if change == 2 else dims[place] // chips if change == -1 else dims[place]] if dims else []
        kind = tensor(tuple(dims), value.type.get_element_type())  # type: ignore[attr-defined]
        return b.value(f"ttir.{name}", [value], {**attributes, "cluster_axis": AXES.index(axis)}, [kind])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many axes both begin with."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _set_shapes(op: Operation, whole: Sequence[Shape], dims: Sequence[Shape]) -> None:
    """Attributes that say sizes, for the parts of a chip. whole: shapes of all of the operands; dims: of the results."""
    changes: dict[str, Callable[[], Any]] = {
        "ttir.reshape": lambda: {"shape": access.shape(op.results[0])},
        "ttir.broadcast": lambda: {
            "broadcast_dimensions": [made // one for made, one in zip(access.shape(op.results[0]), access.shape(op.operands[0]), strict=True)]
        },
        "ttir.slice_static": lambda: {"ends": _ends(op, "ends", whole[0], dims[0])},
    }
    if op.name in changes:
        access.set_attrs(op, changes[op.name]())
    if op.name == "ttir.index" and whole[0] == dims[0]:
        access.set_attr(op, "end", access.shape(op.results[0])[access.attr(op, "dim")])


def _ends(op: Operation, name: str, whole: Shape, dims: Shape) -> list[int]:
    """A dimension that is taken whole ends where its part does."""
    local = access.shape(op.operands[0])
    return [part if size == made else end for end, size, made, part in zip(access.attr(op, name), whole, dims, local, strict=True)]
