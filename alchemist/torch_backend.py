"""`torch.compile(model, backend="alchemist")`: each captured graph is exported at its first call and runs on the simulator.

    compiled = torch.compile(model, backend="alchemist", options={"export_path": "out"})

A model without graph breaks becomes `out/graph_0`; every further graph (behind a break, or for other shapes) gets the next
number. options: `export_path` (default "codegen_result"), `export_golden`, `overwrite`, `compiler_options` as in `codegen_py`.
Inference only: results carry no gradient. Weights that have changed since the last call are read again; buffers and inputs that
the model writes get their new values.
"""

from __future__ import annotations

import keyword
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import torch
from torch import fx
from torch.fx import traceback as fx_traceback

from alchemist.codegen import codegen_py
from alchemist.errors import OptionError
from alchemist.loaded import LoadedProgram
from alchemist.loaded_torch import torch_array, write_back
from alchemist.options import CompilerOptions

_OPTIONS = ("export_path", "export_golden", "overwrite", "compiler_options")
_STEP = re.compile(r"\['([^']+)'\]|\.(\w+)|\[(\d+)\]")
_CONTAINERS = ("_modules", "_parameters", "_buffers")
_SAMPLE = 4096
"""Elements of a weight whose hash is compared at each call."""
_graphs: dict[Path, int] = {}
_lock = threading.Lock()


class Graph(torch.nn.Module):  # type: ignore[misc]
    """One graph of torch.compile with the model's parameters and buffers under their own names.

    places: per argument of the graph, the name of its tensor, or None for an input. inputs: names of those. others: outputs that are
    no tensors by position, known once the module has run. values: of the arguments, at the export.
    """

    def __init__(self, graph: fx.GraphModule, values: Sequence[Any]) -> None:
        super().__init__()
        self.graph = graph
        nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
        # What is no tensor (a size) has no name, whatever object it comes from.
        self.places = tuple(_parameter_name(node) if isinstance(value, torch.Tensor) else None for node, value in zip(nodes, values, strict=True))
        self.inputs = _input_names([node for node, place in zip(nodes, self.places, strict=True) if place is None])
        self.values = tuple(values)
        self.others: dict[int, Any] = {}
        for name, tensor in zip(self.places, values, strict=True):
            if name is not None:
                self._register(name, tensor)

        def forward(*inputs: Any) -> Any:
            return self._run(inputs)

        forward.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self.inputs])  # type: ignore[attr-defined]
        self.forward = forward
        self.eval()

    def _register(self, name: str, tensor: torch.Tensor) -> None:
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

    def tensor(self, name: str) -> torch.Tensor:
        path, _, last = name.rpartition(".")
        return getattr(self.get_submodule(path), last)

    def _run(self, inputs: Sequence[Any]) -> Any:
        given = iter(inputs)
        # Node by node, so that the exported ops keep the lines and modules of the user's code that dynamo has recorded.
        with fx_traceback.preserve_node_meta():
            outputs = fx.Interpreter(self.graph).run(*(next(given) if name is None else self.tensor(name) for name in self.places))
        self.others.update((place, value) for place, value in enumerate(outputs) if not isinstance(value, torch.Tensor))
        return outputs

    def framework(self, *args: Any) -> Any:
        """What torch itself computes for the graph's arguments."""
        return fx.Interpreter(self.graph).run(*args)


