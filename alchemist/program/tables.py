"""Weights that one helper prepares at many places of a program come from one loop over a table: a row for each module, a column for each number.

The folded convolutions of a network are then one list of sizes and strides instead of functions that mirror the forward pass. What the
shape of a tensor file says is read there and has no column. Works on finished const-eval functions, before `merge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from alchemist.ir.scopes import common_prefix
from alchemist.program import model
from alchemist.program.alignment import align
from alchemist.program.alpha_renaming import Mismatch
from alchemist.program.names import RESERVED, unique
from alchemist.program.prepare import FOLDS, LAYERS
from alchemist.program.walk import calls_of, joined_key, mapped, text_of, with_values

MIN_ROWS = 8
"""Rows that make a table."""
MAX_COLUMNS = 7
"""Columns that are read at a glance."""
Shapes = Mapping[str, Mapping[model.Key, tuple[int, ...]]]
"""Of each helper, the shapes of the tensor files that it reads."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A helper's call. texts: full names of the modules that it is given."""

    helper: str
    texts: tuple[str, ...]


def tabulated(functions: Sequence[model.Function], shapes: Shapes, taken: set[str]) -> list[model.Function] | None:
    """The functions with one that goes through a table instead of the helpers that `shapes` knows; None where there is no such table.

    functions: callee first, the last one makes all weights. taken: names that functions must not have.
    """
    helpers = [function for function in functions if function.name in shapes]
    if not helpers:
        return None
    try:
        rows = list(_rows(functions[-1], {function.name: function for function in functions}, shapes, ""))
        aligned = align([_called_like(helper, helpers[0]) for helper in helpers], taken)
    except (Mismatch, KeyError):
        return None
    if len(rows) < MIN_ROWS:
        return None
    places = {helper.name: index for index, helper in enumerate(helpers)}
    extents = _extents(aligned.added, [shapes[helper.name] for helper in helpers])
    known = {name for names, _ in extents for name in names}
    columns = [name for name in aligned.added if name not in known]
    words = [parameter.name for parameter in helpers[0].parameters if parameter.kind == "text"]
    scope = _common([text for row in rows for text in row.texts])
    texts = [[text.removeprefix(f"{scope}.") if scope else text for text in row.texts] for row in rows]
    heads, tails = [_common(list(row)) for row in texts], [tuple(text.removeprefix(_common(list(row))) for text in row) for row in texts]
    body = (*(model.Extents(names, model.WeightRef(key, stored=True)) for names, key in extents), *aligned.function.body)
    if len(words) > 1 and len(set(tails)) == 1 and all(heads):
        body = _with_names(body, dict(zip(words, tails[0], strict=True)))
        words, texts = ["name"], [[head] for head in heads]
    if len(words) + len(columns) > MAX_COLUMNS:
        return None
    kinds = {parameter.name: parameter.kind for parameter in aligned.function.parameters}
    cells = tuple(
        (*(model.KeyText((text,)) for text in names), *(aligned.added[column][places[row.helper]] for column in columns))
        for row, names in zip(rows, texts, strict=True)
    )
    loop = model.RowLoop(tuple(model.Parameter(word, kinds.get(word, "text")) for word in (*words, *columns)), cells, body)
    name = unique([f"{helpers[0].name}s"], lambda name: name not in taken and name not in RESERVED)
    stored, output = helpers[0].parameters[:2]
    each = {FOLDS.format("a", layer): FOLDS.format("each", layer) for layer in LAYERS}
    doc = each.get(helpers[0].doc, helpers[0].doc)
    table = model.Function(name, (stored, output), (loop,), 0, doc)
    key: model.Key = (scope,) if scope else ()
    call = model.CallFunction(name, (model.ScopeArgument("stored", key), model.ScopeArgument("weights", key)), ())
    rest = _without(functions, set(shapes))
    return [*rest[:-1], table, replace(rest[-1], body=(*rest[-1].body, call))]


def _called_like(helper: model.Function, first: model.Function) -> model.Function:
    if helper.parameters != first.parameters:
        raise Mismatch
    return helper


def _rows(function: model.Function, functions: Mapping[str, model.Function], shapes: Shapes, scope: str) -> Iterator[_Row]:
    for call, numbers in calls_of(function.body, {}):
        if call.function in shapes:
            yield _Row(call.function, tuple(scope + text_of(part.key, numbers) for part in call.arguments if isinstance(part, model.KeyText)))
        elif call.function in functions:
            keys = [part.key for part in call.arguments if isinstance(part, model.ScopeArgument)]
            yield from _rows(functions[call.function], functions, shapes, f"{scope}{text_of(keys[0], numbers)}." if keys and keys[0] else scope)


def _common(names: Sequence[str]) -> str:
    """The modules that all names begin with."""
    return ".".join(common_prefix([name.split(".")[:-1] for name in names]))


def _with_names(body: tuple[model.Statement, ...], tails: Mapping[str, str]) -> tuple[model.Statement, ...]:
    """The body where what several variables named is `name` and what comes behind it."""

    def key(old: model.Key) -> model.Key:
        pieces: list[str | model.Index] = []
        for piece in old:
            if isinstance(piece, model.Index) and piece.variable in tails:
                pieces += [model.Index("name", text=True), tails[piece.variable]]
            else:
                pieces.append(piece)
        return joined_key(pieces)

    def value(old: model.Value) -> model.Value:
        return replace(old, key=key(old.key)) if isinstance(old, model.WeightRef | model.KeyText) else old

    return mapped(body, lambda one: with_values(one, value))


def _extents(added: Mapping[str, tuple[model.Value, ...]], files: Sequence[Mapping[model.Key, tuple[int, ...]]]) -> list[tuple[tuple[str, ...], model.Key]]:
    """Numbers that are the extents of a tensor file, as the names of its dimensions ("_" for one that has a name already, or none)."""
    wanted = {tuple(value.value for value in values if isinstance(value, model.Literal)): name for name, values in added.items()}
    found: list[tuple[tuple[str, ...], model.Key]] = []
    known: set[str] = set()
    for key in sorted(files[0], key=lambda key: -len(files[0][key])):
        shapes = [shapes.get(key, ()) for shapes in files]
        if len({len(shape) for shape in shapes}) > 1:
            continue
        names = [wanted.get(tuple(vector), "_") for vector in zip(*shapes, strict=True)]
        names = ["_" if name in known or name in names[:place] else name for place, name in enumerate(names)]
        if set(names) - {"_"}:
            found.append((tuple(names), key))
            known |= set(names)
    return found


def _without(functions: Sequence[model.Function], helpers: set[str]) -> list[model.Function]:
    """The functions without calls of the helpers, and without what is empty then; the last one stays."""
    gone = set(helpers)

    def kept(body: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
        out: list[model.Statement] = []
        for one in body:
            if isinstance(one, model.CallFunction) and one.function in gone:
                continue
            if isinstance(one, model.Loop | model.NameLoop):
                one = replace(one, body=kept(one.body))
                if not one.body:
                    continue
            out.append(one)
        return tuple(out)

    made: list[model.Function] = []
    for function in functions:
        if function.name in gone:
            continue
        changed = replace(function, body=kept(function.body))
        if not changed.body and function is not functions[-1]:
            gone.add(function.name)
            continue
        made.append(changed)
    return made
