"""Statements and functions as Python text; black has the last word on line breaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from alchemist.errors import EmitError
from alchemist.ops.spec import ONES
from alchemist.program import model
from alchemist.program.text import WIDTH, comment, lines_of_text
from emit_py.layout import call_lines
from emit_py.text import docstring
from emit_py.values import render, render_key

_ANNOTATIONS = {
    "tensor": "ttnn.Tensor",
    "tensors": "list[ttnn.Tensor]",
    "weights": "Weights",
    "output": "Weights",
    "stored": "Weights",
    "kept": "Weights",
    "device": "ttnn.MeshDevice",
    "number": "int",
    "bool": "bool",
    "float": "float",
    "text": "str",
    "dtype": "ttnn.DataType",
    "layout": "ttnn.Layout",
    "memory_config": "ttnn.MemoryConfig",
    "conv2d_config": "ttnn.Conv2dConfig",
    "attention_config": "ttnn.SDPAProgramConfig",
    "matmul_config": "ttnn.operations.matmul.MatmulProgramConfig",
    "norm_config": "ttnn.LayerNormShardedMultiCoreProgramConfig",
    "compute_config": "ttnn.WormholeComputeKernelConfig",
}


def function_text(function: model.Function) -> str:
    """`def` with annotations, docstring and body; the function that has `stored` only makes and returns the weights."""
    creates = [parameter.kind for parameter in function.parameters] == ["stored"]
    parts = [_parameter(parameter) for parameter in function.parameters]
    head, behind = f"def {function.name}", f" -> {'Weights' if creates else _returned(function)}:"
    lines, doc = [f"{head}({', '.join(parts)}){behind}"], function.doc
    if function.brief and len(lines[0]) > WIDTH and len(", ".join(parts)) + 4 > WIDTH:  # a line for each, which can say its shape
        notes = [f"  # {comment(parameter.note)}" if parameter.note else "" for parameter in function.parameters]
        lines = [f"{head}(", *(f"    {part},{note}" for part, note in zip(parts, notes, strict=True)), f"){behind}"]
        doc = function.brief
    if doc:
        lines += _docstring_lines(doc)
    if creates:
        lines.append("    weights = Weights({})")
        if function.body and isinstance(function.body[0], model.Blank | model.Comment):
            lines.append("")
    lines += block(function.body, 1)
    if creates:
        lines.append("    return weights")
    if len(lines) == 1:
        lines.append("    pass")
    return "\n".join(lines) + "\n"


def _parameter(parameter: model.Parameter) -> str:
    default = "" if parameter.default is None else f" = {render(parameter.default)}"
    return f"{parameter.name}: {_annotation(parameter.kind)}{default}"


def _annotation(kind: str) -> str:
    plain = model.plain_kind(kind)
    text = model.bundle_type(plain) or _ANNOTATIONS[plain]
    return f"{text} | None" if plain != kind else text


def named_tuple(name: str, fields: Sequence[model.Parameter]) -> str:
    """The class of a function's configs."""
    return "\n".join([f"class {name}(NamedTuple):", *(f"    {_field(field)}" for field in fields)])


def _field(field: model.Parameter) -> str:
    """With None for what some calls do not read."""
    kind = field.kind if field.default is None else model.optional_kind(model.plain_kind(field.kind))
    return _parameter(replace(field, kind=kind))


def _docstring_lines(doc: str) -> list[str]:
    text = docstring(doc)
    if len(text) + 10 <= WIDTH:
        return [f'    """{text}"""']
    head, separator, tail = text.partition(". ")
    if not separator or len(head) + 9 > WIDTH:
        head, tail = "", text
    lines = [f"    {line}" for line in lines_of_text(tail, WIDTH - 4)]
    return [f'    """{head}.', "", *lines, '    """'] if head else ['    """', *lines, '    """']


def _returned(function: model.Function) -> str:
    kinds = [_ANNOTATIONS["tensors" if place in function.lists else "tensor"] for place in range(function.returns)]
    if len(kinds) < 2:
        return kinds[0] if kinds else "None"
    return "tuple[ttnn.Tensor, ...]" if len(kinds) > 3 and not function.lists else f"tuple[{', '.join(kinds)}]"


