"""Runs an emitted (and possibly edited) Python program as a drop-in for the model it was made from."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from alchemist.errors import InputError, ToolchainError, UserError
from alchemist.export.directory import MANIFEST
from alchemist.export.stored import to_stored
from alchemist.pipeline import detect_framework

_MODULES = ("check", "utils", "consteval", "main")
_open_programs = 0  # they share one simulated card: the last one closes it,
_found_open = False  # unless it was open before the first


def load_codegen_py(model_or_fn: Any, *args: Any, load_path: str | Path = "codegen_result", **kwargs: Any) -> Any:
    """Runs the Python program at `load_path` in the place of `model_or_fn(*args, **kwargs)`.

    The weights are those of the export; of the arguments only the inputs are read. Buffers that the model writes (a key-value
    cache) get their new values. Returns what the model returns: the same structure, with torch tensors or JAX arrays; one
    tensor or a tuple where the model needs values to know its structure.

    Raises:
        UserError: no Python export at `load_path`. InputError: arguments that are not those of the export.
    """
    framework = detect_framework(model_or_fn, args, kwargs)
    run = _run_torch if framework == "torch" else _run_jax
    with LoadedProgram(load_path) as program:
        return run(program, model_or_fn, args, kwargs)


class LoadedProgram:
    """`program(*inputs)` -> outputs as numpy arrays, in the order of `outputs`.

    The device is opened and the weights are prepared once; `close()` (or leaving a `with` block) frees them.

    Raises (constructor):
        UserError: the directory is not a Python export. ToolchainError: neither simulator nor ttnn is installed.
    """

    def __init__(self, path: str | Path) -> None:
        global _open_programs, _found_open
        self.path = Path(path).resolve()
        try:
            self.manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_text())
        except (OSError, ValueError) as error:
            raise UserError(f"{path} is not an export", location=str(path), hint="give the directory of codegen_py") from error
        if self.manifest.get("language") != "python":
            raise UserError(f"{path} holds C++", location=str(path), hint="load an export of codegen_py")
        try:
            import ttnn_shim
        except ImportError as error:
            raise ToolchainError("the simulator is not installed", hint="install the alchemist wheel, or run `make setup` in a checkout") from error
        ttnn_shim.activate(explicit=True)
        import ttnn

        self.ttnn: Any = ttnn
        modules = self._load_modules()
        self.utils, self.main = modules["utils"], modules["main"]
        if not _open_programs:
            from ttnn_shim import session

            _found_open = session.has_device()
        from alchemist.passes.lower.convolution import L1_SMALL_BYTES

        # Programs share the device: the first one leaves room for the sliding windows of those after it.
        self.device = ttnn.open_device(device_id=0, l1_small_size=max(self.manifest["device"]["l1_small_size"], L1_SMALL_BYTES))
        _open_programs += 1
        consteval = modules.get("consteval")
        prepare = getattr(consteval or self.main, "prepare", None)
        stored = self.utils.stored_weights(self.device, keep=prepare is None)
        if prepare is None:
            held = {name: stored[name] for name, entry in self.manifest["tensors"].items() if entry["kind"] != "input"}
        self.weights = prepare(stored) if prepare is not None else self.utils.Weights(held)
        entry = self.manifest["entry"]
        self.function: Callable[..., Any] = getattr(self.main, entry["function"])
        self.inputs: list[str] = entry["inputs"]
        self.outputs: list[str] = entry["outputs"]
        self.takes_weights: bool = entry["weights"]

    def _load_modules(self) -> dict[str, ModuleType]:
        """Imports the program's modules under their own names, then gives those names back to whoever had them."""
        before = {name: sys.modules.pop(name, None) for name in _MODULES}
        loaded: dict[str, ModuleType] = {}
        try:
            for name in _MODULES:
                file = self.path / f"{name}.py"
                if not file.exists():
                    continue
                spec = importlib.util.spec_from_file_location(name, file)
                if spec is None:
                    raise UserError(f"cannot import {file}", location=str(file))
                module = importlib.util.module_from_spec(spec)
                sys.modules[name] = loaded[name] = module
                # Not through the loader: its bytecode cache does not see an edit within the same second.
                exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
        finally:
            for name, module_before in before.items():
                sys.modules.pop(name, None)
                if module_before is not None:
                    sys.modules[name] = module_before
        return loaded

    def to_device(self, name: str, value: np.ndarray[Any, Any]) -> Any:
        """Input `name` on the device.

        Raises:
            InputError: another shape than at export.
        """
        entry: Mapping[str, Any] = self.manifest["tensors"][name]
        if list(value.shape) != entry["shape"]:
            raise InputError(f"input {name}", expected=f"shape {entry['shape']}", got=f"shape {list(value.shape)}")
        host = self.ttnn.Tensor(to_stored(value, entry["dtype"], name), getattr(self.ttnn, entry["dtype"]))
        return self.ttnn.to_device(self.ttnn.to_layout(host, getattr(self.ttnn, entry["layout"])), self.device)

    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The entry function on device tensors, in the order of `self.inputs`."""
        arguments = [*inputs, self.weights] if self.takes_weights else list(inputs)
        outputs = self.function(*arguments)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def __call__(self, *values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        if len(values) != len(self.inputs):
            raise InputError("wrong number of inputs", expected=", ".join(self.inputs), got=f"{len(values)} values")
        on_device = [self.to_device(name, value) for name, value in zip(self.inputs, values, strict=True)]
        return [self.utils.to_numpy(output) for output in self.run(on_device)]

    def call(self, values: Mapping[str, Callable[[], np.ndarray[Any, Any]]]) -> list[np.ndarray[Any, Any]]:
        """The outputs for inputs by name; names that the program does not read are ignored.

        Raises:
            InputError: an input is missing.
        """
        missing = [name for name in self.inputs if name not in values]
        if missing:
            raise InputError(
                "arguments that are not those of the export", expected=", ".join(self.inputs), got=", ".join(values) or "none"
            )
        for entry in self.manifest["outputs"].values():
            name = entry.get("mutates", "")
            if name in values and name not in self.inputs and name in self.manifest["tensors"]:
                self._set_weight(name, values[name]())
        return self(*(values[name]() for name in self.inputs))

    def _set_weight(self, name: str, value: np.ndarray[Any, Any]) -> None:
        """A buffer that the model writes, as it is now and not as it was at export."""
        tensor = self.to_device(name, value.reshape(self.manifest["tensors"][name]["shape"]))
        self.weights[name] = self.ttnn.to_layout(tensor, self.weights[name].layout)

    def close(self) -> None:
        """Frees the weights; the last program closes the card, if the first one opened it."""
        global _open_programs
        self.weights = None
        _open_programs -= 1
        if not _open_programs and not _found_open:
            self.ttnn.close_device(self.device)

    def __enter__(self) -> LoadedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ------------------------------------------------------------------------------------------------------------- frameworks


def torch_array(value: Any) -> np.ndarray[Any, Any]:
    """A torch tensor on the host in a dtype that numpy has."""
    import torch

    value = value.detach().cpu()
    return np.ascontiguousarray((value.float() if value.dtype == torch.bfloat16 else value).numpy())


def torch_tensor(value: np.ndarray[Any, Any], dtype: str) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(value)).to(getattr(torch, dtype))


def _run_torch(program: LoadedProgram, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import torch
    from torch.utils import _pytree as pytree

    from alchemist.frontends.torch.export import argument_names

    is_module = isinstance(model, torch.nn.Module)
    leaves, spec = pytree.tree_flatten((args, kwargs))
    names = argument_names(spec, model.forward if is_module else model)
    tensors = {name: leaf for name, leaf in zip(names, leaves, strict=True) if isinstance(leaf, torch.Tensor)}
    buffers = dict((model if is_module else getattr(model, "__self__", torch.nn.Module())).named_buffers())
    given = {**buffers, **tensors}
    arrays = program.call({name: partial(torch_array, value) for name, value in given.items()})
    results: list[Any] = []
    for name, array in zip(program.outputs, arrays, strict=True):
        entry = program.manifest["outputs"][name]
        value = torch_tensor(array, entry["dtype"])
        if "mutates" in entry:
            if entry["mutates"] in given:
                target = given[entry["mutates"]].detach()
                target.copy_(value.reshape(target.shape))  # the device has no scalars
        else:
            results.append(value)
    try:
        shape = _torch_result(model, args, kwargs)
    except RuntimeError:  # the model reads values, which is all that it cannot do here: its outputs are given in order
        shape = None
    flat, out_spec = pytree.tree_flatten(shape)
    if sum(isinstance(leaf, torch.Tensor) for leaf in flat) != len(results):
        return results[0] if len(results) == 1 else tuple(results)
    values = iter(results)
    return pytree.tree_unflatten([next(values) if isinstance(leaf, torch.Tensor) else leaf for leaf in flat], out_spec)


def _torch_result(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the model returns, with tensors that have no values: only its structure is wanted."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils import _pytree as pytree

    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(leaf: Any) -> Any:
        return mode.from_tensor(leaf, static_shapes=True) if isinstance(leaf, torch.Tensor) else leaf

    fake_args, fake_kwargs = pytree.tree_map(fake, (args, kwargs))
    with torch.no_grad(), mode:
        if isinstance(model, torch.nn.Module):
            state = {name: fake(value) for name, value in (*model.named_parameters(), *model.named_buffers())}
            return torch.func.functional_call(model, state, fake_args, fake_kwargs)
        return model(*fake_args, **fake_kwargs)


def _run_jax(program: LoadedProgram, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import jax
    import jax.numpy as jnp

    from alchemist.frontends.jax.arguments import flatten
    from alchemist.frontends.jax.capture import _as_function

    function, args = _as_function(function, args)
    flat = flatten(function, args, kwargs)
    values = {leaf.name: leaf.value for leaf in flat.leaves}
    arrays = program.call({name: partial(np.asarray, value) for name, value in values.items()})
    dtypes = [program.manifest["outputs"][name]["dtype"] for name in program.outputs]
    results = [jnp.asarray(array).astype(dtype) for array, dtype in zip(arrays, dtypes, strict=True)]

    def shapes(leaves: list[Any]) -> Any:
        called_args, called_kwargs = flat.rebuild(leaves)
        return function(*called_args, **called_kwargs)

    tree = jax.tree_util.tree_structure(jax.eval_shape(shapes, [leaf.value for leaf in flat.leaves]))
    if tree.num_leaves != len(results):
        return results[0] if len(results) == 1 else tuple(results)
    return jax.tree_util.tree_unflatten(tree, results)
