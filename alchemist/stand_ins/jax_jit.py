"""`jax.jit(f, compiler_options={"backend": "codegen_py", ...})`: tt-xla's options, taken where XLA's are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any

from alchemist.errors import UserError
from alchemist.stand_ins.request import SESSION, Request

_real_jit: Callable[..., Any]


def patch(jax: Any) -> None:
    """Replaces `jax.jit` and `jax.devices`; JAX's own code does not call them by these names."""
    global _real_jit
    _real_jit = jax.jit
    real_devices = jax.devices

    def devices(backend: str | None = None) -> Any:
        if backend == "tt":
            raise UserError('jax.devices("tt"): there is no device tt', expected="jax.jit(f, compiler_options={...})",
                            hint="a function compiled with tt-xla's options runs on the simulator; arrays stay on the CPU")  # fmt: skip
        return real_devices(backend)

    jax.jit, jax.devices = jit, update_wrapper(devices, real_devices)


def jit(fun: Callable[..., Any] | None = None, /, *, compiler_options: Mapping[str, Any] | None = None, backend: str | None = None, **details: Any) -> Any:
    """JAX's own `jit`, unless the options are tt-xla's or the backend is "tt".

    Raises:
        OptionError: an unknown option, a bad value, or no `export_path` where one is needed.
    """
    if fun is None:
        return partial(jit, compiler_options=compiler_options, backend=backend, **details)
    of_xla = compiler_options is None or all(str(key).startswith("xla_") for key in compiler_options)
    if of_xla and backend != "tt":
        return _real_jit(fun, compiler_options=compiler_options, backend=backend, **details)
    return Compiled(fun, _real_jit(fun, **details), Request.of({} if of_xla else compiler_options or {}))


class Compiled:
    """A function that is exported for each new set of shapes; everything but a call is that of JAX's own."""

    def __init__(self, function: Callable[..., Any], plain: Callable[..., Any], request: Request) -> None:
        self._function, self._plain, self._request = function, plain, request
        self._paths: dict[Any, Any] = {}
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import jax

        from alchemist.loaded import load_codegen_py

        leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
        key = (str(structure), *((leaf.shape, str(leaf.dtype)) if hasattr(leaf, "dtype") else repr(leaf) for leaf in leaves))
        request = self._request
        if key not in self._paths:
            self._paths[key] = request.export_path if request.wants == "load" else export(self._function, args, kwargs, request)
        if request.dry_run or request.wants == "cpp":
            return self._plain(*args, **kwargs)
        return load_codegen_py(self._function, *args, load_path=self._paths[key], **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


def export(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], request: Request) -> Any:
    """Writes the program of one call; returns its folder."""
    from alchemist.codegen import codegen_cpp, codegen_py

    write = codegen_cpp if request.wants == "cpp" else codegen_py
    path = write(
        function, *args, export_path=SESSION.place(request.export_path), export_tensors=request.export_tensors or not request.wants,
        export_golden="outputs" if request.wants else "none", compiler_options=request.options, **kwargs,
    ).path  # fmt: skip
    SESSION.index(request.export_path)
    return path
