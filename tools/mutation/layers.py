"""Which tests belong to which files of the product."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Layer:
    """sources: how paths begin. tests: folders and files, quick ones first."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]


CALIBRATION = ("published", "estimate", "error_bands", "row_attrs")
# The first row with a source that a path starts with is the path's layer.
LAYERS = (
    Layer("torch", ("alchemist/frontends/torch", "alchemist/torch_backend.py"), ("tests/frontends_torch",)),
    Layer("jax", ("alchemist/frontends/jax", "alchemist/frontends/stablehlo"), ("tests/frontends_jax",)),
    Layer("onnx", ("alchemist/frontends/onnx", "alchemist/frontends/composites.py"), ("tests/frontends_onnx", "tests/frontends_torch/test_ops.py")),
    Layer(
        "text", ("alchemist/frontends", "alchemist/ir"), ("tests/ir", "tests/mlir/test_syntax.py", "tests/mlir/test_op_rules.py", "tests/mlir/test_programs.py")
    ),
    Layer("ops", ("alchemist/ops",), ("tests/ops", "tests/passes")),
    Layer("optimizer", ("alchemist/optimizer", "alchemist/passes/optimize.py"), ("tests/optimizer", "tests/passes/test_passes.py")),
    Layer("passes", ("alchemist/passes",), ("tests/passes", "tests/mlir/test_passes.py")),
    Layer(
        "program", ("alchemist/program", "emit_py", "emit_cpp"), ("tests/program", "tests/emit", "tests/e2e/test_entry_points.py", "tests/e2e/test_codegen.py")
    ),
    Layer(
        "export",
        ("alchemist/export", "alchemist/loaded.py", "templates"),
        (
            *("tests/export", "tests/check", "tests/e2e/test_generate.py", "tests/e2e/test_loaded.py", "tests/e2e/test_weights.py"),
            *("tests/e2e/test_run_script.py", "tests/e2e/test_codegen.py"),
        ),
    ),
    Layer(
        "verify",
        ("alchemist/verify",),
        ("tests/cli/test_recorder.py", "tests/cli/test_verify.py", "tests/cli/test_verify_environment.py", "tests/export/test_packaging.py"),
    ),
    Layer("program tools", ("alchemist/tools",), ("tests/reports",)),
    Layer(
        "driver",
        ("alchemist",),
        (
            *("tests/export/test_options.py", "tests/cli", "tests/mlir/test_options.py", "tests/mlir/test_generate.py", "tests/optimizer/test_tune.py"),
            *("tests/toolchain", "tests/partition", "tests/mesh", "tests/e2e/test_entry_points.py", "tests/e2e/test_codegen.py"),
        ),
    ),
    Layer("calibration", ("tools/calibration", *(f"ttnn_shim/python/ttnn_shim/{name}" for name in CALIBRATION)), ("tests/sim",)),
    Layer(
        "reports",
        ("ttnn_shim/python/ttnn_shim",),
        (
            *("tests/reports", "tests/shim_core", "tests/sim/test_query.py", "tests/sim/test_replay.py", "tests/sim/test_model.py"),
            *("tests/sim/test_estimate.py", "tests/pyapi/test_behaviour.py", "tests/e2e/test_edit_loop.py", "tests/e2e/test_edited_errors.py"),
            *("tests/export/test_run_faults.py", "tests/e2e/test_codegen.py", "tests/pyapi"),
        ),
    ),
    Layer("door", ("ttnn_shim/python",), ("tests/pyapi", "tests/ops_numeric/test_numeric.py")),
    Layer("clock", ("ttnn_shim/src/sim", "ttnn_shim/src/strategy", "ttnn_shim/arch"), ("tests/sim", "tests/shim_core")),
    Layer("memory", ("ttnn_shim/src/tensor", "ttnn_shim/src/abi"), ("tests/shim_core", "tests/pyapi", "tests/ops_numeric/test_numeric.py")),
    Layer(
        "kernels", ("ttnn_shim/src",), ("tests/ops_numeric", "tests/shim_core", "tests/pyapi/test_verdicts.py", "tests/sim/test_conformance.py", "tests/mesh")
    ),
)
# Tools that no user runs.
SKIPPED = ("make_signatures.py", "make_arguments.py", "check_layers.py", "emit_extension.py", "generate.py")


def layer_of(path: str) -> Layer | None:
    """None for what has no mutants: tests, headers, data, generated files."""
    if not path.endswith((".py", ".cpp")) or path.endswith(SKIPPED):
        return None
    for layer in LAYERS:
        if any(path.startswith(source) for source in layer.sources):
            return layer
    return None


def relevant_tests(path: str, root: Path = ROOT) -> list[str]:
    """The test files of a path's layer, those that name its module before the others."""
    layer = layer_of(path)
    assert layer is not None
    files: list[str] = []
    for place in layer.tests:
        found = [root / place] if place.endswith(".py") else sorted((root / place).rglob("test_*.py"))
        files += [file.relative_to(root).as_posix() for file in found]
    named = naming(path, files, root)
    return [*named, *(file for file in files if file not in named)]


def naming(path: str, files: list[str], root: Path = ROOT) -> list[str]:
    """Those of some test files that name a path's module, first those whose own name does; all where none does."""
    word = re.compile(rf"\b{re.escape(Path(path).stem)}\b", re.IGNORECASE)  # Resize of ONNX is resize.py
    own = [file for file in files if word.search(file.replace("test_", ""))]
    return [*own, *(file for file in files if file not in own and word.search((root / file).read_text()))] or files
