"""Which card a program is for: by a descriptor file, by the environment, by the module's own descriptor, by the option `arch`; they must agree."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from alchemist.errors import OptionError, UserError
from alchemist.toolchain.descriptors import card_of, read_descriptor

VARIABLES = ("TT_COMPILE_ONLY_SYSTEM_DESC", "SYSTEM_DESC_PATH")
"""Environment variables of tt-xla and tt-mlir that name a `.ttsys` file; the first one that is set counts."""
_DESCRIPTOR = re.compile(r"#(?:tt|ttcore)\.system_desc<(?:[^\n]*)")
_COMMENT = re.compile(r"(?m)^\s*//.*$")
_ARCH = re.compile(r"\barch = (?:#(?:tt|ttcore)\.arch)?<(\w+)>|#tt\.arch<(\w+)>")
_CHANNELS = re.compile(r"\bnum_dram_channels = (\d+)")
_INDICES = re.compile(r"\], \[((?:\d+(?:, )?)+)\]")
_CARDS = {("wormhole_b0", 1): "n150", ("wormhole_b0", 2): "n300", ("blackhole", 1): "p150"}


def named_descriptor(path: str, environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """The `.ttsys` file to go by and who named it; two empty texts if nobody did."""
    if path:
        return path, "system_desc_path"
    return next(((environment[name], name) for name in VARIABLES if environment.get(name)), ("", ""))


def card_of_file(path: str) -> str:
    """The modelled card that a `.ttsys` file describes. Raises: FileError, FlatbufferError, UserError."""
    return card_of(read_descriptor(path)["system_desc"])[0]


def card_of_text(text: str) -> str:
    """The card of the descriptor that a module's text has; "" without one.

    Raises:
        UserError: a chip without a model, or parts for different cards.
    """
    if "system_desc<" not in text:
        return ""
    cards = {_card(match[0]) for match in _DESCRIPTOR.finditer(_COMMENT.sub("", text))} - {""}
    if len(cards) > 1:
        raise UserError("the parts of the module are for different cards", expected="one card", got=", ".join(sorted(cards)))
    return next(iter(cards), "")


def _card(descriptor: str) -> str:
    arch = _ARCH.search(descriptor)
    if arch is None:
        return ""
    name = arch[1] or arch[2]
    indices = _INDICES.search(descriptor)
    chips = min(len(indices[1].split(",")), 2) if indices else 1
    channels = _CHANNELS.search(descriptor)
    card = _CARDS.get((name, chips)) or _CARDS.get((name, 1))
    if card is None:
        raise UserError("the simulator has no model of the chip in the module's system descriptor", expected="wormhole_b0, blackhole", got=name)
    return "p100" if card == "p150" and channels is not None and channels[1] == "7" else card


def agree(arch: str, card: str, cards: Mapping[str, tuple[str, str]], where: str) -> str:
    """`card`, if the option `arch` (or "") does not say another one. cards: names that `arch` takes -> (architecture, card).

    Raises:
        OptionError: both names.
    """
    if arch and cards[arch] != cards[card] and not (arch in ("wormhole", "wormhole_b0", "blackhole") and cards[arch][0] == cards[card][0]):
        raise OptionError(f"{where} describes another card than the option arch", expected=arch, got=card, hint="remove one of them")
    return card
