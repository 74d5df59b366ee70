"""Older names and bodies of attributes and types: a row per change, applied where the parser meets the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xdsl.ir import Attribute

from alchemist.ir.attributes import OpaqueAttr
from alchemist.ir.older import OlderText
from alchemist.toolchain import changes, layouts


@dataclass(frozen=True, slots=True)
class BodyRow:
    """`<...>` of `name` that matches `pattern` becomes `today`; "": kept as text, of a layout until its tensor's shape completes it.

    until: the day on which tt-mlir's main took the old spelling away. old, new: as a reader knows them.
    """

    until: str
    name: str
    old: str
    new: str
    pattern: str
    today: str


BODIES = (
    BodyRow("2024-12-06", "#ttnn.memory_config", "<<interleaved>, <dram>>", "<#ttnn.buffer_type<dram>, <interleaved>>",
            r"<\s*<(\w+)>\s*,\s*<(dram|l1|system_memory)>\s*>", r"<#ttnn.buffer_type<\2>, <\1>>"),
    BodyRow("2025-05-16", "#ttnn.memory_config", "<<dram>, <<32x32>>, <interleaved>>", "<#ttnn.buffer_type<dram>, <interleaved>>",
            r"<\s*(?:#ttnn\.buffer_type)?<(\w+)>\s*,\s*(?:#ttnn\.shard_spec)?<\s*<[\dx]*>\s*>\s*,\s*(?:#ttnn\.tensor_memory_layout)?<(\w+)>\s*>",
            r"<#ttnn.buffer_type<\1>, <\2>>"),
    BodyRow("2025-05-16", "#ttnn.memory_config", "<<system_memory>, <<32x32>>>", "<#ttnn.buffer_type<system_memory>>",
            r"<\s*(?:#ttnn\.buffer_type)?<(\w+)>\s*,\s*(?:#ttnn\.shard_spec)?<\s*<[\dx]*>\s*>\s*>", r"<#ttnn.buffer_type<\1>>"),
    BodyRow("2025-05-16", "#ttnn.memory_config", "<<dram>, <interleaved>>", "<#ttnn.buffer_type<dram>, <interleaved>>",
            r"<\s*<(dram|l1|system_memory)>\s*((?:,.*)?)>", r"<#ttnn.buffer_type<\1>\2>"),
    BodyRow("2024-11-17", "!ttcore.tile", "<32 x 32, bf16>", "<32x32, bf16>", r"<\s*(\d+) *x *(\d+)\s*,\s*(\w+)\s*>", r"<\1x\2, \3>"),
    BodyRow("2025-12-05", "#ttnn.conv2d_config", "in_place = false", "", r"<(.*?)(?:, )?\bin_place = \w+(.*)>", r"<\1\2>"),
    BodyRow("2025-09-15", "#ttnn.conv2d_config", "dtype = bf16", "", r"<(.*?)(?:, )?\b(?:dtype|input_channels_alignment|preprocess_weights_on_device|"
            r"always_preprocess_weights|enable_split_reader|enable_subblock_padding|in_place) = \w+(.*)>", r"<\1\2>"),
    BodyRow("2025-09-15", "#ttnn.conv2d_config", 'activation = ""', "", r'<(.*?)(?:, )?\bactivation = ""(.*)>', r"<\1\2>"),
    BodyRow("2026-05-28", "#ttcore.shard_type", "<identity>", "<replicate>", r"<\s*identity\s*>", "<replicate>"),
    BodyRow("2025-09-25", "#ttcore.iterator_type", "<systolic>", "", r"<systolic>", ""),
    BodyRow("2025-09-29", "#ttnn.shard_spec", "<..., <physical>>", "<...>", r"<(.*), *(?:#ttnn\.shard_mode)?<physical>>", r"<\1>"),
    BodyRow("2026-05-06", "#ttnn.ttnn_layout", "<8x8, (d0, d1) -> (0, d0, d1)>", "<1x1>", r"<.*<[\dx]+, \(.*>", ""),
    BodyRow("2026-05-11", "#ttnn.ttnn_layout", "a grid of a tensor on the host or interleaved in DRAM", "<1x1>",
            r"<.*<[\dx]+>, memref<[^>]*(?:<[^>]*>[^>]*)?(?:#ttnn\.buffer_type)?<(?:system_memory|dram)>>"
            r"(?:, (?:#ttnn\.tensor_memory_layout)?<interleaved>)?>", ""),
)  # fmt: skip
"""Searched in order; the first that matches the whole body counts."""
NAMES = {
    "!tt.device": "!ttnn.device", "!tt.cb": "!ttcore.cb", "#tt.tensor_memory_layout": "#ttnn.tensor_memory_layout",
    "!ttcore.device": "!ttnn.device", "#tt.shard_type": "#ttcore.shard_type",
}  # fmt: skip
"""Names that are not only `tt.` with today's dialect in front."""
_KEPT = ("#tt.layout", "#tt.operand_constraint", "tt.function_type")
_ELEMENTS = {"u32": "ui32", "u16": "ui16", "u8": "ui8", "s32": "si32"}
_GRID_WITH_MAP = re.compile(r"<[\dx]+\s*,\s*\(")
_UNTIL_TTCORE = "2025-06-17"


