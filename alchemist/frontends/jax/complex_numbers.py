"""Complex values, which TT-NN does not have, as pairs of real ones: `real_program` rewrites a traced program.

Every equation that takes or makes complex values is traced again on the real and imaginary parts. Functions, loops and branches on complex values
are rewritten too: a function is inlined, a loop carries both parts. Fourier transforms become matrix products with the cosines and
sines of the transform. Source locations and scopes are those of the original equations.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.extend import source_info_util
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from alchemist.errors import FrontendError, UnsupportedOpError

MAX_MATRIX_ELEMENTS = 1 << 26
"""Of the cosines of one Fourier transform: 256 MiB."""

HINT = "the device computes with real numbers: keep real and imaginary parts apart, or transform on the host"

Array = np.ndarray[Any, Any]


class Pair(NamedTuple):
    """A complex value. A part that is None is zero everywhere; not both are."""

    re: Any
    im: Any


# --- the program --------------------------------------------------------------------------------------------------------------


def is_complex(value: Any) -> bool:
    """value: a variable of a jaxpr, an abstract value or an array."""
    dtype = getattr(getattr(value, "aval", value), "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, np.complexfloating)


def uses_complex(program: Jaxpr) -> bool:
    """Whether an equation of the program, or of a program that it calls, takes or makes complex values."""
    if any(is_complex(value) for value in (*program.constvars, *program.invars)):
        return True
    return any(
        any(is_complex(value) for value in (*equation.invars, *equation.outvars)) or any(uses_complex(inner) for inner in inner_programs(equation))
        for equation in program.eqns
    )


def inner_programs(equation: Any) -> list[Jaxpr]:
    """Programs among the parameters of an equation."""
    found: list[Jaxpr] = []
    pending = list(equation.params.values())
    while pending:
        value = pending.pop()
        if isinstance(value, list | tuple):
            pending += value
        elif isinstance(value, ClosedJaxpr):
            found.append(value.jaxpr)
        elif isinstance(value, Jaxpr):
            found.append(value)
    return found


def real_program(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same function of real values. The program itself if it has no complex ones.

    Raises:
        FrontendError: an argument or a result is complex.
        UnsupportedOpError: an equation has no form on real and imaginary parts.
    """
    if not uses_complex(program.jaxpr):
        return program
    for kind, variables in (("argument", program.jaxpr.invars), ("output", program.jaxpr.outvars)):
        if found := [str(variable.aval.str_short()) for variable in variables if is_complex(variable)]:
            raise FrontendError(
                f"a complex {kind}",
                expected=f"real {kind}s, because the device has no complex numbers",
                got=", ".join(found),
                hint="pass jnp.real(...) and jnp.imag(...) as two arrays, and join them in the function with lax.complex"
                if kind == "argument"
                else "return jnp.real(...) and jnp.imag(...) as two outputs",
            )
    shapes = [jax.ShapeDtypeStruct(value.aval.shape, value.aval.dtype) for value in program.jaxpr.invars]
    made: ClosedJaxpr = jax.make_jaxpr(lambda *values: evaluate(program.jaxpr, program.consts, values))(*shapes)
    return made


def evaluate(program: Jaxpr, consts: Sequence[Any], arguments: Sequence[Any], caller: str = "") -> list[Any]:
    """Results of a program on arrays and pairs. caller: the line ("model.py:7") of the equation that calls it."""
    environment = dict(zip((*program.constvars, *program.invars), (*map(_split, consts), *arguments), strict=True))

    def read(value: Any) -> Any:
        return _split(value.val) if isinstance(value, Literal) else environment[value]

    for equation in program.eqns:
        names = source_info_util.current_name_stack() + equation.source_info.name_stack
        with source_info_util.user_context(equation.source_info.traceback, name_stack=names), equation.ctx.manager:
            results = _equation(equation, [read(value) for value in equation.invars], _line(equation) or caller)
        environment.update(zip(equation.outvars, results, strict=True))
    return [read(value) for value in program.outvars]


