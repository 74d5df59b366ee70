"""How the variables of emitted programs are called: by the source or a role, or only after the op that made them.

    python -m tools.zoo.names [--all] [NAME ...]

One line per model: variables, share that the source or a role names, names after ops (--all: all of them), names that are the fourth or a later one of
their kind, whether a number or an ordinal says so.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from alchemist.errors import UserError
from alchemist.frontends.base import FrontendResult
from alchemist.ops.spec import COLUMN_MATRICES, TABLE_PARTS, TTNN_OPS
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program, model
from alchemist.program.names import ORDINALS, identifier, result_name, snake_case
from alchemist.program.roles import ROLES as COMPUTED
from alchemist.program.walk import bound_by

ROLES = COMPUTED.union(
    "query key value qkv cos sin positions identity zeros ones mask attn_mask causal_mask attention_mask values indices gates device residual saved outputs updated".split(),
    COLUMN_MATRICES,
    (f"{part}_rows" for part in TABLE_PARTS),
    ["_and_".join(TABLE_PARTS[:2])],
)
"""What values are for, where no source says it: customary results of ops and their arguments, and what computations are known to make."""
_FORM = re.compile(
    r"_(?:t|(?:l|layer)\d+(?:_reverse)?|float32|bfloat16|u?int32|tiled|row_major|l1|dram|sharded|interleaved|output|reshaped|permuted|turned|transposed|converted|part|repeated|s)$"
)
"""Endings of a name for another form of the same value (`query_tiled`)."""
NOUNS = frozenset(result_name(op) for op in TTNN_OPS)
_NUMBER = re.compile(r"_(\d+)$")


@dataclass(slots=True)
class Names:
    """variables: how many there are. after_ops: those without a name of the source, by base. numbered: names that end in a number above 3.

    counted: names with an ordinal in front, as in `fourth_hidden_state`, which says no more than a number does.
    """

    variables: int
    after_ops: Counter[str]
    numbered: list[str]
    counted: list[str]

    @property
    def share(self) -> float:
        return 1.0 - self.after_ops.total() / max(self.variables, 1)


def words_of(result: FrontendResult) -> set[str]:
    """Names that the model's source gives to values and modules: targets, parameters, attributes, keys of the tree of weights."""
    found: set[str] = set()
    for text in result.source_files.values():
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Attribute) and (id(node) not in functions or _of_self(node)):  # not `torch.floor(...)`
                found.add(node.attr)
            elif isinstance(node, ast.Attribute) and node.attr[:1].isupper():  # a module without a name: `nn.GroupNorm(8)(x)`
                found.add(snake_case(node.attr))
    for argument in result.arguments:
        found.update(_NUMBER.sub("", word) for word in argument.name.split("."))  # `key_cache_0` of layer 0
        found.update(argument.name.split("."))
        found.add(identifier(argument.name))
    found |= {snake_case(_NUMBER.sub("", word)) for argument in result.arguments for word in argument.name.split(".")}  # flax's `Dense_0` is dense
    found |= {identifier(f"{words[0]}_{words[-1]}") for argument in result.arguments if len(words := argument.name.split(".")) > 2}
    found |= {identifier("_".join(argument.name.split(".")[-2:])) for argument in result.arguments}
    paths = [argument.name.split(".") for argument in result.arguments]
    found |= {f"{word}_{place}" for words in paths for word, place in pairwise(words) if place.isdigit()}  # `down.1`
    found |= {output.name for output in result.outputs} | {word for output in result.outputs for word in output.name.split(".")}
    return {identifier(word) for word in found if word}


def _of_self(node: ast.Attribute) -> bool:
    """Whether it is a module or a method of the object: `self.dense(...)`."""
    value = node.value
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def names_of(program: model.Program, result: FrontendResult) -> Names:
    known = words_of(result) | ROLES | {function.name for function in program.functions}
    variables = 0
    after_ops: Counter[str] = Counter()
    numbered: list[str] = []
    counted: list[str] = []
    for function in program.functions:
        names = {parameter.name for parameter in function.parameters if parameter.kind in ("tensor", "tensors")}
        for statement in model.statements(function.body):
            names |= bound_by(statement)
        for name in sorted(names - {"_"}):
            variables += 1
            number = _NUMBER.search(name)
            if number and int(number[1]) > 3 and name not in known:
                numbered.append(f"{function.name}: {name}")
            if name.partition("_")[0] in ORDINALS and name not in known:
                counted.append(f"{function.name}: {name}")
            if not _told(name, known):
                after_ops[_NUMBER.sub("", name)] += 1
    return Names(variables, after_ops, numbered, counted)


