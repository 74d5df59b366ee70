"""Constant folding (shape arithmetic) while lowering, with the standard's reference implementation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from alchemist.frontends.onnx.emitter import Array
from alchemist.frontends.vocabulary import FOLD_LIMIT

ELEMENTWISE = frozenset(
    "Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip Cos Div Equal Erf Exp Floor Greater "
    "GreaterOrEqual Identity IsInf IsNaN Less LessOrEqual Log Max Mean Min Mod Mul Neg Not Or Pow Reciprocal Relu Round Sigmoid Sign "
    "Sin Sqrt Sub Sum Tanh Where Xor".split()
)
MOVES = frozenset(
    "Concat CumSum Flatten ReduceMax ReduceMin ReduceProd ReduceSum ReduceMean Reshape Slice Split Squeeze Transpose Trilu Unsqueeze ArgMax "
    "ArgMin GatherElements NonZero ScatterElements ScatterND TopK Unique".split()
)
"""Ops whose results are not larger than their inputs together."""


def folded_elements(op: str, inputs: Sequence[Array | None], attributes: Mapping[str, Any]) -> int | None:
    """A bound on the elements of an op's results, None where such ops are not computed."""
    shapes = [part.shape for part in inputs if part is not None]
    try:
        if op in ELEMENTWISE:
            return int(math.prod(np.broadcast_shapes(*shapes)))
        if op in MOVES:
            return int(sum(math.prod(shape) * max(len(shape), 1) for shape in shapes))
        if op in ("Gather", "GatherND") and inputs[0] is not None and inputs[1] is not None:
            return int(inputs[1].size) * max(int(inputs[0].size), 1)
        if op == "Expand" and inputs[1] is not None:
            return int(math.prod(np.broadcast_shapes(shapes[0], tuple(int(size) for size in inputs[1].reshape(-1)))))
        if op == "Tile" and inputs[1] is not None:
            return int(math.prod(shapes[0]) * math.prod(int(size) for size in inputs[1].reshape(-1)))
        if op == "Range" and all(part is not None for part in inputs):
            start, end, step = (float(part.reshape(-1)[0]) for part in inputs)  # type: ignore[union-attr]
            return max(math.ceil((end - start) / step), 0) if step and math.isfinite(end - start) else None
        if op == "MatMul":
            return int(math.prod((*np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), *shapes[0][-2:-1], shapes[1][-1])))
    except (ValueError, IndexError, OverflowError):
        return None
    return None


def fold(node: onnx.NodeProto, opset: int, inputs: Sequence[Array | None], attributes: Mapping[str, Any]) -> list[Array] | None:
    """The values of a node on known inputs, None where they are too large or the op is not computed here."""
    size = folded_elements(node.op_type, inputs, attributes)
    if size is None or size > FOLD_LIMIT:
        return None
    names = [name for name in node.input if name]
    feeds = {name: value for name, value in zip(node.input, inputs, strict=True) if name and value is not None}
    outputs = [name for name in node.output if name]
    body = onnx.helper.make_function("", "folded", list(dict.fromkeys(names)), outputs, [node], [onnx.helper.make_opsetid("", opset)])
    try:
        with np.errstate(all="ignore"):
            results: Any = ReferenceEvaluator(body).run(None, feeds, attributes={})
    except (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError, NotImplementedError, ZeroDivisionError):
        return None  # the node's rule reports the error
    return [np.asarray(value) for value in results]
