"""What the model's source text says about a line: its statement, assignment targets, names read, enclosing function.

Only files of live Python models are given (`FrontendResult.source_files`); nothing is ever read from a path found in IR.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from alchemist.ir.location import Frame


@dataclass(frozen=True, slots=True)
class Statement:
    """A source statement.

    text: its first line, an open call cut to `f(...)`. targets: names assigned, in order ("self.x" gives "x", so does `self.x.copy_(...)`,
    `outputs.append(...)` gives "output", `return cos.to(...), sin.to(...)` gives "cos", "sin"). reads: names loaded, in source order. containers:
    those of them that are looked up by a string (`params["w"]`). method: `f` when the value is `self.f(...)`. returned: it is a return statement.
    nested: the arguments of its call are calls or arithmetic themselves. bindings: variables that its call (of a module or function) is given:
    keyword or position, name.
    """

    file: str
    line: int
    text: str
    targets: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    method: str = ""
    returned: bool = False
    containers: tuple[str, ...] = ()
    nested: bool = False
    bindings: tuple[tuple[int | str, str], ...] = ()

    def binding(self, name: str, parameters: tuple[str, ...]) -> str:
        """The parameter of the called function that gets the variable `name`, "" if none or several do."""
        found = {place for place, given in self.bindings if given == name}
        if len(found) != 1:
            return ""
        (place,) = found
        if isinstance(place, str):
            return place
        return parameters[place] if place < len(parameters) else ""


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A `def`: first and last line, parameter names without self, what its last return statement names ("" for expressions).

    plain: parameters that are no tensors, by annotation, by default value or as containers of weights.
    """

    line: int
    end_line: int
    parameters: tuple[str, ...]
    name: str = ""
    returned: tuple[str, ...] = ()
    plain: frozenset[str] = frozenset()


class Sources:
    """Lookup by (file, line), parsed once per file; unknown files and lines give None."""

    def __init__(self, files: Mapping[str, str], classes: Mapping[str, tuple[str, int]]) -> None:
        self._files = dict(files)
        self._classes = dict(classes)
        self._parsed: dict[str, _File] = {}
        self._statements: dict[tuple[str, int], Statement | None] = {}

    def statement(self, frame: Frame) -> Statement | None:
        key = (frame.file, frame.line)
        if key not in self._statements:
            file = self._file(frame.file)
            self._statements[key] = file.statement(frame.line) if file else None
        return self._statements[key]

    def function_of_class(self, class_name: str) -> tuple[str, FunctionSource] | None:
        """(file, definition) of the class's forward."""
        where = self._classes.get(class_name)
        file = self._file(where[0]) if where else None
        if where is None or file is None:
            return None
        found = file.function_at(where[1])
        return (where[0], found) if found else None

    def aliases(self, frame: Frame, name: str) -> list[str]:
        """Other names that the function around the line gives to a variable: `x = inputs`, `x = outputs[0]`."""
        file = self._file(frame.file)
        return file.aliases(frame.line, name) if file else []

    def class_line(self, class_name: str) -> tuple[str, int]:
        return self._classes.get(class_name, ("", 0))

    def class_contains(self, class_name: str, frame: Frame) -> bool:
        """Whether the line is in the class's forward (or another method when the class body is known)."""
        where = self._classes.get(class_name)
        if where is None or where[0] != frame.file:
            return False
        file = self._file(where[0])
        if file is None:
            return True
        own = file.function_at(where[1])
        if own is not None and own.name == class_name.rpartition(".")[2]:  # a function, not a class
            return own.line <= frame.line <= own.end_line
        return file.class_range(where[1], frame.line)

    def in_another_class(self, class_name: str, statement: Statement) -> bool:
        """Whether the statement is in a method of another class of the class's file."""
        where = self._classes.get(class_name)
        file = self._file(where[0]) if where and where[0] == statement.file else None
        if where is None or file is None:
            return False
        own, other = file.class_at(where[1]), file.class_at(statement.line)
        return own is not None and other is not None and own is not other

    def _file(self, name: str) -> _File | None:
        if name not in self._files:
            return None
        if name not in self._parsed:
            self._parsed[name] = _File(name, self._files[name])
        return self._parsed[name]


