"""Runs an emitted (and possibly edited) Python program as a drop-in for the model it was made from."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from alchemist.errors import InputError, OptionError, ToolchainError, UserError, as_our_error, checked_path, printable
from alchemist.export.directory import MANIFEST
from alchemist.export.stored import to_stored
from alchemist.frontends.base import CallLeaf
from alchemist.frontends.structure import compare_structure
from alchemist.pipeline import detect_framework

Array = np.ndarray[Any, Any]
Values = Mapping[str, Callable[[], Array]]
"""Tensors by name; called for those that the program reads."""

_MODULES = ("check", "utils", "consteval", "generate", "main")
_LOADING = threading.Lock()  # programs have modules of the same names: one at a time


class _SharedDevice:
    """The open card of the loaded programs: the last of them closes it, unless somebody else called open_device too."""

    latest: _SharedDevice | None = None

    def __init__(self, device: Any) -> None:
        self.device = device
        self.programs = 0
        self.requests = 0  # how often programs called open_device

    @classmethod
    def joined(cls, device: Any) -> _SharedDevice:
        """For a program that has just called open_device. A card that was closed and opened anew is another object."""
        if cls.latest is None or cls.latest.device is not device:
            cls.latest = cls(device)
        cls.latest.programs += 1
        cls.latest.requests += 1
        return cls.latest

    def left(self) -> bool:
        """A program ends; whether it has to close the card."""
        from ttnn_shim import session

        self.programs -= 1
        return not self.programs and session.device_requests() == self.requests


def load_codegen_py(model_or_fn: Any, *args: Any, load_path: str | Path = "codegen_result", **kwargs: Any) -> Any:
    """Runs the Python program at `load_path` in the place of `model_or_fn(*args, **kwargs)`.

    The arguments are compared with those of the export: names, shapes, dtypes, and the values of Python numbers and strings,
    which are part of the program. Weights are those that the model, or the arguments of a JAX function, hold now; a tensor that
    neither holds (a constant, a model on the meta device), and every tensor of an export with `tensor_load_directory`, comes
    from the export's files. What the model writes (caches, counters, flax variables) gets its new value. Returns what the model
    returns: the same structure, with torch tensors or JAX arrays; one tensor or a tuple where the model needs values to know
    its structure.

    Raises:
        UserError: no Python export at `load_path`. OptionError: `export_path` in its place.
        InputError: arguments or weights that are not like those of the export.
    """
    load_path = checked_path(load_path, "load_path")
    if "export_path" in kwargs and "export_path" not in _parameters(model_or_fn):
        hint = "load_codegen_py(model, *inputs, load_path=DIRECTORY)"
        raise OptionError("export_path is an argument of codegen_py", expected="load_path", got="export_path", hint=hint)
    try:
        if detect_framework(model_or_fn, args, kwargs) == "torch":
            from alchemist.loaded_torch import run_torch

            return run_torch(model_or_fn, args, kwargs, load_path)
        from alchemist.loaded_jax import run_jax

        return run_jax(model_or_fn, args, kwargs, load_path)
    except RecursionError as error:  # an argument that holds itself
        raise as_our_error(error) from error


def _parameters(model: Any) -> set[str]:
    try:
        return set(inspect.signature(getattr(model, "forward", model)).parameters)
    except (TypeError, ValueError):  # a function without a signature
        return set()


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of a Python export.

    Raises:
        UserError: there is none, or its manifest is damaged.
    """
    file = Path(path) / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}  # a pipe would block
        language = manifest["language"]
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise UserError(f"{path} is not an export", location=str(path), hint="pass the directory that codegen_py wrote") from error
    if language != "python":
        raise UserError(f"{path} contains no Python program", location=str(path), hint="load an export of codegen_py")
    if isinstance(manifest.get("entries"), dict):
        raise InputError("a program with several entry points cannot be loaded", expected="one entry point", got=", ".join(map(printable, manifest["entries"])))
    if not _is_complete(manifest):
        raise UserError("manifest.json is damaged", location=str(path), hint="export the model again")
    return manifest


