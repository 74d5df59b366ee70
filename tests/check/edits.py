"""Edits of emitted programs, as people and agents make them, in Python and C++ alike.

The statements of both languages are the same in the same order, so the n-th call of `main.py` is the n-th of `model.cpp`. An edit is a text
operation on one call (or loop); `wrong` ones change what is computed, `harmless` ones how.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

_CALL = re.compile(r"\bttnn(\.|::)((?:\w+(?:\.|::))*)(\w+)\(")
_NOT_OPS = {"Shape", "CoreGrid", "CoreCoord", "CoreRange", "CoreRangeSet", "UnaryWithParam", "MemoryConfig", "WormholeComputeKernelConfig", "Conv2dConfig"}
_NO_TENSOR = {"deallocate", "split_query_key_value_and_split_heads", "topk", "max_pool2d", "split", "chunk"}
REPLACED = {
    "add": ("subtract", "multiply"),
    "subtract": ("add", "rsub"),
    "multiply": ("add", "divide"),
    "relu": ("gelu", "tanh", "abs"),
    "gelu": ("relu", "silu"),
    "tanh": ("sigmoid", "relu"),
    "sigmoid": ("tanh", "relu"),
    "silu": ("relu", "gelu"),
    "exp": ("relu", "log1p"),
    "sum": ("mean", "max"),
    "mean": ("sum", "max"),
    "softmax": ("relu",),
}
ACTIVATIONS = {"gelu": ("relu", "silu"), "gelu_tanh": ("relu", "tanh"), "relu": ("gelu", "silu"), "tanh": ("sigmoid", "relu"), "silu": ("relu", "gelu")}


@dataclass(frozen=True, slots=True)
class Edit:
    """kind: its row in the table. site: number of the call or loop. detail: what it becomes. wrong: the result is another one."""

    kind: str
    site: int
    detail: str
    wrong: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.detail} at {self.site}".replace("  ", " ")


@dataclass(frozen=True, slots=True)
class Site:
    """A call of the text: [begin, end) is all of it, [inside, end - 1) its arguments."""

    name: str
    begin: int
    inside: int
    end: int


def sites(text: str) -> list[Site]:
    """The calls of the emitted functions in order, outside comments; configs and `main` left out."""
    stop = text.find("def main(")
    found = []
    for match in _CALL.finditer(text, 0, stop if stop >= 0 else len(text)):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if match[3] in _NOT_OPS or "#" in line or "//" in line or not line.startswith(" "):
            continue
        found.append(Site(match[3], match.start(), match.end(), closing(text, match.end())))
    return found


def closing(text: str, at: int) -> int:
    """The place behind the parenthesis that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def arguments(text: str, site: Site) -> list[tuple[int, int]]:
    """[begin, end) of each argument, without surrounding space."""
    found, depth, begin = [], 0, site.inside
    for at in range(site.inside, site.end):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth < 0 or (depth == 0 and text[at] == ","):
            part = text[begin:at]
            if part.strip():
                found.append((begin + len(part) - len(part.lstrip()), begin + len(part.rstrip())))
            begin = at + 1
    return found


def is_cpp(text: str) -> bool:
    return "#include" in text


