"""What values are for, told by the ops that make and read them: names where no source gives one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from alchemist.ir.layout import TILE_EDGE
from alchemist.ir.location import ROLE, SourceInfo
from alchemist.ir.op_class import named
from alchemist.ops.matmul import ACTIVATIONS
from alchemist.ops.spec import COLUMN_MATRICES, EXPERT_MASK, FUSED_ACTIVATIONS, PRODUCTS, ROUTING_WEIGHTS, SHAPING, TABLE_PARTS
from alchemist.ops.transformer import NO_KEYS_SINK
from alchemist.program import model
from alchemist.program.graph import Node, Value, values_of
from alchemist.program.names import result_name, snake_case

ROLES = frozenset(
    "scores probabilities attention first_half second_half negated_half rotated evens odds cos_part sin_part row_max shifted exponentials log_total centered "
    "normalized squared sum_of_squares variance mean pooled gated condition mask masked segments combined embedded scaled padded edge_before edge_after "
    "exponential_sum log_probabilities attn_mask attention_sink has_keys index "
    "count counts mean_error patches projection rstd loss_derivative inner_derivative inverse_count choice_weights "
    "loss preactivation at_least at_most above below matches differs both either".split()
)
"""Names that `computed_role` and front ends give."""
COMPARED = {"ge": "at_least", "le": "at_most", "gt": "above", "lt": "below", "eq": "matches", "ne": "differs", "logical_and": "both", "logical_or": "either"}
"""What the second of two masks is called that live at one time."""

SPLITTING_HEADS = (
    "ttnn.transformer.split_query_key_value_and_split_heads",
    "ttnn.experimental.create_qkv_heads",
    "ttnn.experimental.nlp_create_qkv_heads",
    "ttnn.experimental.nlp_create_qkv_heads_decode",
)
"""Ops that split one product into query, key and value."""
JOINED_HEADS = "qkv"
"""What that product is called, whatever the module that computes it."""
STATISTICS = frozenset("mean mean_error centered squared sum_of_squares variance projection".split())
"""Steps of a norm."""
STEPS = STATISTICS | frozenset(
    "scores probabilities row_max shifted exponentials exponential_sum log_total log_probabilities condition count preactivation".split()
)
"""Roles that say more of a step that a backward pass reads again than the variable of the whole statement does."""
NOT_IN_SOURCE = frozenset({"has_keys"})
"""Roles of values that the source has no variable for."""
_ARGUMENTS = {"cos_cache": "cos", "sin_cache": "sin", "update_idxs_tensor": "positions", "cur_pos_tensor": "positions", "attention_sink": "attention_sink"}
"""Arguments of ops that say what a value is, wherever it comes from."""
_MASKS = frozenset({"attn_mask", "attention_mask"})
_SCALING = named("ttnn", "arithmetic", "factor", "extreme", "elementwise_ternary") | {"ttnn.where"}
_TO_SCORES = SHAPING | _SCALING
_INDICES = named("ttnn", "indices")
"""Ops whose last result is indices."""
_FOLD = "ttnn.fold"
_CUTTING = SHAPING | {_FOLD, "ttnn.pad"}
_MOST_STEPS = 6
_COLUMNS = re.compile(r"(first|last|middle)_\d+_columns(_\d+)?$")
"""Constants that choose columns next to each other."""


def computed_role(node: Node, names: Mapping[int, str]) -> str:
    """The role of the node's only result, "" where none is known. names: of the function's values so far, by identity."""
    if len(node.results) != 1:
        return ""
    result, op = node.results[0], node.spec.name.removeprefix("ttnn.")
    inputs = node.inputs()
    found = ""
    if _masks_attention(result):
        found = "attn_mask"
    elif op == "slice_static":
        found = _of_attention(result) or _half(node)
    elif op == "concat" and len(inputs) == 2 and _made_by(inputs[0], "neg") is not None:
        found = "rotated"
    elif op == "neg" and (before := _made_by(inputs[0], "slice_static")) is not None and _half(before):
        found = "negated_half"
    elif node.spec.name in named("ttnn", "truth"):
        found = "condition" if any(user.spec.name == "ttnn.where" and user.inputs()[0] is result for user in result.users) else "mask"
    elif op == "matmul" and _leads_to_softmax(result):
        found = "scores"
    elif unshaped(result) is result and _is_softmax(result) and any(_weighs_values(user, result) for user in users_of(result)):
        found = "probabilities"
    elif op == "exp" and _is_named(inputs[0], names, "log_probabilities"):
        found = "probabilities"
    elif op == "sum" and _is_named(inputs[0], names, "mask"):
        found = "count" if math.prod(result.type.shape) == 1 else "counts"
    elif op == "embedding" or (op == "gather" and any("embedding" in info.op for info in node.sources)):
        found = "embedded"
    elif op == "pad":
        found = "padded"
    elif inputs:
        found = _elementwise(node, op, names) or _statistic(node, op)
    return found


def given_role(item: object) -> str:
    """The role that the pass which made the op gives its result, "" for most ops."""
    info = item.sources[-1] if isinstance(item, Node) and item.sources and len(item.results) == 1 else SourceInfo()
    return info.name if info.op == ROLE else ""


def _of_attention(value: Value) -> str:
    """Whether an attention reads the value as its query, key or value, where a product with several of them is cut."""
    for user in users_of(value):
        inputs = user.inputs()
        places = [place for place, one in enumerate(inputs[:3]) if unshaped(one) is value]
        if user.spec.name == "ttnn.scaled_dot_product_attention" and len(places) == 1:
            return ("query", "key", "value")[places[0]]
        if user.spec.name == "ttnn.matmul" and len(inputs) == 2 and len(places) == 1:
            if places == [1] and _made_by(inputs[0], "softmax") is not None:
                return "value"
            if _leads_to_softmax(user.results[0]):
                return ("query", "key")[places[0]]
    return ""


def _masks_attention(value: Value) -> bool:
    """Whether attentions read the value, or a form of it, as their mask and nothing else reads it."""
    users = list(users_of(value))
    masks = [one for user in users for arg, raw in user.arguments if arg.name in _MASKS for one in values_of(raw)]
    return bool(users) and len(masks) == len(users) and all(unshaped(mask) is unshaped(value) for mask in masks)


def _elementwise(node: Node, op: str, names: Mapping[int, str]) -> str:
    inputs = node.inputs()
    if node.spec.name in _SCALING and _leads_to_softmax(node.results[0]) and any(_is_scores(value) for value in inputs):
        return "scores"
    if op == "multiply" and len(inputs) == 2:
        for value in inputs:
            if (part := f"{names.get(id(value), value.key).rpartition('_')[2]}_part") in ROLES:
                return part
        if inputs[0] is inputs[1]:
            return "squared"
        if (averaged := _made_by(inputs[0], "mean")) is not None and (product := _made_by(averaged.inputs()[0], "multiply")) is not None:
            if inputs[1] in product.inputs():
                return "projection"  # on the normalized vector
        if any(_is_centered(one) and _made_by(other, "rsqrt") is not None for one, other in (inputs, reversed(inputs))):
            return "normalized"
        if activation := _activation_behind(node):
            return activation
        if _is_gate(node, inputs):
            return "gated"
        if any(_is_named(value, names, "mask", "segments") for value in inputs):
            return "masked"
    if op == "add" and len(inputs) == 2 and _made_by(inputs[0], "mean") is not None and _is_mean_of_centered(inputs[1]):
        return "mean"
    if op == "subtract" and len(inputs) == 2:
        if _is_named(inputs[0], names, "mask") and _is_named(inputs[1], names, "mask", "zeros"):
            return "segments"  # of rows: those up to an end without those up to the one before
        if _reduces(inputs[1], inputs[0], "max"):
            return "shifted"
        if _reduces(inputs[1], inputs[0], "mean"):
            return "centered"
        if (log := _made_by(inputs[1], "log")) is not None and _statistic(log, "log"):
            return "log_probabilities"
    if op != "neg" and node.spec.name in named("ttnn", "factor") and len(inputs) == 1:
        if _is_named(inputs[0], names, "sum_of_squares"):
            return "variance"
        numerator = next((raw for _, raw in node.arguments), None) if op == "divide" else None
        return "scaled" if not isinstance(numerator, model.Literal) else f"inverse_{names.get(id(inputs[0]), 'value')}"
    return ""


def fused_activation(node: Node) -> str:
    """The activation that a product applies to its result, in its program config or by its argument; "" for none."""
    for arg, raw in node.arguments if node.spec.name in PRODUCTS else ():
        fused = dict(raw.fields).get("fused_activation") if isinstance(raw, model.Record) else None
        name = fused.op if isinstance(fused, model.Unary) else raw.value if arg.name == "activation" and isinstance(raw, model.Literal) else ""
        if name:
            return str(name).lower()
    return ""


def _activation_behind(node: Node) -> str:
    """The activation that the op applies to its result last, "" for none."""
    behind = next((raw.items for arg, raw in node.arguments if arg.name == "activations" and isinstance(raw, model.Items)), ())
    name = behind[-1].op.lower() if behind and isinstance(behind[-1], model.Unary) else ""
    return name if name in ACTIVATIONS else ""


def _is_gate(node: Node, inputs: Sequence[Value]) -> bool:
    """Whether one factor of a product is an activation: an op of its own, part of the product before, or part of this op."""
    if any(one.op.lower() in ACTIVATIONS for arg, raw in node.arguments if isinstance(raw, model.Items) for one in raw.items if isinstance(one, model.Unary)):
        return True
    for before in (value.node for value in inputs if value.node is not None):
        if before.spec.name.removeprefix("ttnn.") in ACTIVATIONS:
            return True
        if fused_activation(before) in ACTIVATIONS:
            return True
    return False


def _statistic(node: Node, op: str) -> str:
    result, inputs = node.results[0], node.inputs()
    if op == "max" and any(user.spec.name == "ttnn.subtract" and _reduces(result, user.inputs()[0], "max") for user in users_of(result)):
        return "row_max"
    if op == "exp" and any(user.spec.name in named("ttnn", "reduction") for user in users_of(result)):
        return "exponentials"
    if op == "sum" and (square := _made_by(inputs[0], "multiply")) is not None and all(map(_is_centered, square.inputs())):
        return "sum_of_squares"
    if op == "sum" and (chain := _made_by(inputs[0], "unary_chain")) is not None and _is_centered(chain.inputs()[0]) and noun_of(chain) == "squared":
        return "sum_of_squares"
    if op == "sum" and _made_by(inputs[0], "exp") is not None:
        return "exponential_sum"
    if op == "sum" and (before := _made_by(inputs[0], "matmul")) is not None and not any(value.key for value in before.inputs()[:1]):
        return "combined"
    if op == "log" and _made_by(inputs[0], "sum") is not None:
        return "log_total"
    if op == "mean":
        if (before := _made_by(inputs[0], "pow_scalar") or _made_by(inputs[0], "multiply")) is not None and _is_centered(before.inputs()[0]):
            return "variance"
        if _is_centered(inputs[0]):
            return "mean_error"
        dims = len(inputs[0].type.shape)
        return "pooled" if dims >= 3 and result.type.shape[-1:] == inputs[0].type.shape[-1:] else "mean"
    exponents = [raw.value for _, raw in node.arguments if isinstance(raw, model.Literal)] if op == "pow_scalar" else []
    return "squared" if exponents == [2] else ""


def _is_named(value: Value, names: Mapping[int, str], *words: str) -> bool:
    name = names.get(id(value), value.key).rpartition(".")[2].rstrip("_0123456789")
    return name in words or name.removesuffix("_joined") in words


def _half(node: Node) -> str:
    """Of the two halves of the last dimension, or of its even and odd places."""
    before, after = node.inputs()[0].type.shape, node.results[0].type.shape
    start, step = (_last(node, name) for name in ("slice_start", "slice_step"))
    if len(before) != len(after) or before[:-1] != after[:-1] or 2 * after[-1] != before[-1] or start is None:
        return ""
    if step in (None, 1):
        return {0: "first_half", after[-1]: "second_half"}.get(start, "")
    return {0: "evens", 1: "odds"}.get(start, "") if step == 2 else ""


def _last(node: Node, name: str) -> int | None:
    raw = next((raw for arg, raw in node.arguments if arg.name == name), None)
    last = raw.items[-1] if isinstance(raw, model.Items) and raw.items else None
    return last.value if isinstance(last, model.Literal) and isinstance(last.value, int) else None


def unshaped(value: Value) -> Value:
    while value.node is not None and value.node.spec.name in SHAPING and len(value.node.results) == 1 and value.node.inputs():
        value = value.node.inputs()[0]
    return value


def _made_by(value: Value, op: str) -> Node | None:
    """The node behind the value's forms, if it is that op."""
    node = unshaped(value).node
    return node if node is not None and node.spec.name == f"ttnn.{op}" else None