def _split(value: Any) -> Any:
    """A constant as a pair if it is complex."""
    if not np.issubdtype(getattr(value, "dtype", type(value)), np.complexfloating):
        return value
    value = np.asarray(value)
    re, im = value.real, value.imag
    return Pair(re, None) if not im.any() else Pair(re if re.any() else None, im)


def _line(equation: Any) -> str:
    """Its place in the user's code: "model.py:7", "" if it was traced by a library."""
    path, _, rest = str(source_info_util.summarize(equation.source_info)).partition(".py:")
    return f"{Path(path).name}.py:{rest.partition(':')[0]}" if rest else ""


def _equation(equation: Any, values: list[Any], line: str) -> Sequence[Any]:
    name, params = equation.primitive.name, equation.params
    touches = any(isinstance(value, Pair) for value in values) or any(is_complex(value) for value in equation.outvars)
    if not touches and not any(uses_complex(inner) for inner in inner_programs(equation)):
        results = equation.primitive.bind(*values, **equation.primitive.get_bind_params(params))
        return results if equation.primitive.multiple_results else [results]
    if name in _CONTROL:
        return _CONTROL[name](params, values, line)
    if (inner := params.get("jaxpr", params.get("call_jaxpr"))) is not None:  # a function that is called
        return evaluate(inner.jaxpr, inner.consts, values, line) if isinstance(inner, ClosedJaxpr) else evaluate(inner, (), values, line)
    if name in _PARTS:
        results = _PARTS[name](*values, **params)
    elif name in _PARTWISE:
        results = _on_each_part(equation.primitive, values, params)
    else:
        raise UnsupportedOpError("1 operation cannot be converted", ops=((name, 1, line, "no lowering for complex numbers"),), hint=HINT)
    return results if equation.primitive.multiple_results else [results]


# --- ops that act on both parts alike -----------------------------------------------------------------------------------------

_PARTWISE = frozenset(
    "broadcast_in_dim reshape transpose squeeze slice dynamic_slice dynamic_update_slice gather concatenate pad rev copy copy_p "
    "select_n reduce_sum cumsum neg split reduce_precision optimization_barrier expand_dims".split()
)


def _on_each_part(primitive: Any, values: Sequence[Any], params: dict[str, Any]) -> Any:
    pairs = [value for value in values if isinstance(value, Pair)]
    parts: list[Any] = []
    for which in (0, 1):
        if all(pair[which] is None for pair in pairs):
            parts.append(None)
            continue
        arguments = [_filled(value)[which] if isinstance(value, Pair) else value for value in values]
        parts.append(primitive.bind(*arguments, **params))
    if not primitive.multiple_results:
        return Pair(*parts)
    count = len(next(part for part in parts if part is not None))
    return [Pair(*(None if part is None else part[place] for part in parts)) for place in range(count)]


def _filled(z: Any) -> Pair:
    """Both parts as arrays."""
    z = z if isinstance(z, Pair) else Pair(z, None)
    if z.re is not None and z.im is not None:
        return Pair(*z)
    known = z.im if z.re is None else z.re
    zeros = np.zeros(np.shape(known), known.dtype)
    return Pair(zeros if z.re is None else z.re, zeros if z.im is None else z.im)


# --- arithmetic: a part that is None is zero ----------------------------------------------------------------------------------


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else lax.add(a, b)


def _minus(a: Any, b: Any) -> Any:
    return a if b is None else lax.neg(b) if a is None else lax.sub(a, b)


def _times(a: Any, b: Any) -> Any:
    return None if a is None or b is None else lax.mul(a, b)


def _made(re: Any, im: Any, like: Pair) -> Pair:
    """A pair of parts that may both be None."""
    if re is None and im is None:
        known = like.im if like.re is None else like.re
        return Pair(lax.full_like(known, 0), None)
    return Pair(re, im)


def _bilinear(product: Callable[[Any, Any], Any], a: Pair, b: Pair) -> Pair:
    """A product of complex values by products of their parts."""

    def of(x: Any, y: Any) -> Any:
        return None if x is None or y is None else product(x, y)

    return _made(_minus(of(a.re, b.re), of(a.im, b.im)), _plus(of(a.re, b.im), of(a.im, b.re)), a)