def block(body: Sequence[model.Statement], depth: int) -> list[str]:
    lines: list[str] = []
    for statement in body:
        if isinstance(statement, model.Blank) and (not lines or not lines[-1].strip()):
            continue
        lines += _lines(statement, depth)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _lines(statement: model.Statement, depth: int) -> Iterable[str]:
    pad = "    " * depth
    match statement:
        case model.Blank():
            return [""]
        case model.Comment(text):
            return [f"{pad}# {comment(text, WIDTH - len(pad) - 2)}"]
        case model.Call():
            head = f"{_bound(statement)}{statement.spec.target}"
            return call_lines(head, call_parts(statement), pad, comment(statement.note))
        case model.CallFunction():
            parts = [_argument(argument) for argument in statement.arguments]
            return call_lines(f"{_bound(statement)}{statement.function}", parts, pad, comment(statement.note))
        case model.Assign(name, value):
            return [f"{pad}{name} = {render(value)}"]
        case model.NewList(name, values):
            return [f"{pad}{name} = [{', '.join(render(value) for value in values)}]"]
        case model.NewCollection(name):
            return [f"{pad}{name} = Weights({{}})"]
        case model.Gather(name, key, count):
            return [f"{pad}{name} = [weights[{render_key(key)}] for i in range({count})]"]
        case model.Append(name, value, index=index) if index:
            return [f"{pad}{name}[{index}] = {render(value)}"]
        case model.Append(name, value, front):
            place = f"insert(0 if {front.name} else len({name}), " if isinstance(front, model.ParameterRef) else "insert(0, " if front else "append("
            return [f"{pad}{name}.{place}{render(value)})"]
        case model.Store(target, value):
            return [f"{pad}{render(target)} = {render(value)}"]
        case model.Drop(place):
            return [f"{pad}{render(place)}"]
        case model.Free(names):
            return [f"{pad}del {', '.join(names)}"]
        case model.GetDevice(tensor):
            return [f"{pad}device = {render(tensor)}.device()"]
        case model.Return(values):
            return [f"{pad}return {', '.join(render(value) for value in values)}"]
        case model.Loop():
            lists = [f"{pad}{name} = [None] * {render(statement.stop)}" for name in statement.fills]
            body = block(statement.body, depth + 1)
            if statement.backwards is not None:
                stop = render(statement.stop)
                body.insert(0, f"{pad}    {statement.variable} = {stop} - 1 - t if {statement.backwards.name} else t")
                return [*lists, f"{pad}for t in range({stop}):", *body]
            return [*lists, f"{pad}for {statement.variable} in {_range(statement)}:", *body]
        case model.ReturnNamed(collection):
            return [f'{pad}return tuple({collection}[name] for name in utils.MANIFEST["outputs"])']
        case model.NameLoop(variable, _, body, collection) if collection:
            return [f"{pad}for {variable} in {collection}.names():", *block(body, depth + 1)]
        case model.NameLoop(variable, names, body):
            parts = [render_key(name) for name in names]
            header = call_lines(f"for {variable} in ", parts if len(parts) > 1 else [f"{parts[0]},"], pad, apart=len(parts) > 1)
            return [*header[:-1], f"{header[-1]}:", *block(body, depth + 1)]
        case model.RowLoop(columns, rows, body):
            cells = [f"{pad}    ({', '.join(render(cell) for cell in row)})," for row in rows]
            return [f"{pad}for {', '.join(column.name for column in columns)} in (", *cells, f"{pad}):", *block(body, depth + 1)]
        case model.If(condition, body, otherwise):
            other = [f"{pad}else:", *block(otherwise, depth + 1)] if otherwise else []
            return [f"{pad}if {render(condition)}:", *block(body, depth + 1), *other]
        case model.Extents(names, tensor):
            return [f"{pad}{', '.join(names)}{',' if len(names) == 1 else ''} = {render(tensor)}.shape"]
        case _:
            raise EmitError("a statement without Python form", got=type(statement).__name__)


def _range(loop: model.Loop) -> str:
    if loop.length is not None:
        return f"reversed(range({loop.length.name}))"
    if turns := loop.listed:
        return f"({', '.join(map(str, turns))})"
    if loop.step != 1:
        return f"range({loop.start}, {render(loop.stop)}, {loop.step})"
    return f"range({loop.start}, {render(loop.stop)})" if loop.start else f"range({render(loop.stop)})"


def _bound(call: model.Call | model.CallFunction) -> str:
    if call.returned:
        return "return "
    names = [result if isinstance(result, str) else render(result) for result in call.results]
    return f"{', '.join(names)} = " if names else ""


def _argument(argument: model.Argument) -> str:
    if isinstance(argument, model.ScopeArgument):
        return f"{argument.collection}.scope({render_key(argument.key)})" if argument.key else argument.collection
    if isinstance(argument, model.NumberArgument):
        return f"{argument.name}={render(argument.value)}"
    return render(argument)


def call_parts(call: model.Call) -> list[str]:
    """By position as far as the API allows without a gap and up to `dim`, everything else by keyword."""
    present = {arg.name: value for arg, value in call.arguments}
    positional = True
    parts: list[str] = []
    for arg in call.spec.args:
        if arg.name not in present or (arg.default == ONES and _all_ones(present[arg.name])):
            positional = False
            continue
        positional = positional and not arg.keyword and arg.name != "dim"  # a number alone does not show that it is one
        text = render(present[arg.name])
        parts.append(text if positional else f"{arg.name}={text}")
    return parts


def _all_ones(value: model.Value) -> bool:
    return isinstance(value, model.Items) and all(item == model.Literal(1) for item in value.items)