def users_of(value: Value) -> Iterator[Node]:
    """Readers of the value and of its forms."""
    pending = [value]
    for one in pending:
        for user in {id(user): user for user in one.users}.values():
            if user.spec.name in SHAPING and len(user.results) == 1 and len(pending) < _MOST_STEPS:
                pending.append(user.results[0])
            else:
                yield user


def _leads_to_softmax(value: Value) -> bool:
    """Whether only scaling and masking stand between the value and a softmax over its last dimension."""
    for _ in range(_MOST_STEPS):
        users = [user for user in {id(user): user for user in value.users}.values() if user.spec.name != "ttnn.max"]  # looks for rows without a key
        if len(users) != 1 or len(users[0].results) != 1:
            return False
        if users[0].spec.name == "ttnn.softmax":
            return True
        if users[0].spec.name not in _TO_SCORES:
            return False
        value = users[0].results[0]
    return False


def _is_scores(value: Value) -> bool:
    """Whether a matrix product of two values that are no weights' matrices is behind it."""
    for _ in range(_MOST_STEPS):
        node = value.node
        if node is None or not node.inputs():
            return False
        if node.spec.name == "ttnn.matmul":
            return not any(one.key and len(one.type.shape) <= 2 for one in node.inputs())
        if node.spec.name not in _TO_SCORES:
            return False
        value = next((one for one in node.inputs() if not one.key), node.inputs()[0])
    return False


