"""`ttnn_extras`, found by name alone: its modules import `ttnn`. Some are modules of `ttnn` itself (`import ttnn.graph_report`): one object, two names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType
from typing import Any

MODULES = ("_ttnn", "dot_access", "graph_report", "graph_tracer_utils", "model_preprocessing", "torch_tracer", "tracer")


def extra(module: str) -> Any:
    """`ttnn_extras.<module>`."""
    return importlib.import_module(f"ttnn_extras.{module}")


class _Extra(InspectLoader):
    """Gives `ttnn.x` the module `ttnn_extras.x`."""

    def __init__(self, source: InspectLoader) -> None:
        self._source = source

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: ModuleType = extra(spec.name.rpartition(".")[2])
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Done by the import of `ttnn_extras.x`."""

    def get_source(self, fullname: str) -> str | None:
        return self._source.get_source(_own(fullname))

    def get_code(self, fullname: str) -> CodeType | None:
        """For `python -m ttnn.x`."""
        return self._source.get_code(_own(fullname))


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, short = fullname.rpartition(".")
        if package != "ttnn" or short not in MODULES:
            return None
        spec = PathFinder.find_spec(_own(fullname), importlib.import_module("ttnn_extras").__path__)
        assert spec is not None
        assert isinstance(spec.loader, InspectLoader)
        return ModuleSpec(fullname, _Extra(spec.loader), origin=spec.origin)


def _own(name: str) -> str:
    return name.replace("ttnn.", "ttnn_extras.", 1)


sys.meta_path.append(_Finder())
