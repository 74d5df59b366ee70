"""How a model runs on several chips, by the simulator's clock alone: over meshes (`./run --scale`, `alchemist estimate --mesh`) and over plans of one number
of chips (`shardings="tune"`). Programs are made from shapes: no weight is read."""

from __future__ import annotations

import contextlib
import json
import math
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from alchemist.errors import AlchemistError, FileError, InputError, OptionError, explained, quoted
from alchemist.export.directory import MANIFEST
from alchemist.export.writer import write_export
from alchemist.frontends.base import ONE_CHIP, FrontendResult, Mesh, Placement
from alchemist.mesh.plan import CUT, Shardings, mesh_of, on_mesh, options_on, plan_on
from alchemist.model_files import FileCall, mlir_loader, onnx_loader
from alchemist.options import CompilerOptions
from alchemist.pipeline import Compiled, compile_captured
from alchemist.progress import Progress
from alchemist.tools.clock_run import Totals, totals_of

MOST_CHIPS = 32
_MESH = re.compile(r"([1-9]\d?)x([1-9]\d?)")


@dataclass(frozen=True, slots=True)
class Spread:
    """One way to run the model. failure: why there is no program of it.

    plan: "tensor", "data", "hybrid", "export" (the plan of the export), "shardings" (the argument), or "" on one chip.
    """

    plan: str
    mesh: Mesh
    totals: Totals = field(default_factory=Totals)
    failure: str = ""

    @property
    def chips(self) -> int:
        return self.mesh.rows * self.mesh.columns

    @property
    def ns(self) -> float:
        """Infinite without a program."""
        return math.inf if self.failure else self.totals.device_ns


@dataclass(frozen=True, slots=True)
class Spreads:
    """rows: in the order in which they are shown. base: what a speed-up is relative to; without one there is none. `str()` is the table."""

    rows: tuple[Spread, ...]
    base: Spread | None = None
    picked: Spread | None = None

    def __str__(self) -> str:
        gains = f"{'speed-up':>10s}{'efficiency':>12s}" if self.base else ""
        lines = [f"  {'mesh':6s}{'system':10s}{'plan':16s}{'ms':>10s}{'exchange ms':>13s}{gains}{'MB/chip':>10s}"]
        for row in self.rows:
            mark = "> " if row is self.picked else "  "
            place = f"{mark}{row.mesh.rows}x{row.mesh.columns:<4d}{row.mesh.system:10s}{row.plan:16s}"
            if row.failure:
                lines.append(f"{place}  {row.failure}")
                continue
            totals = row.totals
            gain = self.speed_up(row)
            gains = f"{f'{gain:.2f}x':>10s}{f'{gain / row.chips:.0%}':>12s}" if gain else ""
            lines.append(f"{place}{totals.device_ns / 1e6:10.3f}{totals.ccl_ns / 1e6:13.3f}{gains}{totals.dram_bytes / 1e6:10.1f}")
        return "\n".join(lines)

    def speed_up(self, row: Spread) -> float:
        """0 without a base or a time."""
        return self.base.ns / row.ns if self.base and math.isfinite(self.base.ns) and math.isfinite(row.ns) else 0.0

    def as_json(self) -> str:
        rows = [
            {
                "mesh": [*row.mesh.extents], "system": row.mesh.system, "plan": row.plan, "failure": row.failure, "picked": row is self.picked,
                **({} if row.failure else {"device_ns": row.totals.device_ns, "ccl_ns": row.totals.ccl_ns, "dram_bytes": row.totals.dram_bytes}),
                **({"speed_up": gain} if (gain := self.speed_up(row)) else {}),
            }
            for row in self.rows
        ]  # fmt: skip
        return json.dumps(rows, indent=1)


def timed(captured: FrontendResult, options: CompilerOptions) -> tuple[Totals, Compiled | None]:
    """The emitted program with the clock alone, as `./run --estimate` runs it, and what the compiler made.

    Raises: OptionError. Other errors of the compiler are the failure of the totals.
    """
    quiet = Progress(verbose=False)
    with tempfile.TemporaryDirectory(prefix="alchemist-timed-") as scratch:
        program = Path(scratch) / "program"
        program.mkdir()
        try:
            compiled = compile_captured(captured, "python", options, quiet)
            write_export(program, compiled, language="python", options=options, export_tensors=False, export_golden="none", progress=quiet)
        except OptionError:
            raise
        except AlchemistError as error:
            return Totals(failure=str(error).splitlines()[0]), None
        return totals_of(program, captured.mesh.system or options.card), compiled


def spread(captured: FrontendResult, model: Any, mesh: Mesh, plan: str, shardings: Shardings, options: CompilerOptions) -> Spread:
    """A row of a table: the model on a mesh by a plan, which the row calls `plan`."""
    made = captured
    if mesh != ONE_CHIP:
        try:
            made = on_mesh(captured, model, mesh, shardings, say=None)
        except AlchemistError as error:
            return Spread(plan, mesh, failure=str(error).splitlines()[0])
    totals, _ = timed(made, options_on(mesh, options))
    return Spread(plan, mesh if mesh != ONE_CHIP else replace(mesh, system=options.card), totals, totals.failure)


def plans_of(mesh: Mesh) -> list[tuple[str, Shardings]]:
    """Those that are tried on a mesh: (what the table calls it, `shardings`)."""
    if min(mesh.extents) > 1:
        return [("hybrid", "auto"), ("hybrid, cut", f"auto{CUT}")]
    return [("tensor", "tensor"), ("tensor, cut", f"tensor{CUT}"), ("data", "data")]