# Around a call, as format of the call's text; {0} in Python and C++ spelling. Of C++, only these headers are added.
HEADERS = (
    "ttnn/operations/eltwise/binary/binary.hpp",
    "ttnn/operations/eltwise/unary/unary.hpp",
    "ttnn/operations/copy/typecast/typecast.hpp",
    "ttnn/operations/core/core.hpp",
    "ttnn/operations/data_movement/transpose/transpose.hpp",
)
WRONG_AROUND = {
    "scale doubled": ("ttnn.multiply({0}, 2.0)", "ttnn::multiply({0}, 2.0f)"),
    "scaled by 1.05": ("ttnn.multiply({0}, 1.05)", "ttnn::multiply({0}, 1.05f)"),
    "zeros": ("ttnn.multiply({0}, 0.0)", "ttnn::multiply({0}, 0.0f)"),
    "sign": ("ttnn.neg({0})", "ttnn::neg({0})"),
    "offset": ("ttnn.add({0}, 0.1)", "ttnn::add({0}, 0.1f)"),
    "activation inserted": ("ttnn.relu({0})", "ttnn::relu({0})"),
    "dtype": (
        "ttnn.typecast(ttnn.typecast({0}, ttnn.bfloat4_b), ttnn.{1})",
        "ttnn::typecast(ttnn::typecast({0}, ttnn::DataType::BFLOAT4_B), ttnn::DataType::{2})",
    ),
}
HARMLESS_AROUND = {
    "layout there and back": (
        "ttnn.to_layout(ttnn.to_layout({0}, ttnn.ROW_MAJOR_LAYOUT), ttnn.TILE_LAYOUT)",
        "ttnn::to_layout(ttnn::to_layout({0}, ttnn::ROW_MAJOR_LAYOUT), ttnn::TILE_LAYOUT)",
    ),
    "memory config": (
        "ttnn.to_memory_config(ttnn.to_memory_config({0}, ttnn.L1_MEMORY_CONFIG), ttnn.DRAM_MEMORY_CONFIG)",
        "ttnn::to_memory_config(ttnn::to_memory_config({0}, ttnn::L1_MEMORY_CONFIG), ttnn::DRAM_MEMORY_CONFIG)",
    ),
    "times 1": ("ttnn.multiply({0}, 1.0)", "ttnn::multiply({0}, 1.0f)"),
    "sign twice": ("ttnn.neg(ttnn.neg({0}))", "ttnn::neg(ttnn::neg({0}))"),
    "transposed twice": ("ttnn.transpose(ttnn.transpose({0}, -2, -1), -2, -1)", "ttnn::transpose(ttnn::transpose({0}, -2, -1), -2, -1)"),
    "wider and back": (
        "ttnn.typecast(ttnn.typecast({0}, ttnn.float32), ttnn.{1})",
        "ttnn::typecast(ttnn::typecast({0}, ttnn::DataType::FLOAT32), ttnn::DataType::{2})",
    ),
}


