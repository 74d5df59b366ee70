"""What values are called for what makes and reads them."""

from __future__ import annotations

import re

import pytest

from alchemist.ops.spec import COLUMN_MATRICES, TTNN_OPS, Arg, Kind
from alchemist.program import model
from alchemist.program.graph import Node, Raw, TensorType, Use, Value
from alchemist.program.roles import argument_role, column_matrix, computed_role, parameter_name
from tests.tables import table

LINE = re.compile(r"(\w+) (\[[\d,]*\]) = (\w+)((?: \w+)*)((?: \w+=\S+)*)")


def roles(lines: str) -> str:
    """Of the values in the lines `name [shape] = op operands argument=numbers`; what no line makes is an input, or a weight if it begins with w."""
    values: dict[str, Value] = {}
    made: list[tuple[str, Node]] = []
    for line in lines.split("; "):
        match = LINE.fullmatch(line)
        assert match, line
        name, dims, op, operands, attributes = match.groups()
        shape = tuple(map(int, filter(None, dims[1:-1].split(","))))
        spec = TTNN_OPS[f"ttnn.{op}"]
        given = dict(word.split("=") for word in attributes.split())
        tensors = iter(operands.split())
        arguments: list[tuple[Arg, Raw]] = []
        for arg in spec.args:
            if arg.name in given:
                numbers = [model.Literal(int(number)) for number in given.pop(arg.name).split(",")]
                arguments.append((arg, numbers[0] if op == "pow_scalar" else model.Items(tuple(numbers))))
            elif arg.source.startswith("operand:") and (operand := given.pop(arg.source.removeprefix("operand:"), None) or next(tensors, None)) is not None:
                uses = [Use(values.setdefault(one, _outside(one))) for one in operand.split("+")]
                if arg.kind is Kind.TENSOR_LIST:
                    uses += [Use(values.setdefault(one, _outside(one))) for one in tensors]
                arguments.append((arg, tuple(uses) if arg.kind is Kind.TENSOR_LIST else uses[0]))
        assert not given, (given, [arg.source for arg in spec.args])
        values[name] = Value(TensorType(shape))
        made.append((name, Node(spec, tuple(arguments), (values[name],))))
    found: list[str] = []
    names: dict[int, str] = {id(value): name for name, value in values.items() if value.node is None}
    for name, node in made:
        role = computed_role(node, names)
        names[id(node.results[0])] = role or name
        if role:
            found.append(f"{name} {role}")
    return ", ".join(found)


def _outside(name: str) -> Value:
    if name.startswith("w"):
        return Value(TensorType((64, 64)), name, f"layer.{name}", (f"layer.{name}",))
    return Value(TensorType((2, 32, 64)), name)