def _reduces(value: Value, source: Value, op: str) -> bool:
    node = _made_by(value, op)
    if node is not None:
        return unshaped(node.inputs()[0]) is unshaped(source)
    passes = _made_by(value, "add") if op == "mean" else None  # a mean, and the mean of what is left after it
    if passes is None or len(passes.inputs()) != 2:
        return False
    first, left = passes.inputs()[0], _made_by(passes.inputs()[1], "mean")
    return _reduces(first, source, op) and left is not None and _takes_off(left.inputs()[0], source, first)


def _takes_off(value: Value, source: Value, mean: Value) -> bool:
    node = _made_by(value, "subtract")
    given = (source, mean)
    return node is not None and len(node.inputs()) == 2 and all(unshaped(one) is unshaped(other) for one, other in zip(node.inputs(), given, strict=True))


def _is_centered(value: Value) -> bool:
    node = _made_by(value, "subtract")
    return node is not None and len(node.inputs()) == 2 and _reduces(node.inputs()[1], node.inputs()[0], "mean")


def _is_mean_of_centered(value: Value) -> bool:
    node = _made_by(value, "mean")
    return node is not None and _is_centered(node.inputs()[0])


def _weighs_values(user: Node, probabilities: Value) -> bool:
    """Whether it multiplies the probabilities with values, perhaps after setting those of some rows to zero."""
    first = user.spec.name == "ttnn.matmul" and unshaped(user.inputs()[0]) is unshaped(probabilities)
    return first or (user.spec.name == "ttnn.where" and any(_weighs_values(one, user.results[0]) for one in users_of(user.results[0])))


