"""The public API: `codegen_py` and `codegen_cpp`."""

from __future__ import annotations

import difflib
import inspect
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from alchemist.entry_points import EntryResults, checked_entry_points, compile_entries
from alchemist.errors import OptionError, explained
from alchemist.export.directory import MANIFEST, export_target, exporting
from alchemist.export.precision import export_within_limits
from alchemist.export.shared import remember
from alchemist.export.writer import ExportedArgument, FileNames, Golden, merge, write_export, write_index
from alchemist.frontends.base import ONE_CHIP, FrontendResult
from alchemist.mesh.memory import check_fits
from alchemist.mesh.plan import Shardings, mesh_of, mesh_of_model, on_mesh, options_on, refuse_on_meshes
from alchemist.model_files import FileCall, Programs, mlir_loader, onnx_loader
from alchemist.options import CompilerOptions, Init, Language, boolean, choice
from alchemist.pipeline import capture, check_options, compile_captured, detect_framework
from alchemist.progress import Progress

GOLDEN_CHOICES = ("none", "outputs", "ops")


@dataclass(frozen=True, slots=True, repr=False)
class CodegenResult:
    """What was made: the directory, its files (relative), the tensors the program loads, seconds per stage. Prints as one line."""

    path: Path
    files: tuple[str, ...]
    arguments: tuple[ExportedArgument, ...]
    stage_seconds: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        seconds = sum(self.stage_seconds.values())
        return f"CodegenResult({str(self.path)!r}, {len(self.files)} files, {len(self.arguments)} tensors, {seconds:.1f} s)"


@explained
def codegen_py(
    model_or_fn: Any,
    *args: Any,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    export_golden: Golden = "outputs",
    overwrite: bool = False,
    compiler_options: Mapping[str, Any] | CompilerOptions | None = None,
    entry_points: Mapping[str, Any] | None = None,
    mesh: tuple[int, int] = (1, 1),
    shardings: Shardings = "auto",
    **kwargs: Any,
) -> CodegenResult:
    """Writes `model_or_fn` as a standalone Python program on TT-NN.

    Args:
        model_or_fn: a torch.nn.Module, a function on torch tensors, a JAX function, or the path of an ONNX file.
        args, kwargs: what the model is called with; shapes and dtypes are fixed by them. Of an ONNX file: example inputs (arrays, by
            position or name; others are made from the declared shapes), and `dims={"batch": 1}` for dimensions that the file leaves open.
        export_path: directory to create. An existing export is replaced in one step if none of its files was edited; reports and
            outputs that `./run` wrote into it stay. A link to a directory stays a link, a mount point and "." keep their directory.
        export_tensors: False leaves weights and inputs out; the program then runs on ones, and has no golden outputs.
        export_golden: "outputs" stores the framework's outputs for `./run --check`; "ops" also every intermediate value (needs the tensors).
        overwrite: replace the directory whatever it holds (but never the current or the home directory with other things in it).
        compiler_options: see `CompilerOptions`; values may be strings.
        entry_points: several functions in one program instead of args and kwargs, by name: `{"prefill": (prompt,), "decode": (token, position)}`.
            A tuple or dict is what the model is called with, an `EntryPoint` says what is called too; `text_generation` makes them for models
            of transformers. Weights are stored and prepared once, and what one function writes (caches) another reads.
        mesh, shardings: rows and columns of chips, and how the model is spread over them (docs/several_chips.md); a JAX function may say both itself,
            by shardings of its arguments and values. Needs the extra `mesh`.

    Raises:
        UserError: anything about the model, options or directory that prevents the export; nothing is left behind.
    """
    spread = mesh, shardings
    return _codegen("python", model_or_fn, args, kwargs, export_path, export_tensors, export_golden, overwrite, compiler_options, entry_points, spread)


@explained
def codegen_cpp(
    model_or_fn: Any,
    *args: Any,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    export_golden: Golden = "outputs",
    overwrite: bool = False,
    compiler_options: Mapping[str, Any] | CompilerOptions | None = None,
    entry_points: Mapping[str, Any] | None = None,
    mesh: tuple[int, int] = (1, 1),
    shardings: Shardings = "auto",
    **kwargs: Any,
) -> CodegenResult:
    """Writes `model_or_fn` as a standalone C++ program (CMake project) on TT-NN. Arguments as in `codegen_py`."""
    spread = mesh, shardings
    return _codegen("cpp", model_or_fn, args, kwargs, export_path, export_tensors, export_golden, overwrite, compiler_options, entry_points, spread)


