"""Fuses elementwise functions into the program of another op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import set_attr, shape
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, all_ops, defining, erase, erase_dead, functions, made_by, replace, single_use
from alchemist.ir.layout import layout_of
from alchemist.ir.location import set_source, sources_of
from alchemist.ir.op_class import short_names
from alchemist.ir.scopes import paths_around
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import NOTE, inline_scalar
from alchemist.optimizer.movement import device_ns
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register
from alchemist.rules.linear import ACTIVATION

# --- dot_general -> matmul, linear + activation. ---


def _as_matmul(op: Operation) -> dict[str, bool] | None:
    """The transpose flags with which a dot_general equals a matmul, else None."""
    lhs, rhs = (len(shape(value)) for value in op.operands)
    batch_l, batch_r = list(access.attr(op, "batch_dims_lhs")), list(access.attr(op, "batch_dims_rhs"))
    contract_l, contract_r = list(access.attr(op, "contract_dims_lhs")), list(access.attr(op, "contract_dims_rhs"))
    count = len(batch_l)
    if batch_l != list(range(count)) or batch_r != batch_l or len(contract_l) != 1 or len(contract_r) != 1:
        return None
    if rhs != count + 2 or (count and lhs != count + 2) or lhs < 2:
        return None
    if contract_l[0] == lhs - 1:
        transpose_a = False
    elif contract_l[0] == lhs - 2 and lhs == count + 2:
        transpose_a = True
    else:
        return None
    return {"transpose_a": transpose_a, "transpose_b": contract_r[0] == rhs - 1}


@register("canonicalize-dots")
class CanonicalizeDots(Pass):
    """dot_general with leading batch dims and one contracted dim becomes matmul."""

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            flags = _as_matmul(op) if op.name == "ttir.dot_general" else None
            if flags is not None:
                b = Builder.in_place_of(op)
                replace(op, [b.op("ttir.matmul", list(op.operands), flags, [op.results[0].type])])


_ACTIVATIONS = short_names("ttir", "fused_behind")
FUSED = {
    "ttir.linear": _ACTIVATIONS | {"gelu_tanh"},
    "ttir.matmul": _ACTIVATIONS | {"gelu_tanh"},
    "ttir.conv2d": _ACTIVATIONS | {"relu6"},
    "ttir.conv1d": _ACTIVATIONS | {"relu6"},
    "ttir.add": {"relu"},
}
"""Op -> activations that its TTNN call supports as an argument."""


@register("fuse-activation", fusing=True)
class FuseActivation(Pass):
    """An activation whose operand has no other use becomes an argument of the op before it."""

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            name = op.name.removeprefix("ttir.")
            if access.attr(op, "alchemist.variant") == "Tanh":
                name = "gelu_tanh"
            source = op.operands[0] if len(op.operands) == 1 else None
            producer = _producer(source) if source is not None else None
            if producer is None or source is None or name not in FUSED[producer.name]:
                continue
            if ACTIVATION in producer.attributes or operand_is_constant(producer):
                continue
            if access.element_type(source) not in ("f32", "bf16", "f16"):
                continue
            set_attr(producer, ACTIVATION, name)
            add_sources(producer, op, before=False)
            replace(op, [source])


def _producer(value: SSAValue) -> Operation | None:
    """The op that computes the value, if it has a single use; for a convolution also through a reshape."""
    producer = defining(value, *FUSED) if single_use(value) else None
    while producer is None and single_use(value) and (view := defining(value, "ttir.reshape")) is not None:
        value = view.operands[0]
        producer = defining(value, "ttir.conv1d", "ttir.conv2d") if single_use(value) else None
    return producer


def operand_is_constant(op: Operation) -> bool:
    """Whether an operand is constant: an add with a constant keeps its activation separate, as scalar adds take none."""
    return op.name == "ttir.add" and any(made_by(value, "constant") is not None for value in op.operands)


# --- TTNN: a chain of elementwise functions and of arithmetic with numbers runs in one program. ---

AFTER = "alchemist.activations"
SCALED = {"multiply": "mul_unary_sfpu", "add": "add_unary_sfpu", "subtract": "sub_unary_sfpu", "divide": "div_unary_sfpu"}
"""Binary op with a number as second operand -> the equivalent unary function."""
REVERSED = {"multiply": "mul_unary_sfpu", "add": "add_unary_sfpu", "subtract": "rsub"}
"""The same with the number as first operand."""
Step = dict[str, Any]


@register("fuse-unary-chain", fusing=True, from_level=1)
class FuseUnaryChain(Pass):
    """tanh(x / 30) * 30 is one unary_chain; a chain behind or in front of a sum or product of equal tensors is an argument of that op.

    From level 1 on, where the clock prices it as faster: a number of a binary op is a tile that a core writes word by word before it begins. Operands of
    other shapes or dtypes than the result are left alone: the library's fused activations are wrong with broadcasts (tt-metal #44823) and mixed dtypes
    (#56738).
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for func in functions(module, const_eval=False):
            fixed = FixedValues(func)  # const-eval makes them once, by ops that name them
            for op in reversed(list(func.body.block.ops)):
                if op.parent is not None and op.results and op.results[0] not in fixed and (step := step_of(op)) is not None:
                    self._fuse(op, step, fixed)
            erase_dead(func)

    def _fuse(self, last: Operation, end: Step, fixed: FixedValues) -> None:
        """The chain that ends with `last`."""
        chain, steps = [last], [end]
        while (before := _maker(chain[0])) is not None and before.results[0] not in fixed and (step := step_of(before)) is not None:
            chain.insert(0, before)
            steps.insert(0, step)
        card = self.options.card
        before_ns = device_ns(chain, card)
        maker = _maker(chain[0])
        if maker is not None and _takes_activations(maker):
            fused = (*(access.attr(maker, AFTER) or ()), *steps)
            if device_ns([maker], card, {AFTER: fused}) < device_ns([maker], card) + before_ns < float("inf"):
                set_attr(maker, AFTER, fused)
                _drop(chain, maker.results[0], maker)
                return
        reader = _only_reader(last)
        if reader is not None and _takes_activations(reader):
            place = list(reader.operands).index(last.results[0])
            fused = (*steps, *(access.attr(reader, ATTRIBUTES[place]) or ()))
            if device_ns([reader], card, {ATTRIBUTES[place]: fused}) < device_ns([reader], card) + before_ns < float("inf"):
                set_attr(reader, ATTRIBUTES[place], fused)
                _drop(chain, chain[0].operands[_tensor_place(chain[0])], reader)
                return
        if len(chain) == 1 and has_trait(last, "chained"):
            return
        cost = "fill a tile with the number" if "params" in end else "read the tensor twice"
        note = f"faster than {last.name}, which would {cost}" if len(chain) == 1 else None
        x = chain[0].operands[_tensor_place(chain[0])]
        chain_op = Builder.before(last).make("ttnn.unary_chain", [x], {"chain": tuple(steps), NOTE: note}, [last.results[0].type])
        set_source(chain_op, *sources_of(last))
        add_sources(chain_op, *reversed(chain[:-1]))
        if device_ns([chain_op], card) < before_ns < float("inf"):
            replace(last, [chain_op.results[0]])
            erase(*chain[:-1])
        else:
            erase(chain_op)


def step_of(op: Operation) -> Step | None:
    """The op as a step of a chain, if it reads and writes tiles of one float type and has no fused activation."""
    name = op.name.removeprefix("ttnn.")
    if len(op.results) != 1 or any(attribute in op.attributes for attribute in (AFTER, *ATTRIBUTES)) or settings(op):
        return None
    if has_trait(op, "chained") and len(op.operands) == 1:
        step: Step = {"op_type": "recip" if name == "reciprocal" else name}
        step |= {"params": (0.0,)} if has_trait(op, "approximated") else {}  # 0 is the library's default
    elif name == "multiply" and op.operands[0] is op.operands[1]:
        step = {"op_type": "square"}
    elif name in SCALED and len(op.operands) == 2:
        numbers = [inline_scalar(value) for value in op.operands]
        if (numbers[0] is None) == (numbers[1] is None):
            return None
        is_reversed = numbers[0] is not None
        if is_reversed and name not in REVERSED:
            return None
        number = numbers[0] if is_reversed else numbers[1]
        assert number is not None
        if name == "divide" and number == 0:
            return None
        step = {"op_type": (REVERSED if is_reversed else SCALED)[name], "params": (float(number),)}
    else:
        return None
    return step if _is_plain(op.operands[_tensor_place(op)], op.results[0]) else None


def _tensor_place(op: Operation) -> int:
    return next(place for place, value in enumerate(op.operands) if inline_scalar(value) is None)


def _is_plain(value: SSAValue, result: SSAValue) -> bool:
    """Whether both tensors have the same shape and type: float tiles, interleaved."""
    layout = layout_of(result.type)
    if layout is None or value.type != result.type:
        return False
    return layout.dtype in ("bf16", "f32") and layout.page == "tile" and not layout.is_sharded


def _maker(op: Operation) -> Operation | None:
    """The op that computes the tensor operand, if it is in the same function and has a single use."""
    value = op.operands[_tensor_place(op)]
    readers = {use.operation for use in value.uses}
    return value.owner if isinstance(value.owner, Operation) and len(readers) == 1 else None


def _only_reader(op: Operation) -> Operation | None:
    return next(iter(op.results[0].uses)).operation if single_use(op.results[0]) else None


def _takes_activations(op: Operation) -> bool:
    """Whether the op is a sum or product of equally shaped tensors, whose activations the library computes correctly."""
    return (
        has_trait(op, "arithmetic")
        and len(op.operands) == 2
        and op.operands[0] is not op.operands[1]
        and all(inline_scalar(value) is None and _is_plain(value, op.results[0]) for value in op.operands)
    )


def _drop(chain: Sequence[Operation], value: SSAValue, into: Operation) -> None:
    """Replaces the chain's result by `value` and erases the chain."""
    add_sources(into, *reversed(chain))
    replace(chain[-1], [value])
    erase(*chain[:-1])


# --- TTNN: an activation of one operand of a product or sum becomes an argument of that op. ---

ATTRIBUTES = ("alchemist.lhs_activations", "alchemist.rhs_activations")


@register("fuse-operand-activation", fusing=True)
class FuseOperandActivation(Pass):
    """multiply(a, silu(b)) is one program: multiply(a, b, input_tensor_b_activations=[SILU]).

    At level 0 also where a product has the activation as its argument: without a program config the library runs it as a program of its own. The
    optimizer's configs put it into the product, which is better still.
    """

    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        for op in all_ops(module):
            if has_trait(op, "arithmetic") and len(op.operands) == 2:
                self._fuse(op)

    def _fuse(self, op: Operation) -> None:
        result = op.results[0]
        if any(inline_scalar(value) is not None or shape(value) != shape(result) or value.type != result.type for value in op.operands):
            return
        for place, attribute in enumerate(ATTRIBUTES):
            value = op.operands[place]
            if attribute in op.attributes or not single_use(value):
                continue
            maker = made_by(value, "activation")
            if maker is not None and maker.operands[0].type == value.type and not settings(maker):
                set_attr(op, attribute, (maker.name.removeprefix("ttnn."),))
                add_sources(op, maker)
                op.operands[place] = maker.operands[0]
                erase(maker)
            elif self.options.optimization_level == 0 and (name := _activation_of_product(value)):
                product = made_by(value, "product")
                assert product is not None
                if paths_around(sources_of(product)) != paths_around(sources_of(op)):
                    continue  # the last op of another module's function stays its result
                del product.properties["activation"]
                set_attr(op, attribute, (name,))


def settings(op: Operation) -> dict[str, Any]:
    """The attributes that parametrize the activation."""
    return {name: value for name, value in access.attrs(op).items() if value is not None and name not in ("memory_config", "dtype", "layout")}


def _activation_of_product(value: SSAValue) -> str:
    product = made_by(value, "product")
    if product is None or "activation" not in product.properties:
        return ""
    name = str(access.attr(product, "activation"))
    return name if f"ttnn.{name}" in named("ttnn", "activation") else ""
