"""tt-xla's packages for scripts written for it: `torch_xla`, `tt_torch`, `tt_jax`, `ttxla_tools`, and the backend "tt" of torch.compile and jax.jit.

`install` makes them importable in this process. Nothing of them imports torch or jax before the script does.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from alchemist.errors import UserError

PACKAGES = ("torch_xla", "tt_torch", "tt_jax", "ttxla_tools")
_HERE = str(Path(__file__).resolve().parent)


def _register_torch_backend(registry: ModuleType) -> None:
    from alchemist.stand_ins.torch_compile import backend

    registry.register_backend(backend, name="tt")
    for name in ("tt-legacy", "tt-experimental"):
        registry.register_backend(_older_backend, name=name)


def _older_backend(*_given: object, **_options: object) -> NoReturn:
    raise UserError("tt-torch's backends tt-legacy and tt-experimental have become one", hint='torch.compile(model, backend="tt")')


def _patch_jax(jax: ModuleType) -> None:
    from alchemist.stand_ins.jax_jit import patch

    patch(jax)


_HOOKS: dict[str, Callable[[ModuleType], None]] = {"torch._dynamo.backends.registry": _register_torch_backend, "jax": _patch_jax}
"""Modules of the frameworks that get something more right after their own import."""


class _Hooked(importlib.abc.Loader):
    """The loader of a module, and what is done behind it."""

    def __init__(self, loader: importlib.abc.Loader, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the stand-ins by their real names, and adds the hooks to the modules that they change."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name in PACKAGES:
            return importlib.machinery.PathFinder.find_spec(name, [_HERE])
        if name not in _HOOKS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Hooked(spec.loader, _HOOKS[name])
        return spec


def real_packages() -> dict[str, str]:
    """Name -> file of tt-xla's own packages, where they are installed."""
    found = {name: importlib.machinery.PathFinder.find_spec(name) for name in PACKAGES}
    return {name: spec.origin for name, spec in found.items() if spec is not None and spec.origin is not None and not spec.origin.startswith(_HERE)}


def install() -> None:
    """`alchemist.stand_in()`: scripts written for tt-xla run here without it, on the simulator.

    Raises:
        UserError: tt-xla's own packages are installed; they are never replaced.
    """
    real = real_packages()
    if real:
        raise UserError("tt-xla's own packages are installed", got=", ".join(f"{name} at {place}" for name, place in real.items()),
                        hint="use an environment without these packages: alchemist never replaces them")  # fmt: skip
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    for name, hook in _HOOKS.items():
        if name in sys.modules:
            hook(sys.modules[name])


def offer() -> None:
    """`install`, unless tt-xla's own packages are there: for launchers, whose programs need not be written for tt-xla."""
    if not real_packages():
        install()
