"""A loaded program in the place of a JAX function: its arguments, written flax variables and the structure of its result."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from alchemist.frontends.base import FRAMEWORK_LOCK
from alchemist.frontends.jax.arguments import Flat, flatten, is_key
from alchemist.frontends.jax.capture import array_of, as_function, tracing_error
from alchemist.frontends.jax.structure import structure_of
from alchemist.frontends.structure import compare_structure
from alchemist.loaded import LoadedProgram, compare_call, compare_outputs, read_manifest


def run_jax(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], path: str | Path) -> Any:
    """`load_codegen_py` for a JAX function or a flax nnx module."""
    manifest = read_manifest(path)
    function, called_args = as_function(model, args)
    flat = flatten(function, called_args, kwargs)
    compare_call(manifest, flat.call)
    values = {
        leaf.name: partial(array_of, leaf.value, "uint32" if is_key(leaf.value) else call.dtype)
        for leaf, call in zip(flat.leaves, [one for one in flat.call if one.dtype], strict=True)
    }
    compare_structure(manifest.get("structure", {}), structure_of(model))
    expected, structure = _structure(function, flat)
    plain = [jax.eval_shape(jax.random.key_data, leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf for leaf in expected]
    compare_outputs(manifest, [f"{leaf.dtype} {list(leaf.shape)}" for leaf in plain])
    with LoadedProgram(path, values) as program:
        arrays = program.call(values)
        outputs = [program.manifest["outputs"][name] for name in program.outputs]
    results = [jnp.asarray(array).astype(entry["dtype"]) for array, entry in zip(arrays, outputs, strict=True)]
    written = {entry["mutates"]: value for entry, value in zip(outputs, results, strict=True) if "mutates" in entry}
    returned = [value for entry, value in zip(outputs, results, strict=True) if "mutates" not in entry]
    _write_back(flat, (called_args, kwargs), written)
    if written and called_args is not args:  # the module itself: its state was taken apart
        from flax import nnx

        nnx.update(model, called_args[0])
    if len(expected) != len(returned):
        return returned[0] if len(returned) == 1 else tuple(returned)
    return jax.tree_util.tree_unflatten(structure, [_as_key(value, like) for value, like in zip(returned, expected, strict=True)])


def _structure(function: Any, flat: Flat) -> tuple[list[Any], Any]:
    """Shapes and structure of what the function returns; FrontendError where its code fails, before the program has run."""

    def shapes(leaves: list[Any]) -> Any:
        called_args, called_kwargs = flat.rebuild(leaves)
        return function(*called_args, **called_kwargs)

    try:
        with FRAMEWORK_LOCK:
            expected, structure = jax.tree_util.tree_flatten(jax.eval_shape(shapes, [leaf.value for leaf in flat.leaves]))
    except Exception as error:  # the user's code may raise anything
        raise tracing_error(error) from error
    return expected, structure


def _as_key(value: Any, like: Any) -> Any:
    """Random keys are numbers on the device."""
    if not jax.dtypes.issubdtype(like.dtype, jax.dtypes.prng_key):
        return value
    return jax.random.wrap_key_data(value.astype(jnp.uint32), impl=like.dtype._impl.name)


def _write_back(flat: Flat, tree: Any, written: Mapping[str, Any]) -> None:
    """Sets the attributes of the caller's own objects that the function has set."""
    if not written:
        return
    found, _ = jax.tree_util.tree_flatten_with_path(tree)
    for leaf, place in zip(flat.leaves, flat.places, strict=True):
        if leaf.name not in written:
            continue
        path = found[place][0]
        owner = tree
        for key in path[:-1]:
            owner = getattr(owner, key.name) if isinstance(key, jax.tree_util.GetAttrKey) else owner[getattr(key, "idx", getattr(key, "key", None))]
        _set(owner, path[-1].name, _as_key(written[leaf.name], leaf.value))


def _set(owner: Any, name: str, value: Any) -> None:
    variable = getattr(sys.modules.get("flax.nnx"), "Variable", None)
    if variable is not None and isinstance(owner, variable) and hasattr(owner, "set_value"):
        owner.set_value(value)
    else:
        setattr(owner, name, value)
