"""`ttrt read`, `query` and `check`: nothing of this runs a program."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alchemist.errors import AlchemistError, FlatbufferError, OptionError, UserError
from alchemist.source_text import read_bytes
from alchemist.toolchain import descriptors, flatbuffer, ttnn_file
from alchemist.toolchain.flatbuffer import Record, as_json
from alchemist.ttrt.files import binaries, card, file_stem
from alchemist.ttrt.switches import SECTIONS
from alchemist.ttrt.util import Artifacts

_SYSTEM_SECTIONS = ("version", "system_desc")
_NO_CPP = "// not stored in the file; --section cpp generates it\n"


def read_any(path: Path) -> Record:
    """The root of a `.ttnn` or `.ttsys`. Raises: FileError, FlatbufferError."""
    data = read_bytes(path)
    if flatbuffer.identifier(data) == flatbuffer.TTSYS or path.suffix == ".ttsys":
        return flatbuffer.read(data, str(path), {flatbuffer.TTSYS: descriptors.ROOT})[1]
    return ttnn_file.read_ttnn(data, str(path))


def read(path: Path, values: Mapping[str, Any], artifacts: Artifacts) -> dict[str, Any]:
    """Prints sections of a file; with --save-artifacts also writes them."""
    root = read_any(path)
    is_system = "programs" not in root and "mlir" not in root
    sections = _SYSTEM_SECTIONS if is_system else SECTIONS[1:]
    selected = sections if values["section"] == "all" else (values["section"],)
    if not set(selected) <= set(sections):
        raise OptionError("the file has no such section", expected="all, " + ", ".join(sections), got=f"--section {values['section']} of {path}")
    is_generated = len(selected) == 1 or values["save-artifacts"]  # of a large module that takes seconds
    texts = {name: (_stored_cpp(root) or _NO_CPP) if name == "cpp" and not is_generated else section(root, name) for name in selected}
    for name, text in texts.items():
        if len(texts) > 1:
            print(f"{name}:")
        print(text, end="" if text.endswith("\n") else "\n")
    if values["save-artifacts"]:
        folder = artifacts.folder(file_stem(path), "read")
        for name, text in texts.items():
            (folder / f"{name}.{'mlir' if name == 'mlir' else 'cpp' if name == 'cpp' else 'json'}").write_text(
                text, encoding="utf-8", errors="backslashreplace"
            )
    return {"sections": list(texts)}


def section(root: Record, name: str) -> str:
    """A section's text: MLIR byte for byte, C++ that is generated of it, JSON for the others."""
    if name == "mlir":
        return str(root["mlir"]["source"])
    if name == "cpp":
        return _cpp(root)
    programs = root.get("programs", ())
    data: Any
    if name == "version":
        major, minor, patch = root.get("version", (0, 0, 0))
        data = {"version": f"{major}.{minor}.{patch}", "ttmlir_git_hash": root.get("ttmlir_git_hash", ""), "schema_hash": root.get("schema_hash", "")}
    elif name == "system_desc":
        data = as_json(root.get("system_desc", {}))
    elif name in ("inputs", "outputs"):
        data = [{"name": program.get("name", ""), name: as_json(program.get(name, ()))} for program in programs]
    elif name == "mesh_shape":
        data = [{"name": program.get("name", ""), "mesh_shape": list(program.get("mesh_shape", (1, 1)))} for program in programs]
    elif name == "op_stats":
        data = {program.get("name", ""): Counter(_op_name(op) for op in program.get("operations", ())) for program in programs}
    else:
        data = [{"name": program.get("name", ""), "private": program["private"], "operations": len(program.get("operations", ()))} for program in programs]
    return json.dumps(as_json(data), indent=2)


def _op_name(op: Mapping[str, Any]) -> str:
    """The op of a debug string: `%0 = "ttnn.add"(...)`, `%1 = ttcore.load_cached(...)`."""
    head = str(op.get("debug_info", "")).split("(", 1)[0]
    return head.rsplit("=", 1)[-1].strip().strip('"') or "?"


def _stored_cpp(root: Record) -> str:
    """The C++ that is in the file, "" without any."""
    return next((str(text) for program in root.get("programs", ()) if (text := program.get("debug_info", {}).get("cpp"))), "")


def _cpp(root: Record) -> str:
    """The C++ that is stored, else generated; of a module that cannot be generated (a library for the host's processor) a comment that says why."""
    from alchemist.driver.mlir_files import Chunk
    from alchemist.driver.translate import translate

    try:
        return _stored_cpp(root) or translate(Chunk(str(root["mlir"]["source"]), "mlir"), "cpp")
    except AlchemistError as error:
        return "".join(f"// {line}\n" for line in ("no C++ of this module:", *str(error).splitlines()))


def query(values: Mapping[str, Any], artifacts: Artifacts) -> dict[str, Any]:
    """The descriptor of a card: printed as JSON, and written with --save-artifacts or --output."""
    template = descriptors.read_descriptor(values["like"]) if values["like"] else None
    data = descriptors.descriptor(values["card"] or "n150", template)
    written = [Path(values["output"])] if values["output"] else []
    if values["save-artifacts"]:
        written.append(artifacts.folder() / "system_desc.ttsys")
    for place in written:
        flatbuffer.write_file(place, data)
    root = flatbuffer.read(data, "", {flatbuffer.TTSYS: descriptors.ROOT})[1]
    if not values["quiet"]:
        print(section(root, "system_desc"))
    return {"file_path": str(written[-1]) if written else values["card"] or "n150", "system_desc": [str(place) for place in written]}


def check(path: Path, values: Mapping[str, Any], artifacts: Artifacts) -> dict[str, Any]:
    """Compares the chips of a binary with those of a descriptor.

    Raises:
        UserError: they differ; the message lists the fields.
    """
    root = read_any(path)
    descriptor = root.get("system_desc", {})
    if values["system-desc"]:
        others = [(str(file), descriptors.read_descriptor(file).get("system_desc", {})) for file in binaries(values["system-desc"], (".ttsys",))]
    else:
        others = [(name := f"simulated {card(root, '')}", descriptors.system_of(name.removeprefix("simulated ")))]
    differing = {name: descriptors.differences(descriptor, other) for name, other in others}
    best = min(differing, key=lambda name: len(differing[name]))
    if "chip_descs" not in descriptor:
        raise FlatbufferError("the binary has no system descriptor", location=f"{path}: byte {root.at}", hint="compile it again")
    if differing[best]:
        raise UserError("the binary is for another system", location=str(path), expected=best, got="; ".join(differing[best]))
    if values["save-artifacts"]:
        flatbuffer.write_file(artifacts.folder(file_stem(path), "check") / path.name, path.read_bytes())
    return {"system_desc": best}
