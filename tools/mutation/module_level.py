"""Statements outside functions: which lines run because of them, and by which words the names of tests ask for them.

Imports run them, so that hardly any test is noted to: a table, a default or a decorator shows where what it names is used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def span(node: ast.AST) -> tuple[int, int]:
    """First and last line, decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, span(node.body[-1])[1]
    assert isinstance(node, ast.stmt | ast.ExceptHandler)
    begin = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return begin, node.end_lineno or begin


def bits(begin: int, end: int) -> int:
    return (1 << end + 1) - (1 << begin)


def users(path: str, tree: ast.Module, line: int, sources: Path) -> dict[str, int]:
    """Bits of the lines, by file, of the functions that a statement is for: of a head its function, of a call what it calls, of a name or a field who reads it.

    sources: folder with all files as the notes have them. Names that nobody reads in their own file are looked up in the others.
    """
    around = list(_around(tree, line))
    if not around:
        return {}
    function = next((node for node in around if isinstance(node, FUNCTIONS)), None)
    if function is not None:
        return {path: _body(function)}
    names = {node.id for node in ast.walk(around[-1]) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if isinstance(around[0], ast.ClassDef):
        own = sum({_body(one) for one in around[0].body if isinstance(one, FUNCTIONS)})
        return {path: own} if own else _readers(path, tree, names | {around[0].name}, sources)
    loaded = {node.id for node in ast.walk(around[-1]) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    called = [_later(node) for node in tree.body if isinstance(node, FUNCTIONS) and node.name in loaded]
    found = _readers(path, tree, names, sources) if names else {}
    for one in called:
        found[path] = found.get(path, 0) | one
    return found


def _readers(path: str, tree: ast.Module, names: set[str], sources: Path) -> dict[str, int]:
    names = _closure(tree, names)
    own = _reading(tree, names)
    if own:
        return {path: own}
    found = {}
    word = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")
    for file in sorted(sources.rglob("*.py")):
        text = file.read_text()
        if word.search(text) and (lines := _reading(ast.parse(text), names)):
            found[file.relative_to(sources).as_posix()] = lines
    return found


def _closure(tree: ast.Module, names: set[str]) -> set[str]:
    """Also what the file makes of them outside functions."""
    found = set(names)
    for node in tree.body:  # in order: what stands above cannot read them
        if isinstance(node, ast.Assign | ast.AnnAssign) and _mentions(node, found):
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return found


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any((isinstance(one, ast.Name) and one.id in names) or (isinstance(one, ast.Attribute) and one.attr in names) for one in ast.walk(node))


def _reading(tree: ast.Module, names: set[str]) -> int:
    """Of the outermost functions that mention one of the names."""
    found = 0
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, FUNCTIONS):
            found |= _body(node) if _mentions(node, names) else 0
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return bits(function.body[0].lineno, function.end_lineno or 0)


def _later(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Of a function that a statement calls: what it registers, for the call itself is run by imports; all of it where that is nothing."""
    inner = [_body(node) for node in ast.walk(function) if isinstance(node, FUNCTIONS) and node is not function]
    found = 0
    for one in inner or [_body(function)]:
        found |= one
    return found


def _around(tree: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements around a line, the outermost first; none in a function's body."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt) and span(child)[0] <= line <= span(child)[1]:
            yield child
            if not isinstance(child, FUNCTIONS):
                yield from _around(child, line)


def words(tree: ast.Module, line: int) -> list[set[str]]:
    """Words of the texts around a line, of the innermost expression first: names of ops in a row of a table, in a call that registers.

    Those of a table that an expression names count as its own.
    """
    tables = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found: list[set[str]] = []
    node: ast.AST | None = tree
    while node is not None:
        node = next((child for child in ast.iter_child_nodes(node) if _holds(child, line)), None)
        if isinstance(node, FUNCTIONS):  # its body is none of the statement
            node = ast.Tuple(node.decorator_list, lineno=line, end_lineno=line)
        if node is not None:
            named = [tables[one.id] for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in tables]
            found.append({word for one in [node, *named] for word in _texts(one)})
    return found[::-1]


def _holds(node: ast.AST, line: int) -> bool:
    begin, end = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    decorators = [one.lineno for one in getattr(node, "decorator_list", [])]
    return begin is not None and end is not None and min([begin, *decorators]) <= line <= end


def _texts(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield from re.findall(r"[a-z]\w{2,}", one.value)
