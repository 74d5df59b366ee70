"""A user's own choices for single ops: `override_output_layout`, `override_conv2d_config`, `override_matmul_config`, `insert_memreconfig`.

Names are those of the framework's values (`linear_3`) or of MLIR locations, as `irs/*_decisions.txt` lists them; `*` stands for any part of a name.
"""

from __future__ import annotations

import difflib
import fnmatch
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ttnn_shim.queries import Memory
from xdsl.ir import Operation

from alchemist.errors import OptionError
from alchemist.ir import access
from alchemist.ir.attributes import StructAttr
from alchemist.ir.dialects import has_trait
from alchemist.ir.layout import layout_of
from alchemist.ir.location import sources_of
from alchemist.ir.op_class import short_names
from alchemist.optimizer import matmul, sharded
from alchemist.optimizer.calls import maker_of, memory_of
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.choose import Refusals, price_all
from alchemist.optimizer.graph import DRAM, L1, Forward, Step
from alchemist.optimizer.machine import Machine
from alchemist.optimizer.placement import Choice, choice_of
from alchemist.options import CompilerOptions, boolean

OUTPUT, CONV, MATMUL, MOVED = "override_output_layout", "override_conv2d_config", "override_matmul_config", "insert_memreconfig"
_GRAMMARS = {OUTPUT: "NAME=GRID:BUFFER:MEMORY", MOVED: "NAME=OPERAND:OPERAND, as linear_3=0"}
_BUFFERS = ("dram", "l1")
_MEMORIES = ("interleaved", "height_sharded", "width_sharded", "block_sharded")
_PAGES = ("row_major", "tile")
_DTYPES = ("bf16", "f32", "u32", "si32", "u16", "u8", "bfp_bf8", "bfp_bf4")
_CONV_FIELDS: dict[str, str] = {
    "weights_dtype": "dtype",
    "activation": "activation",
    "deallocate_activation": "flag",
    "reallocate_halo_output": "flag",
    "act_block_h_override": "number",
    "act_block_w_div": "number",
    "reshard_if_not_optimal": "flag",
    "override_sharding_config": "flag",
    "shard_layout": "layout",
    "transpose_shards": "flag",
    "output_layout": "page",
    "enable_act_double_buffer": "flag",
    "enable_weights_double_buffer": "flag",
    "full_inner_dim": "flag",
}
_MATMUL_FIELDS: dict[str, str] = {
    **dict.fromkeys(("in0_block_w", "out_subblock_h", "out_subblock_w", "out_block_h", "out_block_w", "per_core_m", "per_core_n"), "number"),
    **dict.fromkeys(("transpose_mcast", "mcast_in0", "fuse_batch"), "flag"),
    "compute_with_storage_grid_size": "grid",
}
_ACTIVATIONS = ("none", *sorted(short_names("ttir", "fused_behind")))
_CHOICES: dict[str, tuple[str, ...]] = {"dtype": _DTYPES, "page": _PAGES, "layout": _MEMORIES[1:], "activation": _ACTIVATIONS}


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """The requested layout of a result; None for fields that are not requested."""

    text: str
    grid: tuple[int, int] | None = None  # rows, columns
    buffer: str | None = None
    memory: str | None = None

    def takes(self, memory: Memory) -> bool:
        if self.buffer and memory.buffer.lower() != self.buffer:
            return False
        if self.memory and (memory.layout.lower() if memory.shard else "interleaved") != self.memory:
            return False
        if self.grid and (memory.shard is not None or (self.memory != "interleaved" and self.buffer != "dram")):
            # A grid asks for shards, but where the rest says that there are none.
            return memory.shard is not None and sharded.blocks_of(memory) == self.grid
        return True


