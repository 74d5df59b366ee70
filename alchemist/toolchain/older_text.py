"""Printed text in the attribute and type spellings of an earlier day: some rows of `spellings.py` and `layouts.py` in the other direction.

For CHECK lines and tools of that day. Ops keep today's form, and a sharded layout too: its cores are not in the old text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from alchemist.toolchain.spellings import Applied

_STRING_OR = r'"(?:[^"\\]|\\.)*"|'
_BUFFER_ALIAS = re.compile(r"(?m)^#(\w+) = #ttnn\.buffer_type<(\w+)>$")
_MEMORY_CONFIG = re.compile(_STRING_OR + r"#ttnn\.memory_config<(?:#(?P<alias>\w+)|#ttnn\.buffer_type<(?P<buffer>\w+)>), <(?P<memory>\w+)>>")
_LAYOUT = re.compile(
    _STRING_OR + r"#ttnn\.ttnn_layout<(?P<map>\([^<>]*\) -> \([^<>]*\)), (?P<grid><[\dx]+>), "
    r"(?P<memref>memref<(?:[^<>]|<[^<>]*>)*>)(?:, <(?P<memory>interleaved)>)?>"
)
_TTCORE = re.compile(_STRING_OR + r"(?P<mark>[#!])ttcore\.|\bttcore\.(?P<key>system_desc|argument_type)\b")


LAYOUTS_OF = (("ttir-layout", "convert-ttir-to-ttnn"), "2024-11-27", "ttnn-layout")
"""Passes in this order, the day on which they stopped to work together, what does the first one's work since (tt-mlir's pull request 1231)."""


def day_of(passes: Sequence[str], applied: Applied) -> str:
    """The last day of the tool that is asked for: its passes, and the spellings that were read. "" for today's text or today's passes."""
    (first, then), until, _ = LAYOUTS_OF
    if not applied.counts or then not in passes or first not in passes[: passes.index(then)]:
        return ""
    oldest = min([until, *(day for day, _, _ in applied.counts)])
    return (date.fromisoformat(oldest) - timedelta(days=1)).isoformat()


def older_text(text: str, day: str) -> str:
    """The printed module with the spellings that were there on `day` ("2024-09" or "2024-09-19")."""
    buffers = {alias: buffer for alias, buffer in _BUFFER_ALIAS.findall(text)}
    if day < "2024-12-06":
        text = _MEMORY_CONFIG.sub(lambda match: _memory_config(match, buffers), text)
    if day < "2024-11-27":
        text = _LAYOUT.sub(_layout, text)
        text = _BUFFER_ALIAS.sub(lambda match: f"#{match[1]} = #tt.memory_space<{'system' if match[2] == 'system_memory' else match[2]}>", text)
    if day < "2025-06-17":
        text = _TTCORE.sub(lambda match: match[0] if match[0][0] == '"' else f"{match['mark'] or ''}tt.{match['key'] or ''}", text)
    return text


def _memory_config(match: re.Match[str], buffers: dict[str, str]) -> str:
    buffer = match["buffer"] or buffers.get(match["alias"] or "", "")
    return f"#ttnn.memory_config<<{match['memory']}>, <{buffer}>>" if buffer else match[0]


def _layout(match: re.Match[str]) -> str:
    if match["map"] is None:
        return match[0]
    memory = f", {match['memory']}" if match["memory"] else ""
    return f"#tt.layout<{match['map']}, undef, {match['grid']}, {match['memref']}{memory}>"
