"""Runs emitted Python on symbols: every call returns a term, so two programs mean the same if their outputs are equal terms."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

INTERNED: dict[tuple[Any, ...], Tensor] = {}


class Tensor:
    """A term: callee, positional and keyword arguments. Equal terms are the same object."""

    def __init__(self, term: tuple[Any, ...]) -> None:
        self.term = term
        self.shape: tuple[int, ...] = ()

    def device(self) -> str:
        return "device"

    def __iter__(self) -> Any:
        return iter(symbol(("item", index, self)) for index in range(2))

    def __repr__(self) -> str:
        return f"<{self.term[0]} {id(self) % 10000}>"


def symbol(term: tuple[Any, ...]) -> Tensor:
    return INTERNED.setdefault(term, Tensor(term))


def freeze(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(freeze(part) for part in value)
    return (type(value).__name__, repr(value)) if isinstance(value, float | int | bool) else value


class Name(types.ModuleType):
    """`ttnn` and everything below it: names that can be called."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path

    def __getattr__(self, name: str) -> Name:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(self)(f"{self._path}.{name}")
        setattr(self, name, made)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        named = tuple(sorted((key, freeze(value)) for key, value in kwargs.items()))
        return symbol((self._path, tuple(freeze(value) for value in args), named))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and other._path == self._path

    def __hash__(self) -> int:
        return hash(self._path)


class Weights:
    """shapes: of tensor files, where the program asks for them."""

    def __init__(
        self, tensors: dict[str, Tensor], prefix: str = "", stored: bool = False, shapes: Mapping[str, Sequence[int]] = types.MappingProxyType({})
    ) -> None:
        self.tensors, self.prefix, self.stored, self.shapes = tensors, prefix, stored, shapes
        self.device = "device"

    def __getitem__(self, name: str) -> Tensor:
        full = self.prefix + name
        if not self.stored:
            return self.tensors[full]
        made = symbol(("file", full))
        made.shape = tuple(self.shapes.get(full, ()))
        return made

    def __setitem__(self, name: str, tensor: Tensor) -> None:
        assert not self.stored
        self.tensors[self.prefix + name] = tensor

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.tensors

    def names(self) -> list[str]:
        return [name.removeprefix(self.prefix) for name in self.tensors if name.startswith(self.prefix)]

    def pop(self, name: str) -> Tensor:
        return self.tensors.pop(self.prefix + name)

    def scope(self, name: str) -> Weights:
        return Weights(self.tensors, f"{self.prefix}{name}.", self.stored, self.shapes)


class _Context:
    def __enter__(self) -> str:
        return "device"

    def __exit__(self, *_: object) -> None:
        return None


def run(
    files: Mapping[str, str],
    loops: int = 1,
    library: type[Name] = Name,
    shapes: Mapping[str, Sequence[int]] = types.MappingProxyType({}),
    outputs: Sequence[str] = (),
) -> dict[str, Tensor]:
    """Executes main() of an emitted program with `library` as ttnn; returns what it reports.

    shapes: of tensor files, for programs that ask for them. outputs: names in order, of a program that has many.
    """
    reported: dict[str, Tensor] = {}
    utils = types.ModuleType("utils")
    utils.__dict__.update(
        Weights=Weights,
        parse_args=lambda: None,
        open_device=lambda args: _Context(),
        stored_weights=lambda device, keep=False: Weights({}, stored=True, shapes=shapes),
        load=lambda name, device: symbol(("input", name)),
        loops=lambda args: range(loops),
        MANIFEST={"outputs": outputs},
        named=lambda tensors: {str(place): tensor for place, tensor in enumerate(tensors)},
        report=lambda args, /, **outputs: reported.update(outputs) or 0,
    )
    names = {"ttnn": library("ttnn"), "utils": utils}
    before = {name: sys.modules.get(name) for name in (*names, "consteval")}
    sys.modules.update(names)
    try:
        for name in ("consteval", "main"):
            if f"{name}.py" in files:
                module = types.ModuleType(name)
                exec(compile(files[f"{name}.py"], f"{name}.py", "exec"), module.__dict__)
                sys.modules[name] = module
        assert sys.modules["main"].main() == 0
    finally:
        sys.modules.pop("main", None)
        for name, old in before.items():
            sys.modules.pop(name, None)
            if old is not None:
                sys.modules[name] = old
    return reported
