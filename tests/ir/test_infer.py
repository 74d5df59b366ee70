"""Result types that the builder infers, beside those of valid uses of every op, and what it says where it cannot."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType

from alchemist.errors import InternalError
from alchemist.ir.access import element_type, shape
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.infer import result_types
from alchemist.ir.text import parse
from alchemist.ir.value import Value
from tests.mlir.op_uses import uses

NOT_INFERRED = "operands and attributes do not say"
LEAST = {"ttir": 110, "ttnn": 70}
"""Uses whose types are inferred; a rule that is lost shows."""


@pytest.mark.parametrize("dialect", ["ttir", "ttnn"])
def test_shapes_of_valid_uses(dialect: str) -> None:
    found = 0
    for use in uses(dialect):
        op = next(op for op in parse(use.text).walk() if op.name == use.name)
        results = [result for result in op.results if isinstance(result.type, TensorType)]
        bare = type(op).create(operands=op.operands, properties=op.properties)
        try:
            inferred = result_types(bare, of=element_type(results[0]) if results else "")
        except InternalError as error:
            if NOT_INFERRED in str(error):
                continue
            raise
        assert [shape(made) for made in inferred] == [shape(result) for result in results][: len(inferred)], use.name
        found += 1
    assert found >= LEAST[dialect]


def _two() -> tuple[Value, Value]:
    b = Builder.module("forward", [("x", tensor((2, 3), "bf16"), "input", None), ("y", tensor((3,), "bf16"), "input", None)])
    x, y = b.args
    return Value(b, x), Value(b, y)


def test_an_expression_infers_its_types() -> None:
    x, y = _two()
    made = (1.0 - x * y + y).reduce("sum", [1]).cast("f32").reshape(1, 2)
    assert (made.shape, made.of) == ((1, 2), "f32")
    names = [op.name for op in x.b.block.ops]
    assert names == ["ttir.multiply", "ttir.full", "ttir.subtract", "ttir.add", "ttir.sum", "ttir.typecast", "ttir.reshape"]


def test_moves_that_do_nothing_make_no_op() -> None:
    x, _ = _two()
    assert x.reshape(2, 3).permute(0, 1).slice([0, 0], [2, 3]).pad([(0, 0), (0, 0)]).broadcast(2, 3).cast("bf16") is x


def test_comparisons_make_truth_values() -> None:
    x, y = _two()
    assert x.op("lt", y).of == "i1"
    assert x.op("lt", y).op("where", x, y).of == "bf16"


@pytest.mark.parametrize(
    ("name", "attributes", "message"),
    [
        ("typecast", {}, NOT_INFERRED),
        ("permute", {"permutation": (0, 0)}, "no permutation"),
        ("reshape", {"shape": (4, 2)}, r"cannot reshape \[2, 3\] to \[4, 2\]"),
        ("softmax", {"dimension": 2}, "dimension must be in"),
    ],
)
def test_what_is_no_op_is_our_error(name: str, attributes: dict[str, object], message: str) -> None:
    x, _ = _two()
    with pytest.raises(InternalError, match=message):
        x.op(name, **attributes)
