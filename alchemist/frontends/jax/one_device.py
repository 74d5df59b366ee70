"""A traced program that is spread over devices, run on one: JAX's own values, whatever devices there are.

Statements of where values lie are left out; a `shard_map` maps its body over the parts of all devices with `jax.vmap`, which knows the same collectives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.extend
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_SHARDINGS = ("sharding", "out_sharding", "sharding_mesh_axes")
_SAME = {"sharding_constraint", "reshard", "mesh_cast", "pvary", "pcast", "preduced", "vary_unreduced_cast"}
_CALLS = {"jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}


def is_spread(program: Any) -> bool:
    """Whether the program speaks of several devices."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    for equation in jaxpr.eqns:
        if any(_devices(value) > 1 for value in _parameters(equation)) or any(is_spread(body) for body in _bodies(equation)):
            return True
    return any(_devices(getattr(one.aval, "sharding", None)) > 1 for one in jaxpr.invars)


def _devices(value: Any) -> int:
    """Of a mesh, or of what is on one."""
    mesh = getattr(value, "mesh", value)
    return int(mesh.size) if isinstance(mesh, jax.sharding.Mesh | jax.sharding.AbstractMesh) else 1


def _parameters(equation: Any) -> Iterator[Any]:
    for value in equation.params.values():
        yield from value if isinstance(value, tuple | list) else (value,)


def _bodies(equation: Any) -> list[Any]:
    return [value for value in _parameters(equation) if isinstance(value, ClosedJaxpr | Jaxpr)]


def on_one_device(program: ClosedJaxpr, arguments: Sequence[Any]) -> list[Any]:
    """The results for whole arguments."""
    plain = [argument if jax.dtypes.issubdtype(argument.dtype, jax.dtypes.extended) else np.asarray(argument) for argument in arguments]
    return list(jax.jit(lambda *given: _run(program.jaxpr, program.consts, given))(*plain))


def _run(jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    values: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arguments), strict=True))

    def read(one: Any) -> Any:
        return one.val if isinstance(one, Literal) else values[one]

    for equation in jaxpr.eqns:
        results = _equation(equation, [read(one) for one in equation.invars])
        values.update(zip(equation.outvars, results, strict=True))
    return [read(one) for one in jaxpr.outvars]


def _closed(program: Any) -> Callable[..., list[Any]]:
    consts = program.consts if isinstance(program, ClosedJaxpr) else ()
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    return lambda *given: _run(jaxpr, consts, given)


def _equation(equation: Any, given: list[Any]) -> Sequence[Any]:
    name, params = equation.primitive.name, equation.params
    if name in _SAME:
        return given
    if name in ("psum_invariant", "psum2"):  # sums of which JAX knows that all devices have the same
        return [jax.lax.psum(one, params["axes"]) for one in given]
    if name == "all_gather_invariant":
        return [jax.lax.all_gather(given[0], params["axis_name"], axis=params["all_gather_dimension"], tiled=params["tiled"])]
    if name == "shard_map":
        return _mapped(equation, given)
    if name == "ppermute":
        return [_permuted(one, params["axis_name"], dict(params["perm"])) for one in given]
    if name in _CALLS:
        body = next(params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params)
        return _closed(body)(*given)
    if name in _LOOPS and any(is_spread(body) for body in _bodies(equation)):
        return _LOOPS[name](params, given)
    params = {key: None if key in _SHARDINGS else value for key, value in params.items()}
    made = equation.primitive.bind(*given, **equation.primitive.get_bind_params(params))
    return list(made) if equation.primitive.multiple_results else [made]


def _permuted(value: Any, axis: Any, targets: dict[int, int]) -> Any:
    """`jax.vmap` takes whole permutations only: devices without a sender get any value, and zeros instead of it."""
    size = jax.lax.axis_size(axis)
    rest = iter([place for place in range(size) if place not in targets.values()])
    whole = {source: targets[source] if source in targets else next(rest) for source in range(size)}
    receives = np.isin(np.arange(size), list(targets.values()))
    made = jax.lax.ppermute(value, axis, list(whole.items()))
    return made if receives.all() else jax.numpy.where(jax.numpy.asarray(receives)[jax.lax.axis_index(axis)], made, jax.numpy.zeros_like(made))