def _add(a: Pair, b: Pair, **_: Any) -> Pair:
    return Pair(_plus(a.re, b.re), _plus(a.im, b.im)) if _same_shape(a, b) else _each(lax.add, a, b)


def _sub(a: Pair, b: Pair, **_: Any) -> Pair:
    return _made(_minus(a.re, b.re), _minus(a.im, b.im), a) if _same_shape(a, b) else _each(lax.sub, a, b)


def _same_shape(a: Pair, b: Pair) -> bool:
    return len({np.shape(part) for part in (*a, *b) if part is not None}) == 1


def _each(op: Callable[[Any, Any], Any], a: Pair, b: Pair) -> Pair:
    return Pair(*(op(x, y) for x, y in zip(_filled(a), _filled(b), strict=True)))


def _mul(a: Pair, b: Pair, **_: Any) -> Pair:
    return _bilinear(lax.mul, a, b)


def _square(z: Pair, **_: Any) -> Pair:
    return _mul(z, z)


def _size2(z: Pair) -> Any:
    return _plus(_times(z.re, z.re), _times(z.im, z.im))


def _conj(z: Pair) -> Pair:
    return Pair(z.re, None if z.im is None else lax.neg(z.im))


def _div(a: Pair, b: Pair, **_: Any) -> Pair:
    if b.im is None:
        return Pair(*(None if part is None else lax.div(part, b.re) for part in a))
    size = _size2(b)
    return Pair(*(None if part is None else lax.div(part, size) for part in _mul(a, _conj(b))))


def _abs(z: Pair, **_: Any) -> Any:
    if z.im is None:
        return lax.abs(z.re)
    return lax.abs(z.im) if z.re is None else lax.sqrt(_size2(z))


def _sign(z: Pair, **_: Any) -> Pair:
    size = _abs(z)
    size = lax.select(lax.eq(size, lax.full_like(size, 0)), lax.full_like(size, 1), size)
    return Pair(*(None if part is None else lax.div(part, size) for part in z))


def _exp(z: Pair, **_: Any) -> Pair:
    if z.im is None:
        return Pair(lax.exp(z.re), None)
    turned = Pair(lax.cos(z.im), lax.sin(z.im))
    return turned if z.re is None else Pair(*(lax.mul(lax.exp(z.re), part) for part in turned))


def _log(z: Pair, **_: Any) -> Pair:
    re, im = _filled(z)
    return Pair(lax.log(_abs(z)), lax.atan2(im, re))


def _sqrt(z: Pair, **_: Any) -> Pair:
    """The root with a real part >= 0; no difference of near numbers is taken."""
    re, im = _filled(z)
    zero, half = lax.full_like(re, 0), lax.full_like(re, 0.5)
    larger = lax.sqrt(lax.mul(half, lax.add(_abs(z), lax.abs(re))))
    smaller = lax.div(lax.mul(half, lax.abs(im)), lax.select(lax.eq(larger, zero), lax.full_like(re, 1), larger))
    left = lax.lt(re, zero)
    size = lax.select(left, larger, smaller)
    return Pair(lax.select(left, smaller, larger), lax.select(lax.lt(im, zero), lax.neg(size), size))


def _one(z: Pair) -> Pair:
    known = z.im if z.re is None else z.re
    return Pair(lax.full_like(known, 1), None)


def _rsqrt(z: Pair, **_: Any) -> Pair:
    return _div(_one(z), _sqrt(z))


def _expm1(z: Pair, **_: Any) -> Pair:
    re, im = _filled(z)
    sine = lax.sin(lax.mul(im, lax.full_like(im, 0.5)))
    return Pair(lax.sub(lax.mul(lax.expm1(re), lax.cos(im)), lax.mul(lax.full_like(im, 2), lax.mul(sine, sine))), lax.mul(lax.exp(re), lax.sin(im)))


def _log1p(z: Pair, **_: Any) -> Pair:
    return _log(_add(_one(z), z))


