"""System descriptors: written and read, every age of the tables, which card they mean, what keeps programs from running."""

from __future__ import annotations

from typing import Any

import pytest

from alchemist.errors import OptionError, UserError
from alchemist.toolchain import descriptors, flatbuffer

CARDS = ("n150", "n300", "p100", "p150")


def read(data: bytes) -> flatbuffer.Record:
    return flatbuffer.read(data, "f.ttsys", {flatbuffer.TTSYS: descriptors.ROOT})[1]


@pytest.mark.parametrize("card", CARDS)
def test_a_written_descriptor_is_read_back_as_its_card(card: str) -> None:
    root = read(descriptors.descriptor(card))
    assert descriptors.card_of(root["system_desc"]) == (card, 2 if card == "n300" else 1)
    assert descriptors.differences(root["system_desc"], descriptors.system_of(card)) == []


def test_like_takes_what_a_real_build_compares() -> None:
    real = {"schema_hash": "c1227", "ttmlir_git_hash": "c5f39", "version": (0, 0, 3669), "product_identifier": "board"}
    assert {name: value for name, value in read(descriptors.descriptor("p150", real)).items() if name in real} == real


OLD_CHIP = {"arch": 1, "grid_size": (8, 8), "l1_size": 1499136, "num_dram_channels": 12, "dram_channel_size": 1 << 30}


@pytest.mark.parametrize("age", [0, 1])
def test_chips_of_2024_are_wormholes_whatever_their_number(age: int) -> None:
    """Number 1 means Blackhole since 2026-02-07; the system's table had no CPUs then."""
    chips = flatbuffer.Vector(descriptors._CHIP.tables[age][1])
    system = flatbuffer.Table("SystemDesc", (("chip_descs", chips), ("chip_desc_indices", flatbuffer.Vector(flatbuffer.U32)), *((f"f{i}", None) for i in range(2)), ("last", flatbuffer.U32)))  # fmt: skip
    root = flatbuffer.Table("Root", (*descriptors.ROOT.tables[0][1].fields[:3], ("system_desc", system)))
    chip: dict[str, Any] = dict(OLD_CHIP) | ({"num_cbs": 32} if age else {})
    found = read(flatbuffer.write(root, {"system_desc": {"chip_descs": [chip], "chip_desc_indices": [0], "last": 1}}, flatbuffer.TTSYS))
    assert found.slots == 4
    assert descriptors.card_of(found["system_desc"]) == ("n150", 1)
    assert found["system_desc"]["chip_descs"][0]["grid_size"] == (8, 8)


def test_what_keeps_a_program_from_a_card() -> None:
    found = descriptors.differences(descriptors.system_of("p150"), descriptors.system_of("n300"))
    assert found[:2] == ["chips: 1 != 2", "chip 0: architecture: blackhole != wormhole_b0"]
    assert any("num_dram_channels: 8 != 12" in line for line in found)


def test_unknown_cards_and_chips() -> None:
    with pytest.raises(OptionError, match="unknown card") as raised:
        descriptors.descriptor("n151")
    assert raised.value.expected == "n150, n300, p100, p150"
    with pytest.raises(UserError, match="no model of this chip"):
        descriptors.card_of({"chip_descs": [{"arch": 2, "num_dram_channels": 3}], "chip_desc_indices": [0]})