# --- loops and branches -------------------------------------------------------------------------------------------------------


def _scan(params: Mapping[str, Any], given: list[Any]) -> Sequence[Any]:
    fixed, carried, body = params["num_consts"], params["num_consts"] + params["num_carry"], _closed(params["jaxpr"])

    def step(state: Any, columns: Any) -> Any:
        made = body(*given[:fixed], *state, *columns)
        return made[: params["num_carry"]], made[params["num_carry"] :]

    state, collected = jax.lax.scan(step, given[fixed:carried], given[carried:], length=params["length"], reverse=params["reverse"], unroll=params["unroll"])
    return [*state, *collected]


def _while(params: Mapping[str, Any], given: list[Any]) -> Sequence[Any]:
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    condition, body = _closed(params["cond_jaxpr"]), _closed(params["body_jaxpr"])
    return list(
        jax.lax.while_loop(
            lambda state: condition(*given[:first], *state)[0],
            lambda state: body(*given[first:second], *state),
            given[second:],
        )
    )


def _cond(params: Mapping[str, Any], given: list[Any]) -> Sequence[Any]:
    return list(jax.lax.switch(given[0], [_closed(branch) for branch in params["branches"]], *given[1:]))


_LOOPS: Mapping[str, Callable[[Mapping[str, Any], list[Any]], Sequence[Any]]] = {"scan": _scan, "while": _while, "cond": _cond}


# --- shard_map ----------------------------------------------------------------------------------------------------------------


def _mapped(equation: Any, given: list[Any]) -> Sequence[Any]:
    """The body on the parts of each device: leading dimensions of the parts are the mesh's axes."""
    params = equation.params
    sizes = {axis: size for axis, size in params["mesh"].shape.items() if axis in params["newly_manual_axes"]}
    parts = [_parts(value, spec, sizes) for value, spec in zip(given, params["in_specs"], strict=True)]
    body = _closed(params["jaxpr"])
    for axis in reversed(sizes):
        body = jax.vmap(body, axis_name=axis, axis_size=sizes[axis])
    made = body(*parts) if parts else body()
    return [_whole(value, spec, sizes) for value, spec in zip(made, params["out_specs"], strict=True)]


def _axes_of(spec: Any, rank: int) -> list[tuple[str, ...]]:
    entries = [entry if isinstance(entry, tuple) else () if entry is None else (entry,) for entry in spec]
    return entries + [()] * (rank - len(entries))


def _parts(value: Any, spec: Any, sizes: Mapping[str, int]) -> Any:
    """[*mesh axes, *part]"""
    axes = _axes_of(spec, value.ndim)
    split: list[int] = []
    places: dict[str, int] = {}
    for size, names in zip(value.shape, axes, strict=True):
        for name in names:
            places[name] = len(split)
            split.append(sizes[name])
        split.append(size // int(np.prod([sizes[name] for name in names], dtype=int)))
    value = jax.numpy.reshape(value, split)
    rest = [place for place in range(len(split)) if place not in places.values()]
    value = jax.numpy.transpose(value, [*(places[name] for name in sizes if name in places), *rest])
    for place, name in enumerate(sizes):
        if name not in places:
            value = jax.numpy.expand_dims(value, place)
    part = value.shape[len(sizes) :]
    return jax.numpy.broadcast_to(value, (*sizes.values(), *part))


def _whole(value: Any, spec: Any, sizes: Mapping[str, int]) -> Any:
    """Of devices that should have the same, the first one's."""
    names = list(sizes)
    part = value.shape[len(names) :]
    axes = _axes_of(spec, len(part))
    used = [name for dim in axes for name in dim]
    value = value[tuple(slice(None) if name in used else 0 for name in names)]
    left = [name for name in names if name in used]
    order, shape = [], []
    for dim, (size, dims) in enumerate(zip(part, axes, strict=True)):
        order += [left.index(name) for name in dims] + [len(left) + dim]
        shape.append(size * int(np.prod([sizes[name] for name in dims], dtype=int)))
    return jax.numpy.reshape(jax.numpy.transpose(value, order), shape)