def tuned(captured: FrontendResult, model: Any, mesh: Mesh, options: CompilerOptions, progress: Progress) -> tuple[FrontendResult, Spreads]:
    """The fastest plan of as many chips, over all meshes that they form: the program of each chip, and the table of all.

    Raises: UserError where no plan fits.
    """
    chips = mesh.rows * mesh.columns
    meshes = _meshes_of(chips, options) or [mesh]
    rows: list[tuple[Spread, Shardings]] = []
    tried = [(each, plan, shardings) for each in meshes for plan, shardings in plans_of(each)]
    for number, (each, plan, shardings) in enumerate(tried, 1):
        with progress.stage("tune", f"{number} of {len(tried)}: {plan} on {each.rows}x{each.columns} chips"):
            rows.append((spread(captured, model, each, plan, shardings, options), shardings))
    rows.sort(key=lambda pair: pair[0].ns)
    best, how = rows[0]
    found = Spreads(tuple(row for row, _ in rows), picked=best)
    if best.failure:
        raise InputError(
            f"no plan for {chips} chips fits the model", got="; ".join(f"{row.plan} on {row.mesh.rows}x{row.mesh.columns}: {row.failure}" for row in found.rows)
        )
    return on_mesh(captured, model, best.mesh, how), found


def _meshes_of(chips: int, options: CompilerOptions) -> list[Mesh]:
    """All that so many chips form; one column is one row turned."""
    found = []
    for rows in (rows for rows in range(1, chips + 1) if chips % rows == 0 and (rows < chips or chips == 1)):
        with contextlib.suppress(OptionError):
            found.append(mesh_of((rows, chips // rows), options))
    return found


@explained
def scale_source(
    source: str | Path, meshes: str | Sequence[str], *, shardings: Shardings | None = None, compiler_options: Mapping[str, Any] | None = None
) -> Spreads:
    """The model of an export with `irs/`, or of an MLIR or ONNX file, on one chip and on each of the meshes.

    Args:
        meshes: "1x2,2x4" or ["1x2", "2x4"]; a number is the fastest mesh of as many chips.
        shardings: as in `codegen_py`; without it the export's own plan, and for others the faster one of "tensor" and "data".
        compiler_options: instead of the export's.

    Raises:
        OptionError: what is no mesh of a system. FileError: no such file; a directory without `irs/`.
    """
    path, manifest = _source(Path(source))
    options = CompilerOptions.parse(compiler_options if compiler_options is not None else manifest.get("options", {}))
    wanted = _meshes(meshes, options)
    progress = Progress()
    with progress.stage("read", str(path)):
        captured = _captured(path)
    plan = {name: _placement(placement) for name, placement in manifest.get("device", {}).get("plan", {}).items()}
    rows: list[Spread] = []
    for number, choices in enumerate(wanted, 1):
        tried = []
        for mesh in choices:
            own = [("shardings", shardings)] if shardings is not None else [("export", plan_on(plan, captured, mesh))] if plan else plans_of(mesh)
            for called, each in own if mesh != ONE_CHIP else [("", "auto")]:
                with progress.stage("estimate", f"{number} of {len(wanted)}: {mesh.rows}x{mesh.columns} {called}".rstrip()):
                    tried.append(spread(captured, None, mesh, called, each, options))
        rows.append(min(tried, key=lambda row: row.ns))
    return Spreads(tuple(rows), base=rows[0])


def _placement(given: Any) -> Placement:
    first, second = given
    return first, second


def _source(path: Path) -> tuple[Path, Mapping[str, Any]]:
    """The file of the whole model, and the manifest of an export."""
    if not path.is_dir():
        return path, {}
    texts = sorted((path / "irs").glob("*_ttir.mlir"))
    if not texts:
        raise FileError("no export with irs/", location=str(path), hint="export with dump_irs=true, or give the .mlir or .onnx file")
    manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    if manifest["device"]["mesh_shape"] != [1, 1] and "whole" not in texts[0].name:
        raise FileError("an export for several chips without the whole model", location=str(path), hint="export again")
    return texts[0], manifest


def _captured(path: Path) -> FrontendResult:
    call = FileCall.checked(path)
    programs = (onnx_loader(call, None) if path.suffix == ".onnx" else mlir_loader(call, ""))()
    if len(programs) != 1:
        raise InputError(f"{len(programs)} programs in the file", location=str(path), expected="one public function")
    return next(iter(programs.values()))


def _meshes(given: str | Iterable[str], options: CompilerOptions) -> list[list[Mesh]]:
    """One chip, and for each mesh that is asked for those among which the fastest is taken. Raises: OptionError."""
    words = [word.strip() for word in (given.split(",") if isinstance(given, str) else given)]
    found: list[list[Mesh]] = [[ONE_CHIP]]
    for word in words:
        named = _MESH.fullmatch(word)
        if named:
            found.append([mesh_of((int(named[1]), int(named[2])), options)])
            continue
        if not (word.isdecimal() and 1 <= int(word) <= MOST_CHIPS):
            raise OptionError("no mesh", expected="rows and columns, or a number of chips, as 1x2,2x4 or 2,8", got=quoted(word))
        chips = int(word)
        several = _meshes_of(chips, options)
        if not several:
            raise OptionError(f"no {options.architecture} system has a mesh of {chips} chips", expected="1, 2, 4, 8 or 32", got=word)
        found.append(several)
    return found[:1] + [meshes for meshes in found[1:] if meshes != [ONE_CHIP]]


__all__ = ["Spread", "Spreads", "scale_source", "spread", "timed", "tuned"]
