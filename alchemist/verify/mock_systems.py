"""Descriptions of the mock systems that the real wheel opens: chips, boards, Ethernet links, as the driver's cluster descriptors have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

WORMHOLE, BLACKHOLE = "wormhole_b0", "blackhole"
Link = tuple[int, int, int, int]
"""A chip and its channel, another chip and its channel."""

_HARVESTED = {"n150": 32, "n300": 64, "ubb": 0}
"""Rows of Wormhole chips' cores that are switched off."""
_KINDS = {"n150": 0x18, "n300": 0x14, "p150": 0x40, "p300": 0x45, "ubb": 0x35}
"""Upper bits of a board's number."""


def descriptions() -> dict[str, str]:
    """YAML by what a program may be verified on: an architecture (its card of one chip), or a system of several chips."""
    return {
        WORMHOLE: _described("n150", [[0]], [], [0], {0: (0, 0)}),
        BLACKHOLE: _described("p150", [[0]], [], [0]),
        "n300": _described("n300", [[0, 1]], _links(0, 1, {8: 0, 9: 1}), [0], {0: (0, 0), 1: (1, 0)}),
        "t3000": _t3000(),
        "p300": _described("p300", [[1, 0]], _links(0, 1, {2: 9, 3: 8}), [1, 0]) + "asic_locations: {0: 0, 1: 1}\n",
        "p150_x4": _described("p150", [[chip] for chip in range(4)], _grid(2, 2, {4: 4, 5: 5, 6: 6, 7: 7}, {8: 8, 9: 9, 10: 10, 11: 11}), range(4)),
        "p150_x8": _described("p150", [[chip] for chip in range(8)], _grid(2, 4, {9: 4, 11: 6}, {8: 8, 10: 10}), range(8)),
        "galaxy": _galaxy(),
    }


def _t3000() -> str:
    """Four n300 boards: chips 0 to 3 with PCIe in a square, and behind each of them its board's other chip, 4 to 7."""
    links = _links(0, 2, {6: 6, 7: 7}) + _links(1, 3, {0: 0, 1: 1}) + _links(0, 1, {14: 14, 15: 15}) + _links(2, 3, {14: 14, 15: 15})
    links += _links(4, 5, {6: 6, 7: 7}) + _links(6, 7, {6: 6, 7: 7})
    links += [link for chip in range(4) for link in _links(chip, chip + 4, {8: 0, 9: 1})]
    places = {0: (1, 0), 1: (1, 1), 2: (2, 0), 3: (2, 1), 4: (0, 0), 5: (0, 1), 6: (3, 0), 7: (3, 1)}
    return _described("n300", [[chip + 4, chip] for chip in range(4)], links, [0, 1, 3, 2], places)


def _galaxy() -> str:
    """A torus of 8 x 4 chips on four trays of 4 x 2. The PCIe bus identifies a tray, the location a chip of it."""
    trays: dict[int, list[int]] = {}
    buses, locations = {}, {}
    for chip in range(32):
        row, column = divmod(chip, 4)
        tray = 2 * (row > 3) + (column > 1)
        trays.setdefault(tray, []).append(chip)
        locations[chip] = 1 + min(row, 7 - row) + 4 * (column in (1, 2))
        buses[chip] = hex((0xC0, 0x80, 0x00, 0x40)[tray] + locations[chip])
    links = _grid(8, 4, {channel + 12: channel for channel in range(4)}, {channel + 8: channel + 4 for channel in range(4)}, is_torus=True)
    text = _described("ubb", [trays[tray] for tray in range(4)], links, range(32))
    return f"{text}chip_to_bus_id: {_of_each(buses, buses.get)}\nasic_locations: {_of_each(locations, locations.get)}\n"


def _grid(rows: int, columns: int, right: Mapping[int, int], down: Mapping[int, int], is_torus: bool = False) -> list[Link]:
    """right, down: a chip's channels to the next one in its row and column, and that one's channels."""
    links = []
    for row in range(rows):
        for column in range(columns):
            chip = row * columns + column
            links += _links(chip, row * columns + (column + 1) % columns, right) if column + 1 < columns or is_torus else []
            links += _links(chip, (row + 1) % rows * columns + column, down) if row + 1 < rows or is_torus else []
    return links


def _links(chip: int, other: int, channels: Mapping[int, int]) -> list[Link]:
    return [(chip, mine, other, its) for mine, its in channels.items()]


def _described(
    board: str, boards: Sequence[Sequence[int]], links: Iterable[Link], pcie_chips: Iterable[int], places: Mapping[int, tuple[int, int]] | None = None
) -> str:
    """boards: chips of each. places: coordinates of chips on the Ethernet; the driver finds those of others."""
    chips = sorted(chip for held in boards for chip in held)
    architecture, first, step = (WORMHOLE, 10226774059, 3) if board in _HARVESTED else (BLACKHOLE, 4476187513037, 64)
    lines = [f"arch: {_of_each(chips, lambda _: architecture)}"]
    lines.append(f"chips: {_of_each(chips, lambda chip: [*places[chip], 0, 0])}" if places else "chips: {}")
    lines.append(f"chip_unique_ids: {_of_each(chips, lambda chip: first + step * chip)}")
    shown = ", ".join(f"[{{chip: {chip}, chan: {mine}}}, {{chip: {other}, chan: {its}}}]" for chip, mine, other, its in links)
    lines += [f"ethernet_connections: [{shown}]", "ethernet_connections_to_remote_devices: []"]
    lines.append(f"chips_with_mmio: [{', '.join(f'{number}: {chip}' for number, chip in enumerate(pcie_chips))}]")
    lines.append(f"harvesting: {_of_each(chips, lambda chip: _harvesting(board, chip))}")
    lines.append(f"chip_to_boardtype: {_of_each(chips, lambda _: board)}")
    held = [f"[board_id: {(_KINDS[board] << 36) + 491928600 + 17 * number}, board_type: {board}, chips: {[*own]}]" for number, own in enumerate(boards)]
    return "\n".join([*lines, f"boards: [{', '.join(held)}]", ""])


def _of_each(chips: Iterable[int], value: Callable[[int], object]) -> str:
    return f"{{{', '.join(f'{chip}: {value(chip)}' for chip in chips)}}}"


def _harvesting(board: str, chip: int) -> str:
    if board in _HARVESTED:
        return f"{{noc_translation: true, harvest_mask: {_HARVESTED[board]}}}"
    columns, pcie = (5, 2 - chip) if board == "p300" else (0, 2)  # the chips of a p300 have a PCIe core each, not the same one
    masks = f"dram_harvesting_mask: 0, eth_harvesting_mask: 288, pcie_harvesting_mask: {pcie}, l2cpu_harvesting_mask: 0"
    return f"{{noc_translation: true, harvest_mask: {columns}, {masks}}}"
