"""MLIR text with one valid use of every op of the op lists, from the rows of `data/ttir_uses.txt` and `data/ttnn_uses.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from alchemist.ir.dialects import op_info, op_table
from alchemist.ir.layout import TTNNLayout
from alchemist.ir.text import attribute_text

DATA = Path(__file__).parent / "data"
TRACE_ID = "tensor<ui32, #ttnn.trace_id>"
_NAMED = {"dev": "!ttnn.device", "sem": "!ttnn.global_semaphore", "trace": TRACE_ID}
_MEMORY = {"": ("tile", "dram"), "r": ("row_major", "dram"), "h": ("row_major", "system_memory")}
_DEVICE_DTYPES = {"ui32": "u32", "ui16": "u16", "ui8": "u8", "i1": "bf16"}
_HELPERS = {
    "ttnn.d2m_subgraph": ["func.func private @kernel(T) -> T"],
    "ttnn.capture_or_execute_trace": [
        "func.func private @trace(%a: T, %o: T) { return }",
        "func.func private @slots(%a: T) -> (T, T) { return %a, %a : T, T }",
        f"func.func private @capture(%a: T, %o: T) -> {TRACE_ID} {{",
        '  %d = "ttnn.get_device"() <{mesh_shape = #ttnn<mesh_shape 1x1>}> : () -> !ttnn.device',
        f'  %t = "ttnn.begin_trace_capture"(%d) <{{cq_id = 0 : ui32}}> : (!ttnn.device) -> {TRACE_ID}',
        "  func.call @trace(%a, %o) : (T, T) -> ()",
        f'  "ttnn.end_trace_capture"(%d, %t) <{{cq_id = 0 : ui32}}> : (!ttnn.device, {TRACE_ID}) -> ()',
        f"  return %t : {TRACE_ID}",
        "}",
        f"func.func private @execute(%t: {TRACE_ID}) {{ return }}",
    ],
}


@dataclass(frozen=True, slots=True)
class Use:
    """One use of the op `name` in a module of its own."""

    name: str
    text: str


def uses(dialect: str) -> Iterator[Use]:
    """A use per op name of the dialect's rows ("ttir", "ttnn"); an elementwise function of one tensor needs no row."""
    listed = set()
    for line in (DATA / f"{dialect}_uses.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            names, operands, attributes, results = (part.strip() for part in line.split(" |"))
            listed.update(names.split())
            for name in names.split():
                yield Use(f"{dialect}.{name}", _module(dialect, f"{dialect}.{name}", operands, attributes, results))
    for name, info in op_table(dialect).items():
        short = name.removeprefix(f"{dialect}.")
        if short not in listed and "elementwise_unary" in info.traits and not info.attributes:
            yield Use(name, _module(dialect, name, "32x64xbf16", "", "32x64xbf16"))


def _type(dialect: str, word: str) -> str:
    if word in _NAMED:
        return _NAMED[word]
    where, _, tensor = word.partition(":") if word[1:2] == ":" else ("", "", word)
    if dialect == "ttir" or where == "p":
        return f"tensor<{tensor}>"
    match = re.fullmatch(r"((?:\d+x)*)(\w+)", tensor)
    assert match is not None, word
    shape = tuple(int(size) for size in match[1].split("x")[:-1])
    page, buffer = _MEMORY[where]
    memory = None if buffer == "system_memory" else "interleaved"
    layout = TTNNLayout.make(shape, _DEVICE_DTYPES.get(match[2], match[2]), page, buffer, **({"memory": memory} if memory else {}))
    return f"tensor<{tensor}, {attribute_text(layout)}>"


def _words(text: str) -> list[str]:
    """Words; those of `!quant.uniform<..., ...>` stay together."""
    return re.findall(r"(?:[^\s\[\]<]|<[^>]*>)+|[\[\]]", text)


def _module(dialect: str, name: str, operands: str, attributes: str, results: str) -> str:
    operands, _, lines = operands.partition("@")
    values: list[str] = []
    groups: list[int] = []
    inside = False
    for word in _words(operands):
        if word in "[]":
            inside = word == "["
            groups += [0] if inside else []
        elif word == "-":
            groups.append(0)
        else:
            values.append(_type(dialect, word))
            if inside:
                groups[-1] += 1
            else:
                groups.append(1)
    made = [_type(dialect, word) for word in _words(results)]
    shared = next((type_ for type_ in values if type_.startswith("tensor")), "")
    body = [line.strip().replace("T", shared) if name == "ttnn.d2m_subgraph" else line.strip() for line in lines.split(";") if line.strip()]
    if not body:
        info = op_info(name)
        if info.segmented:
            attributes = ", ".join(filter(None, [attributes, f"operandSegmentSizes = array<i32: {', '.join(map(str, groups))}>"]))
        given = ", ".join(f"%a{i}" for i in range(len(values)))
        head = f"%0{f':{len(made)}' if len(made) > 1 else ''} = " if made else ""
        properties = f" <{{{attributes}}}>" if attributes else ""
        body = [f'{head}"{name}"({given}){properties} : ({", ".join(values)}) -> ({", ".join(made)})']
    returned = ", ".join([f"%0#{i}" for i in range(len(made))] if len(made) > 1 else ["%0"] * len(made))
    tail = f"return {returned} : {', '.join(made)}" if made else "return"
    arguments = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(values))
    lines_before = [re.sub(r"\bT\b", lambda _: shared, line) for line in _HELPERS.get(name, [])]
    return "\n".join([*lines_before, f"func.func @forward({arguments}) -> ({', '.join(made)}) {{", *(f"  {line}" for line in [*body, tail]), "}"]) + "\n"
