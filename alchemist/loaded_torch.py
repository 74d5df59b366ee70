"""A loaded program in the place of a torch model: its arguments, weights, written buffers and the structure of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from alchemist.errors import InputError
from alchemist.frontends.base import FRAMEWORK_LOCK
from alchemist.frontends.structure import compare_structure
from alchemist.frontends.torch import caches
from alchemist.frontends.torch.export import as_root, call_leaves, model_error, refuse_options_of_torch
from alchemist.frontends.torch.structure import structure_of, tensor_text
from alchemist.loaded import Array, LoadedProgram, compare_call, compare_outputs, read_manifest


def torch_array(value: torch.Tensor) -> Array:
    """A torch tensor on the host in a dtype that numpy has.

    Raises:
        InputError: a tensor without values of its own (meta, sparse, quantised).
    """
    try:
        value = value.detach().cpu()
        array = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    except (NotImplementedError, RuntimeError, TypeError) as error:
        got = f"a {value.dtype} tensor, {value.layout}, on {value.device}"
        raise InputError(
            "a tensor without dense values", expected="a dense tensor", got=got, hint="pass x.to_dense(), or a tensor that is not on the meta device"
        ) from error
    return np.ascontiguousarray(array).reshape(array.shape)  # numpy makes a vector of a scalar


def torch_tensor(array: Array, dtype: str) -> torch.Tensor:
    """A host array as a torch tensor of the dtype with this name."""
    return torch.from_numpy(np.array(array, order="C")).to(getattr(torch, dtype))


def write_back(program: LoadedProgram, arrays: Sequence[Array], targets: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """Writes the new values of what the program mutates into `targets`; returns the other outputs.

    Raises:
        InputError: the program writes a tensor that is not among the targets.
    """
    results: list[torch.Tensor] = []
    for name, array in zip(program.outputs, arrays, strict=True):
        entry = program.manifest["outputs"][name]
        value = torch_tensor(array, entry["dtype"])
        written = entry.get("mutates", "")
        if not written:
            results.append(value)
        elif written in targets:
            with torch.no_grad():
                targets[written].copy_(value.reshape(targets[written].shape))
        else:
            hint = "register it as a buffer of the model, or pass it as an argument"
            raise InputError("the program updates a tensor that is not part of the model", got=written, hint=hint)
    return results


def run_torch(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], path: str | Path) -> Any:
    """`load_codegen_py` for a torch model or function."""
    caches.register()
    root, function = as_root(model)
    refuse_options_of_torch(function, kwargs)
    manifest = read_manifest(path)
    leaves, spec = pytree.tree_flatten((args, kwargs))
    call = call_leaves((leaves, spec), function)
    compare_call(manifest, call)
    inputs = {leaf.name: value for leaf, value in zip(call, leaves, strict=True) if isinstance(value, torch.Tensor)}
    state = {**dict(root.named_parameters()), **dict(root.named_buffers())}
    compare_structure(manifest.get("structure", {}), structure_of(root))
    try:
        with FRAMEWORK_LOCK:
            shape = _result(root, args, kwargs)
    except RuntimeError:  # the model reads values, which is all that it cannot do here: its outputs are given in order
        shape = None
    except Exception as error:  # the model's own code may raise anything
        raise model_error(error, "the model fails on these arguments") from error
    flat, out_spec = pytree.tree_flatten(shape)
    if shape is not None:
        compare_outputs(manifest, [tensor_text(leaf) for leaf in flat if isinstance(leaf, torch.Tensor)])
    held = {name: partial(torch_array, value) for name, value in state.items() if not value.is_meta}
    with LoadedProgram(path, held) as program:
        arrays = program.call({name: partial(torch_array, value) for name, value in inputs.items()})
        results = write_back(program, arrays, {**state, **inputs})
    if sum(isinstance(leaf, torch.Tensor) for leaf in flat) != len(results):
        return results[0] if len(results) == 1 else tuple(results)
    values = iter(results)
    return pytree.tree_unflatten([next(values) if isinstance(leaf, torch.Tensor) else leaf for leaf in flat], out_spec)


def _result(root: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the model returns, with tensors that have no values: only its structure is wanted."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(leaf: Any) -> Any:
        return mode.from_tensor(leaf, static_shapes=True) if isinstance(leaf, torch.Tensor) else leaf

    fake_args, fake_kwargs = pytree.tree_map(fake, (args, kwargs))
    with torch.no_grad(), mode:
        state = {name: fake(value) for name, value in (*root.named_parameters(), *root.named_buffers())}
        return torch.func.functional_call(root, state, fake_args, fake_kwargs)
