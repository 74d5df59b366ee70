"""The public API: `codegen_py` and `codegen_cpp`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alchemist.errors import OptionError
from alchemist.export.directory import exporting
from alchemist.export.writer import ExportedArgument, Golden, write_export
from alchemist.options import CompilerOptions
from alchemist.pipeline import Language, capture, compile_captured, detect_framework
from alchemist.progress import Progress

GOLDEN_CHOICES = ("none", "outputs", "ops")


@dataclass(frozen=True, slots=True)
class CodegenResult:
    """What was made: the directory, its files (relative), the tensors the program loads, seconds per stage."""

    path: Path
    files: tuple[str, ...]
    arguments: tuple[ExportedArgument, ...]
    stage_seconds: Mapping[str, float] = field(default_factory=dict)


def codegen_py(
    model_or_fn: Any,
    *args: Any,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    export_golden: Golden = "outputs",
    overwrite: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> CodegenResult:
    """Writes `model_or_fn` as a standalone Python program on TT-NN.

    Args:
        model_or_fn: a torch.nn.Module, a function on torch tensors, or a JAX function.
        args, kwargs: what the model is called with; shapes and dtypes are fixed by them.
        export_path: directory to create. An existing export is replaced if none of its files was edited.
        export_tensors: False leaves weights and inputs out; the program then runs on ones.
        export_golden: "outputs" stores the framework's outputs for `./run --check`; "ops" also every intermediate value.
        overwrite: replace the directory whatever it holds.
        compiler_options: see `CompilerOptions`; values may be strings.

    Raises:
        UserError: anything about the model, options or directory that prevents the export; nothing is left behind.
    """
    return _codegen("python", model_or_fn, args, kwargs, export_path, export_tensors, export_golden, overwrite, compiler_options)


def codegen_cpp(
    model_or_fn: Any,
    *args: Any,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    export_golden: Golden = "outputs",
    overwrite: bool = False,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> CodegenResult:
    """Writes `model_or_fn` as a standalone C++ program (CMake project) on TT-NN. Arguments as in `codegen_py`."""
    return _codegen("cpp", model_or_fn, args, kwargs, export_path, export_tensors, export_golden, overwrite, compiler_options)


def _codegen(
    language: Language,
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    export_path: str | Path,
    export_tensors: bool,
    export_golden: Golden,
    overwrite: bool,
    compiler_options: Mapping[str, Any] | None,
) -> CodegenResult:
    options = CompilerOptions.parse(compiler_options)
    if export_golden not in GOLDEN_CHOICES:
        raise OptionError("bad export_golden", expected="one of " + ", ".join(GOLDEN_CHOICES), got=repr(export_golden))
    progress = Progress()
    path = Path(export_path)
    # Entered first: a path that cannot be written is refused before minutes of work.
    with exporting(path, overwrite=overwrite) as staging:
        framework = detect_framework(model, args, kwargs)
        with progress.stage("capture", f"{framework} model {type(model).__name__}"):
            captured = capture(model, args, kwargs, framework)
        compiled = compile_captured(captured, language, options, progress)
        arguments = write_export(
            staging,
            compiled,
            language=language,
            options=options,
            export_tensors=export_tensors,
            export_golden=export_golden,
            progress=progress,
        )
        files = tuple(sorted(file.relative_to(staging).as_posix() for file in staging.rglob("*") if file.is_file()))
    progress.say(f"wrote {path} ({len(files)} files)")
    return CodegenResult(path, files, tuple(arguments), dict(progress.stage_seconds))