def compare_call(manifest: Mapping[str, Any], leaves: Sequence[CallLeaf]) -> None:
    """Compares the arguments of a call with those of the export.

    Raises:
        InputError: an argument too many or too few, of another shape or dtype, or a Python value that is not the export's.
    """
    recorded = {entry["name"]: entry for entry in manifest.get("call", [])}
    if not recorded:  # made of an MLIR file, or of a model without arguments
        return
    names = [leaf.name for leaf in leaves]
    if set(names) != set(recorded):
        missing, extra = [name for name in recorded if name not in names], [name for name in names if name not in recorded]
        words = [f"without {', '.join(missing[:8])}"] * bool(missing) + [f"with {', '.join(extra[:8])}"] * bool(extra)
        expected = ", ".join([*recorded][:8]) + (" ..." if len(recorded) > 8 else "")
        raise InputError("the arguments differ from those of the export", expected=expected, got="; ".join(words))
    for leaf in leaves:
        expected, got = _described(recorded[leaf.name]), _described({"shape": leaf.shape, "dtype": leaf.dtype, "value": leaf.value})
        if expected != got:
            hint = "export again: the value is part of the program" if leaf.value else "export again for these arguments"
            raise InputError(f"argument {leaf.name} differs from the argument at export", expected=expected, got=got, hint=hint)


def _described(entry: Mapping[str, Any]) -> str:
    return f"{entry['dtype']} {list(entry.get('shape', ()))}" if entry.get("dtype") else str(entry.get("value"))


def compare_outputs(manifest: Mapping[str, Any], now: Sequence[str]) -> None:
    """Compares what the model returns ("float32 [8, 3]" per tensor, in order) with what the exported one did.

    Raises:
        InputError: other shapes or dtypes, or another number of tensors.
    """
    returned = {name: f"{entry['dtype']} {list(entry['shape'])}" for name, entry in manifest["outputs"].items() if "mutates" not in entry}
    names = [*returned, *(f"{len(returned) + count}" for count in range(len(now) - len(returned)))]
    compare_structure({"output": returned}, {"output": dict(zip(names, now, strict=False))})


def weights_wanted(manifest: Mapping[str, Any]) -> set[str]:
    """Names of the tensors beside the inputs that a caller may give anew."""
    if "tensor_load_directory" in manifest["options"]:  # the user's own tensors, which are not the model's
        return set()
    return {name for name, entry in manifest["tensors"].items() if entry["kind"] != "input"}


class _Tensors(Mapping[str, Any]):
    """What `consteval.prepare` reads: tensors on the device by name, made when they are asked for."""

    def __init__(self, program: LoadedProgram) -> None:
        self._program = program
        self.device = program.device

    def __getitem__(self, name: str) -> Any:
        return self._program.tensor(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._program.manifest["tensors"])

    def __len__(self) -> int:
        return len(self._program.manifest["tensors"])


def _is_complete(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest has what a loaded program needs; the program's own utils.py looks at tensors and outputs."""
    entry, device = manifest.get("entry"), manifest.get("device")
    lists = [entry.get("inputs"), entry.get("outputs")] if isinstance(entry, dict) else [None]
    known = all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists)
    whole = isinstance(entry, dict) and isinstance(entry.get("function"), str) and isinstance(entry.get("weights"), bool)
    groups = [manifest.get(group) for group in ("tensors", "outputs")]
    entries = all(isinstance(group, dict) and all(isinstance(item, dict) for item in group.values()) for group in groups)
    tensors = groups[0].values() if entries and isinstance(groups[0], dict) else ()
    entries = entries and all(
        isinstance(item.get("shape"), list) and all(isinstance(item.get(key), str) for key in ("kind", "dtype", "layout")) for item in tensors
    )
    call = manifest.get("call", [])
    calls = isinstance(call, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("shape", []), list) for item in call
    )
    written = entry.get("written", {}) if isinstance(entry, dict) else None
    states = isinstance(written, dict) and all(isinstance(item, dict) and all(isinstance(name, str) for name in item.values()) for item in written.values())
    structure = manifest.get("structure", {})
    states = (
        states
        and isinstance(structure, dict)
        and all(isinstance(part, dict) and all(isinstance(text, str) for text in part.values()) for part in structure.values())
    )
    size_bytes = device.get("l1_small_size") if isinstance(device, dict) else None
    l1 = isinstance(size_bytes, int) and 0 <= size_bytes < 1 << 31  # what fits is the device's to say
    return known and whole and entries and calls and states and l1 and isinstance(manifest.get("options"), dict)