def _is_softmax(value: Value) -> bool:
    """Whether it is a softmax's result, perhaps with zeros in some rows."""
    node = unshaped(value).node
    return node is not None and (node.spec.name == "ttnn.softmax" or (node.spec.name == "ttnn.where" and any(map(_is_softmax, node.inputs()[1:]))))


def value_name(node: Node) -> str:
    """What the ONNX graph calls the node's value, "" where an exporter has only counted: `relu_3`."""
    for info in reversed(node.sources):
        framework, _, kind = info.op.partition(".")
        before, _, word = info.name.rpartition(".")
        word = word.rstrip("_0123456789")
        counted = bool(info.frames) or word.lower() in (kind.lower(), result_name(node.spec.target), "output")  # torch's exporter calls values after its ops
        if framework == "onnx" and word and (before == kind or not counted):
            return snake_case(word)
    return ""


_AFTER_STEP = {"mul": "scaled", "div": "scaled", "add": "total", "sub": "difference", "rsub": "difference", "square": "squared", "recip": "quotient"}
"""What the last function of a chain makes, where it is not called like an op."""


def noun_of(node: Node) -> str:
    """What the result is called when nothing better is known: that of a chain after its last function."""
    chain = next((raw.items for arg, raw in node.arguments if arg.name == "ops_chain" and isinstance(raw, model.Items)), ())
    step = chain[-1].op.lower().partition("_")[0] if chain and isinstance(chain[-1], model.Unary) else ""
    return _AFTER_STEP.get(step) or result_name(f"ttnn.{step}" if step else node.spec.target)


