"""JAX function or flax module -> StableHLO (jax.jit lowering with debug info) -> TTIR."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType
from typing import Any, Literal

import jax
import jax.extend
import numpy as np

from alchemist.errors import FrontendError, OptionError
from alchemist.frontends.base import FRAMEWORK_LOCK, Argument, FrontendResult, Output, distinct
from alchemist.frontends.jax.arguments import Flat, flatten, is_key, key_text
from alchemist.frontends.jax.complex_numbers import real_program
from alchemist.frontends.jax.golden import Labelled
from alchemist.frontends.jax.one_device import is_spread, on_one_device
from alchemist.frontends.jax.scopes import function_scopes, module_scopes, plain_name
from alchemist.frontends.jax.structure import structure_of
from alchemist.frontends.stablehlo import Input, Sources, convert, scope_mark
from alchemist.ir.access import argument_attrs, entry_function, mark_written
from alchemist.ir.text import parse

Array = np.ndarray[Any, Any]


def capture(model: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None, *, golden_ops: bool = False) -> FrontendResult:
    """Captures a function of JAX arrays, or a flax nnx module called with `args`.

    golden_ops: label every operation, so that the result has values for `export_golden="ops"`.

    args: every argument of the function (`graphdef, state, x`; `variables, x`). Arrays are traced; other leaves are static.
    Leaves of a model's state are parameters named by their pytree path (`conv1.kernel`).

    Raises:
        FrontendError: tracing fails, or control flow depends on data.
        UnsupportedOpError: all operations without a TTIR form.
        InputError: arguments that do not fit.
    """
    kwargs = dict(kwargs or {})
    name = _model_name(model, args)
    structure = structure_of(model)
    function, args = as_function(model, args)
    flat = flatten(function, args, kwargs)
    classes: dict[str, type] = {}
    codes: dict[str, CodeType] = {}
    entry = _entry(function)
    with FRAMEWORK_LOCK:
        lowered, reference, shapes, written, labelled = _lower(function, flat, classes, codes, entry, golden_ops)
    ir = lowered.compiler_ir("stablehlo").operation
    text = ir.get_asm(print_generic_op_form=True, enable_debug_info=True)
    module = parse(text, "<stablehlo>", verify=False)
    # a module that is called by the entry function is the root itself
    sources = Sources(_library_roots(), _package_name, entry[0] if entry and classes else "", labelled.labels if labelled else None)
    names, outputs = _outputs(shapes, written)
    inputs = [Input(leaf.name, leaf.kind, _bounds(leaf.value)) for leaf in flat.leaves]
    converted = convert(module, inputs, names, sources=sources, may_add_arguments=True)
    mark_written(entry_function(converted.module), set(written))
    arrays = {leaf.name: leaf.value for leaf in flat.leaves} | converted.starts
    arrays |= {slab.name: np.asarray(arrays[slab.stacked])[slab.index] for slab in converted.slabs}
    arguments = _arguments(converted.module, arrays)

    def golden() -> list[Array]:
        return [_plain(leaf) for leaf in reference([leaf.value for leaf in flat.leaves])]

    return FrontendResult(
        module=converted.module,
        framework="jax",
        model_name=name,
        arguments=arguments,
        outputs=outputs,
        golden=golden,
        stages={"shlo": lambda: str(lowered.as_text(debug_info=True))},
        source_files=_texts(converted.files),
        class_sources=_class_sources(classes) | _function_sources(codes),
        made_from=_versions(),
        golden_ops=functools.partial(labelled.values, [leaf.value for leaf in flat.leaves]) if labelled else None,
        call=flat.call,
        structure=structure,
    )


def _bounds(value: Any) -> tuple[int, int] | None:
    """The smallest and largest whole number of an array; None for other dtypes and for shapes without values."""
    if isinstance(value, jax.ShapeDtypeStruct) or getattr(value.dtype, "kind", "") not in ("i", "u") or not value.size:
        return None
    return int(value.min()), int(value.max())


def as_function(model: Any, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """An nnx module becomes a function of its state."""
    if "flax.nnx" in sys.modules:
        from flax import nnx

        if isinstance(model, nnx.Module):
            graphdef, state = nnx.split(model)

            @functools.wraps(type(model).__call__)
            def forward(_state: Any, *inputs: Any, **options: Any) -> Any:
                return nnx.merge(graphdef, _state)(*inputs, **options)

            return forward, (state, *args)
    if not callable(model):
        raise FrontendError(f"{type(model).__name__} is not callable", expected="a function or a flax nnx module")
    return model, args


def _model_name(model: Any, args: tuple[Any, ...]) -> str:
    """Class of the module at hand, else the function's name."""
    while isinstance(model, functools.partial):
        model = model.func
    owner = getattr(model, "__self__", None)
    if owner is not None and type(owner).__module__.split(".")[0] not in ("builtins", "jax", "jaxlib"):
        return type(owner).__name__
    if not inspect.isroutine(model) and not hasattr(model, "__name__"):
        return type(model).__name__
    for arg in args:
        if type(arg).__name__ == "GraphDef":
            nodes = getattr(arg, "nodes", None) or [arg]
            cls = getattr(nodes[0], "type", None)
            if isinstance(cls, type):
                return cls.__name__
    name = str(getattr(model, "__name__", type(model).__name__))
    return "forward" if name == "<lambda>" else name


