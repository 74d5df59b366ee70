"""Names and kinds of a JAX function's arguments: pytrees are flattened, static values stay in the function."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np

from alchemist.errors import InputError
from alchemist.frontends.base import CallLeaf, distinct, python_value
from alchemist.frontends.mlir.values import make_value

Kind = Literal["input", "parameter"]
_PARAMETER_NAMES = frozenset({"params", "variables", "weights", "state", "parameters", "theta", "model"})
_INPUT_NAMES = frozenset({"inputs", "batch", "features", "x", "data", "input"})
_COLLECTIONS = ("params", "batch_stats", "cache", "constants", "buffers")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A traced array: its exported name, kind and value. given: what jit is traced with, the value or a `jax.ShapeDtypeStruct`."""

    name: str
    kind: Kind
    value: Any
    given: Any


@dataclass(frozen=True, slots=True)
class Flat:
    """Arguments as a list of leaves and the way back. rebuild(arrays) -> (args, kwargs) with the static values in place.

    call: every leaf, static ones included, as the export records it and a load compares it. paths: of every leaf.
    places: where each of `leaves` is among all.
    """

    leaves: tuple[Leaf, ...]
    call: tuple[CallLeaf, ...]
    paths: tuple[str, ...]
    rebuild: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]
    places: tuple[int, ...]

    def written(self, arrays: Sequence[Any], tree: Any) -> dict[str, Any]:
        """Name -> new value of every attribute that a call on `rebuild(arrays)` has set in its arguments: nnx variables.

        Entries of dicts and lists are not among them: what jit does with those, it does with copies.
        """
        after = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0] if _is_attribute(path)}
        pairs = list(zip(self.leaves, self.places, arrays, strict=True))
        changed = {leaf.name: after[self.paths[place]] for leaf, place, before in pairs if after.get(self.paths[place], before) is not before}
        added = sorted(path for path, leaf in after.items() if path not in self.paths and is_array(leaf))
        if added:
            warnings.warn(
                f"the function adds variables to its arguments, which the program does not keep: {', '.join(added[:4])}; call the model once before the export",
                stacklevel=2,
            )
        return changed


def is_array(leaf: Any) -> bool:
    """Arrays are traced; Python numbers, strings and other leaves are static."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | jax.ShapeDtypeStruct)


def is_key(array: Any) -> bool:
    """Whether these are keys of `jax.random.key`."""
    return isinstance(array, jax.Array) and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)


def dtype_name(array: Any) -> str:
    """The dtype in which jit takes the array ("float32" of a float64 without x64); keys have their implementation's name."""
    return str(array.dtype) if is_key(array) else str(jax.dtypes.canonicalize_dtype(array.dtype))


def key_text(key: Any) -> str:
    """One step of a pytree path."""
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _is_attribute(path: Sequence[Any]) -> bool:
    return isinstance(path[-1], jax.tree_util.GetAttrKey)


def path_names(path: Sequence[Any]) -> list[str]:
    """Steps of a pytree path as text; the `.value` of a flax variable is dropped."""
    names = [key_text(key) for key in path]
    return names[:-1] if len(names) > 1 and names[-1] in ("value", "raw_value") else names


