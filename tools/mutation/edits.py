"""Small faults in source text: `edits(path, text)` lists every place where one can be put."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_COMPARE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Characters `start` to `end` of a text become `text`. line: counted from 1. what: the change for people."""

    start: int
    end: int
    text: str
    line: int
    what: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


@cache
def edits(path: str, source: str) -> list[Edit]:
    """Every edit of a `.py` or `.cpp` text, in order."""
    return sorted(set(_python(source) if path.endswith(".py") else _cpp(source)))


# --- Python -------------------------------------------------------------------------------------------------------------------------------------------


def _python(source: str) -> Iterator[Edit]:
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(line: int, column_bytes: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column_bytes].decode())

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    def whole(node: ast.expr | ast.stmt, text: str, what: str) -> Edit:
        return Edit(*span(node), text, node.lineno, what)

    def between(left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Edit]:
        begin, end = span(left)[1], span(right)[0]
        gap = source[begin:end]
        found = [m for m in re.finditer(re.escape(old) if not old[0].isalpha() else rf"\b{old}\b", gap) if "#" not in gap[: m.start()]]
        if found:
            yield Edit(begin + found[0].start(), begin + found[0].end(), new, left.lineno, f"{old} -> {new}")

    tree = ast.parse(source)
    refusals = _refusals(tree)
    for node in _evaluated(tree):
        if isinstance(node, ast.Compare):
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from between(left, right, *_COMPARE[type(op)])
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not _is_sequence(node.left):
            yield from between(node.left, node.right, *_ARITHMETIC[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, old, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield Edit(span(node)[0], span(node)[0] + len("not"), "", node.lineno, "not removed")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield whole(node, str(not node.value), f"{node.value} -> {not node.value}")
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.value < 2**31 and not _round(node.value):
            yield whole(node, str(node.value + 1), f"{node.value} -> {node.value + 1}")
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            begin, end = span(node.test)
            yield Edit(begin, end, f"not ({source[begin:end]})", node.test.lineno, "condition negated")
        elif isinstance(node, ast.Return) and node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            if node not in refusals:
                yield whole(node.value, "None", "returns None")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield whole(node, "pass", "call removed")
        elif isinstance(node, ast.Continue):
            yield whole(node, "break", "continue -> break")
        elif isinstance(node, ast.Raise):
            yield whole(node, "pass", "raise removed")


# What changes no result: how much is kept, when it is written, which line a warning shows.
_TUNING = {"flush", "maxsize", "stacklevel", "buffering"}


def _refusals(tree: ast.Module) -> set[ast.AST]:
    """`return False` of a module's own helpers that are `-> bool`: their callers ask whether, and None is no more true. The constant has its own mutant."""
    helpers = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name.startswith("_") and not one.name.startswith("__")]
    asked = [one for one in helpers if isinstance(one.returns, ast.Name) and one.returns.id == "bool"]
    found = [node for one in asked for node in ast.walk(one) if isinstance(node, ast.Return)]
    return {node for node in found if isinstance(node.value, ast.Constant) and node.value.value is False}


def _is_sequence(node: ast.expr) -> bool:
    """`"a" - x` fails wherever it runs."""
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _round(value: int) -> bool:
    """A limit that somebody chose by eye: one more is the same limit, and less than a ten-thousandth of it."""
    return value >= 10_000 and value % 1_000 == 0


def _our_fault(node: ast.AST) -> bool:
    """`if ...: raise InternalError` and `assert`: no input gets there, so nothing can show that they are gone."""
    if isinstance(node, ast.If):
        return not node.orelse and len(node.body) == 1 and _our_fault(node.body[0])
    raised = node.exc.func if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) else None
    return isinstance(node, ast.Assert) or (isinstance(raised, ast.Name) and raised.id == "InternalError") or _is_left_to_subclasses(node)


def _is_left_to_subclasses(node: ast.AST) -> bool:
    """A method that only says what it is for: classes that are made have one of their own."""
    body = node.body if isinstance(node, ast.FunctionDef) else []
    last = body[-1] if body and len(body) == 1 + (ast.get_docstring(node) is not None) else None  # type: ignore[arg-type]
    return isinstance(last, ast.Raise) and isinstance(last.exc, ast.Name) and last.exc.id == "NotImplementedError"


