"""`torch.compile(model, backend="alchemist")`: each captured graph is exported at its first call and runs on the simulator.

    compiled = torch.compile(model, backend="alchemist", options={"export_path": "out"})

A model without graph breaks becomes `out/graph_0`; every further graph (behind a break, or for other shapes) gets the next
number. options: `export_path` (default "codegen_result"), `export_golden`, `overwrite`, `compiler_options` as in `codegen_py`.
Inference only: results carry no gradient.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import fx
from torch.fx import traceback as fx_traceback

from alchemist.codegen import codegen_py
from alchemist.errors import InputError, OptionError
from alchemist.loaded import LoadedProgram, torch_array, torch_tensor
from alchemist.options import CompilerOptions

_OPTIONS = ("export_path", "export_golden", "overwrite", "compiler_options")
_STEP = re.compile(r"\['([^']+)'\]|\.(\w+)|\[(\d+)\]")
_CONTAINERS = ("_modules", "_parameters", "_buffers")
_graphs: dict[Path, int] = {}


class Graph(torch.nn.Module):  # type: ignore[misc]
    """One graph of torch.compile with the model's parameters and buffers under their own names.

    places: per argument of the graph, the name of its tensor, or None for an input.
    """

    def __init__(self, graph: fx.GraphModule, tensors: Mapping[str, torch.Tensor], places: Sequence[str | None]) -> None:
        super().__init__()
        self.graph = graph
        self.places = tuple(places)
        for name, tensor in tensors.items():
            owner: torch.nn.Module = self
            *path, last = name.split(".")
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, torch.nn.Module())
                owner = owner._modules[part]
            if isinstance(tensor, torch.nn.Parameter):
                owner.register_parameter(last, tensor)
            else:
                owner.register_buffer(last, tensor)
        self.eval()

    def tensor(self, name: str) -> torch.Tensor:
        path, _, last = name.rpartition(".")
        return getattr(self.get_submodule(path), last)

    def forward(self, *inputs: Any) -> Any:
        given = iter(inputs)
        # Node by node, so that the exported ops keep the lines and modules of the user's code that dynamo has recorded.
        with fx_traceback.preserve_node_meta():
            return fx.Interpreter(self.graph).run(*(next(given) if name is None else self.tensor(name) for name in self.places))


def backend(
    graph: fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """What torch.compile calls per graph: exports it, gives back a function that runs the export.

    Raises:
        OptionError: an unknown option. InputError: dynamic shapes. UserError: what `codegen_py` raises.
    """
    given = dict(options or {})
    unknown = sorted(set(given) - set(_OPTIONS))
    if unknown:
        raise OptionError("unknown options", expected=", ".join(_OPTIONS), got=", ".join(unknown))
    given["compiler_options"] = CompilerOptions.parse(given.get("compiler_options"))  # refused before a folder is made
    if any(isinstance(one, torch.SymInt) or _symbolic(one) for one in example_inputs):
        raise InputError("dynamic shapes", hint="shapes are fixed at export: torch.compile(..., dynamic=False)")
    root = Path(given.pop("export_path", "codegen_result"))
    number = _graphs.get(root.resolve(), 0)
    _graphs[root.resolve()] = number + 1
    root.mkdir(parents=True, exist_ok=True)

    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    tensors: dict[str, torch.Tensor] = {}
    places: list[str | None] = []
    for node, value in zip(placeholders, example_inputs, strict=True):
        name = _parameter_name(node)
        places.append(name)
        if name is not None:
            tensors[name] = value
    module = Graph(graph, tensors, places)
    inputs = [value for value, name in zip(example_inputs, places, strict=True) if name is None]
    result = codegen_py(module, *inputs, export_path=root / f"graph_{number}", **given)
    return _runner(LoadedProgram(result.path), places)


def _symbolic(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and any(isinstance(extent, torch.SymInt) for extent in value.shape)


def _parameter_name(node: fx.Node) -> str | None:
    """`encoder.0.weight` for a placeholder that stands for a parameter or buffer, None for an input."""
    source = getattr(node, "_dynamo_source", None)
    if source is None:
        return None
    text = source.name() if callable(source.name) else str(source.name)
    if not any(container in text for container in _CONTAINERS[1:]):
        return None
    steps = [next(part for part in match if part) for match in _STEP.findall(text)]
    names = [step for step in steps[text.startswith("L[") :] if step not in _CONTAINERS]  # L['self'] is the caller's variable
    return ".".join(names) or None


def _runner(program: LoadedProgram, places: Sequence[str | None]) -> Callable[..., Any]:
    wanted = [int(name.rpartition("_")[2]) for name in program.inputs if name.startswith("inputs_")]
    outputs = program.manifest["outputs"]

    def run(*args: Any) -> Any:
        tensors = [arg for arg, name in zip(args, places, strict=True) if name is None]
        by_name = {f"inputs_{index}": tensors[index] for index in wanted}
        by_name |= {name: arg for arg, name in zip(args, places, strict=True) if name is not None and name in program.inputs}
        arrays = program.call({name: partial(torch_array, value) for name, value in by_name.items()})
        results = []
        for name, array in zip(program.outputs, arrays, strict=True):
            value = torch_tensor(array, outputs[name]["dtype"])
            mutated = outputs[name].get("mutates", "")
            if not mutated:
                results.append(value)
            elif mutated in by_name:
                with torch.no_grad():
                    by_name[mutated].copy_(value.reshape(by_name[mutated].shape))
        return tuple(results)

    return run