@contextmanager
def _full_tracebacks() -> Iterator[None]:
    """Locations with all frames: the default limit of 10 loses the model's own in deep module trees."""
    before = jax.config.jax_traceback_in_locations_limit
    jax.config.update("jax_traceback_in_locations_limit", -1)
    try:
        yield
    finally:
        jax.config.update("jax_traceback_in_locations_limit", before)


def _entry(function: Callable[..., Any]) -> tuple[str, CodeType] | None:
    """(scope name, code) of the model's own function; None for a lambda, a method, a function of a framework."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if inspect.ismethod(function) or not isinstance(code, CodeType) or code.co_name.startswith("<") or _is_library(code.co_filename):
        return None
    return plain_name(code, str(getattr(function, "__module__", ""))), code


def _lower(
    function: Callable[..., Any],
    flat: Flat,
    classes: dict[str, type],
    codes: dict[str, CodeType],
    entry: tuple[str, CodeType] | None,
    golden_ops: bool,
) -> tuple[Any, Callable[[list[Any]], list[Any]], Any, dict[str, Any], Labelled | None]:
    """(lowered, the function as JAX runs it, pytree of result shapes, leaf name -> type of what the function wrote, the program with labels).

    lowered has no complex values, labels if asked for, and the locations of the model.

    classes, codes: filled with the modules and functions that were called.
    """
    shapes: list[Any] = []
    changes: list[dict[str, Any]] = []
    if entry is not None:
        codes[entry[0]] = entry[1]

    def alchemist_traced_entry(arrays: list[Any]) -> Any:
        args, kwargs = flat.rebuild(arrays)
        names = {id(array): leaf.name for array, leaf in zip(arrays, flat.leaves, strict=True)}
        with ExitStack() as stack:
            if entry is not None:
                stack.enter_context(jax.named_scope(scope_mark(entry[0], "")))
            stack.enter_context(function_scopes(codes, names, entry[1] if entry else None, _is_library))
            result = function(*args, **kwargs)
        written = flat.written(arrays, (args, kwargs))
        shapes.append(jax.tree_util.tree_map(lambda leaf: jax.typeof(leaf), result))
        changes.append({name: jax.typeof(value) for name, value in written.items()})
        return (result, list(written.values())) if written else result

    try:
        with _full_tracebacks(), module_scopes(classes), jax.named_scope(""):
            values = [leaf.given for leaf in flat.leaves]
            traced = jax.jit(alchemist_traced_entry, keep_unused=True).trace(values)
    except Exception as error:  # tracing runs the user's code: whatever it raises is reported with its place
        raise tracing_error(error) from error
    with _full_tracebacks(), jax.named_scope(""):
        program = real_program(traced.jaxpr)
        spread = is_spread(traced.jaxpr)
        platforms = ("cpu",) if spread else None  # without one, JAX asks for as many devices as the mesh has
        if spread and golden_ops:
            raise OptionError('export_golden="ops" and a mesh of several chips do not go together yet', expected="one of the two")

        def reference(values: list[Any]) -> list[Any]:
            return on_one_device(traced.jaxpr, values) if spread else jax.tree_util.tree_leaves(traced.lower().compile()(values))

        if program is traced.jaxpr and not golden_ops:
            return traced.lower(lowering_platforms=platforms), reference, shapes[-1], changes[-1], None
        labelled = Labelled(program) if golden_ops else None
        again = jax.extend.core.jaxpr_as_fun(labelled.program if labelled else program)
        rewritten = jax.jit(lambda arrays: again(*arrays), keep_unused=True).trace(values).lower(lowering_platforms=platforms)
        return rewritten, reference, shapes[-1], changes[-1], labelled


def tracing_error(error: Exception) -> FrontendError:
    """What JAX or the model's own code raised while it was traced, with the model's line."""
    where, message = _user_line(error), _first_line(error)
    if message.startswith("cannot select an axis to squeeze out"):  # the part of each device is longer than one
        hint = 'jax.config.update("jax_num_cpu_devices", 8) before JAX is first used, or jax.shard_map over a jax.sharding.AbstractMesh'
        return FrontendError(
            "the function fails while traced: jax.pmap needs as many devices as its axis is long", location=where, got=f"{jax.device_count()}: {message[:200]}",
            hint=hint,
        )  # fmt: skip
    if isinstance(error, jax.errors.ConcretizationTypeError):
        hint = "use jnp.where or lax.select, or pass the value as a Python number"
        return FrontendError(f"control flow depends on data: {message}", location=where, hint=hint)
    return FrontendError(f"the function fails during tracing: {type(error).__name__}: {message}", location=where)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")


def _user_line(error: BaseException) -> str:
    """The innermost line of model code in the traceback."""
    roots = _library_roots()
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(roots) and not file.startswith("<frozen"):
            place = f"{_package_name(file)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


@functools.cache
def _library_roots() -> tuple[str, ...]:
    """Folders whose frames are not the model's: jax, flax, alchemist, the standard library."""
    roots = [str(Path(jax.__file__).parent)]
    for name in ("jaxlib", "flax", "optax", "equinox"):
        module = sys.modules.get(name)
        if module is not None and getattr(module, "__file__", None):
            roots.append(str(Path(str(module.__file__)).parent))
    roots += [str(Path(__file__).parents[2])]
    stdlib = sysconfig.get_path("stdlib")
    roots += [os.path.join(stdlib, name) for name in ("contextlib.py", "functools.py", "threading.py", "asyncio", "importlib")]
    return tuple(roots)


