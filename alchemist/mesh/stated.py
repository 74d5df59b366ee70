"""What a model says itself of how its values lie on the chips: ops that the front ends leave in the module, and what each chip computes on its own parts."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.frontends.base import AXES, FrontendResult, Placement
from alchemist.frontends.stablehlo.shardings import facts_of, sharding_of, without_constraints
from alchemist.ir.access import entry_function
from alchemist.ir.location import place_of
from alchemist.ops.expand import COLLECTIVES, CONSTRAINT, MESHES, STATEMENTS, TO_PART, TO_WHOLE, sizes_of_meshes
from alchemist.ops.sharding import Dims, Factor, Rule

BOUNDARIES = (TO_PART, TO_WHOLE)


def states_shardings(captured: FrontendResult) -> bool:
    func = entry_function(captured.module)
    return any("sdy.sharding" in facts for facts in facts_of(func, "arg_attrs")) or any(op.name in STATEMENTS for op in func.walk())


def stated_mesh(captured: FrontendResult) -> tuple[int, int] | None:
    """Rows and columns of the only mesh that the module states; None without one of two axes."""
    attribute = captured.module.attributes.get(MESHES)
    sizes = sizes_of_meshes(attribute) if attribute is not None else []
    return (sizes[0][0], sizes[0][1]) if len(sizes) == 1 and len(sizes[0]) == 2 else None


def stated(op: Operation) -> str:
    """Shardy's text of one of the ops: `<@mesh, [{"rows"}, {}]>`."""
    return str(op.properties["sharding"].data[1])  # type: ignore[attr-defined]


def computing_ops(func: FuncOp) -> list[Operation]:
    """The ops of a function but its return and what only says how a value lies."""
    return [op for op in func.body.block.ops if op.name != CONSTRAINT and not isinstance(op, ReturnOp)]


def crosses(name: str, inputs: Sequence[Dims], results: Sequence[Dims]) -> Rule:
    """The sharding rule of a boundary: outside a tensor is cut as the boundary says, inside nobody cuts a part further."""
    outside, inside = (inputs[0], results[0]) if name == TO_PART else (results[0], inputs[0])
    cut, part = [[Factor(size)] for size in outside], [[Factor(size, "whole")] for size in inside]
    return Rule([cut], [part]) if name == TO_PART else Rule([part], [cut])


def local_places(func: FuncOp) -> set[int]:
    """Places among `computing_ops` of what each chip computes on its own parts.

    Raises: LoweringError for a collective outside: of whole tensors it has no meaning.
    """
    own: set[SSAValue] = set()
    places = set()
    for place, op in enumerate(computing_ops(func)):
        if op.name == TO_WHOLE:
            continue
        is_local = op.name == TO_PART or any(value in own for value in op.operands)
        if op.name.removeprefix("ttir.") in COLLECTIVES:
            if op.name == "ttir.mesh_shard":
                raise LoweringError("the model has collectives of its own", op=op.name, location=place_of(op), hint="pass the plain model and its plan")
            is_local = True
        if is_local:
            own.update(op.results)
            places.add(place)
    return places


def arguments_as_stated(func: FuncOp, placements: Sequence[Placement | None]) -> list[Placement | None]:
    """The placements, with what the module says of arguments for which there is none."""
    made = list(placements)
    for place, facts in enumerate(facts_of(func, "arg_attrs")):
        if made[place] is None and "sdy.sharding" in facts:
            dims = sharding_of(facts["sdy.sharding"]).dims
            first, second = (next((dim for dim, axes in enumerate(dims) if axis in axes), None) for axis in AXES)
            made[place] = first, second
    return made


def forget_statements(func: FuncOp) -> None:
    """Takes them out of a function whose values lie where they say."""
    without_constraints(func)
    described = facts_of(func, "arg_attrs")
    if described:
        func.properties["arg_attrs"] = ArrayAttr([DictionaryAttr({key: fact for key, fact in facts.items() if key != "sdy.sharding"}) for facts in described])
