"""The pass registry, which the files of this folder fill, and helpers that passes share."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp

from alchemist.errors import InternalError
from alchemist.options import SPELLINGS, CompilerOptions, read_value


@dataclass(frozen=True)
class Pass(ABC):
    """A module transformation, in place; made by `@register`, which turns the class into a frozen dataclass.

    The first line of its docstring is what `alchemist opt --list` shows. A field is an option of the pass: the compiler option of that name fills it,
    a field `options` gets all compiler options, and one that is no compiler option (made by `alchemist.options.option`) is set on the
    command line (`--NAME="field=value"`) or keeps its default.

    name: as on the command line. fusing: may be left out by `disable` and `enable_fusing`. from_level: left out below this optimization level.
    """

    name: ClassVar[str]
    fusing: ClassVar[bool] = False
    from_level: ClassVar[int] = 0

    @abstractmethod
    def run(self, module: ModuleOp) -> None:
        """Changes the module in place. Raises: UserError for a program that the pass cannot handle."""

    @classmethod
    def doc(cls) -> str:
        """One line."""
        return (cls.__doc__ or cls.name).strip().splitlines()[0]  # none under python -OO

    @classmethod
    def own_options(cls) -> dict[str, Field[Any]]:
        """Fields that no compiler option fills."""
        return {entry.name: entry for entry in fields(cls) if entry.name not in SPELLINGS and entry.name != "options"}


PASSES: dict[str, type[Pass]] = {}


def register(name: str, *, fusing: bool = False, from_level: int = 0) -> Callable[[type[Pass]], type[Pass]]:
    """Class decorator. Raises: InternalError for a second pass of the name, a pass without description."""

    def add(cls: type[Pass]) -> type[Pass]:
        if name in PASSES:
            raise InternalError(f"two passes are called {name!r}", got=f"{PASSES[name].__module__} and {cls.__module__}")
        if not (cls.__doc__ or "").strip() and sys.flags.optimize < 2:
            raise InternalError(f"pass {name!r} has no docstring: it is what `alchemist opt --list` shows")
        cls.name, cls.fusing, cls.from_level = name, fusing, from_level
        PASSES[name] = dataclass(frozen=True)(cls)
        return PASSES[name]

    return add


def configure(names: Sequence[str], options: CompilerOptions, arguments: Mapping[str, Any] | None = None) -> list[Pass]:
    """The passes `names` in order with their fields set, without those that the options disable.

    Args:
        arguments: values of the passes' own options by name.

    Raises:
        OptionError: a bad value.
    """
    passes: list[Pass] = []
    for name in names:
        cls = PASSES[name]
        if options.optimization_level < cls.from_level or (cls.fusing and (not options.enable_fusing or name in options.disable)):
            continue
        values: dict[str, Any] = {}
        for entry in fields(cls):
            if entry.name == "options":
                values[entry.name] = options
            elif entry.name in SPELLINGS:
                values[entry.name] = getattr(options, entry.name)
            elif entry.name in (arguments or {}):
                values[entry.name] = read_value(entry, entry.name, (arguments or {})[entry.name])
        passes.append(cls(**values))
    return passes
