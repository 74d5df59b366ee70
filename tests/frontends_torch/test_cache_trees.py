"""Objects of model libraries as trees of tensors: what their leaves are called, and that they come back as they were. The libraries themselves: test_caches.py."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from alchemist.frontends.torch import caches


class Cache:
    def __init__(self, *layers: Any) -> None:
        self.layers = list(layers)


class Growing(Cache):
    """A cache of somebody's."""


class EncoderDecoderCache(Cache):
    def __init__(self, own: Any, cross: Any) -> None:
        super().__init__()
        self.self_attention_cache, self.cross_attention_cache = own, cross


class Layer:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Window(Layer):
    """A layer of another kind."""


class DiagonalGaussianDistribution:
    def __init__(self, parameters: torch.Tensor, deterministic: bool = False) -> None:
        self.parameters, self.deterministic = parameters, deterministic


A, B, C, D = (torch.full((2,), float(value)) for value in range(4))


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, kinds in {
        "transformers": [EncoderDecoderCache],
        "transformers.cache_utils": [Cache, Growing, EncoderDecoderCache],
        "diffusers.models.autoencoders.vae": [DiagonalGaussianDistribution],
    }.items():
        module = types.ModuleType(name)
        for kind in kinds:
            setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, name, module)
    caches.register()
    caches.register()  # what is known stays
    yield
    for kind in (Growing, EncoderDecoderCache, DiagonalGaussianDistribution):
        pytree._deregister_pytree_node(kind)


def paths(value: Any) -> dict[str, torch.Tensor]:
    found, _ = pytree.tree_flatten_with_path(value)
    return {".".join(str(key.key) for key in path): leaf for path, leaf in found}


@pytest.mark.parametrize(
    ("layers", "names"),
    [
        ((Layer(keys=A, values=B), Layer(keys=C, size=3)), ["keys.0", "values.0", "keys.1"]),
        ((Layer(state={0: A}, rows=[B]), Layer(note="x")), ["state.0", "rows.0"]),
        ((Layer(state={0: A, 1: B}, rows=[C, D]),), ["state.0.0", "state.0.1", "rows.0.0", "rows.0.1"]),
        ((Layer(state={"a": A, "b": 3}, rows=[None, B]),), ["state.0.a", "rows.0.1"]),
        ((), []),
    ],
)
def test_tensors_of_layers(layers: tuple[Layer, ...], names: list[str]) -> None:
    cache = Growing(*layers)
    given = paths(cache)
    assert list(given) == names
    leaves, tree = pytree.tree_flatten(cache)
    again = pytree.tree_unflatten([leaf + 10 for leaf in leaves], tree)
    assert isinstance(again, Growing) and again is not cache
    assert [leaf.tolist() for leaf in paths(again).values()] == [(leaf + 10).tolist() for leaf in leaves]
    assert list(map(id, paths(cache).values())) == list(map(id, given.values())), "the cache itself stays as it was"
    assert [vars(layer).keys() for layer in again.layers] == [vars(layer).keys() for layer in layers]


def test_caches_with_other_layers_are_other_trees() -> None:
    tree = pytree.tree_structure(Growing(Layer(keys=A)))
    assert tree == pytree.tree_structure(Growing(Layer(keys=B)))
    for other in (Growing(Window(keys=A)), Growing(Layer(values=A)), Growing(Layer(keys=A), Layer(note="x"))):
        assert tree != pytree.tree_structure(other)


def test_a_pair_of_caches() -> None:
    pair = EncoderDecoderCache(Growing(Layer(keys=A)), Growing(Layer(keys=B)))
    assert list(paths(pair)) == ["self_attention_cache.keys.0", "cross_attention_cache.keys.0"]
    leaves, tree = pytree.tree_flatten(pair)
    again = pytree.tree_unflatten(leaves[::-1], tree)
    assert isinstance(again, EncoderDecoderCache)
    assert (again.self_attention_cache.layers[0].keys.tolist(), again.cross_attention_cache.layers[0].keys.tolist()) == (B.tolist(), A.tolist())


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_distribution(deterministic: bool) -> None:
    value = DiagonalGaussianDistribution(A, deterministic)
    assert list(paths(value)) == ["parameters"]
    again = pytree.tree_unflatten([B], pytree.tree_structure(value))
    assert again.parameters is B and again.deterministic is deterministic
