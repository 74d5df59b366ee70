"""Generate the C++ tables of the machine from the CSV files beside this file: the cards, the chip families and what each of them is worth.

python ttnn_shim/arch/generate.py DIRECTORY [TABLES]    # done by the build, into its own tree; TABLES: a folder of other CSV files
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def read(path: Path) -> list[dict[str, str]]:
    """Rows of one table."""
    with open(path, newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


# Members of sim::Arch; the other rows of cards.csv are Python's alone.
CARD_FIELDS = ("clock_ghz", "grid_x", "grid_y", "noc_x", "noc_y", "phys_x", "phys_y", "dram_banks", "l1_bytes", "l1_core_bytes", "l1_reserved_bytes",
               "dram_bank_bytes", "dram_base", "l1_align", "dram_align")  # fmt: skip


def card_text(card: str, values: dict[str, str]) -> str:
    """A card as its other names and a sim::Arch; a list of numbers is a row with blanks."""
    family = values["family"]
    names = ", ".join(f'"{name}"' for name in values.get("names", "").split())
    members = "".join(f" arch.{field} = {{{values[field].replace(' ', ', ')}}};" for field in CARD_FIELDS)
    return f'{{{{{names}}}, [] {{ Arch arch; arch.card = "{card}"; arch.family = "{family}";{members} return arch; }}()}},'


def meshes_text(text: str) -> str:
    """ "2x4 1x8" as a list of pairs."""
    return "{" + ", ".join("{" + mesh.replace("x", ", ") + "}" for mesh in text.split()) + "}"


def system_text(row: dict[str, str]) -> str:
    """A row of systems.csv as a sim::System."""
    rings = ", ".join(row["rings"].split())
    return f'{{"{row["system"]}", "{row["chip"]}", {row["board_chips"]}, {row["links"]}, {meshes_text(row["meshes"])}, {{{rings}}}}},'


def tables(folder: Path) -> dict[str, str]:
    """Text of every generated file, by its path below the folder of generated files."""
    cards: dict[str, dict[str, str]] = {}
    for row in read(folder / "cards.csv"):
        cards.setdefault(row["card"], {})[row["name"]] = row["value"]
    constants = read(folder / "constants.csv")
    names = [row["name"] for row in constants]
    if len(set(names)) != len(names):
        raise ValueError(f"constants.csv: repeated name {sorted(n for n in names if names.count(n) > 1)[0]}")

    families = [column for column in list(constants[0])[: list(constants[0]).index("unit")] if column not in ("name", "used_by")]
    if unknown := [card for card, values in cards.items() if values["family"] not in families]:
        raise ValueError(f"cards.csv: the family of {unknown[0]} is no column of constants.csv, which has {families}")

    def rows(table: list[dict[str, str]], key: str) -> list[str]:
        return [f"X({row[key]}, {', '.join(row[family] for family in families)})" for row in table]

    def lists(table: list[dict[str, str]]) -> list[str]:
        cells = [(row["name"], [row[family].split() for family in families]) for row in table]
        return [f"X({name}, {len(values[0])}, {', '.join('{' + ', '.join(each) + '}' for each in values)})" for name, values in cells]

    lines = {
        "sim/cards.def": [card_text(card, values) for card, values in cards.items()],
        "sim/families.def": [f'"{family}",' for family in families],
        "sim/constants.def": rows(sorted(constants, key=lambda row: row["used_by"]), "name"),
        "sim/sfpu_cycles.def": rows(sorted(read(folder / "sfpu.csv"), key=lambda row: row["op"]), "op"),
        "sim/systems.def": [system_text(row) for row in read(folder / "systems.csv")],
        "sim/library_facts.def": lists(read(folder / "library_facts.csv")),
    }
    return {name: "\n".join(["// Made by ttnn_shim/arch/generate.py.", *text, ""]) for name, text in lines.items()}


def main() -> None:
    """Write the files. Those that stay the same are not touched: nothing that includes them is compiled again."""
    for name, text in tables(Path(sys.argv[2]) if len(sys.argv) > 2 else HERE).items():
        path = Path(sys.argv[1]) / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