S = "[2,4,32,32]"
CASES = {
    "attention": (
        f"s {S} = matmul q k; t {S} = multiply s; u {S} = add t m; p {S} = softmax u; c [2,4,32,16] = matmul p v",
        "s scores, t scores, u scores, p probabilities",
    ),
    "attention, scores in another form": (
        f"s {S} = matmul q k; r [8,32,32] = reshape s; p [8,32,32] = softmax r; c [8,32,16] = matmul p v",
        "s scores, p probabilities",
    ),
    "a softmax that nothing multiplies": (f"s {S} = matmul q k; p {S} = softmax s; c {S} = exp p", "s scores"),
    "probabilities that are the second factor": (f"p {S} = softmax x; c {S} = matmul v p", ""),
    "scores that are read twice": (f"s {S} = matmul q k; p {S} = softmax s; e {S} = exp s; c {S} = matmul p v", "p probabilities"),
    "products of weights that are masked": (f"s {S} = matmul x w; t {S} = add s m; p {S} = softmax t; c {S} = matmul p v", "s scores, p probabilities"),
    "a sum before a softmax": (f"t {S} = add x m; p {S} = softmax t; c {S} = matmul p v", "p probabilities"),
    "seven steps before a softmax": (
        f"s {S} = matmul q k; "
        + "; ".join(f"t{i} {S} = add {'s' if i == 0 else f't{i - 1}'} m" for i in range(6))
        + f"; p {S} = softmax t5; c {S} = matmul p v",
        "t0 scores, t1 scores, t2 scores, t3 scores, t4 scores, t5 scores, p probabilities",
    ),
    "rotary halves": (
        "a [2,32,32] = slice_static x slice_start=0,0,0 slice_step=1,1,1; b [2,32,32] = slice_static x slice_start=0,0,32 slice_step=1,1,1; n [2,32,32] = neg b; "
        "r [2,32,64] = concat n a; c [2,32,64] = multiply r sin; d [2,32,64] = multiply x cos; e [2,32,64] = add d c",
        "a first_half, b second_half, n negated_half, r rotated, c sin_part, d cos_part",
    ),
    "other slices": (
        "a [2,32,16] = slice_static x slice_start=0,0,0 slice_step=1,1,1; b [2,32,32] = slice_static x slice_start=0,0,16 slice_step=1,1,1; "
        "c [2,16,32] = slice_static x slice_start=0,0,0 slice_step=1,2,2; d [2,32,32] = slice_static x slice_start=0,0,0 slice_step=1,1,2; "
        "e [2,32,32] = slice_static x slice_start=0,0,1 slice_step=1,1,2; f [2,32,32] = slice_static x slice_start=0,0,0 slice_step=1,1,3; "
        "g [2,32,32] = slice_static x slice_start=0,0,2 slice_step=1,1,2; h [2,32,64] = concat a b; n [2,32,16] = neg a",
        "d evens, e odds",
    ),
    "what is not rotated": ("n [2,32,32] = neg x; r [2,32,64] = concat x n; t [2,32,64] = concat n x x", ""),
    "heads of one product": (
        "q [2,32,16] = slice_static x slice_start=0,0,0 slice_step=1,1,1; k [2,32,16] = slice_static x slice_start=0,0,16 slice_step=1,1,1; "
        "v [2,32,16] = slice_static x slice_start=0,0,32 slice_step=1,1,1; s [2,32,32] = matmul q k; p [2,32,32] = softmax s; c [2,32,16] = matmul p v",
        "q query, k key, v value, s scores, p probabilities",
    ),
    "heads of the library's attention": (
        "q [2,32,16] = slice_static x slice_start=0,0,0 slice_step=1,1,1; r [2,1,32,16] = reshape q; k [2,32,16] = slice_static x slice_start=0,0,16 slice_step=1,1,1; "
        "v [2,32,16] = slice_static x slice_start=0,0,32 slice_step=1,1,1; c [2,32,16] = scaled_dot_product_attention r k v",
        "q query, k key, v value",
    ),
    "one value for all three": ("q [2,32,16] = slice_static x slice_start=0,0,0 slice_step=1,1,1; c [2,32,16] = scaled_dot_product_attention q q q", ""),
    "a mask": (
        "m [2,32,64] = multiply x; n [2,1,32,64] = reshape m; c [2,32,16] = scaled_dot_product_attention q k v attention_mask=n",
        "m attn_mask, n attn_mask",
    ),
    "a mask that something else reads": ("m [2,32,64] = add x y; c [2,32,16] = scaled_dot_product_attention q k v attention_mask=m; e [2,32,64] = exp m", ""),
    "comparisons": ("a [2,32,64] = gt x y; b [2,32,64] = where a x y; c [2,32,64] = lt x y; d [2,32,64] = where x c y", "a condition, c mask"),
    "norms": (
        "m [2,32,1] = mean x; c [2,32,64] = subtract x m; q [2,32,64] = multiply c c; v [2,32,1] = mean q; r [2,32,1] = rsqrt v; n [2,32,64] = multiply c r",
        "m mean, c centered, q squared, v variance, n normalized",
    ),
    "norms, the other way round": (
        "m [2,32,1] = mean x; c [2,32,64] = subtract x m; q [2,32,64] = pow_scalar c exponent=2; v [2,32,1] = mean q; r [2,32,1] = rsqrt v; n [2,32,64] = multiply r c",
        "m mean, c centered, q squared, v variance, n normalized",
    ),
    "softmax written out": (
        "t [2,32,1] = max x; s [2,32,64] = subtract x t; e [2,32,64] = exp s; u [2,32,1] = sum e; l [2,32,1] = log u; o [2,32,64] = subtract s l",
        "t row_max, s shifted, e exponentials, u exponential_sum, l log_total, o log_probabilities",
    ),
    "statistics of nothing": (
        "t [2,32,1] = max x; e [2,32,64] = exp x; l [2,32,64] = log x; u [2,32,1] = sum x; d [2,32,64] = subtract y t; f [2,32,64] = subtract m x",
        "",
    ),
    "means": ("a [2,1,64] = mean x; b [2,32,1] = mean x; c [1] = mean x", "a pooled, b mean, c mean"),
    "sums of products": (
        "p [2,32,64] = matmul x y; a [2,64] = sum p; q [2,32,64] = matmul x w; b [2,64] = sum q; r [2,32,64] = matmul w x; c [2,64] = sum r",
        "a combined, b combined",
    ),
    "gates and scales": (
        "g [2,32,64] = sigmoid x; a [2,32,64] = multiply x g; b [2,32,64] = multiply x; c [2,32,64] = divide x; d [2,32,64] = add x; e [2,32,64] = multiply mask x; "
        "f [2,32,64] = multiply x y; h [2,32,64] = multiply segments_2 x; "
        "s [2,32,64] = silu x; i [2,32,64] = multiply s y",
        "a gated, b scaled, c scaled, e masked, h masked, i gated",
    ),
    "segments": (
        "a [2,32,64] = subtract mask_2 mask; b [2,32,64] = subtract mask zeros; c [2,32,64] = subtract mask x; d [2,32,64] = subtract x mask",
        "a segments, b segments",
    ),
    "others": (
        "a [2,32,64] = embedding x w; b [2,32,96] = pad x; c [2,32,64] = pow_scalar x exponent=2; e [2,32,64] = pow_scalar x exponent=3; d [2,32,64] = relu x",
        "a embedded, b padded, c squared",
    ),
}