def applies_number(node: Node) -> bool:
    """Whether it is a chain whose last function adds a number to a tensor or multiplies it with one."""
    return node.spec.name == "ttnn.unary_chain" and noun_of(node) in ("scaled", "total", "difference")


def are_logits(value: Value) -> bool:
    """Whether a log softmax, written as its steps, reads the value or a form of it."""
    shifted = [user.results[0] for user in users_of(value) if user.spec.name == "ttnn.subtract" and _reduces(user.inputs()[-1], value, "max")]
    exponentials = [user.results[0] for one in shifted for user in users_of(one) if user.spec.name == "ttnn.exp"]
    sums = [user.results[0] for one in exponentials for user in users_of(one) if user.spec.name == "ttnn.sum"]
    return any(user.spec.name == "ttnn.log" for one in sums for user in users_of(one))


def feeds_heads(node: Node) -> bool:
    """Whether the op's result, or a form of it, is query, key and value beside each other."""
    users = list(users_of(node.results[0])) if len(node.results) == 1 else []
    return bool(users) and all(user.spec.target in SPLITTING_HEADS and len(user.inputs()) == 1 for user in users)


def table_part(node: Node) -> str:
    """Name of rows of a bfloat16 part of a float32 table ("high_rows") and of a sum of two parts ("high_and_middle"); "" for any other op."""
    if node.spec.name == "ttnn.add":
        makers = [_made_by(value, "embedding") for value in node.inputs()]
        parts = [table_part(maker).removesuffix("_rows") for maker in makers if maker is not None]
        return "_and_".join(parts) if len(parts) == 2 and all(parts) else ""
    keys = [value.key for value in node.inputs()[1:2]] if node.spec.name == "ttnn.embedding" else []
    return next((f"{part}_rows" for part in TABLE_PARTS for key in keys if key.endswith(f"_{part}")), "")


