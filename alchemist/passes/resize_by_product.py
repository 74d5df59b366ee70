"""TTIR: images that constants make larger or smaller along height and width, as one product of a constant matrix and their pixels."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import element_type, elements, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import has_trait, named
from alchemist.ir.edit import add_sources, erase_dead, functions, replace, single_use
from alchemist.ops.constants import constant_of
from alchemist.ops.evaluate import evaluate
from alchemist.ops.spec import LIFTED_NAME
from alchemist.optimizer.movement import resize_is_faster_by_product
from alchemist.passes.lower.eltwise import ACTIVATION
from alchemist.passes.registry import Pass, register
from alchemist.passes.views import permuted, reshaped

MOST_ENTRIES = 1 << 18
"""Of the matrix, which is found by evaluating the ops on as many values."""
PIXELS_FIRST = ((0, 1, 2, 3), (0, 2, 3, 1))
"""[N, H, W, C] of an image's own dims, which may be [N, C, H, W]."""
RESIZING = ("ttir.matmul", "ttir.embedding", "ttir.upsample2d")
Array = np.ndarray[Any, Any]


@register("resize-by-product", fusing=True)
class ResizeByProduct(Pass):
    """Gathers, products with constants and upsampling along an image's height and width become matmul(matrix, pixels).

    Where the clock prices the product as faster than what the ops take by themselves, without the moves around them. float32 values that are only
    copied stay as they are, unless a product reads them that cuts them as well.
    """

    def run(self, module: ModuleOp) -> None:
        for func in functions(module):
            for op in reversed(list(func.body.block.ops)):
                if op.parent is not None and op.name in named("ttir", "rearrangement") | {*RESIZING} and len(shape(op.results[0])) == 4:
                    _rewrite(op)
            erase_dead(func)


@dataclass(frozen=True, slots=True)
class Resize:
    """What `ops` make of the image `source`, the last one's result. order: the image's dims as [N, H, W, C]."""

    source: SSAValue
    ops: Sequence[Operation]
    order: tuple[int, ...]

    @property
    def result(self) -> SSAValue:
        return self.ops[-1].results[0]

    def sizes(self) -> tuple[int, int, int]:
        """Rows of the matrix, its columns, channels."""
        made, given = ([shape(value)[dim] for dim in self.order] for value in (self.result, self.source))
        return math.prod(made[:3]), math.prod(given[:3]), given[3]

    def apply(self, pixels: Array) -> Array:
        """[N*H*W, C] of the source -> the same of the result."""
        moved = pixels.reshape([shape(self.source)[dim] for dim in self.order])
        environment: dict[SSAValue, Array] = {self.source: moved.transpose(np.argsort(self.order))}
        for op in self.ops:
            for value in op.operands:
                if value not in environment:
                    constant = constant_of(value)
                    assert constant is not None
                    environment[value] = constant
            environment[op.results[0]] = evaluate(op, environment)[0]
        return environment[self.result].transpose(self.order).reshape(-1, pixels.shape[1])

    def matrix(self) -> Array | None:
        """What the ops multiply the pixels by; None where they do something else, such as mixing channels."""
        rows, columns, channels = self.sizes()
        found = np.zeros((rows, columns), np.float32)
        for start in range(0, columns, channels):  # a pixel of its own in every channel
            count = min(channels, columns - start)
            probe = np.zeros((columns, channels), np.float32)
            probe[np.arange(start, start + count), np.arange(count)] = 1
            found[:, start : start + count] = self.apply(probe)[:, :count]
        sample = np.random.default_rng(0).standard_normal((columns, channels)).astype(np.float32)
        return found if np.allclose(self.apply(sample), found @ sample, rtol=1e-4, atol=1e-4) else None


def _rewrite(last: Operation) -> None:
    for resize in _resizes(last):
        rows, columns, channels = resize.sizes()
        element = element_type(resize.source)
        if rows * columns > MOST_ENTRIES or element not in ("f32", "bf16") or element_type(resize.result) != element:
            continue
        if resize.order != PIXELS_FIRST[0] and not _read_by(resize.result, named("ttir", "convolution2d")):
            continue
        if (
            element == "f32"
            and all(has_trait(op, "rearrangement") or _copies(op) for op in resize.ops)
            and not _read_by(resize.result, named("ttir", "convolution2d", "product"))
        ):
            continue
        replaced = [op for op in resize.ops if op.name in RESIZING]
        if resize_is_faster_by_product(rows, columns, channels, element, replaced) and (matrix := resize.matrix()) is not None:
            _replace(resize, matrix)
            return


def _replace(resize: Resize, matrix: Array) -> None:
    (rows, columns, channels), element = resize.sizes(), element_type(resize.source)
    b = Builder.in_place_of(resize.ops[-1])
    pixels = reshaped(b, permuted(b, resize.source, resize.order), (columns, channels))
    constant = {"value": elements(matrix, element), LIFTED_NAME: f"resize_{columns}_to_{rows}_pixels"}
    weights = b.value("ttir.constant", [], constant, [tensor(matrix.shape, element)])
    product = b.make("ttir.matmul", [weights, pixels], {"transpose_a": False, "transpose_b": False}, [tensor((rows, channels), element)])
    add_sources(product, *resize.ops)
    image = reshaped(b, product.results[0], [shape(resize.result)[dim] for dim in resize.order])
    replace(resize.ops[-1], [permuted(b, image, [resize.order.index(dim) for dim in range(4)])])


def _resizes(last: Operation) -> list[Resize]:
    """What ends with `last` and has as many of the ops that do more than move pixels as possible, and of the others no more than needed."""
    ops, found, most = [last], [], 0
    while (value := _image(ops[0])) is not None:
        count = sum(op.name in RESIZING for op in ops)
        if count > most and (here := _between(value, list(ops))):
            found, most = here, count
        maker = value.owner
        if not isinstance(maker, Operation) or maker.name not in named("ttir", "rearrangement") | {*RESIZING} or not single_use(value):
            break
        ops.insert(0, maker)
    return found


def _image(op: Operation) -> SSAValue | None:
    """The operand that is no constant, if it is the only one."""
    found = [value for value in op.operands if constant_of(value) is None]
    return found[0] if len(found) == 1 and ACTIVATION not in op.attributes else None


def _between(source: SSAValue, ops: list[Operation]) -> list[Resize]:
    """In both orders in which an image may have its dims."""
    if len(shape(source)) != 4:
        return []
    given, made = shape(source), shape(ops[-1].results[0])
    return [Resize(source, ops, order) for order in PIXELS_FIRST if given[0] == made[0] and 1 < given[order[3]] == made[order[3]]]


def _copies(op: Operation) -> bool:
    return op.name == "ttir.upsample2d" and access.attr(op, "mode") == "nearest"


def _read_by(value: SSAValue, names: Collection[str]) -> bool:
    return any(use.operation.name in names or (has_trait(use.operation, "view") and _read_by(use.operation.results[0], names)) for use in value.uses)