@functools.cache
def _is_library(file: str) -> bool:
    return file.startswith((*_library_roots(), "<")) or "/site-packages/" in file or file.startswith(_STANDARD_LIBRARY)


_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep


@functools.cache
def _package_name(file: str) -> str:
    """A file relative to the folder above its outermost package."""
    _, found, rest = file.partition("/site-packages/")
    if found:
        return rest
    path = Path(file)
    parts = [path.name]
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        parts.insert(0, folder.name)
    return "/".join(parts)


# --- results ------------------------------------------------------------------------------------------------------------


def _outputs(shapes: Any, written: Mapping[str, Any]) -> tuple[list[str], list[Output]]:
    """Names of the results in order, those of `written` arguments last."""
    found, _ = jax.tree_util.tree_flatten_with_path(shapes)
    paths = [[key_text(key) for key in path] for path, _ in found]
    names = [".".join(steps) if steps and not all(step.isdigit() for step in steps) else "_".join(["output", *steps]) for steps in paths]
    names = distinct([*names, *(f"{name}_after" if name in names else name for name in written)])
    leaves = [*((leaf, "") for _, leaf in found), *((leaf, name) for name, leaf in written.items())]
    return names, [_output(name, leaf, mutates) for name, (leaf, mutates) in zip(names, leaves, strict=True)]


def _output(name: str, leaf: Any, mutates: str = "") -> Output:
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.eval_shape(jax.random.key_data, leaf)
    return Output(name, tuple(leaf.shape), str(leaf.dtype), mutates)


def _arguments(module: Any, arrays: Mapping[str, Any]) -> list[Argument]:
    """Arguments of `@forward` in order (unused parameters are gone)."""
    found: list[Argument] = []
    for described in argument_attrs(entry_function(module)):
        name, kind = described["ttir.name"], _KINDS[described["ttcore.argument_type"]]
        array = arrays[name]
        dtype = str(jax.dtypes.canonicalize_dtype(array.dtype)) if not is_key(array) else "uint32"
        found.append(Argument(name, kind, tuple(array.shape), dtype, functools.partial(array_of, array, dtype)))
    return found


_KINDS: dict[str, Literal["input", "parameter", "constant"]] = {
    "input": "input", "parameter": "parameter", "constant": "constant", "default": "constant",
}  # fmt: skip


def array_of(array: Any, dtype: str) -> Array:
    """An argument's value on the host; of random keys their data."""
    given = np.asarray(jax.random.key_data(array) if is_key(array) else array)
    return np.ascontiguousarray(given if str(given.dtype) == dtype else given.astype(dtype)).reshape(given.shape)


def _plain(leaf: Any) -> Array:
    array = np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)
    return array.astype(np.float32) if array.dtype.kind not in "iub" and array.dtype != np.float64 else array


def _texts(files: Mapping[str, str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, path in files.items():
        if os.path.isfile(path):
            texts[name] = Path(path).read_text(encoding="utf-8", errors="replace")
    return texts


def _class_sources(classes: Mapping[str, type]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for name, cls in classes.items():
        code = getattr(inspect.unwrap(cls.__dict__.get("__call__", cls.__call__)), "__code__", None)
        if code is not None:
            found[name] = (_package_name(code.co_filename), code.co_firstlineno)
    return found


def _function_sources(codes: Mapping[str, CodeType]) -> dict[str, tuple[str, int]]:
    return {name: (_package_name(code.co_filename), code.co_firstlineno) for name, code in codes.items()}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("jax", "flax"):
        if name in sys.modules:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = "unknown"
    return found