def cut_patches(node: Node) -> str:
    """ "patches" for the steps that cut an image into patches around ttnn.fold, before the product that embeds them; "" for any other op."""
    if node.spec.name not in _CUTTING or len(node.results) != 1:
        return ""
    before, behind = node, node
    for _ in range(_MOST_STEPS):
        if _FOLD in (before.spec.name, behind.spec.name):
            return "patches"
        maker = before.inputs()[0].node if before.inputs() else None
        before = maker if maker is not None and maker.spec.name in _CUTTING else before
        users = behind.results[0].users
        behind = users[0] if len(users) == 1 and users[0].spec.name in _CUTTING else behind
    return ""


def column_matrix(node: Node) -> str:
    """Which of the constants that choose columns a product is with; "" for any other op."""
    keys = [value.key.rpartition(".")[2] for value in node.inputs()[1:2]] if node.spec.name == "ttnn.matmul" else []
    chosen = COLUMN_MATRICES[-1]
    return next((name for name in COLUMN_MATRICES for key in keys if key.startswith(name)), chosen if any(_COLUMNS.match(key) for key in keys) else "")


def parameter_name(node: Node) -> str:
    """Of a product with a parameter that stands in its module by itself, that parameter's name: `in_proj` of in_proj_weight, which the result is not."""
    names = [name for value in node.inputs() if value.key and value.collection == "weights" for name in value.made_from or (value.name, value.key)]
    words = [name.rpartition(".")[2] for name in names]
    own = next((word for word in words if word and not re.match(r"(weight|bias|kernel|constant|zeros|ones|initial|scale)(_|$)|\d", word)), "")
    return re.sub(r"(_weight|_kernel)?(_\d+)?$", "", own)


_PROJECTION = re.compile(r"(?:^|\.)weight_ih(_l\d+(?:_reverse)?)?$")


def projected_name(node: Node) -> str:
    """Of the input's part of a recurrent layer's gates, for all steps: `projected_layer0_reverse`, for torch's weight_ih_l0_reverse; "" for other ops."""
    names = [name for value in node.inputs() if value.key for name in value.made_from or (value.name, value.key)] if node.spec.name in PRODUCTS else []
    found = next((match for name in names if (match := _PROJECTION.search(name))), None)
    return f"projected{(found[1] or '').replace('_l', '_layer', 1)}" if found else ""


def _marks_keys(value: Value) -> bool:
    """Whether attentions' results are multiplied with the value, one number for a row, and nothing else reads it: 0 for rows whose keys are all masked."""
    if not value.users or value.type.shape[-1:] != (1,):
        return False
    for user in value.users:
        inputs = user.inputs()
        attended = _made_by_attention(inputs[0]) if user.spec.name == "ttnn.multiply" and len(inputs) == 2 and inputs[1] is value else False
        if not attended and not (user.spec.name in SHAPING and _marks_keys(user.results[0])):
            return False
    return True


def _made_by_attention(value: Value) -> bool:
    return _made_by(value, "scaled_dot_product_attention") is not None


_LOOK_UP = re.compile(r"embedding|[Gg]ather|index_select|\.take\b")
"""In the frameworks' names of ops that look rows up."""


def zeroes_rows(node: Node) -> bool:
    """Whether the op sets attention's rows without a key to zero."""
    inputs = node.inputs()
    return node.spec.name == "ttnn.multiply" and len(inputs) == 2 and _marks_keys(inputs[1]) and _made_by_attention(inputs[0])


def _projects_sequence(node: Node) -> bool:
    """Whether the op makes the input's part of a recurrent layer's gates, for all steps."""
    named = projected_name(node) or any(info.name.endswith(".projected") for info in node.sources)
    return bool(named) and node.spec.name in PRODUCTS and len(node.results[0].type.shape) == 3


_OF_ROLES = {
    EXPERT_MASK: "[experts, tokens, choices]: 1 where a token has chosen the expert",
    ROUTING_WEIGHTS: "[experts, tokens, 1]: 0 where a token has not chosen the expert",
}


