"""What the commands are about: binaries in files and directories, their programs, the card they are for, and their exports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from alchemist.errors import OptionError, quoted
from alchemist.toolchain.descriptors import card_of
from alchemist.toolchain.ttnn_file import check_one_chip


def binaries(place: str, suffixes: tuple[str, ...]) -> list[Path]:
    """The file, or every file with such a name below the directory.

    Raises:
        OptionError: nothing was named, or the directory has no such file.
    """
    if not place:
        raise OptionError("no file", expected="a file or a directory of " + ", ".join(suffixes))
    path = Path(place)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix in suffixes and file.is_file())
    if not files:
        raise OptionError("no binary in the directory", expected=", ".join(suffixes), got=str(path))
    return files


def programs(root: Mapping[str, Any], selection: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number, program) of those that `--program-index` asks for; private ones are parts of others and are skipped.

    Raises:
        OptionError: no such program; the message has the choices.
    """
    public = {index: program for index, program in enumerate(root.get("programs", ())) if not program["private"]}
    if selection != "all" and (not selection.isdecimal() or int(selection) not in public):
        known = ", ".join(f"{index} ({quoted(program.get('name', ''))})" for index, program in public.items())
        raise OptionError("no such program", expected=f"all, {known}", got=f"--program-index {selection[:40]}")
    yield from (item for item in public.items() if selection in ("all", str(item[0])))


def card(root: Mapping[str, Any], name: str) -> str:
    """The card to simulate: the one asked for, else the binary's. Raises: UserError for a chip without a model."""
    system = root.get("system_desc", {})
    return name or (card_of(system)[0] if system.get("chip_descs") else "n150")


def file_stem(path: Path) -> str:
    """A name for the artifacts of a binary."""
    return re.sub(r"[^\w.-]", "_", path.name)[:120]


def export(path: Path, program: Mapping[str, Any], values: Mapping[str, Any], root: Mapping[str, Any], folder: Path) -> Path:
    """Compiles a program of a binary into the folder. Raises: UserError, also for several chips."""
    from alchemist.codegen import codegen_mlir  # commands that run nothing do not wait for the compiler

    check_one_chip(path, str(program.get("name", "")))
    name = str(program.get("name", ""))
    codegen_mlir(
        path,
        export_path=folder,
        entry=name,
        init=values["init"],
        seed=values["seed"],
        export_golden="outputs" if values.get("enable-golden") and not values.get("disable-golden") else "none",
        overwrite=True,
        compiler_options={"arch": card(root, values["card"])},
    )
    return folder