@dataclass(slots=True)
class Applied:
    """What was read in an older spelling. key: until, old, new -> how often."""

    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def add(self, until: str, old: str, new: str) -> None:
        key = (until, old, new)
        self.counts[key] = self.counts.get(key, 0) + 1

    def report(self) -> list[str]:
        """One line a change, oldest first."""
        return [
            f"until {until}: {old} -> {new or 'left out'}" + (f" ({count} times)" if count > 1 else "")
            for (until, old, new), count in sorted(self.counts.items())
        ]


class OldSpellings(OlderText):
    """Answers the parser, and notes in `applied` what it was asked for."""

    def __init__(self) -> None:
        self.applied = Applied()
        self._encodings: dict[tuple[tuple[int, ...], str], Attribute] = {}

    def name(self, name: str) -> str:
        mark = name[0] if name[0] in "#!" else ""
        if not name.startswith(f"{mark}tt.") or name in _KEPT:
            return NAMES.get(name, name)
        today = NAMES.get(name, f"{mark}ttcore.{name[len(mark) + 3 :]}")
        self.applied.add(_UNTIL_TTCORE, f"{mark}tt.", f"{mark}{today[len(mark) :].partition('.')[0]}.")
        return today

    def body(self, name: str, body: str) -> str | None:
        text = " ".join(body.split()).replace("< ", "<").replace(" >", ">")
        for row in BODIES:
            if row.name == name and (match := re.fullmatch(row.pattern, text, re.DOTALL)) is not None:
                if not row.today:
                    return ""
                self.applied.add(row.until, f"{name}{row.old}", f"{name}{row.new}" if row.new else "")
                today = match.expand(row.today).replace("<, ", "<")
                return today if row.new else self.body(name, today) or today  # several fields of one attribute may be gone
        return None

    def element(self, word: str) -> str | None:
        today = _ELEMENTS.get(word)
        if today is not None:
            self.applied.add("2024-11-17", f"tensor<...x{word}>", f"tensor<...x{today}>")
        return today

    def encoding(self, shape: tuple[int, ...], of: Attribute, encoding: Attribute) -> Attribute:
        if not isinstance(encoding, OpaqueAttr) or encoding.data[0] not in ("#tt.layout", "#ttnn.ttnn_layout"):
            return encoding
        name, body = encoding.data
        key = (shape, body)
        if key not in self._encodings:
            # tt-mlir did not look at the shard beside a grid with a map
            has_map = _GRID_WITH_MAP.search(body) is not None
            try:
                self._encodings[key] = layouts.encoding_of(shape, body, self, checked=not has_map or name == "#tt.layout")
            except ValueError as error:
                if name == "#ttnn.ttnn_layout" and not has_map:
                    raise ValueError(f"the grid of a layout must be 1x1 unless it is sharded; {error}") from None
                raise
            until, form = (
                ("2024-11-27", "#tt.layout<...>") if name == "#tt.layout"
                else ("2026-05-06", "#ttnn.ttnn_layout whose grid has a map") if has_map
                else ("2026-05-11", "#ttnn.ttnn_layout with a grid that is not sharded")
            )  # fmt: skip
            self.applied.add(until, form, "#ttnn.ttnn_layout<...>")
        return self._encodings[key]

    def is_retired(self, op: str) -> bool:
        return op in changes.retired_ops()