def explanation(node: Node) -> str:
    """A comment on an op that the source has nothing of, "" for most ops."""
    if (role := given_role(node)) in _OF_ROLES and (role == EXPERT_MASK or node.spec.name == "ttnn.sum"):
        return _OF_ROLES[role]
    if node.spec.name == "ttnn.repeat" and any(user.spec.name == "ttnn.matmul" and user.inputs()[0] is node.results[0] for user in node.results[0].users):
        return "ttnn.matmul does not broadcast the batch of its first operand"
    if node.spec.name == "ttnn.repeat" and _masks_attention(node.results[0]) and node.inputs()[0].type.shape[-2:-1] == (1,) < node.results[0].type.shape[-2:-1]:
        return "ttnn attention does not broadcast a mask over queries: each query has a row of its own"
    if cut_patches(node) and not any(one.node is not None and cut_patches(one.node) for one in node.inputs()):
        return "the pixels of each patch become a row: a convolution whose stride is its kernel is a product of these rows with a matrix"
    if zeroes_rows(node):
        return "zeros where all keys of a row are masked, as the framework gives"
    if any(arg.name == "fill_value" and raw == model.Literal(NO_KEYS_SINK) for arg, raw in node.arguments):
        return "far below visible keys' scores, far above masked keys': attention returns zeros in rows without a visible key, as the framework does"
    if any(arg.name == "attention_sink" and value.key.rpartition(".")[2] == arg.name for arg, raw in node.arguments for value in values_of(raw)):
        return "attention_sink: between the scores of visible and of masked keys, so that a row of masked keys alone returns zeros, as in the framework"
    if _projects_sequence(node):
        summed = any(arg.name == "bias" and len(value.made_from) > 1 for arg, raw in node.arguments for value in values_of(raw))
        return f"input part of all steps' gates{', both biases added' * summed}; only the hidden part depends on the step before"
    if (
        node.spec.name == "ttnn.slice_static"
        and any(_LOOK_UP.search(info.op) for info in node.sources)
        and any(value.key or value.name for value in node.inputs())
    ):
        return "the indices of this look-up are constants at export: a slice of the table"
    cast = node.inputs()[0] if node.spec.name == "ttnn.typecast" else None
    if cast is not None and cast.node is not None and cast.node.spec.name in _INDICES and cast is cast.node.results[-1]:
        return f"{cast.node.spec.target} returns {cast.type.dtype} indices; the rest of the program computes with {node.results[0].type.dtype}"
    for arg, raw in node.arguments:
        added = next(values_of(raw), None) if arg.name == "bias" and node.spec.name in PRODUCTS else None
        if added is not None and added.node is not None and not added.key:
            return "bias: what the source adds to this product afterwards"
    shapes = [value.type.shape for value in (*node.inputs()[:1], *node.results)]
    turned = (
        node.spec.name == "ttnn.reshape" and len(shapes) == 2 and len(shapes[0]) == 3 and shapes[0][0] == 1 and shapes[1] == (shapes[0][1], 1, shapes[0][2])
    )
    if turned and any(map(_projects_sequence, node.results[0].users)):
        return "batch first to time first: with batch 1 a reshape does it"
    one_matrix = (
        node.spec.name == "ttnn.reshape"
        and len(shapes) == 2
        and len(shapes[0]) == 3
        and shapes[0][0] > 1
        and shapes[0][1] % TILE_EDGE == 0
        and shapes[1] == (1, shapes[0][0] * shapes[0][1], shapes[0][2])
    )
    if one_matrix and any(user.spec.name in PRODUCTS for user in node.results[0].users):
        return "the rows of all samples as one matrix: the library multiplies samples one after the other"
    given = {arg.name: raw for arg, raw in node.arguments}
    attended = node.inputs()[0].node if node.spec.name == "ttnn.reshape" and node.inputs() else None
    if attended is not None and any(arg.name == "output_concat_heads" and raw == model.Literal(True) for arg, raw in attended.arguments):
        return "output_concat_heads has joined the heads already: this drops the axis of size 1"
    activation = given.get("activation")
    if node.spec.name in PRODUCTS and isinstance(activation, model.Literal) and isinstance(given.get("program_config"), model.Record):
        known = activation.value in FUSED_ACTIVATIONS
        reason = "this program_config has no fused_activation" if known else f"alchemist sets fused_activation for {', '.join(FUSED_ACTIVATIONS)} only"
        return f"activation: {activation.value} runs as an op of its own after the product: {reason}"
    return ""


