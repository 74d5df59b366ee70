"""Generate the C++ tables of the machine from the CSV files beside this file: sim/cards.def, sim/constants.def and sim/sfpu_cycles.def.

python ttnn_shim/arch/generate.py DIRECTORY    # done by the build, into its own tree
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def read(name: str) -> list[dict[str, str]]:
    """Rows of one table beside this file."""
    with open(HERE / name, newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


# Members of sim::Arch; the other rows of cards.csv are Python's alone.
CARD_FIELDS = ("clock_ghz", "grid_x", "grid_y", "noc_x", "noc_y", "phys_x", "phys_y", "dram_banks", "l1_bytes", "l1_core_bytes", "l1_reserved_bytes",
               "dram_bank_bytes", "dram_base", "l1_align", "dram_align")  # fmt: skip


def card_text(card: str, values: dict[str, str]) -> str:
    """A card as its other names and a sim::Arch; a list of numbers is a row with blanks."""
    family = "Wormhole" if values["family"] == "wormhole_b0" else "Blackhole"
    names = ", ".join(f'"{name}"' for name in values.get("names", "").split())
    members = "".join(f" arch.{field} = {{{values[field].replace(' ', ', ')}}};" for field in CARD_FIELDS)
    return f'{{{{{names}}}, [] {{ Arch arch; arch.card = "{card}"; arch.family = Family::{family};{members} return arch; }}()}},'


def tables() -> dict[str, str]:
    """Text of every generated file, by its path below the folder of generated files."""
    cards: dict[str, dict[str, str]] = {}
    for row in read("cards.csv"):
        cards.setdefault(row["card"], {})[row["name"]] = row["value"]
    constants = read("constants.csv")
    names = [row["name"] for row in constants]
    if len(set(names)) != len(names):
        raise ValueError(f"constants.csv: repeated name {sorted(n for n in names if names.count(n) > 1)[0]}")

    def rows(table: list[dict[str, str]], key: str) -> list[str]:
        return [f"X({row[key]}, {row['wormhole_b0']}, {row['blackhole']})" for row in table]

    lines = {
        "sim/cards.def": [card_text(card, values) for card, values in cards.items()],
        "sim/constants.def": rows(sorted(constants, key=lambda row: row["used_by"]), "name"),
        "sim/sfpu_cycles.def": rows(sorted(read("sfpu.csv"), key=lambda row: row["op"]), "op"),
    }
    return {name: "\n".join(["// Made by ttnn_shim/arch/generate.py.", *text, ""]) for name, text in lines.items()}


def main() -> None:
    """Write the files. Those that stay the same are not touched: nothing that includes them is compiled again."""
    for name, text in tables().items():
        path = Path(sys.argv[1]) / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