_NOT_EVALUATED = {"annotation", "returns", "decorator_list", "type_params", "ctx", "op", "ops"}


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that decide what a program does: without annotations, error texts, what only type checkers run, and what no input can tell."""
    pending = [node]
    while pending:
        node = pending.pop()
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        # Cases of the tests that stand beside their op: a call with another number is another call, a refused one another refused one.
        is_case = called in ("Sample", "ErrorSample") or (isinstance(node, ast.keyword) and node.arg in ("samples", "error_samples"))
        if _our_fault(node) or is_case or (isinstance(node, ast.keyword) and node.arg in _TUNING):
            continue
        yield node
        if isinstance(node, ast.JoinedStr):  # Python 3.11 does not say where its parts stand
            continue
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        for name in node._fields:
            if called == "zip" and name == "keywords":  # strict=True tells our own faults
                continue
            if name in _NOT_EVALUATED or (isinstance(node, ast.Raise) and name in ("exc", "cause")):
                continue
            value = getattr(node, name, None)
            if isinstance(value, list):
                pending += [child for child in value if isinstance(child, ast.AST)]
            elif isinstance(value, ast.AST):
                pending.append(value)


# --- C++ ----------------------------------------------------------------------------------------------------------------------------------------------

# What decides nothing is blanked before tokens are looked for: comments, texts, preprocessor lines, attributes, checks of our own errors' words.
_BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*', re.DOTALL | re.MULTILINE)
# clang-format sets blanks around binary operators and none around template brackets, references and pointers.
_CPP = [
    (r"(?<= )<(?= )", "<="),
    (r"(?<= )<=(?= )", "<"),
    (r"(?<= )>(?= )", ">="),
    (r"(?<= )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="),
    (r"(?<= )!=(?= )", "=="),
    (r"(?<= )&&(?= )", "||"),
    (r"(?<= )\|\|(?= )", "&&"),
    (r"(?<=[\w)\]] )\+(?= )", "-"),
    (r"(?<=[\w)\]] )-(?= )", "+"),
    (r"(?<=[\w)\]] )\*(?= )", "+"),
    (r"(?<=[\w)\]] )/(?= )", "*"),
    (r"(?<=[\w)\]] )%(?= )", "/"),
    (r"(?<= )\+=(?= )", "-="),
    (r"(?<= )-=(?= )", "+="),
    (r"(?<= )\*=(?= )", "+="),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bstd::min(?=[(<])", "std::max"),
    (r"\bstd::max(?=[(<])", "std::min"),
    (r"\bstd::ceil(?=\()", "std::floor"),
    (r"\bcontinue(?=;)", "break"),
    (r"!(?=[\w(])(?<![\w)]!)", ""),
]
_CPP_NUMBER = re.compile(r"(?<![\w.<])(\d+)(?![\w.>'])")
_CPP_CALL = re.compile(r"^[ \t]+((?:[\w:]+(?:\.|->))*[\w:]+\([^;{}]*\);)[ \t]*$", re.MULTILINE)
_CPP_KEYWORDS = re.compile(r"(?:return|throw|delete|co_return|if|while|for|switch|static_assert|using)\b")
_CPP_IF = re.compile(r"\bif \(([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*)\)")


# As `_our_fault` and `_TUNING`: assertions, memory that is reserved, the least work of a thread.
_CPP_NO_RESULT = re.compile(r"\bSHIM_ASSERT\([^;]*?\);|\.reserve\([^;]*?\);")
_CPP_GRAIN = re.compile(r"(\bparallel_for\((?:[^(),]|\([^()]*\))*, )[^;{]*?(?=, \[)")


_CPP_MESSAGE = re.compile(r"\b(?:SHIM_CHECK|SHIM_SUPPORTED)\(")


def _without_messages(text: str, source: str) -> str:
    """What a check says, from its text on, is blanked, as the texts of errors are in Python. `text`: `source` without texts and comments."""
    out = list(text)
    for match in _CPP_MESSAGE.finditer(text):
        depth, message = 1, -1
        for at in range(match.end(), len(text)):
            depth += (text[at] in "([{") - (text[at] in ")]}")
            if depth == 1 and message < 0 and source[at] == '"' and text[at] == "\0":
                message = at
            if not depth:
                if message >= 0:
                    out[message:at] = re.sub(r"[^\n]", "\0", text[message:at])
                break
    return "".join(out)


def _cpp(source: str) -> Iterator[Edit]:
    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", "\0", match[0])

    text = _without_messages(_CPP_NO_RESULT.sub(blank, _BLANK.sub(blank, source)), source)
    text = _CPP_GRAIN.sub(lambda match: match[1] + "\0" * (len(match[0]) - len(match[1])), text)

    def edit(start: int, end: int, new: str, what: str) -> Edit:
        return Edit(start, end, new, source.count("\n", 0, start) + 1, what)

    for pattern, new in _CPP:
        for match in re.finditer(pattern, text):
            yield edit(match.start(), match.end(), new, f"{match[0]} -> {new}" if new else f"{match[0]} removed")
    for match in _CPP_NUMBER.finditer(text):
        if int(match[1]) < 2**31 and not _round(int(match[1])):
            yield edit(match.start(), match.end(), str(int(match[1]) + 1), f"{match[1]} -> {int(match[1]) + 1}")
    for match in _CPP_CALL.finditer(text):
        if not _CPP_KEYWORDS.match(match[1]):
            yield edit(match.start(1), match.end(1), ";", "call removed")
    for match in _CPP_IF.finditer(text):
        if "=" not in match[1].replace("==", "").replace("!=", "").replace("<=", "").replace(">=", ""):
            yield edit(match.start(1), match.end(1), f"!({source[match.start(1) : match.end(1)]})", "condition negated")