def _told(name: str, known: set[str]) -> bool:
    ordinal, _, rest = name.partition("_")
    if ordinal in ORDINALS and rest:
        return _told(rest, known)
    forms = {name, name.rstrip("_"), f"{name}_", f"{name}s", name.removesuffix("s")}
    listed = name.removesuffix("_list") if name.endswith("_list") else name[:-1] if re.search(r"[a-z]{2}s$", name) and not name.endswith("ss") else name
    if listed != name and _told(listed, known):  # a list of such values
        return True
    if (
        forms & known
        or re.fullmatch(r"(first|last|middle)_\d+_columns", _NUMBER.sub("", name))
        or name.startswith("d_")
        or name.endswith("_derivative")
        or (name.startswith("new_") and name.removeprefix("new_") in known)  # a parameter behind its update
        or name.rpartition("_")[2] in ("cos", "sin")
    ):
        return True
    words = name.split("_")
    single = {word for one in known for word in one.split("_")}
    if any(
        "_".join(words[start:]) in known and single.issuperset(words[:start]) for start in range(1, len(words))
    ):  # a word more: `cross_attention_key_states`
        return True
    if (name.startswith("qkv_") and name.replace("qkv_", "q_", 1) in known) or _joins(name.split("_"), known):  # several modules' product in one
        return True
    plain = _NUMBER.sub("", name)
    base, _, last = plain.rpartition("_")
    shorter = base if last in NOUNS and base else _FORM.sub("", plain)  # `scores_product`: what the source assigns it to, and the op
    return bool(shorter) and shorter != name and _told(shorter, known)


def _joins(words: list[str], known: set[str]) -> bool:
    """Names of modules behind each other: `to_q_to_k_to_v`, `add_q_add_k_add_v_proj`, `hi_hf_hg_ho_kernel`."""
    if len(words) > 2 and words[-1] in ("kernel", "weight", "bias") and all(word in known for word in words):
        return True
    if len(words) % 3 == 1 and len(words) > 4:
        first = words[: (len(words) - 1) // 3]
        return "_".join([*first, words[-1]]) in known and first[-1] == "q"
    size = len(words) // 3
    pieces = ["_".join(words[start : start + size]) for start in range(0, len(words), max(size, 1))]
    return len(words) % 3 == 0 and all(piece in known for piece in pieces) and [piece[-1:] for piece in pieces] == ["q", "k", "v"]


def measured(name: str) -> Names:
    from models.tables import table

    framework, build = table()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, args, kwargs = build()
        result = capture(module, args, kwargs, framework)  # type: ignore[arg-type]
        options = CompilerOptions()
        return names_of(build_program(lower_to_ttnn(result.module, options).module, result, options), result)


def main(words: list[str]) -> int:
    from models.tables import table
    from tools.zoo.run import unknown_model

    wanted: list[Any] = [word for word in words if not word.startswith("--")]
    whole: Counter[str] = Counter()
    variables, numbered, counted = 0, 0, 0
    unknown = [name for name in wanted if name not in table()]
    if unknown:
        print(unknown_model(unknown[0]), file=sys.stderr)
        return 2
    for name in wanted or table():
        try:
            names = measured(name)
        except UserError as error:  # a model that does not compile is the zoo's to report
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            continue
        variables += names.variables
        whole += names.after_ops
        numbered += len(names.numbered)
        counted += len(names.counted)
        few = names.after_ops.most_common(None if "--all" in words else 6)
        print(
            f"{name}: {names.variables} variables, {names.share:.1%}; {', '.join(f'{word} {count}' for word, count in few)}; {[*names.numbered, *names.counted][:4]}",
            flush=True,
        )
    print(
        f"all: {variables} variables, {1 - whole.total() / max(variables, 1):.2%} by source or role, {numbered} with a number above 3, {counted} with an ordinal"
    )
    print(", ".join(f"{word} {count}" for word, count in whole.most_common(60)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