def proposals(text: str, dtype: str) -> Iterator[Edit]:
    """Every edit that `apply` can make of the Python text. dtype: of the model."""
    found = sites(text)
    for number, site in enumerate(found):
        words = text[site.begin : site.end]
        if site.name in _NO_TENSOR or _is_whole_number(text, site):
            continue
        for kind in WRONG_AROUND:
            yield Edit(kind, number, dtype if kind == "dtype" else "", True)
        for kind in HARMLESS_AROUND:
            yield Edit(kind, number, dtype if kind == "wider and back" else "", False)
        for name in REPLACED.get(site.name, ()):
            yield Edit("op replaced", number, name, True)
        for activation in re.findall(r'activation="(\w+)"', words):
            for other in ACTIVATIONS.get(activation, ()):
                yield Edit("activation replaced", number, f"{activation} {other}", True)
        for literal in dict.fromkeys(re.findall(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?|(?<![\w.])\d+e-\d+", words)):
            for factor in (2.0, 0.5, 100.0):
                yield Edit("constant", number, f"{literal} {float(literal) * factor:.8g}", True)
        parts = [text[begin:end] for begin, end in arguments(text, site)]
        if len(parts) > 1 and parts[0].isidentifier() and parts[1].isidentifier() and parts[0] != parts[1]:
            yield Edit("operand twice", number, f"{parts[0]} {parts[1]}", True)
            yield Edit("operand twice", number, f"{parts[1]} {parts[0]}", True)
            yield Edit("operands swapped", number, f"{parts[0]} {parts[1]}", site.name not in ("add", "multiply"))
        if (
            parts
            and parts[0].isidentifier()
            and site.name in ("relu", "gelu", "tanh", "sigmoid", "silu", "add", "subtract", "multiply", "neg", "exp", "softmax")
        ):
            yield Edit("op left out", number, parts[0], True)
        for keyword in ("bias", "weight", "attn_mask", "residual_input_tensor"):
            if re.search(rf"\b{keyword}=\w", words):
                yield Edit("operand left out", number, keyword, True)
        if "memory_config=DRAM" in words:
            yield Edit("result in L1", number, "", False)
            if site.name in ("linear", "matmul") and "activation" not in words:
                yield Edit("core grid", number, dtype, False)
                yield Edit("compute config", number, "", False)
        if _swapped(text, found, number) is not None:
            yield Edit("statements swapped", number, "", False)
    for number, match in enumerate(re.finditer(r"for (\w+) in range\((\w+)\)", text)):
        yield Edit("layer left out", number, match[2], True)
        yield Edit("weights of the first layer", number, match[1], True)
    for number, match in enumerate(re.finditer(r"\n +(\w+), (\w+)(?:, \w+)? = ttnn\.\w", text)):
        yield Edit("results swapped", number, f"{match[1]} {match[2]}", True)
    yield Edit("comments", 0, "", False)
    yield Edit("nothing freed", 0, "", False)


def _is_whole_number(text: str, site: Site) -> bool:
    """Whether the line says that the result is one of whole numbers or booleans."""
    return site.name in ("ne", "eq", "gt", "lt", "ge", "le", "typecast", "argmax", "embedding", "to_layout", "logical_and")


def _statement(text: str, site: Site) -> tuple[int, int, set[str]] | None:
    """[begin, end) of the assignment of a call, whole lines, and the names that it assigns; None for anything else."""
    begin, end = text.rfind("\n", 0, site.begin) + 1, text.find("\n", site.end) + 1
    head = re.fullmatch(r" +(?:const )?(?:auto )?\[?([\w, ]+)\]? = ", text[begin : site.begin])
    rest = re.fullmatch(r";?(?:  (?:#|//)[^\n]*)?\n", text[site.end : end])
    return (begin, end, set(re.findall(r"\w+", head[1]))) if head and rest else None


def _swapped(text: str, found: list[Site], number: int) -> str | None:
    """The text with this statement behind the next, None where they depend on each other or something stands between them."""
    if number + 1 >= len(found):
        return None
    one, two = _statement(text, found[number]), _statement(text, found[number + 1])
    if one is None or two is None or re.sub(r"\s+|(?:#|//)[^\n]*", "", text[one[1] : two[0]]):
        return None
    first, second = text[one[0] : one[1]], text[two[0] : two[1]]
    if len(first) - len(first.lstrip()) != len(second) - len(second.lstrip()):
        return None
    if one[2] & set(re.findall(r"\w+", second)) or two[2] & set(re.findall(r"\w+", first)):
        return None
    return text[: one[0]] + second + text[one[1] : two[0]] + first + text[two[1] :]


class NotApplicable(Exception):
    """The text of this language has no such place."""


def apply(text: str, edit: Edit) -> str:
    """The edited text.

    Raises:
        NotApplicable: the place is written in another way here.
    """
    cpp = is_cpp(text)
    around = WRONG_AROUND.get(edit.kind) or HARMLESS_AROUND.get(edit.kind)
    words = edit.detail.split()
    if edit.kind in ("layer left out", "weights of the first layer", "results swapped", "comments", "nothing freed"):
        return _apply_to_text(text, edit, cpp, words)
    site = sites(text)[edit.site]
    call = text[site.begin : site.end]
    if around is not None:
        after = around[cpp].format(call, edit.detail, edit.detail.upper())
    elif edit.kind == "op replaced":
        after = call.replace(site.name + "(", edit.detail + "(", 1)
    elif edit.kind == "activation replaced":
        after = call.replace(f'"{words[0]}"', f'"{words[1]}"', 1)
    elif edit.kind == "constant":
        number = re.search(rf"(?<![\w.]){re.escape(words[0])}(?![\w.])" if not cpp else rf"(?<![\w.]){re.escape(words[0])}f?(?![\w.])", call)
        if number is None:
            raise NotApplicable(str(edit))
        spelled = words[1] if re.search(r"[.e]", words[1]) else words[1] + ".0"
        after = call[: number.start()] + spelled + ("f" if number[0].endswith("f") else "") + call[number.end() :]
    elif edit.kind in ("operand twice", "operands swapped"):
        (first, first_end), (second, second_end) = arguments(text, site)[:2]
        one, two = text[first:first_end], text[second:second_end]
        if (one, two) not in ((words[0], words[1]), (words[1], words[0])):
            raise NotApplicable(str(edit))
        one, two = (two, one) if edit.kind == "operands swapped" else (words[0], words[0])
        after = text[site.begin : first] + one + text[first_end:second] + two + text[second_end : site.end]
    elif edit.kind == "op left out":
        after = edit.detail
    elif edit.kind == "operand left out":
        after = _without(call, edit.detail, cpp)
    elif edit.kind == "statements swapped":
        swapped = _swapped(text, sites(text), edit.site)
        if swapped is None:
            raise NotApplicable(str(edit))
        return swapped
    elif edit.kind == "core grid":  # with the compute config that the library takes without a grid: a grid alone drops bfloat16 to LoFi
        exact = edit.detail == "float32"
        fidelity = "HiFi3" if exact else "HiFi2"
        words = f"math_fidelity=ttnn.MathFidelity.{fidelity}, fp32_dest_acc_en={exact}, packer_l1_acc={not exact}"
        config = "" if "compute_kernel_config" in call else f", compute_kernel_config=ttnn.WormholeComputeKernelConfig({words})"
        tail = "memory_config=DRAM", f"memory_config=DRAM, core_grid=ttnn.CoreGrid(y=4, x=4){config}"
        if cpp:  # by position: data type, program config, activation, compute config, core grid
            flag = "fp32_dest_acc_en" if exact else "packer_l1_acc"
            config = f"ttnn::WormholeComputeKernelConfig{{.math_fidelity = MathFidelity::{fidelity}, .{flag} = true}}"
            tail = "DRAM)", f"DRAM, nullopt, nullopt, nullopt, {config}, ttnn::CoreGrid(4, 4))"
        after = call.replace(*tail) if not cpp or call.endswith("DRAM)") else call
    elif edit.kind == "compute config" and not cpp:
        config = "ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True)"
        after = call if "compute_kernel_config" in call else call.replace("memory_config=DRAM", f"memory_config=DRAM, compute_kernel_config={config}")
    elif edit.kind == "result in L1":
        after = re.sub(r"memory_config=DRAM", "memory_config=ttnn.L1_MEMORY_CONFIG", call) if not cpp else re.sub(r"\bDRAM\b", "ttnn::L1_MEMORY_CONFIG", call)
    else:
        raise NotApplicable(str(edit))
    if after == call:
        raise NotApplicable(str(edit))
    return text[: site.begin] + after + text[site.end :]


def _without(call: str, keyword: str, cpp: bool) -> str:
    if not cpp:
        return re.sub(rf"\b{keyword}=(?:weights\[[^\]]*\]|\w+), ?\s*", "", call, count=1)
    after = re.sub(rf"/\*{keyword}=\*/[^,)]+", f"/*{keyword}=*/nullopt", call, count=1)
    if after == call:  # without a comment: told by its name
        after = re.sub(rf'weights\["[\w.]*{keyword}"\]', "nullopt", call, count=1)
    return after


def _apply_to_text(text: str, edit: Edit, cpp: bool, words: list[str]) -> str:
    if edit.kind == "comments":
        return text.replace("    // ", "    // edited: ").replace("    # ", "    # edited: ")
    if edit.kind == "nothing freed":
        return re.sub(r"\n +del [^\n]*(?=\n)", "", text) if not cpp else re.sub(r"\n +release\([^\n]*(?=\n)", "", text)
    if edit.kind == "results swapped":
        pattern = rf"\b{words[0]}, {words[1]}\b(?=[\w, ]*\]? = ttnn)"
        after = re.sub(pattern, f"{words[1]}, {words[0]}", text, count=1)
    elif edit.kind == "layer left out":
        name = edit.detail
        after = text.replace(f"range({name})", f"range({name} - 1)", 1) if not cpp else re.sub(rf"< {name};", f"< {name} - 1;", text, count=1)
    elif cpp:
        after = re.sub(rf"std::to_string\({words[0]}\)", "std::to_string(0)", text, count=1)
    else:
        after = text.replace("{" + words[0] + "}", "0", 1)
    if after == text:
        raise NotApplicable(str(edit))
    return after


def chosen(text: str, dtype: str, wrong: int, harmless: int, seed: int = 0) -> list[Edit]:
    """So many edits of each sort: every kind in turn, its places in random order."""
    rng = random.Random(seed)
    every = list(dict.fromkeys(proposals(text, dtype)))
    rng.shuffle(every)
    picked: list[Edit] = []
    for sort, count in ((True, wrong), (False, harmless)):
        by_kind: dict[str, list[Edit]] = {}
        for edit in every:
            if edit.wrong is sort:
                by_kind.setdefault(edit.kind, []).append(edit)
        taken = 0
        while taken < count and any(by_kind.values()):
            for kind in sorted(by_kind):
                if by_kind[kind] and taken < count:
                    picked.append(by_kind[kind].pop())
                    taken += 1
    return picked