def flatten(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Flat:
    """Leaves of all arguments with their names.

    Raises:
        InputError: the arguments do not fit the function.
    """
    labels = _parameter_names(function, args, kwargs)
    values = [*args, *kwargs.values()]
    found, tree = jax.tree_util.tree_flatten_with_path((tuple(args), dict(kwargs)))
    flat: list[Any] = [leaf for _, leaf in found]
    order = {key: len(args) + i for i, key in enumerate(kwargs)}
    leaves: list[Leaf] = []
    call: list[CallLeaf] = []
    places: list[int] = []
    kinds = [_kind(label, value, index, len(values)) for index, (label, value) in enumerate(zip(labels, values, strict=True))]
    indices = [path[1].idx if path[0].idx == 0 else order[key_text(path[1])] for path, _ in found]
    steps = [path_names(path[2:]) for path, _ in found]
    names = _leaf_names([(labels[index], kinds[index], path) for index, path, leaf in zip(indices, steps, flat, strict=True) if is_array(leaf)])
    for place, (index, path, leaf) in enumerate(zip(indices, steps, flat, strict=True)):
        if not is_array(leaf):
            call.append(CallLeaf(".".join([labels[index], *path]), value=python_value(leaf)))
            continue
        name = names[len(leaves)]
        leaves.append(Leaf(name, kinds[index], _made(leaf, len(leaves)) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf, leaf))
        call.append(CallLeaf(name, tuple(leaf.shape), dtype_name(leaf)))
        places.append(place)

    def rebuild(arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        filled = list(flat)
        for place, array in zip(places, arrays, strict=True):
            filled[place] = array
        given: tuple[tuple[Any, ...], dict[str, Any]] = jax.tree_util.tree_unflatten(tree, filled)
        return given

    return Flat(tuple(leaves), tuple(call), tuple(jax.tree_util.keystr(path) for path, _ in found), rebuild, tuple(places))


def _made(given: jax.ShapeDtypeStruct, seed: int) -> np.ndarray[Any, Any]:
    """Values of an argument that has only a shape. Raises: InputError for random keys."""
    if jax.dtypes.issubdtype(given.dtype, jax.dtypes.extended):
        raise InputError("arguments need values", got=f"jax.ShapeDtypeStruct of {given.dtype}", hint="pass arrays")
    return make_value(given.shape, np.dtype(given.dtype), "randn", seed, None, "weight" if len(given.shape) > 1 else "normal")


def _parameter_names(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [f"arg{i}" for i in range(len(args))] + list(kwargs)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise InputError(f"the arguments do not fit the function: {error}", expected=str(signature)) from None
    signature = _of_apply(function) or signature
    names: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{i}" for i in range(len(args) - len(names))]
            break
        else:
            break
    return names[: len(args)] + list(kwargs)


def _of_apply(function: Callable[..., Any]) -> inspect.Signature | None:
    """`module.apply(variables, ...)` of flax linen hands its other arguments to the module's `__call__`."""
    owner = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") != "apply" or not any(base.__module__.startswith("flax.linen") for base in type(owner).__mro__):
        return None
    called = list(inspect.signature(type(owner).__call__).parameters.values())[1:]
    variables = inspect.Parameter("variables", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    plain = [one.replace(default=inspect.Parameter.empty) for one in called if one.kind is one.POSITIONAL_OR_KEYWORD]
    return inspect.Signature([variables, *plain])


def _kind(name: str, value: Any, index: int, count: int) -> Kind:
    """Model state is a parameter: flax states and modules, `params` collections, the leading pytree of a plain function."""
    module = type(value).__module__
    if module.startswith("flax.nnx"):
        return "parameter"
    if isinstance(value, Mapping) and "params" in value:
        return "parameter"
    container = not is_array(value) and any(is_array(leaf) for leaf in jax.tree_util.tree_leaves(value))
    if not container:
        return "input"
    if name in _PARAMETER_NAMES:
        return "parameter"
    return "parameter" if index == 0 and count > 1 and name not in _INPUT_NAMES else "input"


def _leaf_names(leaves: Sequence[tuple[str, Kind, list[str]]]) -> list[str]:
    """Name of every (argument, kind, path). Inputs keep theirs, by which a caller gives them; a parameter of the same name says whose it is."""
    inputs = iter(distinct(_leaf_name(*leaf) for leaf in leaves if leaf[1] == "input"))
    names = [next(inputs) if kind == "input" else "" for _, kind, _ in leaves]
    taken = set(names)
    for place, (label, kind, path) in enumerate(leaves):
        if kind == "parameter":
            name = _leaf_name(label, kind, path)
            if name in taken:
                name = ".".join([label, *path])
            names[place] = distinct([name], taken)[0]
            taken.add(names[place])
    return names


def _leaf_name(label: str, kind: Kind, path: list[str]) -> str:
    if not path:
        return label
    if kind == "input":
        return ".".join([label, *path])
    if path[0] in _COLLECTIONS and len(path) > 1:
        path = path[1:]
    return ".".join([label, *path] if path[0].isdigit() else path)
