"""One table: op, inputs, attributes, opset. Everything that has a rule is in it (`test_ops.py` counts)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from alchemist.frontends.onnx.reference import corrected

F32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Values:
    """A model input. kind: "normal", "unit" (inside -1 and 1), "positive" (above 1), "index" (below `high`), "from the end" (-1 to -`high`), "bool", "one or zero", "grid" (halves)."""

    shape: tuple[int, ...]
    kind: str = "normal"
    high: int = 8
    dtype: str = "float32"

    def make(self, seed: int) -> np.ndarray[Any, Any]:
        rng = np.random.default_rng(seed)
        match self.kind:
            case "unit":
                return rng.uniform(-0.9, 0.9, self.shape).astype(self.dtype)
            case "positive":
                return rng.uniform(1.1, 3.0, self.shape).astype(self.dtype)
            case "index":
                return rng.integers(0, self.high, self.shape).astype(self.dtype if self.dtype != "float32" else "int64")
            case "from the end":
                return rng.permuted(-1 - np.arange(math.prod(self.shape)).reshape(self.shape) % self.high, axis=0).astype(self.dtype)
            case "bool":
                return rng.integers(0, 2, self.shape).astype(np.bool_)
            case "one or zero":
                return rng.integers(0, 2, self.shape).astype(self.dtype)
            case "grid":
                return (rng.integers(-6, 7, self.shape) / 2).astype(self.dtype)
            case _:
                return rng.standard_normal(self.shape).astype(self.dtype)


Input = Values | np.ndarray | None


@dataclass(frozen=True, eq=False)
class Case:
    """inputs: `Values` (an input), an array (an initializer), None (left out). outputs: how many; the op's name says the rest."""

    op: str
    inputs: tuple[Input, ...]
    attributes: dict[str, Any]
    opset: int = 18
    outputs: int = 1

    @property
    def label(self) -> str:
        shapes = "_".join("x".join(map(str, one.shape)) or "scalar" for one in self.inputs if isinstance(one, Values))
        words = "-".join(f"{key}={_word(value)}" for key, value in self.attributes.items())
        return f"{self.op}-{self.opset}-{shapes}" + (f"-{words}" if words else "")


def _word(value: Any) -> str:
    return str(value).replace(" ", "") if not isinstance(value, onnx.TensorProto) else "tensor"


CASES: list[Case] = []


def case(op: str, *inputs: Any, opset: int = 18, outputs: int = 1, **attributes: Any) -> None:
    """Tuples of sizes are normal numbers."""
    made = tuple(Values(one) if isinstance(one, tuple) else one for one in inputs)
    CASES.append(Case(op, made, attributes, opset, outputs))


def unit(*shape: int) -> Values:
    return Values(shape, "unit")


def positive(*shape: int) -> Values:
    return Values(shape, "positive")


def index(high: int, *shape: int) -> Values:
    return Values(shape, "index", high)


def boolean(*shape: int) -> Values:
    return Values(shape, "bool")