def _sin(z: Pair, **_: Any) -> Pair:
    re, im = _filled(z)
    return Pair(lax.mul(lax.sin(re), lax.cosh(im)), lax.mul(lax.cos(re), lax.sinh(im)))


def _cos(z: Pair, **_: Any) -> Pair:
    re, im = _filled(z)
    return Pair(lax.mul(lax.cos(re), lax.cosh(im)), lax.neg(lax.mul(lax.sin(re), lax.sinh(im))))


def _sinh(z: Pair, **_: Any) -> Pair:
    re, im = _filled(z)
    return Pair(lax.mul(lax.sinh(re), lax.cos(im)), lax.mul(lax.cosh(re), lax.sin(im)))


def _cosh(z: Pair, **_: Any) -> Pair:
    re, im = _filled(z)
    return Pair(lax.mul(lax.cosh(re), lax.cos(im)), lax.mul(lax.sinh(re), lax.sin(im)))


def _tanh(z: Pair, **_: Any) -> Pair:
    """(t + i u) / (1 + i t u) of t = tanh(re), u = tan(im): no overflow for large real parts."""
    re, im = _filled(z)
    t, u = lax.tanh(re), lax.tan(im)
    return _div(Pair(t, u), Pair(lax.full_like(t, 1), lax.mul(t, u)))


def _logistic(z: Pair, **_: Any) -> Pair:
    return _div(_one(z), _add(_one(z), _exp(Pair(*(None if part is None else lax.neg(part) for part in z)))))


def _integer_pow(z: Pair, *, y: int, **_params: Any) -> Pair:
    powers = [z]  # z, z^2, z^4 ...
    for _ in range(1, abs(y).bit_length()):
        powers.append(_mul(powers[-1], powers[-1]))
    factors = [power for place, power in enumerate(powers) if abs(y) >> place & 1]
    result = functools.reduce(_mul, factors) if factors else _one(z)
    return _div(_one(z), result) if y < 0 else result


def _pow(a: Any, b: Any, **_: Any) -> Pair:
    """exp(b log a), 0 where a is 0 and b is not."""
    base, exponent = (value if isinstance(value, Pair) else Pair(lax.convert_element_type(value, np.float32), None) for value in (a, b))
    if exponent.im is None and np.ndim(exponent.re) == 0 and not isinstance(exponent.re, jax.core.Tracer) and float(exponent.re).is_integer():
        return _integer_pow(base, y=int(exponent.re))
    result = _filled(_exp(_mul(exponent, _log(base))))
    empty = lax.eq(_abs(base), lax.full_like(_abs(base), 0))
    return Pair(*(lax.select(empty, lax.full_like(part, 0), part) for part in result))


def _equal(a: Pair, b: Pair, **_: Any) -> Any:
    return lax.bitwise_and(*(lax.eq(x, y) for x, y in zip(_filled(a), _filled(b), strict=True)))


def _convert(x: Any, *, new_dtype: Any, **_: Any) -> Any:
    if not jax.dtypes.issubdtype(new_dtype, np.complexfloating):
        return lax.convert_element_type(_filled(x).re, new_dtype)
    kind = np.float64 if new_dtype == np.complex128 else np.float32
    return Pair(*(None if part is None else lax.convert_element_type(part, kind) for part in (x if isinstance(x, Pair) else (x, None))))


def _product(primitive: Any) -> Callable[..., Pair]:
    def product(a: Any, b: Any, **params: Any) -> Pair:
        a, b = (value if isinstance(value, Pair) else Pair(value, None) for value in (a, b))
        kind = params.get("preferred_element_type")
        if kind is not None:
            params["preferred_element_type"] = np.dtype(np.float64 if kind == np.complex128 else np.float32)
        return _bilinear(lambda x, y: primitive.bind(x, y, **params), a, b)

    return product


def _scatter(scatter: Callable[..., Any]) -> Callable[..., Pair]:
    def scattered(z: Any, indices: Any, updates: Any, **params: Any) -> Pair:
        kept = {name: params[name] for name in ("indices_are_sorted", "unique_indices", "mode")}
        parts = zip(_filled(z), _filled(updates), strict=True)
        return Pair(*(scatter(to, indices, part, params["dimension_numbers"], **kept) for to, part in parts))

    return scattered