def _refuse_options_as_keywords(model: Any, kwargs: Mapping[str, Any]) -> None:
    """`optimization_level=2` goes to the model as every keyword does, and one that takes `**kwargs`, as those of transformers do, would take it in silence.

    Raises:
        OptionError: a keyword is the name of an option, the model has no parameter of that name, and the value is no tensor; or it is nearly the name
            of one of our own arguments.
    """
    try:
        parameters = set(inspect.signature(getattr(model, "forward", model)).parameters)
    except (TypeError, ValueError):  # a path, or a function without a signature
        parameters = set()
    own = ("export_path", "export_tensors", "export_golden", "overwrite", "compiler_options", "entry_points")
    for name in kwargs.keys() - parameters:
        if near := difflib.get_close_matches(name, own, n=1, cutoff=0.8):
            raise OptionError(
                f"unknown argument {name!r}: codegen and the model have no such parameter", expected=", ".join(own), got=name, hint=f"did you mean {near[0]}?"
            )
    names = {one.name for one in fields(CompilerOptions)} - parameters
    given = {name: value for name, value in kwargs.items() if name in names and isinstance(value, str | int | float | bool | None)}
    if given:
        raise OptionError(
            "a compiler option as a keyword argument: keyword arguments go to the model", got=", ".join(given), hint=f"compiler_options={given!r}"
        )


def _codegen(
    language: Language,
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    export_path: str | Path,
    export_tensors: bool,
    export_golden: Golden,
    overwrite: bool,
    compiler_options: Mapping[str, Any] | CompilerOptions | None,
    entry_points: Mapping[str, Any] | None,
    spread: tuple[tuple[int, int], Shardings],
) -> CodegenResult:
    _refuse_options_as_keywords(model, kwargs)
    options = CompilerOptions.parse(compiler_options)
    check_options(options, language)
    given = mesh_of(spread[0], options)
    calls = {} if entry_points is None else checked_entry_points(model, entry_points, options)
    if calls and (args or kwargs):
        raise OptionError(
            "arguments together with entry_points: each entry point has its own arguments",
            expected="entry_points without other arguments",
            got=f"{len(args) + len(kwargs)} more",
        )
    if calls and export_golden == "ops":
        raise OptionError('export_golden="ops" contradicts entry_points', expected="one entry point, or golden outputs alone")
    export_tensors, overwrite = boolean("export_tensors", export_tensors), boolean("overwrite", overwrite)
    export_golden = choice("export_golden", export_golden, GOLDEN_CHOICES)
    if export_golden == "ops":
        _check_values_are_known(export_tensors, options)
    progress = Progress()
    refused = {"entry_points": bool(calls), 'export_golden="ops"': export_golden == "ops"}
    if given != ONE_CHIP:
        refuse_on_meshes(refused)

    def captured(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], entry: str = "") -> FrontendResult:
        framework = detect_framework(function, args, kwargs)
        what = str(function) if framework == "onnx" else f"{framework} model {type(function).__name__}"
        with progress.stage("capture", entry or what):
            found = capture(function, args, kwargs, framework, golden_ops=export_golden == "ops")
        mesh = mesh_of_model(found, given, spread[1], options)
        if mesh != ONE_CHIP:
            refuse_on_meshes(refused)
        if mesh != ONE_CHIP and spread[1] == "tune":
            from alchemist.spreading import tuned

            found, table = tuned(found, function, mesh, options, progress)
            print(table, file=sys.stderr)
        elif mesh != ONE_CHIP:
            with progress.stage("partition", f"{mesh.rows}x{mesh.columns} chips of {mesh.system}"):
                found = on_mesh(found, function, mesh, spread[1])
        if mesh != ONE_CHIP:
            print(f"alchemist: {check_fits(found)}", file=sys.stderr)
        return replace(found, model_name=entry) if entry else found

    def run_front_end() -> Mapping[str, FrontendResult | EntryResults]:
        if not calls:
            return {"": captured(model, args, kwargs)}
        title = getattr(model, "__name__", None) or type(model).__name__
        return {"": EntryResults(title, {name: captured(call.function, call.args, call.kwargs, name) for name, call in calls.items()})}

    return _export(run_front_end, language, export_target(export_path), options, export_tensors, export_golden, overwrite, progress)


