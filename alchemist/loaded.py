"""Runs an emitted (and possibly edited) Python program as a drop-in for the model it was made from."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from alchemist.errors import InputError, ToolchainError, UserError
from alchemist.export.directory import MANIFEST
from alchemist.export.stored import to_stored


class LoadedProgram:
    """`program(*inputs)` -> outputs as numpy arrays, in the order of the manifest.

    The device is opened and the weights are prepared once; `close()` (or leaving a `with` block) frees them.

    Raises (constructor):
        UserError: the directory is not a Python export. ToolchainError: neither simulator nor ttnn is installed.
    """

    def __init__(self, path: str | Path) -> None:
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
            raise ToolchainError("the simulator is not installed", hint="pip install alchemist") from error
        ttnn_shim.activate(explicit=True)
        import ttnn

        self.ttnn: Any = ttnn
        modules = self._load_modules(("utils", "consteval", "main"))
        self.utils, self.main = modules["utils"], modules["main"]
        self.device = ttnn.open_device(device_id=0, l1_small_size=self.manifest["device"]["l1_small_size"])
        consteval = modules.get("consteval")
        stored = self.utils.stored_weights(self.device)
        self.weights = consteval.prepare(stored) if consteval is not None else stored
        entry = self.manifest["entry"]
        self.function = getattr(self.main, entry["function"])
        self.inputs: list[str] = entry["inputs"]
        self.takes_weights: bool = entry["weights"]

    def _load_modules(self, names: Sequence[str]) -> dict[str, ModuleType]:
        """Imports the program's modules under their own names, then gives those names back to whoever had them."""
        before = {name: sys.modules.pop(name, None) for name in names}
        loaded: dict[str, ModuleType] = {}
        try:
            for name in names:
                file = self.path / f"{name}.py"
                if not file.exists():
                    continue
                spec = importlib.util.spec_from_file_location(name, file)
                if spec is None or spec.loader is None:
                    raise UserError(f"cannot import {file}", location=str(file))
                module = importlib.util.module_from_spec(spec)
                sys.modules[name] = loaded[name] = module
                spec.loader.exec_module(module)
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

    def close(self) -> None:
        self.weights = None
        self.ttnn.close_device(self.device)

    def __enter__(self) -> LoadedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