def i64(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def f32(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def weight(*shape: int) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(len(shape)).standard_normal(shape) / 3).astype(np.float32)


ARC = np.random.default_rng(7).uniform(0, 6, (1, 5, 4)).astype(np.float32)

# --- elementwise --------------------------------------------------------------------------------------------------------------

SHAPES = ((1, 31), (2, 3, 33), (32,), (33, 1))
for _i, _op in enumerate("Abs Ceil Cos Erf Exp Floor Neg Relu Sigmoid Sign Sin Tanh Softplus Softsign Sinh Cosh HardSwish Identity Atan Asinh".split()):
    case(_op, SHAPES[_i % 4], opset=(14, 18, 21, 24, 28)[_i % 5])
for _i, _op in enumerate("Acos Asin Atanh Tan".split()):
    case(_op, unit(*SHAPES[_i]), opset=13 + _i)
for _op in ("Log", "Sqrt", "Reciprocal", "Acosh"):
    case(_op, positive(3, 33))
case("Mish", (2, 33), opset=18)
case("Round", Values((4, 31), "grid"))
case("IsNaN", (3, 4), opset=13)
case("IsInf", (3, 4), opset=20, detect_negative=0)
for _i, _op in enumerate("Add Sub Mul Div".split()):
    case(_op, (2, 1, 33), (31, 1) if _op != "Div" else positive(31, 1), opset=13 + _i)
    case(_op, (3, 32), np.array(1.5, np.float32))
case("Div", Values((3, 8), "index", 40), i64(3), opset=14)
case("Mod", Values((3, 8), "index", 40), i64(3))
case("Mod", (3, 8), f32(0.75), fmod=1)
case("Pow", (2, 31), f32(2.0), opset=13)
case("Pow", positive(2, 31), (2, 31), opset=15)
case("BitShift", Values((2, 8), "index", 9, "uint32"), np.array([2], np.uint32), direction="LEFT")
for _op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    case(_op, Values((2, 8), "index", 99, "int32"), Values((2, 8), "index", 99, "int32"), opset=18)
case("BitwiseNot", Values((2, 8), "index", 99, "int32"), opset=18)
for _op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
    case(_op, Values((3, 33), "grid"), Values((33,), "grid"), opset=16)
for _op in ("And", "Or", "Xor"):
    case(_op, boolean(3, 33), boolean(3, 33))
case("Not", boolean(3, 33))
for _op in ("Max", "Min", "Sum", "Mean"):
    case(_op, (3, 33), (3, 33), (33,), opset=13)
case("Where", boolean(3, 1), (3, 33), (33,), opset=16)
case("Clip", (3, 33), np.array(-0.5, np.float32), np.array(0.75, np.float32), opset=13)
case("Clip", (3, 33), None, np.array(0.25, np.float32))
case("Clip", (3, 33), np.array(0, np.float32), np.array(6, np.float32))
case("Cast", Values((3, 33), "grid"), to=onnx.TensorProto.INT32, opset=13)
case("Cast", boolean(3, 33), to=onnx.TensorProto.FLOAT, opset=19)
case("CastLike", index(9, 3, 33), (1,), opset=15)
case("Dropout", (3, 33), opset=13)
case("Gelu", (3, 33), opset=20)
case("Gelu", (3, 33), opset=20, approximate="tanh")
case("LeakyRelu", (3, 33), opset=16, alpha=0.2)
case("PRelu", (2, 3, 5), weight(3, 1), opset=16)
case("Elu", (3, 33), alpha=0.5)
case("Celu", (3, 33), alpha=2.0)
case("Selu", (3, 33))
case("HardSigmoid", (3, 33))
case("HardSigmoid", (3, 33), alpha=1 / 6)
case("ThresholdedRelu", (3, 33), alpha=0.3)
case("Shrink", (3, 33), lambd=0.4, bias=0.1)

# --- shapes -------------------------------------------------------------------------------------------------------------------

case("Reshape", (2, 3, 32), i64(0, -1), opset=14)
case("Flatten", (2, 3, 5, 4), axis=2)
case("Squeeze", (1, 33, 1), i64(-1), opset=13)
case("Squeeze", (1, 33, 1))
case("Unsqueeze", (33,), i64(0, 2), opset=13)
case("Transpose", (2, 31, 33), perm=[2, 0, 1])
case("Transpose", (2, 31))
case("Concat", (2, 31), (2, 1), (2, 32), axis=1)
case("Expand", (33, 1), i64(2, 1, 31))
case("Tile", (2, 31), i64(2, 3))
case("Slice", (4, 33), i64(1, -20), i64(4, 1000), i64(0, 1), i64(2, 3), opset=13)
case("Slice", (4, 33), i64(-1), i64(-(2**63)), i64(1), i64(-2))
case("Split", (2, 33), i64(1, 32), opset=13, outputs=2, axis=1)
case("Split", (2, 33), opset=18, outputs=2, axis=1, num_outputs=2)
case("Split", (4, 31), opset=13, outputs=2)
case("Pad", (2, 3, 5), i64(0, 1, 2, 0, 0, 1), np.array(0.5, np.float32), opset=13)
case("Pad", (2, 3, 7), i64(2, 1), None, i64(2), opset=18, mode="reflect")
case("Pad", (2, 3, 7), i64(2, 1), None, i64(1), opset=19, mode="edge")
case("Pad", (2, 3, 7), i64(2, 1), None, i64(2), opset=21, mode="wrap")
case("DepthToSpace", (1, 8, 3, 4), blocksize=2)
case("DepthToSpace", (1, 8, 3, 4), blocksize=2, mode="CRD")
case("SpaceToDepth", (1, 2, 4, 6), blocksize=2)
case("Trilu", (2, 5, 7), np.array(1, np.int64))
case("Trilu", (5, 33), upper=0)
case("CenterCropPad", (3, 8), i64(5, 9), opset=18)

# --- reductions ---------------------------------------------------------------------------------------------------------------

for _op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"):
    case(_op, (2, 3, 33), opset=13, axes=[-1])
    case(_op, (2, 3, 31), i64(0, 2), opset=18, keepdims=0)
case("ReduceLogSum", positive(2, 33), i64(1), opset=18)
case("ReduceSum", (2, 3, 33), i64(1), opset=13)
case("ReduceSum", (2, 3, 33), opset=13, keepdims=0)
case("ReduceMax", boolean(3, 33), i64(1), opset=20)
case("ArgMax", (3, 33), axis=1)
case("ArgMin", (3, 33), axis=1, keepdims=0)
case("ArgMax", Values((3, 8), "grid"), axis=1, select_last_index=1)
case("CumSum", (3, 31), np.array(1, np.int64), opset=14)
case("CumSum", (3, 31), np.array(0, np.int64), exclusive=1, reverse=1)
case("TopK", (3, 33), i64(5), outputs=2)
case("TopK", (3, 33), i64(4), outputs=2, largest=0)
case("Softmax", (2, 33, 3), opset=13, axis=1)
case("Softmax", (2, 31), opset=13)
case("LogSoftmax", (2, 33), opset=13)
case("Hardmax", (3, 33))

# --- products -----------------------------------------------------------------------------------------------------------------

case("MatMul", (2, 3, 33), (33, 31))
case("MatMul", (33,), (33, 5))
case("MatMul", (2, 5, 33), weight(2, 33, 1))
case("Gemm", (3, 33), weight(31, 33), weight(31), transB=1)
case("Gemm", (33, 3), weight(33, 31), weight(3, 1), transA=1, alpha=0.5, beta=2.0)
case("Einsum", (2, 3, 33), (2, 33, 5), equation="bij,bjk->bik")
case("Einsum", (2, 4, 3, 8), (2, 5, 3, 8), equation="bqhd,bkhd->bhqk")
case("Einsum", (3, 5), (5,), (4, 3), equation="ij,j,ki->k")
case("Einsum", (2, 3, 4), equation="...ij->...ji")
case("Einsum", (2, 3, 4), (4, 5), equation="bij,jk")
case("Einsum", (2, 6, 3, 4), (2, 6, 4, 5), equation="...ij,...jk->...ik")
case("Einsum", (3, 4), (4,), (4, 5), (3,), equation="ab,b,bc,a->ca")
case("Einsum", (2, 3), (4, 5), equation="ab,cd->adcb")
case("Einsum", (2, 3, 4), (4, 5), equation="...j,jk")
case("ReduceMean", Values((3, 7), "index", 100, "int32"), np.array([1]))
case("Einsum", (2, 3, 4), equation="abc->b")

# --- images -------------------------------------------------------------------------------------------------------------------

case("Conv", (2, 3, 9, 8), weight(4, 3, 3, 3), weight(4), pads=[1, 1, 1, 1])
case("Conv", (1, 4, 9, 9), weight(8, 2, 3, 3), group=2, strides=[2, 2], pads=[0, 1, 1, 0])
case("Conv", (1, 3, 10, 9), weight(4, 3, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
case("Conv", (1, 3, 33), weight(4, 3, 3), dilations=[2], pads=[2, 1])
case("Conv", (1, 2, 4, 5, 6), weight(3, 2, 2, 2, 2))
case("ConvTranspose", (1, 3, 5, 4), weight(3, 4, 3, 3), weight(4), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
case("ConvTranspose", (1, 3, 5, 4), weight(3, 2, 3, 3), strides=[2, 2], pads=[0, 1, 1, 1])
case("ConvTranspose", (1, 3, 5), weight(3, 2, 3), strides=[2])
case("ConvTranspose", (1, 3, 5, 4), weight(3, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER")
case("ConvTranspose", (1, 3, 5, 4), weight(3, 2, 4, 4), strides=[2, 3], auto_pad="SAME_LOWER")
case("ConvTranspose", (1, 4, 5, 4), weight(4, 3, 3, 3), weight(3), strides=[1, 2], pads=[2, 0, 1, 1])
case("MaxPool", (1, 3, 8, 9), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
case("MaxPool", (1, 3, 8, 9), kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
case("MaxPool", (1, 3, 12), kernel_shape=[3], strides=[2], ceil_mode=1)
case("MaxPool", (1, 2, 4, 6, 5), kernel_shape=[2, 3, 2], strides=[2, 1, 2], pads=[1, 1, 0, 1, 1, 0])
case("AveragePool", (1, 2, 4, 6, 5), kernel_shape=[2, 3, 2], strides=[1, 2, 2], opset=13)
case("AveragePool", (1, 2, 4, 6, 5), kernel_shape=[2, 2, 3], pads=[1, 0, 1, 0, 1, 1], opset=13)
case("AveragePool", (1, 2, 9), kernel_shape=[4], strides=[2], pads=[1, 2], opset=13)
case("AveragePool", (1, 3, 8, 9), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], opset=19)
case("AveragePool", (1, 3, 8, 8), kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1], opset=13)
case("AveragePool", (1, 3, 8, 8), kernel_shape=[2, 2], pads=[1, 1, 0, 0], count_include_pad=1)
case("LpPool", (1, 3, 8, 8), kernel_shape=[2, 2], strides=[2, 2], opset=18)
for _op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    case(_op, (2, 3, 5, 6))
NO = np.zeros(0, np.float32)
case("Resize", (1, 3, 4, 5), None, f32(1, 1, 2, 2), opset=13, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
case("Resize", (1, 3, 4, 5), NO, None, i64(1, 3, 8, 10), opset=18, mode="linear")
case("Resize", (1, 3, 8, 8), None, None, i64(5, 11), opset=18, mode="cubic", axes=[2, 3], cubic_coeff_a=-0.5)
case("Resize", (1, 3, 4, 5), None, f32(1, 1, 1.5, 3), opset=19, mode="linear", coordinate_transformation_mode="align_corners")
case("Resize", (1, 3, 8, 8), None, f32(1, 1, 0.5, 0.5), opset=19, mode="linear", antialias=1)
case("GridSample", (1, 3, 6, 7), Values((1, 4, 5, 2), "unit"), opset=16, mode="bilinear")
case("GridSample", (2, 3, 6, 7), (2, 4, 5, 2), opset=20, mode="linear", padding_mode="border", align_corners=1)
case("GridSample", (1, 3, 6, 7), (1, 4, 5, 2), opset=20, mode="nearest", padding_mode="reflection")
case("GridSample", (1, 2, 6, 7), (1, 3, 3, 2), opset=20, mode="cubic", padding_mode="zeros")
case("GridSample", (1, 2, 3, 4, 5), (1, 2, 2, 3, 3), opset=20, mode="linear", padding_mode="reflection", align_corners=1)

# --- normalisations -----------------------------------------------------------------------------------------------------------

PER_CHANNEL = (np.abs(weight(4)) + 0.5, weight(4), weight(4), np.abs(weight(4)) + 0.5)
case("BatchNormalization", (2, 4, 5, 6), *PER_CHANNEL, opset=14)
case("BatchNormalization", (2, 4, 33), *PER_CHANNEL, opset=15, epsilon=1e-3)
case("LayerNormalization", (2, 3, 33), weight(33), weight(33), opset=17)
case("LayerNormalization", (2, 3, 32), weight(3, 32), opset=17, axis=1, epsilon=1e-3)
case("InstanceNormalization", (2, 4, 5, 6), weight(4), weight(4))
case("GroupNormalization", (2, 8, 4, 4), weight(8), weight(8), opset=21, num_groups=2)
case("LRN", (1, 6, 4, 4), size=3)
case("LpNormalization", (3, 33), axis=1)
case("LpNormalization", (3, 33), axis=1, p=1)
case("LpNormalization", Values((2, 33), "one or zero"), axis=0, opset=22)
case("RMSNormalization", (2, 5, 33), weight(33), opset=23, epsilon=1e-5)
case("RotaryEmbedding", (1, 2, 5, 8), np.cos(ARC), np.sin(ARC), opset=23)
case("Attention", (1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8), opset=23)
case("Attention", (1, 4, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8), opset=24, is_causal=1, scale=0.2)
case("Swish", (3, 33), opset=24, alpha=1.5)
case("CumProd", (3, 5), np.array(1), opset=26)
case("CumProd", (3, 5), np.array(0), opset=26, exclusive=1, reverse=1)
case("MeanVarianceNormalization", (2, 3, 4, 5), opset=13, axes=[0, 2, 3])

# --- look-ups -----------------------------------------------------------------------------------------------------------------

case("Gather", weight(16, 32), index(16, 2, 5))
case("Gather", (3, 33, 4), i64(1, 2, 3), axis=1)
case("Gather", (3, 33), np.array(-1, np.int64), axis=1)
case("GatherElements", (3, 8), index(8, 3, 4), axis=1)
case("GatherND", (4, 5, 32), index(4, 6, 2))
case("GatherND", (2, 5, 8), index(5, 2, 3, 1), batch_dims=1)
case("ScatterElements", (4, 8), i64(1, 3, 5, 7, 0, 2, 4, 6).reshape(1, 8) % 4, (1, 8), axis=0)
case("ScatterElements", (4, 8), i64(0, 0, 1, 2).reshape(4, 1), (4, 1), axis=1, opset=16, reduction="add")
case("ScatterND", (5, 32), i64(1, 3).reshape(2, 1), (2, 32))
case("ScatterND", (4, 4, 8), i64(0, 1, 2, 3).reshape(2, 2), (2, 8), opset=16, reduction="add")
case("OneHot", index(7, 3, 4), np.array(7, np.int64), f32(0, 1))
case("OneHot", index(7, 5), np.array(7, np.int64), f32(-1, 2), axis=0)
case("Compress", (4, 33), np.array([True, False, True, True]), axis=0)
case("ReverseSequence", (5, 2, 3), i64(3, 5))

# --- quantisation, recurrent layers -------------------------------------------------------------------------------------------

case("QuantizeLinear", (3, 33), np.array(0.05, np.float32), np.array(128, np.uint8), opset=13)
case("QuantizeLinear", (3, 33), np.array(0.05, np.float32), opset=13)
case("DequantizeLinear", Values((3, 4), "index", 200, "uint8"), weight(4), np.array([1, 2, 3, 4], np.uint8), opset=19, axis=1)
BYTES = Values((4, 33), "index", 12, "uint8")
WHOLE = np.random.default_rng(7).integers(-7, 8, (33, 5)).astype(np.int8)
case("MatMulInteger", BYTES, WHOLE, opset=13)
ALL_BYTES = Values((4, 133), "index", 256, "uint8")  # their sums have 23 bits
case("MatMulInteger", ALL_BYTES, np.random.default_rng(7).integers(-128, 128, (133, 5)).astype(np.int8), np.array(3, np.uint8), opset=13)
case("MatMulInteger", BYTES, WHOLE, np.array([[3], [0], [9], [7]], np.uint8), np.arange(5).astype(np.int8), opset=13)
case(
    "QLinearMatMul",
    BYTES,
    f32(0.02),
    np.array(5, np.uint8),
    WHOLE,
    f32(*[0.01, 0.02, 0.005, 0.01, 0.03]),
    np.array([0, 1, 0, -3, 0], np.int8),
    np.array(0.05, np.float32),
    np.array(3, np.uint8),
    opset=21,
)
PIXELS, KERNEL = Values((1, 3, 6, 6), "index", 12, "uint8"), WHOLE[:, :4].reshape(-1)[:108].reshape(4, 3, 3, 3)
case("ConvInteger", PIXELS, KERNEL, np.array(5, np.uint8), np.array([0], np.int8), opset=13, pads=[1, 1, 1, 1])
case(
    "ConvInteger",
    Values((1, 9, 6, 6), "index", 256, "uint8"),
    np.random.default_rng(8).integers(-128, 128, (4, 9, 3, 3)).astype(np.int8),
    opset=13,
    strides=[2, 2],
)
case(
    "QLinearConv",
    PIXELS,
    f32(0.02),
    np.array(5, np.uint8),
    KERNEL,
    f32(0.01, 0.02, 0.005, 0.03),
    np.array([0, 1, 0, -3], np.int8),
    np.array(0.05, np.float32),
    np.array(3, np.int8),
    np.array([10, -10, 300, 0], np.int32),
    opset=13,
    pads=[1, 1, 1, 1],
    strides=[2, 2],
)
for _op, _gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    for _way, _count in (("forward", 1), ("bidirectional", 2)):
        _parts = (weight(_count, 8 * _gates, 5), weight(_count, 8 * _gates, 8), weight(_count, 16 * _gates))
        _more = {"linear_before_reset": 1} if _op == "GRU" and _way == "forward" else {}
        case(_op, (3, 2, 5), *_parts, opset=14, outputs=3 if _op == "LSTM" else 2, hidden_size=8, direction=_way, **_more)
    _parts, _states = (weight(1, 8 * _gates, 5), weight(1, 8 * _gates, 8)), (weight(1, 2, 8),) * (2 if _op == "LSTM" else 1)
    case(_op, (3, 2, 5), *_parts, opset=14, outputs=2, hidden_size=8, direction="reverse")
    case(_op, (3, 2, 5), *_parts, weight(1, 16 * _gates), i64(3, 3).astype(np.int32), *_states, opset=14, outputs=2, hidden_size=8)
    case(_op, (1, 2, 5), *_parts, None, None, *_states, opset=14, outputs=2, hidden_size=8)

    # By batches first.
    _states = tuple(weight(2, 1, 8) for _ in _states)
    case(_op, (2, 3, 5), *_parts, None, None, *_states, opset=14, outputs=3 if _op == "LSTM" else 2, hidden_size=8, layout=1)

# --- forms that are nothing to do, and bounds -----------------------------------------------------------------------------------

case("IsInf", (3, 4), opset=20)
case("IsInf", (3, 4), opset=20, detect_negative=0, detect_positive=0)
case("Add", (3, 33), f32(0))
case("Mul", f32(1), (3, 33))
case("Div", (3, 33), f32(1))
case("Pow", (3, 33), f32(1))
case("Where", np.ones((3, 1), np.bool_), (33,), (3, 33), opset=16)
case("Where", np.zeros((3, 1), np.bool_), (33,), (3, 33), opset=16)
case("Gather", (5, 3), i64(-1, 0, -5), axis=0)
case("Compress", (3, 4), np.array([True, False, True, True, False, False, True]))
case("Tile", (1, 33), i64(4, 1))
case("Gemm", (3, 33), weight(33, 31), alpha=0.5)
case("Gemm", (3, 33), weight(33, 31), weight(31), beta=0.0, alpha=2.0)
case("Gemm", (3, 33), weight(33, 31), weight(31), beta=3.0)
case("Gemm", (3, 33), weight(33, 31), weight(1), alpha=1.0)
case("ReduceSum", (3, 33), None, noop_with_empty_axes=1)
case("MaxPool", (1, 2, 9, 9), kernel_shape=[3, 3], strides=[2, 2], auto_pad="VALID")
case("AveragePool", (1, 2, 9, 9), kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER")
case("AveragePool", (1, 2, 9, 9), kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
case("Clip", (3, 33), np.array(0.5, np.float32), np.array(-0.5, np.float32))
case("Clip", i64(-5, 3, 9, 2**30), np.array(-(2**62)), np.array(2**62))
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
case("Resize", (1, 2, 7, 7), f32(0, 0, 0.4, 0.2, 1, 1, 0.9, 0.8), None, i64(1, 2, 4, 3), opset=19, **CROP)
case("Resize", (1, 2, 7, 6), f32(0, 0, -0.3, 0.2, 1, 1, 0.9, 1.4), None, i64(1, 2, 7, 6), opset=13, extrapolation_value=7.0, **CROP)
case("Resize", (1, 2, 7, 6), f32(0.9, -0.1, 0.5, 1.2), f32(2, 1.5), opset=18, axes=[3, 2], extrapolation_value=-1.0, **CROP | {"mode": "cubic"})
case("Resize", (1, 2, 7, 7), f32(0, 0, 0, 0, 1, 1, 1, 1), f32(1, 1, 2, 2), opset=19, **CROP)
for policy in ("not_larger", "not_smaller"):
    case("Resize", (1, 2, 7, 5), None, None, i64(5, 4), opset=19, mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)
    case("Resize", (1, 2, 6, 9), None, None, i64(3, 20), opset=18, mode="cubic", axes=[2, 3], keep_aspect_ratio_policy=policy)
    case("Resize", (1, 1, 6, 9), None, None, i64(1, 1, 11, 20), opset=19, mode="nearest", keep_aspect_ratio_policy=policy)
case("Resize", (1, 2, 8, 8), None, f32(1, 1, 1, 2), opset=19, mode="linear", coordinate_transformation_mode="align_corners")
case("Resize", (1, 2, 8, 8), None, f32(1, 1, 1, 1), opset=19)
case("Resize", (1, 3, 4, 5), None, f32(1, 1, 2.2, 2), opset=19, mode="linear")
case("Resize", (1, 2, 4, 5), None, None, i64(1, 2, 7, 5), opset=19, mode="linear")
case("Resize", (1, 2, 4, 5), None, f32(1, 1, 1.5, 1), opset=19, mode="cubic")
case("Resize", (1, 2, 4, 4), None, f32(1, 2, 2, 2), opset=19)
case("Resize", (1, 2, 4, 4), None, f32(1, 1, 2, 2), opset=19, coordinate_transformation_mode="half_pixel", nearest_mode="ceil")
case("Resize", (1, 2, 4, 4), None, f32(1, 1, 2, 2), opset=19, coordinate_transformation_mode="asymmetric", nearest_mode="round_prefer_ceil")
case("GatherElements", (3, 8), i64(-1, 0, -8, 7, 2, -2).reshape(3, 2), axis=1)
for _op, _shape, _updates in (
    ("Gather", (3,), ()),
    ("GatherElements", (3, 3), ()),
    ("GatherND", (4, 2), ()),
    ("ScatterElements", (3, 3), ((3, 3),)),
    ("ScatterND", (1, 2), ((1,),)),
):
    case(_op, (5, 3), Values(_shape, "from the end", 3, "int64"), *_updates)
case("GatherND", (4, 5), index(4, 6, 2))
case("GatherND", (4, 5), i64(-1, 0, 2, -5, 3, 4).reshape(3, 2))
case("GatherND", (2, 3, 5, 8), index(5, 2, 3, 4, 1), batch_dims=2)
case("ScatterND", (4, 5), i64(-1, 0, 2, -2).reshape(2, 2), (2,))
case("ScatterElements", (4, 8), i64(-1, 0, 1, -3).reshape(4, 1), (4, 1), axis=1, opset=18, reduction="mul")
case("QuantizeLinear", (3, 33), np.array(0.05, np.float32), np.array(-3, np.int8), opset=13)
case("QuantizeLinear", (3, 4), np.array([0.5, 0.1, 0.05, 0.2], np.float32), np.array([1, 0, -3, 9], np.int8), opset=13)
case("QuantizeLinear", (3, 4), np.array([0.5, 0.1, 0.05], np.float32), np.zeros(3, np.uint8), opset=19, axis=-2)
case("QuantizeLinear", (3, 33), np.array([1e-4], np.float32), np.array(-300, np.int16), opset=21)
case("DequantizeLinear", Values((3, 4), "index", 100, "int8"), np.array(0.5, np.float32), opset=13)
case("DequantizeLinear", Values((3, 4), "index", 100, "int8"), weight(3), np.zeros(3, np.int8), opset=13, axis=0)
case("Split", (2, 33), opset=18, outputs=3, axis=1, num_outputs=3)
case("Split", (2, 10), opset=18, outputs=3, axis=-1, num_outputs=3)
case("Slice", (4, 33), i64(2), i64(-(2**63)), i64(0), i64(-1))
case("Slice", (4, 33), i64(1), i64(0), i64(0), i64(-1))
case("Trilu", (5, 7), np.array(-2, np.int64), upper=0)
case("Trilu", (5, 7), np.array(-2, np.int64))
case("LpNormalization", (3, 33), axis=0)
case("ReduceL2", (2, 3, 31), opset=18)
case("ReduceL1", (2, 3, 31), opset=13, keepdims=0)


# --- models -------------------------------------------------------------------------------------------------------------------


def model_of(cases: Sequence[Case], opset: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray[Any, Any]]]:
    """The cases side by side in one graph, and values of its inputs."""
    nodes, inputs, outputs, initializers, values = [], [], [], [], {}
    for number, one in enumerate(cases):
        names = []
        for position, given in enumerate(one.inputs):
            name = f"in_{number}_{position}"
            if given is None:
                names.append("")
                continue
            names.append(name)
            if isinstance(given, Values):
                values[name] = given.make(17 * number + position)
                kind = helper.np_dtype_to_tensor_dtype(values[name].dtype)
                inputs.append(helper.make_tensor_value_info(name, kind, given.shape))
            else:
                initializers.append(numpy_helper.from_array(given, name))
        results = [f"out_{number}_{place}" for place in range(one.outputs)]
        nodes.append(helper.make_node(one.op, names, results, f"case_{number}", **one.attributes))
        outputs += [onnx.ValueInfoProto(name=name) for name in results]
    graph = helper.make_graph(nodes, "cases", inputs, outputs, initializers)
    bare = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    with np.errstate(all="ignore"):
        made = ReferenceEvaluator(bare, new_ops=corrected(opset)).run(None, values)
    for value, array in zip(bare.graph.output, made, strict=True):  # type: ignore[arg-type]
        array = np.asarray(array)
        value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    return bare, values
