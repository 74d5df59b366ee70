"""Writes an export directory: sources, tensors, golden outputs, manifest, README and the `run` script."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from alchemist.errors import AccuracyWarning, InternalError, warn_user
from alchemist.export.directory import MANIFEST, file_sha256
from alchemist.export.filesystem import lacking_memory
from alchemist.export.golden_ops import write_golden_ops
from alchemist.export.shared import twins
from alchemist.export.standalone import bundle
from alchemist.export.stored import LIMITS, to_stored
from alchemist.export.tensorbin import WrittenTensor, write_tensor
from alchemist.export.unedited import Measured, measure_unedited
from alchemist.frontends.base import ONE_CHIP, Argument, Mesh, Output
from alchemist.ops.library_names import DTYPES
from alchemist.options import CompilerOptions, Language
from alchemist.pipeline import Compiled
from alchemist.progress import Progress
from alchemist.resources import render, template_text
from alchemist.version import VERSION

Golden = Literal["none", "outputs", "ops"]


@dataclass(frozen=True, slots=True)
class ExportedArgument:
    """A tensor that the emitted program loads.

    dtype: TT-NN's name ("bfloat16"); file: "" without exported tensors; model_dtype: the framework's name, "" for a constant of the compiler's.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: str
    file: str
    model_dtype: str = ""