class _File:
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = text.splitlines()
        self.statements: list[ast.stmt] = []
        self.functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        self.classes: list[ast.ClassDef] = []
        self._found: dict[int, FunctionSource | None] = {}  # function_at, which naming asks for every op again
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return  # not Python (any more): lines are quoted as they are, names come from elsewhere
        self._collect(tree)
        self.statements.sort(key=lambda node: (node.lineno, -(node.end_lineno or node.lineno)))
        self.by_line: dict[int, ast.stmt] = {}
        for node in self.statements:  # later (inner) statements overwrite outer ones
            last = node.end_lineno or node.lineno
            if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.FunctionDef | ast.ClassDef | ast.Try):
                body = getattr(node, "body", None)
                last = max(node.lineno, body[0].lineno - 1) if body else last
            for line in range(node.lineno, last + 1):
                self.by_line[line] = node

    def _collect(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.append(child)
            elif isinstance(child, ast.ClassDef):
                self.classes.append(child)
            if isinstance(child, ast.stmt):
                self.statements.append(child)
            if not isinstance(child, ast.expr):
                self._collect(child)

    def function_at(self, line: int) -> FunctionSource | None:
        """The function whose `def` (or first decorator) is at the line, or the innermost one around it."""
        if line not in self._found:
            self._found[line] = self._function_at(line)
        return self._found[line]

    def _function_at(self, line: int) -> FunctionSource | None:
        best: ast.FunctionDef | ast.AsyncFunctionDef | None = None
        for node in self.functions:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= (node.end_lineno or node.lineno) and (best is None or node.lineno > best.lineno):
                best = node
        if best is None:
            return None
        arguments = best.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if names and self._is_method(best):
            names = names[1:]
        return FunctionSource(
            best.lineno, best.end_lineno or best.lineno, tuple(names), best.name, _returned(best), _plain(arguments) | _looked_up(best, names)
        )

    def aliases(self, line: int, name: str) -> list[str]:
        function = self.function_at(line)
        if function is None:
            return []
        inside = [one for one in self.statements if isinstance(one, ast.Assign) and function.line <= one.lineno < line]
        return [one.targets[0].id for one in inside if isinstance(one.targets[0], ast.Name) and _variable(one.value) == name]

    def _is_method(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether the first parameter is the instance, whatever it is called."""
        static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)
        return not static and any(function in one.body for one in self.classes)

    def class_at(self, line: int) -> ast.ClassDef | None:
        """The innermost class around the line."""
        around = [node for node in self.classes if node.lineno <= line <= (node.end_lineno or node.lineno)]
        return max(around, key=lambda node: node.lineno, default=None)

    def class_range(self, method_line: int, line: int) -> bool:
        for node in self.classes:
            if node.lineno <= method_line <= (node.end_lineno or node.lineno):
                return node.lineno <= line <= (node.end_lineno or node.lineno)
        return True

    def statement(self, line: int) -> Statement | None:
        if not 1 <= line <= len(self.lines):
            return None
        node = getattr(self, "by_line", {}).get(line)
        if node is None:
            return Statement(self.name, line, _first_line(self.lines[line - 1]))
        text = _first_line("\n".join(self.lines[node.lineno - 1 : node.end_lineno]))
        value = getattr(node, "value", None)
        return Statement(
            self.name,
            node.lineno,
            text,
            tuple(_targets(node)),
            tuple(_reads(node)),
            _method(value),
            isinstance(node, ast.Return),
            tuple(_containers(node)),
            _nested(value),
            tuple(_bindings(value)),
        )


_PLAIN = frozenset({"int", "float", "bool", "str", "None", "Optional", "Union"})


def _looked_up(function: ast.FunctionDef | ast.AsyncFunctionDef, names: Sequence[str]) -> frozenset[str]:
    """Parameters that are read as `params["w"]` and in no other way."""
    read: dict[str, int] = {}
    looked_up: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in names:
            read[node.id] = read.get(node.id, 0) + 1
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                looked_up[node.value.id] = looked_up.get(node.value.id, 0) + 1
    return frozenset(name for name, count in looked_up.items() if count == read[name])


def _plain(arguments: ast.arguments) -> frozenset[str]:
    """Parameters annotated as a Python number, text, cache or config, or with a number or text as default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    found = set()
    for argument, default in zip([*positional, *arguments.kwonlyargs], defaults, strict=True):
        words = set(re.findall(r"\w+", ast.unparse(argument.annotation))) if argument.annotation else set()
        literal = isinstance(default, ast.Constant) and default.value is not None
        if literal or (words and all(word in _PLAIN or word.endswith(("Cache", "Config")) for word in words)):
            found.add(argument.arg)
    return frozenset(found)


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    found = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    if not found:
        return ()
    parts = found[-1].elts if isinstance(found[-1], ast.Tuple) else [found[-1]]
    return tuple(part.id if isinstance(part, ast.Name) else "" for part in parts)


def _targets(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign):
        yield from _target_names(node.targets[0])
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        yield from _target_names(node.target)
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        names = [_formed(part) for part in node.value.elts]
        yield from names if all(names) else ()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        grown = node.value.func
        if grown.attr == "append" and isinstance(grown.value, ast.Name):
            yield grown.value.id.removesuffix("s") or grown.value.id  # one of the `outputs`
        elif grown.attr == "copy_":
            yield from _target_names(grown.value)  # `self.length.copy_(x)`


_FORMS = frozenset(
    {"astype", "clone", "contiguous", "detach", "flatten", "float", "permute", "reshape", "squeeze", "to", "transpose", "type_as", "unsqueeze", "view"}
)
"""Methods whose result is another form of the tensor."""


def _formed(node: ast.expr) -> str:
    """The variable of which this is a form: `cos.to(x.dtype)` is cos."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FORMS:
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else ""


def _target_names(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Tuple | ast.List):
        for part in node.elts:
            yield from _target_names(part)
    elif isinstance(node, ast.Starred):
        yield from _target_names(node.value)
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.slice, ast.Constant):
        yield node.value.id  # `x[..., :2] = y` makes another x; `x["y"]` is a container
    else:
        yield ""


def _reads(node: ast.stmt) -> Iterator[str]:
    simple = getattr(node, "value", None) or getattr(node, "test", None) or getattr(node, "iter", None)
    if simple is None:
        return
    names = [part for part in ast.walk(simple) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    for name in sorted(names, key=lambda part: (part.lineno, part.col_offset)):
        yield name.id


def _containers(node: ast.stmt) -> Iterator[str]:
    for part in ast.walk(node) if isinstance(node, ast.Assign | ast.Return | ast.AugAssign | ast.AnnAssign | ast.Expr) else ():
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and isinstance(part.slice, ast.Constant):
            if isinstance(part.slice.value, str):
                yield part.value.id


def _method(value: ast.expr | None) -> str:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        owner = value.func.value
        if isinstance(owner, ast.Name) and owner.id == "self":
            return value.func.attr
    return ""


def _bindings(value: ast.expr | None) -> Iterator[tuple[int | str, str]]:
    """Of the statement's outermost call: `x = self.f(a, mask=b)[0] + y` gives (0, "a"), ("mask", "b")."""
    pending = [value] if value is not None else []
    calls: list[ast.Call] = []
    while pending and not calls:
        calls = [part for part in pending if isinstance(part, ast.Call)]
        pending = [child for part in pending for child in ast.iter_child_nodes(part) if isinstance(child, ast.expr)]
    for call in calls[:1] if len(calls) == 1 else ():
        for place, given in enumerate(call.args):
            if isinstance(given, ast.Starred):
                break
            if name := _variable(given):
                yield place, name
        for keyword in call.keywords:
            if keyword.arg and (name := _variable(keyword.value)):
                yield keyword.arg, name


def _variable(value: ast.expr) -> str:
    """The variable that `x`, `x[0]` and `x.last_hidden_state` are made from."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        value = value.value
    elif isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id != "self":
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _nested(value: ast.expr | None) -> bool:
    if not isinstance(value, ast.Call):
        return False
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    return any(isinstance(part, ast.Call) or _computes(part) for argument in arguments for part in ast.walk(argument))


def _computes(part: ast.AST) -> bool:
    """Whether an expression may be arithmetic on tensors; what only whole numbers have is not."""
    arithmetic = isinstance(part, ast.BinOp) and not isinstance(part.op, ast.FloorDiv | ast.Mod | ast.LShift | ast.RShift)
    return arithmetic and any(isinstance(one, ast.Name | ast.Attribute) for one in ast.walk(part))


def _first_line(text: str) -> str:
    """The first line of a statement; what is still open at its end is cut to `f(...)`."""
    lines = text.strip().splitlines()
    if not lines:
        return ""
    first = lines[0].strip()
    if len(lines) == 1:
        return first
    opened: list[tuple[int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(first + "\n").readline):
            if token.type == tokenize.OP and token.string in "([{":
                opened.append((token.start[1], token.string))
            elif token.type == tokenize.OP and token.string in ")]}" and opened:
                opened.pop()
            elif token.type == tokenize.COMMENT and opened:
                break
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass  # the line ends inside brackets or a string: what was read until then counts
    if not opened:
        return first
    column, bracket = opened[0]
    return first[: column + 1] + "..." + {"(": ")", "[": "]", "{": "}"}[bracket]
