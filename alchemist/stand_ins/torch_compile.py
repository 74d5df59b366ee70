"""The backend "tt" of torch.compile: tt-xla's compile options decide what becomes of each graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import fx
from torch.utils.weak import WeakTensorKeyDictionary

from alchemist.codegen import codegen_cpp, codegen_py
from alchemist.errors import UserError
from alchemist.export.writer import Golden
from alchemist.loaded import LoadedProgram
from alchemist.stand_ins.request import SESSION, Request
from alchemist.torch_backend import Graph, Runner, run_by_shapes

WEIGHT_DTYPES = WeakTensorKeyDictionary()
"""Of parameters: the dtype that `tt_torch.apply_weight_dtype_overrides` asks for."""


def backend(graph: fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Raises: OptionError, UserError, as `codegen_py`."""
    request = Request.of(SESSION.options | dict(options or {}))
    if request.options.enable_fusing:
        from alchemist.stand_ins.fusion import apply_providers

        apply_providers(graph)
    return run_by_shapes(graph, example_inputs, lambda module, inputs: _program(module, inputs, request))


def _program(module: Graph, inputs: Sequence[Any], request: Request) -> Callable[..., Any]:
    """What runs one graph for these shapes."""
    if request.wants == "load":
        return Runner(LoadedProgram(_saved(request)), module)
    overrides = ",".join(f"{name}={WEIGHT_DTYPES[value]}" for name, value in module.named_parameters() if value in WEIGHT_DTYPES)
    options = request.options.changed() | ({"override_weight_dtype": overrides} if overrides else {})
    export = codegen_cpp if request.wants == "cpp" else codegen_py
    golden: Golden = "outputs" if request.wants else "none"
    path = export(
        module, *inputs, export_path=SESSION.place(request.export_path), export_tensors=request.export_tensors or not request.wants, export_golden=golden,
        compiler_options=options,
    ).path  # fmt: skip
    SESSION.index(request.export_path)
    if request.dry_run or request.wants == "cpp":
        return module.framework
    return Runner(LoadedProgram(path), module)


def _saved(request: Request) -> Path:
    """The next program of an export, in the order in which the graphs were written."""
    assert request.export_path is not None
    root = request.export_path
    if (root / "main.py").is_file():
        return root
    number = _LOADED.get(root, 0)
    _LOADED[root] = number + 1
    if not (root / f"graph_{number}").is_dir():
        raise UserError("the export has no program for this graph", location=str(root), expected=f"graph_{number}", hint="export the model again")
    return root / f"graph_{number}"


_LOADED: dict[Path, int] = {}