def _reduce_prod(z: Pair, *, axes: Sequence[int], **_: Any) -> Pair:
    for axis in sorted(axes, reverse=True):
        z = _filled(z)
        rows = [Pair(*(lax.index_in_dim(part, place, axis, keepdims=False) for part in z)) for place in range(z.re.shape[axis])]
        z = functools.reduce(_mul, rows)
    return z


_PARTS: dict[str, Callable[..., Any]] = {
    "add": _add, "add_any": _add, "sub": _sub, "mul": _mul, "square": _square, "div": _div, "abs": _abs, "sign": _sign,
    "exp": _exp, "log": _log, "log1p": _log1p, "expm1": _expm1, "sqrt": _sqrt, "rsqrt": _rsqrt, "sin": _sin, "cos": _cos,
    "sinh": _sinh, "cosh": _cosh, "tanh": _tanh, "logistic": _logistic,
    "integer_pow": _integer_pow, "pow": _pow, "eq": _equal, "ne": lambda a, b, **_: lax.bitwise_not(_equal(a, b)), "convert_element_type": _convert,
    "tan": lambda z, **_: _div(_sin(z), _cos(z)), "reduce_prod": _reduce_prod, "scatter": _scatter(lax.scatter), "scatter-add": _scatter(lax.scatter_add),
    "real": lambda z, **_: _filled(z).re, "imag": lambda z, **_: _filled(z).im, "complex": lambda re, im, **_: Pair(re, im),
    "conj": lambda z, **_: _conj(z) if isinstance(z, Pair) else Pair(z, None), "is_finite": lambda z, **_: lax.bitwise_and(*map(lax.is_finite, _filled(z))),
    "dot_general": _product(lax.dot_general_p), "conv_general_dilated": _product(lax.conv_general_dilated_p),
}  # fmt: skip


# --- Fourier transforms -------------------------------------------------------------------------------------------------------


def _waves(count: int, rows: int, columns: int, kind: Any) -> tuple[Array, Array]:
    """cos and sin of 2 pi j k / count for j < rows and k < columns; j k is reduced first, so that the angle is exact for any count."""
    if rows * columns > MAX_MATRIX_ELEMENTS:
        raise FrontendError(
            f"a Fourier transform of {count} points", expected=f"at most {MAX_MATRIX_ELEMENTS} matrix elements, because the transform becomes a matmul",
            got=f"{rows} x {columns}", hint="transform shorter parts, or transform on the host",
        )  # fmt: skip
    angle = (np.outer(np.arange(rows), np.arange(columns)) % count).astype(np.float64) * (2 * math.pi / count)
    return np.cos(angle).astype(kind), np.sin(angle).astype(kind)