def backend(graph: fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """What torch.compile calls per graph: exports it, gives back a function that runs the export.

    Raises:
        OptionError: an unknown option. UserError: what `codegen_py` raises.
    """
    given = dict(options or {})
    unknown = sorted(set(given) - set(_OPTIONS))
    if unknown:
        raise OptionError("unknown options", expected=", ".join(_OPTIONS), got=", ".join(unknown))
    given["compiler_options"] = CompilerOptions.parse(given.get("compiler_options"))  # refused before a folder is made
    root = Path(given.pop("export_path", "codegen_result"))

    def program(module: Graph, inputs: Sequence[Any]) -> Callable[..., Any]:
        """The export under the next free number."""
        with _lock:
            number = _graphs.get(root.resolve(), 0)
            _graphs[root.resolve()] = number + 1
        root.mkdir(parents=True, exist_ok=True)
        return Runner(LoadedProgram(codegen_py(module, *inputs, export_path=root / f"graph_{number}", **given).path), module)

    return run_by_shapes(graph, example_inputs, program)


def run_by_shapes(graph: fx.GraphModule, example_inputs: Sequence[Any], program: Callable[[Graph, Sequence[Any]], Callable[..., Any]]) -> Callable[..., Any]:
    """A function that runs `program`'s result on the arguments of the graph.

    program: takes the graph as a module, and its inputs. A graph whose shapes torch has left open gets one for the shapes of each call
    that brings new ones.
    """

    def made(values: Sequence[Any]) -> Callable[..., Any]:
        module = Graph(graph, values)
        return program(module, [value for value, name in zip(values, module.places, strict=True) if name is None])

    if not any(isinstance(value, torch.SymInt) or _symbolic(value) for value in example_inputs):
        return made(example_inputs)
    runners: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def run(*args: Any) -> Any:
        shapes = tuple((arg.shape, arg.dtype) if isinstance(arg, torch.Tensor) else arg for arg in args)
        if shapes not in runners:
            runners[shapes] = made(args)
        return runners[shapes](*args)

    return run


def _symbolic(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and any(isinstance(extent, torch.SymInt) for extent in value.shape)


def _steps(node: fx.Node) -> list[str]:
    """The path of what a placeholder stands for, as dynamo has recorded it: `L['self'].encoder[0].weight`."""
    source = getattr(node, "_dynamo_source", None)
    if source is None:
        return []
    text = source.name() if callable(source.name) else str(source.name)
    return [next(part for part in match if part) for match in _STEP.findall(text)]


def _parameter_name(node: fx.Node) -> str | None:
    """`encoder.0.weight` for a placeholder that stands for a parameter or buffer, None for an input."""
    steps = _steps(node)
    if not any(container in steps for container in _CONTAINERS[1:]):
        return None
    local = str(getattr(getattr(node, "_dynamo_source", None), "name", "")).startswith("L[")
    return ".".join(step for step in steps[local:] if step not in _CONTAINERS) or None  # L['self'] is the caller's variable


def _input_names(nodes: Sequence[fx.Node]) -> tuple[str, ...]:
    """One distinct Python name per input: that of the caller's variable."""
    names: list[str] = []
    for index, node in enumerate(nodes):
        name = "_".join(_steps(node))
        name = name if name.isidentifier() and not keyword.iskeyword(name) and name != "self" else f"inputs_{index}"
        names.append(name if name not in names else f"{name}_{index}")
    return tuple(names)


class Runner:
    """Runs one export with a graph's arguments."""

    def __init__(self, program: LoadedProgram, module: Graph) -> None:
        self._program = program
        self._places, self._inputs, self._others = module.places, module.inputs, module.others
        self._known = {name: _state_of(value) for name, value in zip(module.places, module.values, strict=True) if name is not None}

    def __call__(self, *args: Any) -> Any:
        inputs = [arg for arg, name in zip(args, self._places, strict=True) if name is None]
        by_name = {name: value for name, value in zip(self._inputs, inputs, strict=True) if isinstance(value, torch.Tensor)}
        weights = {name: arg for arg, name in zip(args, self._places, strict=True) if name is not None}
        states = {name: _state_of(value) for name, value in weights.items()}
        changed = {name: partial(torch_array, weights[name]) for name, state in states.items() if state != self._known[name]}
        if changed:
            self._program.update(changed)
            self._known = states
        arrays = self._program.call({name: partial(torch_array, value) for name, value in by_name.items()})
        results = iter(write_back(self._program, arrays, {**weights, **by_name}))
        count = len(self._others) + sum("mutates" not in entry for entry in self._program.manifest["outputs"].values())
        return tuple(self._others[place] if place in self._others else next(results) for place in range(count))


def _state_of(value: torch.Tensor) -> tuple[int, int, int]:
    """Differs when the tensor has been written since: where it lies, torch's count of writes, and a hash of some elements.

    Writes through `.data` are not counted by torch; the hash sees those that change the tensor as a whole.
    """
    flat = value.detach().reshape(-1) if value.is_contiguous() else value.detach().flatten()
    sample = flat[:: max(1, flat.numel() // _SAMPLE)].contiguous()
    digest = hash(sample.view(torch.uint8).numpy().tobytes()) if sample.numel() else 0
    return value.data_ptr(), value._version, digest