_FACTORS = named("ttnn", "factor")


def number_note(node: Node) -> str:
    """How a bare number comes about: the scale of an attention, the size that a sum of squares is divided by; "" for others."""
    given = {arg.name: raw for arg, raw in node.arguments}
    chain = [one for raw in given.values() if isinstance(raw, model.Items) for one in raw.items if isinstance(one, model.Unary)] if not node.results[1:] else []
    if [one.op for one in chain] == ["MUL_UNARY_SFPU", "ADD_UNARY_SFPU", "RSQRT"] and (size := _whole(1 / (chain[0].parameters[0] or math.inf))):
        return f"1 / sqrt(sum of squares / {size} + epsilon): {chain[0].parameters[0]:g} = 1 / {size}"
    numbers = [one.parameters[0] for one in chain if one.op in ("MUL_UNARY_SFPU", "DIV_UNARY_SFPU") and len(chain) == 1]
    if node.spec.name in _FACTORS and len(node.inputs()) == 1:
        numbers = [raw.value for _, raw in node.arguments if isinstance(raw, model.Literal) and isinstance(raw.value, float)]
    scale = given.get("scale")
    if isinstance(scale, model.Literal) and isinstance(scale.value, float) and not scale.head_dim:
        numbers = [scale.value]
    elif not numbers or not (_is_factor_of_scores(node.results[0]) or (node.is_gradient and numbers[0] < 1)):
        return ""
    for number, power in ((number, power) for number in numbers for power in ("-0.5", "0.5")):
        if number > 0 and (size := _whole(number ** (1 / float(power)))) > 1 and (not node.is_gradient or size == node.results[0].type.shape[-1]):
            return f"{number:.7g} = {size}**{power}"
    return ""


def _whole(number: float) -> int:
    """The integer that the number is but for float32's rounding, 0 for a fraction."""
    return round(number) if math.isfinite(number) and math.isclose(number, round(number), rel_tol=1e-6) else 0


def _is_factor_of_scores(value: Value) -> bool:
    """Whether the value is multiplied with another one to scores of an attention."""
    return any(user.spec.name == "ttnn.matmul" and _leads_to_softmax(user.results[0]) for user in users_of(value))


def fused(node: Node) -> str:
    """What a call does besides what its name says, for the comment behind it: an activation in its config, an operand that it overwrites."""
    if node.spec.name.endswith("_in_place"):
        return "in place"
    for arg, raw in node.arguments:
        for name, value in raw.fields if isinstance(raw, model.Record) else ():
            if name in ("fused_activation", "activation") and isinstance(value, model.Unary):
                return f"{value.op} fused: see {arg.name}"
    return ""


def argument_role(value: Value) -> str:
    """What an op calls the value, perhaps in another form, among its arguments; "" for most values."""
    if _marks_keys(value):
        return "has_keys"
    if value.node is not None and any(arg.name == "index" for user in value.users for arg, raw in user.arguments if value in values_of(raw)):
        return "index"
    while True:
        for user in value.users:
            for arg, raw in user.arguments:
                if arg.name in _ARGUMENTS and any(one is value for one in values_of(raw)):
                    return _ARGUMENTS[arg.name]
        nodes = {id(user): user for user in value.users}
        following = next(iter(nodes.values())) if len(nodes) == 1 else None
        if following is None or following.spec.name not in SHAPING or len(following.results) != 1:
            return ""
        value = following.results[0]