def _check_values_are_known(export_tensors: bool, options: CompilerOptions) -> None:
    """Values of every operation are compared with the framework's, so the program must compute with the framework's tensors."""
    reasons = {
        "export_tensors=False": not export_tensors,
        "load_input_tensors_from_disk=false": options.load_input_tensors_from_disk is False,
        "tensor_load_directory": bool(options.tensor_load_directory),
    }
    for reason, holds in reasons.items():
        if holds:
            raise OptionError(
                f'export_golden="ops" contradicts {reason}',
                expected="an export that contains the model's tensors",
                hint='remove one of the two options; without tensors there are no golden values (export_golden="none")',
            )


@explained
def codegen_mlir(
    source: str | Path,
    *,
    language: Language = "python",
    export_path: str | Path = "codegen_result",
    overwrite: bool = False,
    init: Init = "randn",
    seed: int = 0,
    inputs: str | Path | None = None,
    standalone: bool = False,
    entry: str = "",
    export_golden: Golden = "outputs",
    compiler_options: Mapping[str, Any] | CompilerOptions | None = None,
) -> CodegenResult:
    """Writes an MLIR file (TTIR, TTNN or StableHLO; also a `.ttnn` binary) as a program.

    A file with several public functions or parts (`// -----`) becomes a program each, in folders of their own with one `run` above.

    Args:
        source: the `.mlir` or `.ttnn` file.
        entry: only this function.
        export_golden: "none" leaves golden outputs out, and the evaluation and the run that they take.
        init, seed: values of arguments that `inputs` does not hold.
        inputs: directory with values by argument name, `.npy` or `.tensorbin`.
        standalone: the simulator goes into the directory too; it then runs without alchemist.
        Others as in `codegen_py`. Golden outputs come from a float32 evaluation of the file's own ops.

    Raises:
        UserError: as `codegen_py`; ParseError and VerifyError name file, line and column.
    """
    call = FileCall.checked(source, language, init, seed, inputs, compiler_options)
    overwrite, standalone = boolean("overwrite", overwrite), boolean("standalone", standalone)
    export_golden = choice("export_golden", export_golden, ("none", "outputs"))
    return _export_file(call, mlir_loader(call, entry), export_path, overwrite, standalone, export_golden)


@explained
def codegen_onnx(
    source: str | Path,
    *,
    language: Language = "python",
    export_path: str | Path = "codegen_result",
    overwrite: bool = False,
    init: Init = "randn",
    seed: int = 0,
    inputs: str | Path | None = None,
    dims: Mapping[str, int] | None = None,
    standalone: bool = False,
    export_golden: Golden = "outputs",
    compiler_options: Mapping[str, Any] | CompilerOptions | None = None,
) -> CodegenResult:
    """Writes an ONNX file as a program, with inputs that are made or come from files (`codegen_py` takes arrays).

    Args:
        source: the `.onnx` file.
        dims: sizes of dimensions that the file leaves open, {"batch": 1}; those of `inputs` are taken from the values.
        Others as in `codegen_mlir`. Golden outputs come from the reference implementation of the onnx package.

    Raises:
        UserError: as `codegen_py`.
    """
    call = FileCall.checked(source, language, init, seed, inputs, compiler_options)
    overwrite, standalone = boolean("overwrite", overwrite), boolean("standalone", standalone)
    export_golden = choice("export_golden", export_golden, ("none", "outputs"))
    return _export_file(call, onnx_loader(call, dims), export_path, overwrite, standalone, export_golden)


@explained
def onnx_sources(
    source: str | Path,
    *,
    language: Language = "python",
    init: Init = "randn",
    seed: int = 0,
    inputs: str | Path | None = None,
    dims: Mapping[str, int] | None = None,
    compiler_options: Mapping[str, Any] | CompilerOptions | None = None,
) -> dict[str, str]:
    """File name -> source text of an ONNX file; nothing is written. Arguments and errors as in `codegen_onnx`."""
    call = FileCall.checked(source, language, init, seed, inputs, compiler_options)
    return _file_sources(call, onnx_loader(call, dims))


@explained
def mlir_sources(
    source: str | Path,
    *,
    language: Language = "python",
    init: Init = "randn",
    seed: int = 0,
    inputs: str | Path | None = None,
    entry: str = "",
    compiler_options: Mapping[str, Any] | CompilerOptions | None = None,
) -> dict[str, str]:
    """File name -> source text of an MLIR file; nothing is written. Arguments and errors as in `codegen_mlir`."""
    call = FileCall.checked(source, language, init, seed, inputs, compiler_options)
    return _file_sources(call, mlir_loader(call, entry))


def _export_file(
    call: FileCall, load: Callable[[], Programs], export_path: str | Path, overwrite: bool, standalone: bool, export_golden: Golden
) -> CodegenResult:
    progress = Progress()

    def run_front_end() -> Programs:
        with progress.stage("read", str(call.source)):
            return load()

    return _export(run_front_end, call.language, export_target(export_path), call.options, True, export_golden, overwrite, progress, standalone)


