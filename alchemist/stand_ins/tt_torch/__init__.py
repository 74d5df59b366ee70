"""`tt_torch` for scripts written for tt-xla: code generation, and weights in block formats."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch

from alchemist.errors import OptionError, quoted
from alchemist.stand_ins.absent import getattr_of
from alchemist.stand_ins.artifacts import save_system_descriptor_to_disk
from alchemist.stand_ins.request import SESSION
from alchemist.stand_ins.torch_compile import WEIGHT_DTYPES

__all__ = [
    "apply_weight_dtype_overrides", "codegen_cpp", "codegen_py", "dump_weight_names", "load_codegen_py", "mark_module_user_inputs",
    "remove_weight_dtype_overrides", "save_system_descriptor_to_disk",
]  # fmt: skip
__getattr__ = getattr_of("tt_torch")
_DTYPES = ("bfp_bf4", "bfp_bf8", "bf16")


def _compile(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Mapping[str, Any]) -> Any:
    before = SESSION.options
    SESSION.options = dict(options)
    try:
        with torch.no_grad():
            return torch.compile(model, backend="tt", dynamic=False)(*args, **kwargs)
    finally:
        SESSION.options = before


def codegen_py(
    model: torch.nn.Module, *args: Any, compiler_options: Mapping[str, Any] | None = None, export_path: str | Path = "codegen_result",
    export_tensors: bool = True, **kwargs: Any,
) -> None:  # fmt: skip
    """Writes the model as Python to `export_path`; a model with graph breaks becomes graph_0, graph_1 ... below it. Raises: OptionError, UserError."""
    own = {"backend": "codegen_py", "export_path": export_path, "export_tensors": export_tensors}
    _compile(model, args, kwargs, {**(compiler_options or {}), **own})


def codegen_cpp(
    model: torch.nn.Module, *args: Any, compiler_options: Mapping[str, Any] | None = None, export_path: str | Path = "codegen_result",
    export_tensors: bool = True, **kwargs: Any,
) -> None:  # fmt: skip
    """Like `codegen_py`, in C++."""
    own = {"backend": "codegen_cpp", "export_path": export_path, "export_tensors": export_tensors}
    _compile(model, args, kwargs, {**(compiler_options or {}), **own})


def load_codegen_py(model: torch.nn.Module, *args: Any, load_path: str | Path, compiler_options: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
    """Runs the Python program at `load_path` in the place of the model. Raises: UserError, InputError."""
    return _compile(model, args, kwargs, {**(compiler_options or {}), "backend": "codegen_load_py", "export_path": load_path})


def mark_module_user_inputs(module: torch.nn.Module) -> None:
    """What is no parameter or buffer is an input here anyway."""


def apply_weight_dtype_overrides(model: torch.nn.Module, config: str | os.PathLike[str] | Mapping[str, str]) -> list[tuple[str, str]]:
    """Chooses the device dtype of weights of matrix products by name.

    config: {pattern of parameter names: "bfp_bf4" | "bfp_bf8" | "bf16"}, where "default" is for all other `*.weight`; a dtype for all; or a JSON file.

    Returns (name, dtype) of each parameter. Raises: OptionError for another dtype.
    """
    parameters = dict(model.named_parameters())
    rows = _overrides(config)
    chosen = {name: rows["default"] for name in parameters if name.endswith(".weight")} if "default" in rows else {}
    for pattern, dtype in rows.items():
        if dtype not in _DTYPES:
            raise OptionError(f"bad weight dtype for {quoted(pattern)}", expected=", ".join(_DTYPES), got=quoted(dtype))
        found = [name for name in parameters if fnmatch(name, pattern)]
        if not found and pattern != "default":
            warnings.warn(f"Weight dtype override pattern '{pattern}' did not match any model parameters.", stacklevel=2)
        chosen |= dict.fromkeys(found, dtype)
    WEIGHT_DTYPES.update({parameters[name]: dtype for name, dtype in chosen.items()})
    return list(chosen.items())


def _overrides(config: str | os.PathLike[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(config, Mapping):
        return dict(config)
    if str(config) in _DTYPES:
        return {"default": str(config)}
    loaded = json.loads(Path(config).read_text(encoding="utf-8"))
    if not isinstance(loaded, dict):
        raise OptionError("no weight dtype overrides", location=str(config), expected='{"pattern": "bfp_bf8"}')
    return loaded


def remove_weight_dtype_overrides(model: torch.nn.Module) -> int:
    """Returns how many parameters had one."""
    return sum(WEIGHT_DTYPES.pop(value, None) is not None for value in model.parameters())


def dump_weight_names(model: torch.nn.Module, model_name: str, output_dir: str | None = None, default_dtype: str = "bfp_bf8") -> dict[str, str]:
    """The names of all weights, as a template for `apply_weight_dtype_overrides`; with `output_dir` also as a JSON file there."""
    names = {name: default_dtype for name, _ in model.named_parameters() if name.rpartition(".")[2] == "weight"}
    if output_dir is not None:
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{model_name.rpartition('/')[2]}.json").write_text(json.dumps(names, indent=2) + "\n", encoding="utf-8")
    return names