def _along(x: Any, axis: int, matrix: Array) -> Any:
    """The matrix [old, new] applied to one axis; None stays None."""
    if x is None:
        return None
    product = lax.dot_general(x, matrix, (((axis,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    order = list(range(x.ndim - 1))
    order.insert(axis, x.ndim - 1)
    return product if axis == x.ndim - 1 else lax.transpose(product, order)


def _transform(z: Pair, axis: int, columns: int, forward: bool) -> Pair:
    """DFT without scale; the first `columns` of its results."""
    known = z.im if z.re is None else z.re
    count = known.shape[axis]
    cos, sin = _waves(count, count, columns, known.dtype)
    sin = -sin if forward else sin  # exp(-2 pi i j k / n) forwards
    re = _minus(_along(z.re, axis, cos), _along(z.im, axis, sin))
    return _made(re, _plus(_along(z.re, axis, sin), _along(z.im, axis, cos)), z)


def _fft(x: Any, *, fft_type: Any, fft_lengths: Sequence[int], **_: Any) -> Any:
    """fft_type: 0 to 3 for FFT, IFFT, RFFT, IRFFT (jaxlib's enumeration)."""
    kind = int(fft_type)
    z = x if isinstance(x, Pair) else Pair(x, None)
    known = z.im if z.re is None else z.re
    rank = known.ndim
    axes = list(range(rank - len(fft_lengths), rank))
    last = fft_lengths[-1]
    if kind == 2:
        z = _transform(z, axes[-1], last // 2 + 1, forward=True)
        axes = axes[:-1]
    for axis in axes if kind != 3 else axes[:-1]:
        z = _transform(z, axis, (z.im if z.re is None else z.re).shape[axis], forward=kind in (0, 2))
    if kind in (0, 2):
        return z
    factor = known.dtype.type(1.0 / math.prod(fft_lengths))
    if kind == 1:
        return Pair(*(None if part is None else lax.mul(part, factor) for part in z))
    half = last // 2 + 1
    cos, sin = _waves(last, half, last, known.dtype)
    # the half that is not stored is the conjugate of this one: all but the first and the middle count twice
    twice = np.array([1.0 if k == 0 or 2 * k == last else 2.0 for k in range(half)], known.dtype)[:, None] * factor
    return _filled(_made(_minus(_along(z.re, rank - 1, cos * twice), _along(z.im, rank - 1, sin * twice)), None, z)).re


_PARTS["fft"] = _fft


# --- loops and branches -------------------------------------------------------------------------------------------------------


def _flat(values: Iterable[Any]) -> list[Any]:
    return list(itertools.chain.from_iterable(_filled(value) if isinstance(value, Pair) else (value,) for value in values))


def _joined(parts: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """Parts as values again. like: variables, of which the complex ones take two parts."""
    left = iter(parts)
    return [Pair(next(left), next(left)) if is_complex(variable) else next(left) for variable in like]


def _on_parts(program: ClosedJaxpr, line: str) -> Callable[[Sequence[Any]], list[Any]]:
    """The program as a function of flat parts."""
    return lambda parts: _flat(evaluate(program.jaxpr, program.consts, _joined(parts, program.jaxpr.invars), line))


def _cond(params: dict[str, Any], values: Sequence[Any], line: str) -> list[Any]:
    index, *operands = values
    branches = [_on_parts(branch, line) for branch in params["branches"]]
    results = lax.switch(lax.convert_element_type(index, np.int32), branches, _flat(operands))
    return _joined(results, params["branches"][0].jaxpr.outvars)


def _scan(params: dict[str, Any], values: Sequence[Any], line: str) -> list[Any]:
    program, consts, carries = params["jaxpr"], params["num_consts"], params["num_carry"]
    run, held = _on_parts(program, line), _flat(values[:consts])
    carried = program.jaxpr.invars[consts : consts + carries]
    count = sum(2 if is_complex(variable) else 1 for variable in carried)

    def step(carry: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        results = run([*held, *carry, *rows])
        return results[:count], results[count:]

    last, stacked = lax.scan(
        step, _arrays(_flat(values[consts : consts + carries])), _flat(values[consts + carries :]), params["length"], params["reverse"], params["unroll"]
    )
    return _joined([*last, *stacked], program.jaxpr.outvars)


def _while(params: dict[str, Any], values: Sequence[Any], line: str) -> list[Any]:
    first, second = params["cond_nconsts"], params["body_nconsts"]
    asked, held = _flat(values[:first]), _flat(values[first : first + second])
    run, goes_on = _on_parts(params["body_jaxpr"], line), _on_parts(params["cond_jaxpr"], line)
    start = _arrays(_flat(values[first + second :]))
    results = lax.while_loop(lambda carry: goes_on([*asked, *carry])[0], lambda carry: run([*held, *carry]), start)
    return _joined(results, params["body_jaxpr"].jaxpr.outvars)


def _arrays(values: Sequence[Any]) -> list[Any]:
    return [value if isinstance(value, jax.Array) else jax.numpy.asarray(value) for value in values]


_CONTROL: dict[str, Callable[[dict[str, Any], Sequence[Any], str], list[Any]]] = {"cond": _cond, "scan": _scan, "while": _while}