@table("case", CASES)
def test_computed_roles(case: str) -> None:
    lines, wanted = CASES[case]
    assert roles(lines) == wanted


def node(op: str, *operands: Value, **by_source: Value) -> Node:
    spec = TTNN_OPS[f"ttnn.{op}"]
    tensors = iter(operands)
    given = [(arg, by_source.get(arg.name) or next(tensors, None)) for arg in spec.args if arg.source.startswith("operand:")]
    return Node(spec, tuple((arg, Use(value)) for arg, value in given if value is not None), (Value(TensorType((2, 32, 64))),))


@pytest.mark.parametrize(
    ("keys", "made_from", "name"),
    [
        (("layer.in_proj_weight",), (), "in_proj"),
        (("layer.weight",), (), ""),
        (("layer.weight_t",), (), ""),
        (("layer.bias", "layer.up_kernel"), (), "up"),
        (("layer.weights",), (), "weights"),
        (("layer.0",), (), ""),
        (("layer.joined",), ("layer.w_q", "layer.w_k"), "w_q"),
        (("layer.scale_2", "layer.constant"), (), ""),
    ],
)
def test_products_with_parameters_are_called_after_them(keys: tuple[str, ...], made_from: tuple[str, ...], name: str) -> None:
    weights = [Value(TensorType((64, 64)), "", key, made_from) for key in keys]
    assert parameter_name(node("addcmul", Value(TensorType((2, 32, 64)), "x"), *weights)) == name
    assert parameter_name(node("addcmul", *(Value(TensorType((64, 64)), "", key, made_from, collection="saved") for key in keys))) == ""


@pytest.mark.parametrize(
    ("key", "op", "name"),
    [
        ("first_3_columns", "matmul", COLUMN_MATRICES[-1]),
        ("layer.middle_3_columns_2", "matmul", COLUMN_MATRICES[-1]),
        ("first_columns", "matmul", ""),
        ("first_3_columns_more", "matmul", ""),
        (f"layer.{COLUMN_MATRICES[0]}_3", "matmul", COLUMN_MATRICES[0]),
        ("first_3_columns", "add", ""),
    ],
)
def test_products_that_choose_columns(key: str, op: str, name: str) -> None:
    assert column_matrix(node(op, Value(TensorType((2, 32, 64)), "x"), Value(TensorType((64, 64)), key, key))) == name


def test_a_fused_activation_makes_a_gate() -> None:
    x, y = (Value(TensorType((2, 32, 64)), name) for name in "xy")
    product = node("multiply", x, y)
    fused = next(arg for arg in product.spec.args if arg.name == "input_tensor_a_activations")
    for op, role in (("SILU", "gated"), ("EXP", "")):
        made = Node(product.spec, (*product.arguments, (fused, model.Items((model.Unary(op),)))), (Value(TensorType((2, 32, 64))),))
        assert computed_role(made, {id(x): "x", id(y): "y"}) == role


def test_roles_of_arguments() -> None:
    """Through other forms of the value, as long as one op alone reads them."""

    def read(op: str, argument: str, shaped: bool = True, twice: bool = False) -> str:
        value = Value(TensorType((2, 32, 64)), "x")
        given = node("reshape", value).results[0] if shaped else value
        others = [Value(TensorType((2, 32, 64)), f"y{place}") for place in range(5)]
        node(op, *others, **{argument: given})
        if twice:
            node("reshape", value)
        return argument_role(value)

    arguments = {name: [arg.name for arg in spec.args if arg.source.startswith("operand:")] for name, spec in TTNN_OPS.items()}
    found = {(name, arg): read(name.removeprefix("ttnn."), arg) for name, args in arguments.items() for arg in args}
    assert {(arg, role) for (_, arg), role in found.items() if role} == {
        ("cos_cache", "cos"), ("sin_cache", "sin"), ("update_idxs_tensor", "positions"), ("cur_pos_tensor", "positions"), ("attention_sink", "attention_sink"),
    }  # fmt: skip
    ((name, arg),) = [key for key, role in found.items() if role == "cos"][:1]
    assert read(name.removeprefix("ttnn."), arg, shaped=False) == "cos"
    assert read(name.removeprefix("ttnn."), arg, twice=True) == ""
