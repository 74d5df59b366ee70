"""TT-NN on the simulator: the names, signatures and behaviour of the real `ttnn` (0.81.1) for inference on one device.

Names are made on first use from `_signatures.json`. A name that the real package has and this one does not raises an
AttributeError that says so. `ttnn._coverage.ops_without_kernel()` lists ops that are offered but not computed yet.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import types
from functools import partial
from typing import Any

from ttnn_shim.errors import NotOffered, UnknownName

from ttnn import _configs, _extras, _recorder  # noqa: F401  profiles see the calls of every program
from ttnn._convert import default_value
from ttnn._enums import enum_class
from ttnn._facts import absent, facts, offered, resolve_alias
from ttnn._homes import HOME, UNLISTED
from ttnn._operation import Operation
from ttnn_shim import session as _session  # noqa: F401  programs tell the simulator from a card by this module

__version__ = facts()["version"]

# How a caller describes kernels of its own; names that end in Descriptor belong to it too.
_OF_OWN_KERNELS = ("generic_op", "RuntimeArgs", "get_cb_address", "cb_descriptor_from_sharded_tensor", "merge_program_descriptors")
_OWN_KERNELS = ": kernels in source need a card's processors; call a TT-NN op that computes the same, or run on a card (./run --device)"
_RENAMED = {"Device": "MeshDevice"}
_PLACES = {f"ttnn.{name}": home for home, names in HOME.items() for name in names}
_SUBMODULES = ("transformer", "experimental", "kv_cache", "device", "core", "types", "distributed", "operations", "decorators", "graph", "profiler")
_DEEPER = {"operations": ("activations", "conv2d", "matmul", "losses", "normalization", "pool", "transformer", "reduction", "embedding", "moreh")}


def _make(name: str) -> Any:
    """The object behind a full name of the table."""
    name = resolve_alias(name)
    table = facts()
    if name in _PLACES:
        short = name.rsplit(".", 1)[-1]
        return getattr(_module_of(_PLACES[name]), _RENAMED.get(short, short))
    if name in table["enums"]:
        return enum_class(name)
    if name in table["classes"]:
        return _config(name)
    if name in table["values"]:
        return _value(*table["values"][name])
    if name in table["functions"]:
        return Operation(name)
    raise KeyError(name)


def _module_of(home: str) -> Any:
    return importlib.import_module(home if "." in home else f"ttnn.{home}")


def _config(name: str) -> Any:
    if name in _configs.MARKERS:
        return _configs.marker_class(name)
    config_class: Any = _configs.config_class(name)
    if name == "ttnn.Conv2dSliceConfig":
        config_class.SliceTypeEnum = _make("ttnn.Conv2dSliceConfig.SliceTypeEnum")
    return config_class


def _value(type_: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if type_ == "MemoryConfig":
        _make("ttnn.MemoryConfig")
    if type_ == "Op2DSliceConfig":
        return _make("ttnn.Conv2dSliceConfig")(slice_type=_make("ttnn.Conv2dL1Full"), num_slices=0)
    return default_value(value, type_)


_made: dict[str, Any] = {}


def _lookup(module: str, name: str) -> Any:
    """Attribute `name` of `ttnn` or one of its modules."""
    full = f"{module}.{name}"
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    if module == "ttnn.operations.moreh":  # the same ops under shorter names
        return _lookup("ttnn", f"moreh_{name}")
    if name in offered(module):
        canonical = resolve_alias(full)
        try:
            if canonical not in _made:
                _made[canonical] = _make(canonical)
        except KeyError:
            pass
        else:
            return _made[canonical]
    if full in UNLISTED:
        return getattr(_module_of(UNLISTED[full]), name)
    if module == "ttnn" and name in _extras.MODULES:
        return importlib.import_module(full)
    if full == "ttnn.cluster":
        return importlib.import_module("ttnn._system").cluster_module()
    if absent(full):
        why = _OWN_KERNELS if name in _OF_OWN_KERNELS or name.endswith("Descriptor") else _similar(module, name)
        raise NotOffered(f"{full} exists in ttnn {__version__} but not in the simulator{why}", name=name)
    raise UnknownName(module, name, partial(_near, module, name))


def _near(module: str, name: str) -> list[str]:
    """Names of the module that look like it; else the same name in another module or a class."""
    modules = (full for full in facts()["functions"] if full.rpartition(".")[2] == name)
    classes = (f"{full}.{name}" for full, known in facts()["classes"].items() if name in known["methods"])
    return difflib.get_close_matches(name, offered(module), 4, 0.6) or [*sorted(modules), *sorted(classes)][:4]


def _similar(module: str, name: str) -> str:
    close = _near(module, name)
    return f"; it has {', '.join(close)}" if close else ""


class _Module(types.ModuleType):
    """A submodule whose names come from the table."""

    def __getattr__(self, name: str) -> Any:
        value = _lookup(self.__name__, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *offered(self.__name__)})


def _add_submodule(parent: Any, name: str) -> _Module:
    full = f"{parent.__name__}.{name}"
    module = _Module(full, f"Part of TT-NN on the simulator; see `dir({full})`.")
    module.__path__ = []
    sys.modules[full] = module
    setattr(parent, name, module)
    for deeper in _DEEPER.get(name, ()):
        _add_submodule(module, deeper)
    return module


for _name in _SUBMODULES:
    _add_submodule(sys.modules[__name__], _name)


if {"TTNN_CONFIG_PATH", "TTNN_CONFIG_OVERRIDES"} & set(os.environ):
    importlib.import_module("ttnn._system").read_configuration()


def __getattr__(name: str) -> Any:
    value = _lookup("ttnn", name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *offered("ttnn")})