@dataclass(slots=True)
class Overrides:
    """Per op of the forward function. moved: indices of operands that are moved right before the op."""

    layouts: dict[Operation, OutputLayout]
    fixed: set[Operation]
    moved: dict[Operation, frozenset[int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.layouts or self.fixed or self.moved)

    @property
    def ops(self) -> set[Operation]:
        """All ops with an override."""
        return {*self.layouts, *self.fixed, *self.moved}


def names_of(op: Operation) -> list[str]:
    """The possible names of the op."""
    return list(dict.fromkeys(info.name for info in sources_of(op) if info.name))


def written(op: Operation) -> list[tuple[str, str]]:
    """The op as it is, in the words of the options: (option, "NAME=..."), to begin an override with. [] for an op without a name or layout."""
    names, layout = names_of(op), layout_of(op.results[0].type) if op.results else None
    if not names or layout is None or layout.buffer not in _BUFFERS:
        return []
    pairs = [(OUTPUT, f"{names[0]}={_spelled(memory_of(layout))}")]
    for option, legal, attribute in ((CONV, _CONV_FIELDS, "conv2d_config"), (MATMUL, _MATMUL_FIELDS, matmul.CONFIG)):
        config = op.properties.get(attribute) or op.attributes.get(attribute)
        if isinstance(config, StructAttr):
            fields = [(name, config.python().get(name), kind) for name, kind in legal.items()]
            texts = [f"{name}#{_text(kind, value)}" for name, value, kind in fields if value is not None]
            pairs += [(option, f"{names[0]}={':'.join(texts)}")] if texts else []
    return pairs


def _text(kind: str, value: Any) -> str:
    """The text that `_value` parses as the value."""
    if kind == "flag":
        return str(bool(value)).lower()
    return f"{value[1]}x{value[0]}" if kind == "grid" else str(value)


def given(options: CompilerOptions) -> bool:
    return any((options.override_output_layout, options.override_conv2d_config, options.override_matmul_config, options.insert_memreconfig))


def read(options: CompilerOptions, graph: Forward, machine: Machine) -> Overrides:
    """Finds the ops and sets their configs.

    Raises:
        OptionError: a malformed text, a name without op, a field or value that there is not.
    """
    overrides = Overrides({}, set())
    ops = [step.op for step in graph.steps]
    for name, text in _pairs(OUTPUT, options.override_output_layout):
        for op in _named(OUTPUT, name, [op for op in ops if op.results]):
            overrides.layouts[op] = _output_layout(op, name, text)
    for option, legal, trait, attribute in (
        (CONV, _CONV_FIELDS, "convolution2d", "conv2d_config"),
        (MATMUL, _MATMUL_FIELDS, "product", matmul.CONFIG),
    ):
        for name, text in _pairs(option, getattr(options, option)):
            fields = _fields(option, name, text, legal)
            for op in _named(option, name, [op for op in ops if has_trait(op, trait)]):
                _set(op, attribute, fields, machine)
                overrides.fixed.add(op)
    for name, text in _pairs(MOVED, options.insert_memreconfig):
        places = text.split(":")
        if not all(place.isdigit() and len(place) < 4 for place in places):
            raise OptionError(f"malformed {MOVED}", expected=_GRAMMARS[MOVED], got=f"{name}={text}"[:80])
        named = set(_named(MOVED, name, ops))
        for step in graph.steps:
            if step.op in named:
                overrides.moved[step.op] = _movable(step, name, [int(place) for place in places])
    return overrides


def _movable(step: Step, name: str, places: Sequence[int]) -> frozenset[int]:
    able = [index for index, _ in step.operands]
    for place in places:
        if place not in able:
            legal = " or ".join(map(str, able)) or "another op: none of its operands is made by an op of the forward pass"
            hint = "weights and inputs of the model are loaded where they are read"
            raise OptionError(f"{MOVED}: operand {place} of {name} cannot be moved", expected=legal, got=str(place), hint=hint)
    return frozenset(places)


def _pairs(option: str, text: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, rest = part.partition("=")
        if not equals or not name or not rest:
            raise OptionError(f"malformed {option}", expected=_GRAMMARS.get(option, "NAME=field#value:field#value"), got=part[:80])
        yield name, rest


def _named(option: str, name: str, ops: Sequence[Operation]) -> list[Operation]:
    matching = [op for op in ops if any(fnmatch.fnmatchcase(op_name, name) for op_name in names_of(op))]
    if not matching:
        op_names = list(dict.fromkeys(op_name for op in ops for op_name in names_of(op)))
        near = difflib.get_close_matches(name, op_names, n=3, cutoff=0.4) or op_names[:3]
        raise OptionError(
            f"{option} names no op",
            expected=f"one of {len(op_names)} ops, such as {', '.join(near)}" if op_names else "a model with such ops",
            got=name[:80],
            hint="irs/*_decisions.txt has the names in brackets; an op without a name cannot be overridden; * stands for any part of one",
        )
    return matching


def _output_layout(op: Operation, name: str, text: str) -> OutputLayout:
    layout = layout_of(op.results[0].type)
    assert layout is not None
    values: dict[str, Any] = {}
    for word in text.split(":"):
        low = word.lower()
        rows, cross, columns = low.partition("x")
        if cross and rows.isdigit() and columns.isdigit() and int(rows) and int(columns):
            values["grid"] = (int(rows), int(columns))
        elif low in _BUFFERS:
            values["buffer"] = low
        elif low in _MEMORIES:
            values["memory"] = low
        elif low in _PAGES or low in _DTYPES:
            has = layout.page if low in _PAGES else layout.dtype
            if low != has:
                kind = "page layout" if low in _PAGES else "dtype"
                raise OptionError(
                    f"{OUTPUT}: the {kind} of {name} is not the optimizer's to choose", expected=has, got=low, hint="see the option `precision` for dtypes"
                )
        else:
            legal = ("a grid as 8x8", *_BUFFERS, *_MEMORIES, *_PAGES, *_DTYPES)
            raise OptionError(f"{OUTPUT}: bad part for {name}", expected=", ".join(legal), got=word[:40])
    return OutputLayout(text, **values)


def _fields(option: str, name: str, text: str, legal: Mapping[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for word in text.split(":"):
        key, mark, value = word.partition("#")
        key = key.lower()
        if not mark or key not in legal:
            raise OptionError(f"{option}: bad field for {name}", expected=", ".join(legal), got=word[:40], hint="fields are written field#value")
        fields[key] = _value(f"{option}: {key} of {name}", legal[key], value)
    return fields


def _value(label: str, kind: str, text: str) -> Any:
    low = text.lower()
    if kind == "flag":
        return boolean(label, text)
    if kind == "number":
        if not low.isdigit() or int(low) > 1 << 16:
            raise OptionError(f"bad value for {label}", expected="a whole number", got=text[:40])
        return int(low)
    if kind == "grid":
        rows, cross, columns = low.partition("x")
        if not (cross and rows.isdigit() and columns.isdigit() and 0 < int(rows) < 1 << 8 and 0 < int(columns) < 1 << 8):
            raise OptionError(f"bad value for {label}", expected="rows x columns, as 8x8", got=text[:40])
        return (int(columns), int(rows))
    if low not in _CHOICES[kind]:
        raise OptionError(f"bad value for {label}", expected=", ".join(_CHOICES[kind]), got=text[:40])
    return None if low == "none" else low


def _set(op: Operation, attribute: str, fields: Mapping[str, Any], machine: Machine) -> None:
    """The op's config with these fields; a matmul without one starts from the fastest that the fields fit."""
    have = op.properties.get(attribute) or op.attributes.get(attribute)
    if attribute == matmul.CONFIG:
        base = _base(op, machine, fields)
        changed = matmul.attributes(op, machine, _with(base, fields))
        access.set_attrs(op, changed)
        return
    assert isinstance(have, StructAttr)
    access.set_attr(op, attribute, _with(have, fields))
    for value in op.operands[1:]:  # weights are prepared for the same config
        maker = maker_of(value)
        config = maker.properties.get(attribute) or maker.attributes.get(attribute) if maker is not None else None
        if maker is not None and isinstance(config, StructAttr):
            access.set_attr(maker, attribute, _with(config, fields))


def _with(config: StructAttr, fields: Mapping[str, Any]) -> StructAttr:
    return access.struct(config.name, {**config.python(), **fields})


def _base(op: Operation, machine: Machine, fields: Mapping[str, Any]) -> StructAttr:
    """The fastest candidate of the fields' class: 1-D with `mcast_in0`, 2-D with `transpose_mcast`, else any."""
    candidates = price_all(op, machine, matmul.interleaved(op, machine, {}, None), 1.0, {})
    for priced in candidates:
        config = priced.candidate.attributes[matmul.CONFIG]
        assert isinstance(config, StructAttr)
        if all(name in config.python() for name in fields):
            return config
    raise OptionError(
        f"{MATMUL}: no program of this op has all the fields", expected="fields of one program config", got=", ".join(fields), hint="leave a field out"
    )


def choices_for(step: Step, layout: OutputLayout, options: Sequence[Choice], machine: Machine, cap: float, l1_small_bytes: int) -> list[Choice]:
    """The op's choices with the requested layout.

    Raises:
        OptionError: the library accepts none; with its reasons.
    """
    matching = [choice for choice in options if layout.takes(choice.result)]
    if matching:
        return matching
    reasons: Refusals = {}
    targets = list(_memories(step, layout, machine))
    places = [index for index, _ in step.operands]
    for memory in targets:
        for operands in itertools.product((DRAM, L1, memory), repeat=len(places)) if len(places) <= 3 else ((DRAM,) * len(places),):
            given_memories = dict(zip(places, operands, strict=True))
            candidates = [Candidate("as overridden", {}, given_memories, memory)]
            priced = price_all(step.op, machine, candidates, cap, reasons, l1_small_bytes)
            matching += [choice_of(candidate, given_memories, memory) for candidate in priced[:1]]
        if has_trait(step.op, "product") and memory.shard is not None:
            for group in sharded.linear(step, machine, memory):
                priced = price_all(step.op, machine, group, cap, reasons, l1_small_bytes)
                matching += [choice_of(candidate, dict(candidate.candidate.operands), memory) for candidate in priced[:1]]
    if not matching:
        why = max(reasons, key=lambda reason: reasons[reason]) if reasons else "no such shards for this shape; GRID is rows x columns"
        legal = dict.fromkeys(_spelled(choice.result) for choice in options)
        raise OptionError(
            f"{OUTPUT}: {step.op.name} {', '.join(names_of(step.op))} has no such result", expected=" or ".join(legal), got=layout.text[:80], hint=why[:160]
        )
    return matching


def _spelled(memory: Memory) -> str:
    if memory.shard is None:
        return f"{memory.buffer.lower()}:interleaved"
    rows, columns = sharded.blocks_of(memory)
    return f"{rows}x{columns}:{memory.buffer.lower()}:{memory.layout.lower()}"


def _memories(step: Step, layout: OutputLayout, machine: Machine) -> Iterable[Memory]:
    if layout.memory in (None, "interleaved") and layout.grid is None:
        return [Memory(buffer.upper()) for buffer in _BUFFERS if layout.buffer in (None, buffer)]
    if layout.buffer == "dram" or layout.memory == "interleaved":
        return []
    rows, columns = sharded.tiles_of(step.op.results[0])
    grid = layout.grid or (machine.grid[1], machine.grid[0])
    if grid[0] > machine.grid[1] or grid[1] > machine.grid[0]:
        raise OptionError(f"{OUTPUT}: bad grid", expected=f"at most {machine.grid[1]}x{machine.grid[0]}", got=f"{grid[0]}x{grid[1]}")
    cores = grid[0] * grid[1]
    parts: dict[str, Callable[[], tuple[int, int]]] = {
        "block_sharded": lambda: (grid[0], grid[1]),
        "height_sharded": lambda: (cores, 1),
        "width_sharded": lambda: (1, cores),
    }
    memories = []
    for memory in (layout.memory,) if layout.memory else ("block_sharded",):
        down, across = parts[memory]()
        if rows % down == 0 and columns % across == 0:
            corners = (0, 0, grid[1] - 1, grid[0] - 1)
            memories.append(Memory("L1", memory.upper(), ((rows // down * 32, columns // across * 32), corners, "ROW_MAJOR")))
    return memories