def _file_sources(call: FileCall, load: Callable[[], Programs]) -> dict[str, str]:
    options = replace(call.options, dump_irs=False)
    programs = load().items()
    return merge({name: compile_captured(one, call.language, options_on(one.mesh, options), Progress(verbose=False)).sources for name, one in programs})


def _empty(folder: Path) -> Path:
    """The folder, made where it is missing, without the export that an earlier trial wrote."""
    folder.mkdir(exist_ok=True)
    for entry in folder.iterdir() if (folder / MANIFEST).exists() else ():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    return folder


def _report_conversions(arguments: Iterable[ExportedArgument]) -> None:
    """One line about inputs and weights of dtypes that a card does not have."""
    names: dict[str, list[str]] = {}
    for one in arguments:
        if one.model_dtype in ("float64", "float16") or (one.model_dtype in ("int64", "uint64") and one.kind == "input"):
            names.setdefault(f"{one.model_dtype} becomes {one.dtype}", []).append(one.name)
    if names:
        rows = [f"{what} ({', '.join(held[:4])}{f' and {len(held) - 4} more' if len(held) > 4 else ''})" for what, held in names.items()]
        print(f"alchemist: {'; '.join(rows)}", file=sys.stderr)


def _moved_by_rounding(captured: FrontendResult | EntryResults) -> Callable[[], dict[str, float]] | None:
    """The measure of `FrontendResult` by the names of the outputs; None where no front end offers it."""
    measure = captured.moved_by_rounding if isinstance(captured, FrontendResult) else None
    outputs = captured.outputs if isinstance(captured, FrontendResult) else ()
    return None if measure is None else lambda: dict(zip((output.name for output in outputs), measure(), strict=True))


def export_captured(captured: FrontendResult, path: Path, options: CompilerOptions, language: Language = "python") -> CodegenResult:
    """An export with its tensors and golden outputs, without a word on the terminal; errors as `codegen_py`."""
    return _export(lambda: {"": captured}, language, path, options, True, "outputs", False, Progress(verbose=False))


def _export(
    front_end: Callable[[], Mapping[str, FrontendResult | EntryResults]],
    language: Language,
    path: Path,
    options: CompilerOptions,
    export_tensors: bool,
    export_golden: Golden,
    overwrite: bool,
    progress: Progress,
    standalone: bool = False,
) -> CodegenResult:
    # The directory first: a path that cannot be written is refused before minutes of work.
    with exporting(path, overwrite=overwrite) as staging:
        programs = front_end()
        stems = FileNames()
        folders = [stems.stem(name) if len(programs) > 1 else "" for name in programs]
        arguments: list[ExportedArgument] = []
        for folder, captured in zip(folders, programs.values(), strict=True):
            own = options_on(captured.mesh, options) if isinstance(captured, FrontendResult) else options
            written = export_within_limits(
                lambda chosen, folder=folder, captured=captured: write_export(  # type: ignore[misc]
                    _empty(staging / folder),
                    compile_captured(captured, language, chosen, progress)
                    if isinstance(captured, FrontendResult)
                    else compile_entries(captured, language, chosen, progress),
                    language=language,
                    options=chosen,
                    export_tensors=export_tensors,
                    export_golden=export_golden,
                    progress=progress,
                    standalone=standalone,
                    place=path / folder,
                ),
                own,
                is_float32=isinstance(captured, FrontendResult)
                and options.precision == "model"
                and any(output.dtype == "float32" for output in captured.outputs),
                model=captured.model_name if isinstance(captured, FrontendResult) else captured.title,
                directory=staging / folder,
                moved_by_rounding=_moved_by_rounding(captured),
            )
            _report_conversions(written)
            arguments += written
        if len(programs) > 1:
            write_index(staging, folders)
        files = tuple(sorted(file.relative_to(staging).as_posix() for file in staging.rglob("*") if file.is_file()))
    remember(path)
    seconds = sum(progress.stage_seconds.values())
    compares = any("golden/" in file for file in files)
    following = "compares its outputs with the framework's" if compares else "runs it"
    command = f"{path}/run --check" if compares else f"{path}/run"
    progress.say(f"wrote {path}: {len(files)} files, {len(arguments)} tensors, {seconds:.1f} s; next: {command} {following}", always=True)
    return CodegenResult(path, files, tuple(arguments), dict(progress.stage_seconds))
