"""Rows that are rearranged in front of a product and cut into heads behind it: both at once, behind it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait
from alchemist.ir.edit import add_sources, erase, rewrite, single_use
from alchemist.ir.location import sources_of
from alchemist.passes.fewer_moves import made_between, tiles_moved
from alchemist.passes.registry import Pass, register
from alchemist.passes.undo_rows import row_wise, rows_of
from alchemist.passes.views import View, joined, view_of


@register("heads-of-rows", fusing=True)
class HeadsOfRows(Pass):
    """heads(f(rows(x))) becomes heads'(f(x)), where f works on rows and `heads` rearranges its result: projections of `nn.MultiheadAttention`."""

    def run(self, module: ModuleOp) -> None:
        rewrite(module, _move, "ttir.linear", "ttir.matmul")


def _move(product: Operation) -> None:
    made = product.results[0]
    if row_wise(made) is None:
        return
    before, ahead = view_of(product.operands[0])
    rows = rows_of(before)
    forms = _forms(made)
    if rows is None or forms is None or not any(op.name == "ttir.permute" for op in ahead):
        return
    width, root = shape(made)[-1], before.root
    dims = (*shape(root)[:-1], width)
    b = Builder.after(product)
    b.source = tuple(dict.fromkeys(source for op in forms for source in sources_of(op))) or None
    twin = product.clone()  # of the product on x, to read the new forms from
    block = product.parent
    assert block is not None
    block.insert_op_before(twin, product)
    twin.operands[0] = root
    result = Rewriter.replace_value_with_new_type(twin.results[0], tensor(dims, element_type(made)))
    lifted = View(result, (*(joined((size, stride * width) for size, stride in axis) for axis in rows.axes), joined([(width, 1)])), 0)
    new: list[tuple[Operation, SSAValue]] = []
    for leaf in _leaves(forms):
        view, _ = view_of(leaf.results[0], lambda one: one in forms)
        found = view.through(lifted) if view.root is made else None
        value = found.cut(b) if found is not None else None
        if value is None or shape(value) != shape(leaf.results[0]):
            new = []
            break
        new.append((leaf, value))
    written = _between(result, [value for _, value in new])
    shared = tiles_moved(ahead) / max(len(list(product.operands[0].uses)), 1)
    if not new or tiles_moved(written) >= tiles_moved(forms) + shared:
        for op in [*reversed(_between(result, [use.operation.results[0] for use in result.uses])), twin]:
            if not any(True for value in op.results for _ in value.uses):
                erase(op)
        return
    add_sources(twin, *(op for op in ahead if single_use(op.results[0])))  # what other products read, too, may belong to a module around them
    for leaf, value in new:
        leaf.results[0].replace_all_uses_with(value)


def _forms(value: SSAValue) -> list[Operation] | None:
    """All views of a value and of its views, makers first; None where something else reads it, too, or it is not rearranged."""
    found: list[Operation] = []
    stack = [value]
    while stack:
        users = list(dict.fromkeys(use.operation for use in stack.pop().uses))
        views = [user for user in users if has_trait(user, "view")]
        if not found and len(views) < len(users):
            return None
        found += views
        stack += [view.results[0] for view in views]
    return found if any(op.name == "ttir.permute" for op in found) else None


def _leaves(forms: list[Operation]) -> list[Operation]:
    """Those that something else reads."""
    return [op for op in forms if any(use.operation not in forms for use in op.results[0].uses)]


def _between(value: SSAValue, ends: list[SSAValue]) -> list[Operation]:
    """The views from a value to these ends, makers first, each once."""
    return list(dict.fromkeys(op for end in ends for op in made_between(value, end)))
