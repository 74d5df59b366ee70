"""The ops that ttnn.jit takes (tt-mlir, tools/ttnn-jit, supported_ops.py), and their names elsewhere."""

from __future__ import annotations

UNARY = ("abs", "exp", "neg", "sqrt", "rsqrt", "log", "cos", "erf", "erfc", "sign", "sin", "ceil", "floor", "tanh", "tan", "sigmoid", "hardsigmoid",
         "relu", "reciprocal", "gelu", "silu", "logical_not", "bitwise_not", "clamp")  # fmt: skip
BINARY = ("add", "multiply", "subtract", "divide", "div", "pow", "eq", "ne", "gt", "ge", "lt", "le", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum",
          "minimum")  # fmt: skip
REDUCTIONS = ("sum", "mean", "max", "min")
MOVES = ("permute", "transpose", "reshape", "rearrange", "concat", "repeat", "embedding")
SUPPORTED = frozenset((*UNARY, *BINARY, *REDUCTIONS, *MOVES, "matmul"))

BITWISE = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"))
_FLOATS = ("BFLOAT16", "FLOAT32", "BFLOAT8_B")

TTIR = {"divide": "div", "clamp": "clamp_scalar"}
"""Names of TTIR that differ from TT-NN's."""

# Functions of the clock's tables (ttnn_shim/arch/sfpu.csv), or of the FPU.
_FUNCTION = {"reciprocal": "RECIP", "logical_not": "LOGICAL_NOT_UNARY", "clamp": "CLAMP_TSS", "add": "FPU_ADD", "subtract": "FPU_SUB",
             "multiply": "FPU_MUL", "divide": "BINARY_DIV", "div": "BINARY_DIV", "pow": "BINARY_POWER"}  # fmt: skip


def is_elementwise(op: str) -> bool:
    return op in UNARY or op in BINARY


def dtypes_of(op: str) -> tuple[str, ...] | None:
    """Names of the operand dtypes that an op takes; None: any."""
    if op in BITWISE:
        return ("INT32",)
    if op in REDUCTIONS:
        return ("BFLOAT16", "FLOAT32")
    return _FLOATS if is_elementwise(op) or op == "matmul" else None


def clock_function(op: str) -> str:
    """What a fused program computes for an elementwise op, as the clock's tables call it."""
    return _FUNCTION.get(op) or (f"BINARY_{op.upper()}" if op in BINARY else op.upper())
