"""Compares the cost of data movement rewrites, for lowering and passes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ttnn_shim.errors import ShimError
from ttnn_shim.queries import Memory, Spec, query
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.layout import TILE_EDGE, layout_of
from alchemist.ops.library_names import DTYPES
from alchemist.optimizer.calls import NotAskable, ask
from alchemist.optimizer.choose import FAMILIES, choose
from alchemist.optimizer.graph import L1
from alchemist.optimizer.machine import machine
from alchemist.options import CompilerOptions

CARDS = ("n150", "p150")
"""Rewrites at level 0 have to be faster on both cards: an export runs on either."""

UPSAMPLE_L1_SMALL_BYTES = 1 << 15


def resize_is_faster_by_product(rows: int, columns: int, channels: int, dtype: str, replaced: Sequence[Operation]) -> bool:
    """Whether a constant [rows, columns] times the pixels [columns, channels] takes less time than TTIR ops that resize an image, on both cards.

    The moves between those do not count: embeddings of bfloat16 rows, products, and upsampling with the way of its operand out of tiles.
    """
    name = DTYPES[dtype]
    try:
        for card in CARDS:
            product = query("ttnn.matmul", [Spec((rows, columns), name, "tile"), Spec((columns, channels), name, "tile")], card=card).device_ns
            if not 0 < product < sum(_resize_ns(op, name, card) for op in replaced):
                return False
    except ShimError:
        return False
    return True


def _resize_ns(op: Operation, dtype: str, card: str) -> float:
    dims = [shape(value) for value in op.operands]
    if op.name == "ttir.embedding":
        return query("ttnn.embedding", [Spec(dims[0], "uint32", "row_major"), Spec(dims[1], "bfloat16", "row_major")], card=card, layout="tile").device_ns
    if op.name == "ttir.matmul":
        flags = {name: access.attr(op, name) for name in ("transpose_a", "transpose_b")}
        return query("ttnn.matmul", [Spec(sizes, dtype, "tile") for sizes in dims], card=card, **flags).device_ns
    mode, factor = access.attr(op, "mode"), access.attr(op, "scale_factor")
    work = "bfloat16" if mode == "bilinear" else dtype
    padded = (*dims[0][:3], -(-dims[0][3] // TILE_EDGE) * TILE_EDGE) if mode == "bilinear" else dims[0]
    flat = Spec((1, 1, math.prod(dims[0][:3]), dims[0][3]), work, "tile")
    out_of_tiles = query("ttnn.to_layout", [flat, "row_major"], card=card).device_ns
    scale = list(factor) if isinstance(factor, Sequence) else factor
    return (
        out_of_tiles + query("ttnn.upsample", [Spec(padded, work, "row_major"), scale], card=card, l1_small_bytes=UPSAMPLE_L1_SMALL_BYTES, mode=mode).device_ns
    )


def reshapes_rows(dims: Sequence[int], to: Sequence[int], dtype: str, card: str) -> bool:
    """Whether the library has room for a reshape of row-major values: it holds two rows in L1."""
    return query("ttnn.reshape", [Spec(tuple(dims), DTYPES[dtype], "row_major"), tuple(to)], card=card).accepted


def device_ns(ops: Iterable[Operation], card: str, changed: Mapping[str, Any] | None = None, **elsewhere: Any) -> float:
    """Of the ops one after another as they stand; infinite where one is refused, has no model or is no call that can be asked about.

    changed: attributes instead of the ops' own. elsewhere: memories and taken L1, as `ask` has them.
    """
    return sum((_price(op, card, changed, **elsewhere).ns for op in ops), 0.0)


@dataclass(frozen=True, slots=True)
class Price:
    """ns: infinite where an op is refused, has no model or is no call that can be asked about. error_ns: what another price of the same work must
    differ by (`ratio_error`)."""

    ns: float
    error_ns: float = 0.0


FREE = Price(0.0)


def price_of(op: Operation, options: CompilerOptions, card: str = "") -> Price:
    """As the op will stand: from level 1 on a product has the program config that it gets, from level 2 on others have tensors in L1 if that is faster."""
    card = card or options.card
    level = options.optimization_level
    if level and op.name in FAMILIES and (decision := choose(op, machine(card), options.tensor_l1_usage_cap)) is not None:
        chosen = decision.chosen
        return Price(chosen.ns, chosen.answer.ratio_error_ns) if all(program.modelled for program in chosen.answer.programs) else Price(math.inf)
    everywhere: list[Memory | None] = [None, L1] if level > 1 else [None]
    places = [{} if memory is None else {"operands": dict.fromkeys(range(len(op.operands)), memory), "results": memory} for memory in everywhere]
    return min((_price(op, card, None, **place) for place in places), key=lambda price: price.ns)


def _price(op: Operation, card: str, changed: Mapping[str, Any] | None, **elsewhere: Any) -> Price:
    try:
        answer = ask(op, card, changed, **elsewhere)
    except (NotAskable, ShimError):
        return Price(math.inf)
    is_modelled = answer.accepted and all(program.modelled for program in answer.programs)
    return Price(answer.device_ns, answer.ratio_error_ns) if is_modelled else Price(math.inf)


def lies_in_tiles(value: SSAValue, dtypes: Collection[str]) -> bool:
    """Whether the tensor is tiled and interleaved in DRAM, with one of these element types."""
    of = layout_of(value.type)
    return of is not None and len(shape(value)) > 0 and (of.page, of.buffer, of.is_sharded) == ("tile", "dram", False) and of.dtype in dtypes


def are_faster(new_ops: Iterable[Operation], replaced: Iterable[Operation], options: CompilerOptions) -> bool:
    """Whether the new ops take less time than those that they replace, at level 0 on both cards; False without a price."""
    new, old = list(new_ops), list(replaced)

    def total_ns(ops: list[Operation], card: str) -> float:
        return sum(price_of(op, options, card).ns for op in ops)

    return all(total_ns(new, card) < total_ns(old, card) < math.inf for card in ((options.card,) if options.optimization_level else CARDS))


def is_faster_with(op: Operation, changed: Mapping[str, Any], card: str) -> bool:
    """Whether these attributes make the op faster on a card that its config is valid for."""
    return device_ns([op], card, changed) < device_ns([op], card) < math.inf