class LoadedProgram:
    """`program(*inputs)` -> outputs as numpy arrays, in the order of `outputs`.

    The device is opened and the weights are prepared once; `close()` (or leaving a `with` block) frees them.
    weights: values that stand in for those of the export's files.

    Raises (constructor):
        UserError: the directory is not a Python export. ToolchainError: neither simulator nor ttnn is installed.
        InputError: a weight of another shape.
    """

    def __init__(self, path: str | Path, weights: Values | None = None) -> None:
        self.path = Path(path).resolve()
        self.manifest = read_manifest(path)
        try:
            import ttnn_shim
        except ImportError as error:
            raise ToolchainError("the simulator is not installed", hint="install the alchemist wheel, or run `make setup` in a clone") from error
        ttnn_shim.activate(explicit=True)
        import ttnn

        self.ttnn: Any = ttnn
        with _LOADING:
            modules = self._load_modules()
        self.utils, self.main = modules["utils"], modules["main"]
        entry = self.manifest["entry"]
        self.function: Callable[..., Any] = self._entry_function(entry["function"])
        self.inputs: list[str] = entry["inputs"]
        self._returned: list[str] = entry["outputs"]
        self._written: dict[str, dict[str, str]] = entry.get("written", {})
        self.outputs: list[str] = [name for name in self.manifest["outputs"] if name in self._written or name in self._returned]
        self.takes_weights: bool = entry["weights"]
        self._prepare: Callable[[Any], Any] | None = getattr(modules.get("consteval") or self.main, "prepare", None)
        self._state = {output["mutates"] for output in self.manifest["outputs"].values() if "mutates" in output}
        self._anew: dict[str, Callable[[], Array]] = {}
        self.weights: Any = None
        from alchemist.passes.lower.convolution import L1_SMALL_BYTES

        # Programs share the device: the first one leaves room for the sliding windows of those after it.
        self.device = ttnn.open_device(device_id=0, l1_small_size=max(self.manifest["device"]["l1_small_size"], L1_SMALL_BYTES))
        self._shared_device: _SharedDevice | None = _SharedDevice.joined(self.device)
        try:
            self._load_weights(weights or {})
        except BaseException:
            self.close()
            raise

    def _entry_function(self, name: str) -> Callable[..., Any]:
        function = getattr(self.main, name, None)
        if not callable(function):
            hint = "restore the name of the function, or export the model again"
            raise UserError("the program has no entry function", location=str(self.path / "main.py"), expected=f"def {name}", hint=hint)
        found: Callable[..., Any] = function
        return found

    def _load_weights(self, given: Values) -> None:
        """Every weight from the model or its file, through the export's const-eval."""
        wanted = weights_wanted(self.manifest)
        self._anew |= {name: value for name, value in given.items() if name in wanted}
        if self._prepare is not None:
            self.weights = self._prepare(self.utils.Weights(_Tensors(self)))
        else:
            held = [name for name, entry in self.manifest["tensors"].items() if entry["kind"] != "input"]
            self.weights = self.utils.Weights({name: self.tensor(name) for name in held})

    def tensor(self, name: str) -> Any:
        """A weight as it is stored, on the device: the value given for it, else the export's file."""
        value = self._anew.get(name)
        if value is not None:
            return self.to_device(name, value())
        try:
            return self.utils.load(name, self.device)
        except RuntimeError as error:  # ttnn's, of the simulator and of the real package
            hint = "pass the model with its weights, or export it again"
            raise UserError(f"tensor {printable(name)} of the export cannot be loaded", location=str(self.path), got=str(error), hint=hint) from error

    def update(self, changed: Values) -> None:
        """New values of weights; names that the program does not read are ignored.

        Const-eval runs again unless all of them are tensors that the program itself writes (caches, counters).
        """
        wanted = weights_wanted(self.manifest)
        changed = {name: value for name, value in changed.items() if name in wanted}
        if self._prepare is not None and not changed.keys() <= self._state:
            self._load_weights(changed)
            return
        self._anew |= changed
        for name in changed:
            self.weights[name] = self.ttnn.to_layout(self.tensor(name), self.weights[name].layout)

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
        except SystemExit as error:  # utils.py's way to refuse a damaged manifest
            raise UserError(str(error).removeprefix("run: "), location=str(self.path), hint="export the model again") from None
        finally:
            for name, module_before in before.items():
                sys.modules.pop(name, None)
                if module_before is not None:
                    sys.modules[name] = module_before
        return loaded

    def to_device(self, name: str, value: Array) -> Any:
        """Tensor `name` on the device.

        Raises:
            InputError: another shape than at export.
        """
        entry: Mapping[str, Any] = self.manifest["tensors"][name]
        if list(value.shape) != entry["shape"]:
            what = "input" if entry["kind"] == "input" else "weight"
            raise InputError(f"{what} {name}", expected=f"shape {entry['shape']}", got=f"shape {list(value.shape)}")
        host = self.ttnn.Tensor(to_stored(value, entry["dtype"], name), getattr(self.ttnn, entry["dtype"]))
        held = entry.get("device_dtype", entry["dtype"])
        return self.ttnn.to_device(self.ttnn.to_dtype(self.ttnn.to_layout(host, getattr(self.ttnn, entry["layout"])), getattr(self.ttnn, held)), self.device)

    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The entry function on device tensors, in the order of `self.inputs`."""
        arguments = [*inputs, self.weights] if self.takes_weights else list(inputs)
        outputs = self.function(self.device, *arguments) if self._takes_device(len(arguments)) else self.function(*arguments)
        results = outputs if isinstance(outputs, tuple) else (outputs,) if self._returned else ()
        outputs = [tensor for result in results for tensor in (result if isinstance(result, list) else [result])]
        found = dict(zip(self._returned, outputs, strict=True))
        held = dict(zip(self.inputs, inputs, strict=True))
        for name, place in self._written.items():
            found[name] = held[place["input"]] if "input" in place else self.weights[place["weight"]]
        return tuple(found[name] for name in self.outputs)

    def _takes_device(self, count: int) -> bool:
        """Whether the entry function has a parameter in front of its tensors: programs that move tensors from the host take the device."""
        parameters = list(inspect.signature(self.function).parameters)
        return len(parameters) == count + 1 and parameters[0] == "device"

    def __call__(self, *values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        if len(values) != len(self.inputs):
            raise InputError("wrong number of inputs", expected=", ".join(self.inputs), got=f"{len(values)} values")
        on_device = [self.to_device(name, value) for name, value in zip(self.inputs, values, strict=True)]
        arrays = [self.utils.to_numpy(output) for output in self.run(on_device)]
        # The device has no scalars: what has no dimensions in the framework has one there.
        scalars = [self.manifest["outputs"][name]["shape"] == [] for name in self.outputs]
        return [array.reshape(()) if scalar and array.size == 1 else array for array, scalar in zip(arrays, scalars, strict=True)]

    def call(self, values: Values) -> list[Array]:
        """The outputs for inputs by name; names that the program does not read are ignored.

        Raises:
            InputError: an input is missing.
        """
        missing = [name for name in self.inputs if name not in values]
        if missing:
            raise InputError("the arguments differ from those of the export", expected=", ".join(self.inputs), got=", ".join(values) or "none")
        return self(*(values[name]() for name in self.inputs))

    def close(self) -> None:
        """Frees the weights; the last program closes the card, unless somebody else opened it too, before or since."""
        self.weights = None
        self._anew.clear()
        if self._shared_device is not None and self._shared_device.left():
            self.ttnn.close_device(self.device)
        self._shared_device = None

    def __enter__(self) -> LoadedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