def write_export(
    directory: Path,
    compiled: Compiled,
    *,
    language: Language,
    options: CompilerOptions,
    export_tensors: bool,
    export_golden: Golden,
    progress: Progress,
    standalone: bool = False,
    place: Path | None = None,
) -> tuple[list[ExportedArgument], Measured]:
    """Fills the (empty) staging `directory`. place: where it will be.

    Raises:
        InputError: an integer input or constant that does not fit its 32-bit device type.
    """
    written: dict[str, WrittenTensor] = {}
    names = FileNames()
    if options.load_input_tensors_from_disk is False:
        export_tensors = False
    if not export_tensors:  # it runs on ones, so that the framework's outputs for the weights do not apply
        export_golden = "none"
    if options.tensor_load_directory:  # the caller's tensors: their results are not known here
        export_golden = "none"
    with progress.stage("write tensors"):
        arguments, entries = _write_arguments(directory, compiled, names, written, export_tensors, progress, options)
    outputs = _write_golden(directory, compiled, names, written, export_golden, progress)

    for name, text in compiled.sources.items():
        _write_text(directory / name, text)
    if language == "python":
        for name in ("utils.py", "check.py", *(("generate.py",) if compiled.generation else ())):
            _write_text(directory / name, template_text(f"py/{name}"))
    write_irs(directory / "irs", compiled.irs)
    _write_text(directory / "README.md", _readme(compiled, language, options, arguments, outputs))
    run = directory / "run"
    _write_text(run, _run_script(language, compiled.captured.mesh.system or options.arch, standalone, compiled.captured.mesh))
    os.chmod(run, run.stat().st_mode | 0o111)
    _write_text(directory / INTERPRETER, interpreter_from(place) + "\n")
    if standalone:
        with progress.stage("bundle the simulator"):
            bundle(directory, language)

    captured = compiled.captured
    manifest: dict[str, Any] = {
        "format": 1,
        "model": captured.model_name,
        "language": language,
        "alchemist": VERSION,
        "source": {"framework": captured.framework, "versions": dict(captured.made_from)},
        "options": options.changed(),
        "device": {
            "arch": options.architecture,
            "card": options.card,
            **({"system": captured.mesh.system} if captured.mesh.system else {}),
            "mesh_shape": list(captured.mesh.extents),
            "l1_small_size": compiled.l1_small_bytes,
            **({"plan": {name: list(placement) for name, placement in captured.plan.items()}} if captured.plan else {}),
        },
        "inputs": [argument.name for argument in arguments if argument.kind == "input"],
        "call": [
            {"name": leaf.name, "shape": list(leaf.shape), "dtype": leaf.dtype} if leaf.dtype else {"name": leaf.name, "value": leaf.value}
            for leaf in captured.call
        ],
        **({"structure": captured.structure} if captured.structure and language == "python" else {}),
        "tensors": entries,
        "outputs": outputs,
        **({"entries": compiled.entry["entries"]} if "entries" in compiled.entry else {"entry": dict(compiled.entry)}),
        **({"generation": dict(compiled.generation)} if compiled.generation else {}),
        "functions": compiled.functions,
    }
    measured = Measured()
    if any("golden" in entry for entry in outputs.values()):
        with progress.stage("unedited program", f"one run on the simulated {captured.mesh.system or options.card}"):
            card = captured.mesh.system or options.card
            measured = measure_unedited(directory, compiled.sources, compiled.python_sources(), manifest, card, written)
    manifest["files"] = {file: {"size_bytes": size_bytes, "sha256": sha256} for file, size_bytes, sha256 in _hashes(directory, written)}
    _write_text(directory / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return arguments, measured


def merge(programs: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """File name -> text of several programs: the files of each below a folder with its name; a single one's as they are."""
    if len(programs) == 1:
        return dict(next(iter(programs.values())))
    stems = FileNames()
    merged: dict[str, str] = {}
    for name, files in programs.items():
        stem = stems.stem(name)
        merged |= {f"{stem}/{file}": text for file, text in files.items()}
    return merged


def write_index(directory: Path, programs: Sequence[str]) -> None:
    """Writes the index of several programs in separate folders: a manifest with all files, and a `run` that runs each."""
    run = directory / "run"
    _write_text(run, template_text("project/run_all"))
    os.chmod(run, run.stat().st_mode | 0o111)
    files = {file: {"size_bytes": size_bytes, "sha256": sha256} for file, size_bytes, sha256 in _hashes(directory, {}) if file.rpartition("/")[2] != MANIFEST}
    manifest = {"format": 1, "alchemist": VERSION, "programs": list(programs), "files": files}
    _write_text(directory / MANIFEST, json.dumps(manifest, indent=2) + "\n")


class FileNames:
    """Turns source names into file stems: readable, contained in one directory, unique without regard to case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def stem(self, name: str) -> str:
        stem = re.sub(r"[^A-Za-z0-9_.\-]", "_", name).strip(".") or "tensor"
        if len(stem) > 150:
            stem = f"{stem[:130]}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"
        unique, count = stem, 1
        while unique.lower() in self._taken:
            count += 1
            unique = f"{stem}_{count}"
        self._taken.add(unique.lower())
        return unique


def _write_arguments(
    directory: Path,
    compiled: Compiled,
    names: FileNames,
    written: dict[str, WrittenTensor],
    export_tensors: bool,
    progress: Progress,
    options: CompilerOptions,
) -> tuple[list[ExportedArgument], dict[str, dict[str, Any]]]:
    argument_of: dict[str, Argument] = {argument.name: argument for argument in compiled.captured.arguments}
    arguments: list[ExportedArgument] = []
    entries: dict[str, dict[str, Any]] = {}
    (directory / "tensors").mkdir()
    # A weight that no op reads any more (batch counters, folded masks) is not exported; an unused input still is.
    declared = [argument for argument in compiled.declared if argument.used or argument.kind == "input"]
    stored_twins = twins(directory)
    for count, argument in enumerate(declared):
        entry: dict[str, Any] = {
            "kind": argument.kind,
            "shape": list(argument.shape),
            "dtype": argument.dtype,
            "layout": "TILE_LAYOUT" if argument.tiled else "ROW_MAJOR_LAYOUT",
        }
        if argument.block:
            entry["device_dtype"] = DTYPES[argument.block]
        if argument.name in argument_of:
            entry["model_dtype"] = argument_of[argument.name].dtype
        place = next((i for i, candidate in enumerate(compiled.captured.arguments) if candidate.name == argument.name), None)
        if options.tensor_load_directory and place is not None:
            entry["file"] = str(Path(options.tensor_load_directory) / f"{options.tensor_load_file_prefix or 'arg'}{place}.tensorbin")
        elif export_tensors or argument.kind == "constant":
            numbered = options.tensor_load_file_prefix and place is not None
            stem = names.stem(f"{options.tensor_load_file_prefix}{place}" if numbered else argument.name)
            file = f"tensors/{stem}.tensorbin"
            if argument.name in compiled.constants:
                value = compiled.constants[argument.name]
            elif argument.name in argument_of:
                value = argument_of[argument.name].value()
            else:
                raise InternalError(f"argument {argument.name!r} of @forward has no value")
            placement = argument_of[argument.name].placement if argument.name in argument_of else (None, None)
            stored = to_stored(value, argument.dtype, argument.name)
            written[file] = write_tensor(directory / file, stored, tiled=argument.tiled, shared=stored_twins, mesh=compiled.captured.mesh, placement=placement)
            if any(dim is not None for dim in placement):
                entry["placement"] = list(placement)
            entry["file"] = file
            if count % 50 == 49:
                progress.say(f"write tensors: {count + 1} of {len(declared)}")
        entries[argument.name] = entry
        arguments.append(ExportedArgument(argument.name, argument.shape, argument.dtype, argument.kind, entry.get("file", ""), entry.get("model_dtype", "")))
    return arguments, entries


def _write_golden(
    directory: Path, compiled: Compiled, names: FileNames, written: dict[str, WrittenTensor], export_golden: Golden, progress: Progress
) -> dict[str, dict[str, Any]]:
    outputs: dict[str, dict[str, Any]] = {}
    stems = FileNames()
    written_in_place = compiled.entry.get("written", {})
    for output in compiled.captured.outputs:
        place = written_in_place.get(output.name, {}).get("weight", "")
        limits = LIMITS["float32" if output.dtype in ("float32", "float64") else "bfloat16"]
        outputs[output.name] = {
            "shape": list(output.shape),
            "dtype": output.dtype,
            **({"mutates": output.mutates} if output.mutates else {}),
            **({"written": place} if place else {}),
            **({"placement": list(output.placement)} if compiled.captured.mesh != ONE_CHIP else {}),
            "stem": stems.stem(output.name),
            **limits,
        }
    if export_golden == "none" or compiled.captured.golden is None:
        return outputs
    result_bytes = sum(math.prod(output.shape) * 4 for output in compiled.captured.outputs)
    if lacking := lacking_memory(2 * result_bytes):  # the framework's values, and what a conversion copies
        warn_user(f"no golden outputs, ./run --check has nothing to compare with: {lacking}", AccuracyWarning)
        return outputs
    with progress.stage("golden outputs"):
        (directory / "golden").mkdir()
        values = compiled.captured.golden()
        for output, value in zip(compiled.captured.outputs, values, strict=True):
            _write_one_golden(directory, output, value, outputs[output.name], written)
    if export_golden == "ops":
        with progress.stage("golden ops"):
            write_golden_ops(directory, compiled, written)
    return outputs


def _write_one_golden(
    directory: Path,
    output: Output,
    value: np.ndarray[Any, Any],
    entry: dict[str, Any],
    written: dict[str, WrittenTensor],
) -> None:
    file = f"golden/{entry['stem']}.tensorbin"
    dtype = "int32" if value.dtype.kind in "iub" else "float32"
    if dtype == "int32" and value.size and value.max() > np.iinfo(np.int32).max:
        dtype = "uint32"
    written[file] = write_tensor(directory / file, to_stored(value, dtype, output.name))
    entry["golden"] = file


def write_irs(folder: Path, irs: Mapping[str, str]) -> None:
    """Writes the texts of the compiler's stages, numbered in order; texts other than MLIR end in .txt."""
    for number, (stage, text) in enumerate(irs.items()):
        _write_text(folder / f"{number:02}_{stage}.{'txt' if stage.rpartition('_')[2] in ('fx', 'decisions') else 'mlir'}", text)


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _hashes(directory: Path, written: dict[str, WrittenTensor]) -> Iterable[tuple[str, int, str]]:
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            name = path.relative_to(directory).as_posix()
            hash_of = written.get(name)
            yield (name, hash_of.size_bytes, hash_of.sha256) if hash_of else (name, path.stat().st_size, file_sha256(path))


INTERPRETER = ".interpreter"
"""The Python that made the export, for `run`: a file of its own, so that the script is the same on every machine."""


def _run_script(language: Language, arch: str, standalone: bool, mesh: Mesh = ONE_CHIP) -> str:
    template = "project/run_py.j2" if language == "python" else "project/run_cpp.j2"
    return render(template, arch=arch, mesh=f"{mesh.rows}x{mesh.columns}", bundled=standalone, cpp=language == "cpp")


def interpreter_from(place: Path | None) -> str:
    """This Python as `run` in directory `place` is to look for it: `../.venv/bin/python` when the directory that holds the virtual environment
    holds the export too, so that both may be moved or checked in together; else by its full path."""
    environment = Path(sys.prefix)
    if place is None or sys.prefix == sys.base_prefix or environment.parent == Path("/") or not Path(sys.executable).is_relative_to(environment):
        return sys.executable
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(os.path.realpath(environment.parent)):
        return sys.executable
    return os.path.join(os.path.relpath(os.path.realpath(environment), real), Path(sys.executable).relative_to(environment))


def _readme(
    compiled: Compiled,
    language: Language,
    options: CompilerOptions,
    arguments: list[ExportedArgument],
    outputs: dict[str, dict[str, Any]],
) -> str:
    captured = compiled.captured
    return render(
        "project/README.md.j2",
        model=captured.model_name,
        language=language,
        versions=", ".join(f"{name} {version}" for name, version in captured.made_from.items()),
        version=VERSION,
        options=options.changed(),
        arch=options.arch,
        inputs=[argument for argument in arguments if argument.kind == "input"],
        weights=sum(argument.kind != "input" for argument in arguments),
        outputs=outputs,
        generation=bool(compiled.generation),
        sources=sorted(compiled.sources),
    )
