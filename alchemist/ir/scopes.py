"""The module scopes around an op, from its source locations, and groups of ops by scope. Works for IR operations and for nodes of a program's graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from alchemist.ir.location import Scope, SourceInfo

T = TypeVar("T")

_COMPOSITES = frozenset(
    {
        "Transformer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "MultiheadAttention",
    }
)
"""Classes of torch.nn that are models in themselves, not one op."""
_NORM = re.compile(r"Norm(\d+d)?$")
_LIBRARY = re.compile(r"^(torch\.nn\.|flax\.|haiku\.|equinox\.)|\.activations\.|\.pytorch_utils\.|(^|\.)activations$")
_CALL_NUMBER = re.compile(r"@\d+")

ROUND = re.compile(r"@\d{7,}")
"""What a scope's path shows of iterations of a loop that the front end unrolled."""

SHARED = "<shared>."
"""Prefix of class names of containers that a model calls several times; the rest is their attribute name, as no class describes them."""

Chain = tuple[Scope, ...]
"""The modules around an op that become functions, outermost first; never empty in a scoped program."""


def is_library(class_name: str) -> bool:
    """Whether the class is a building block of the framework, whose ops belong to the module that uses it."""
    if class_name.rpartition(".")[2] in _COMPOSITES:
        return False
    return bool(_LIBRARY.search(class_name))


def is_norm(class_name: str) -> bool:
    """Whether the class is a norm of the framework."""
    return is_library(class_name) and bool(_NORM.search(class_name))


def weight_path(path: str) -> str:
    """The parameter path of a module path: a second call of a module is "encoder@1" in torch, its weights are not."""
    return _CALL_NUMBER.sub("", path)


def loop_of(infos: Sequence[SourceInfo]) -> str:
    """The path of the loop that the front end unrolled around an op with these sources, "" for none."""
    path = next((scope.path for info in infos[-1:] for scope in info.scopes if ROUND.search(scope.path)), "")
    return weight_path(path)


def chain_of_source(info: SourceInfo) -> Chain:
    chain: list[Scope] = []
    for scope in info.scopes:
        if (not chain or not is_library(scope.class_name)) and not (chain and chain[-1].path == scope.path):
            chain.append(scope)
    return tuple(chain)


def paths_around(infos: Sequence[SourceInfo]) -> tuple[str, ...]:
    """Paths of the modules around an op with these sources, the outermost first; empty without sources."""
    return tuple(scope.path for scope in chain_of_source(infos[-1])) if infos else ()


def common_prefix(rows: Sequence[Sequence[T]]) -> tuple[T, ...]:
    """The longest beginning that all rows have, empty without rows."""
    first = tuple(rows[0]) if rows else ()
    for row in rows[1:]:
        same = next((index for index, (entry, row_entry) in enumerate(zip(first, row, strict=False)) if entry != row_entry), len(row))
        first = first[:same]
    return first


def common_path(chains: Sequence[Chain]) -> str:
    """Parameter path of the innermost module around all chains, "" for none; calls of one module count as one."""
    return ("", *common_prefix([[weight_path(scope.path) for scope in chain] for chain in chains]))[-1]


def assign_chains(
    ops: Sequence[T], sources: Callable[[T], Iterable[SourceInfo]], users: Callable[[T], Iterable[T]], is_returned: Callable[[T], bool]
) -> dict[T, Chain]:
    """The chain of every op. An op without source goes where all its users are, to the root if the program returns its result.

    users: the ops that read an op's results, in order; others than `ops` are passed over.
    """
    chains: dict[T, Chain] = {}
    for op in ops:
        own = [chain for info in sources(op) if (chain := chain_of_source(info))]
        if own:
            chains[op] = common_prefix(own)
    root = next((chain[:1] for chain in chains.values() if chain), ())
    for op in reversed(ops):
        if op not in chains:
            readers = [chains[user] for user in users(op) if user in chains]
            chains[op] = root if is_returned(op) else common_prefix(readers) or root
    return {op: chain if (chain := chains[op])[:1] == root else root for op in ops}


@dataclass(eq=False, slots=True)
class Group(Generic[T]):
    """A run of ops made by one call of one module. lo, hi: positions of its ops, [lo, hi)."""

    chain: Chain
    items: list[T | Group[T]] = field(default_factory=list)
    lo: int = 0
    hi: int = 0

    @property
    def scope(self) -> Scope:
        return self.chain[-1]

    @property
    def path(self) -> str:
        """Parameter path of the module."""
        return weight_path(self.scope.path)

    def ops(self) -> Iterator[T]:
        stack: list[Iterator[T | Group[T]]] = [iter(self.items)]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, Group):
                stack.append(iter(item.items))
            else:
                yield item


def group(ops: Sequence[T], chains: Mapping[T, Chain]) -> Group[T]:
    """Builds the tree of module runs: adjacent ops of one chain form one run."""
    root: Group[T] = Group(next(iter(chains.values()))[:1] if chains else (Scope("", ""),))
    stack = [root]
    for position, op in enumerate(ops):
        chain = chains[op] or root.chain
        while len(stack) > 1 and chain[: len(stack)] != stack[-1].chain:
            stack.pop()
        while len(stack) < len(chain):
            inner: Group[T] = Group(chain[: len(stack) + 1], lo=position)
            stack[-1].items.append(inner)
            stack.append(inner)
        stack[-1].items.append(op)
        for run in stack:
            run.hi = position + 1
    return root


LAYER_CALLS = 3
"""Least number of modules that a layer without ops of its own calls: a function for fewer saves nothing."""


def layers_in(run: Group[T]) -> set[Group[T]]:
    """Runs that only call other modules and still become functions: layers of one class that call equal modules (post-norm encoder layers)."""
    groups_of: dict[str, list[Group[T]]] = {}
    for item in run.items:
        if isinstance(item, Group):
            groups_of.setdefault(item.scope.class_name, []).append(item)
    layers: set[Group[T]] = set()
    for groups in groups_of.values():
        calls = {tuple(item.scope.class_name if isinstance(item, Group) else None for item in group.items) for group in groups}
        called = next(iter(calls))
        if len(groups) > 1 and len(calls) == 1 and None not in called and len(called) >= LAYER_CALLS and len(set(called)) > 1:
            layers.update(groups)
    return layers
