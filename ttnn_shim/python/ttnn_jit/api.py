"""`jit` and the functions that it makes: arguments, cache, fallback, dumps."""

from __future__ import annotations

import difflib
import functools
import importlib.util
import inspect
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import ttnn

from ttnn_jit.execute import execute
from ttnn_jit.fusion import fused_groups
from ttnn_jit.graph import Graph
from ttnn_jit.ir_text import IrModule
from ttnn_jit.layouts import check_layout, output_memory_config
from ttnn_jit.tracing import trace

CACHE_ENTRIES = 64
FUSION = "enable-elementwise-fusion"
# Options of tt-mlir's pipeline; only FUSION changes anything here.
_PIPELINE_OPTIONS = (FUSION, "num-stream-buffers", "use-tile-matmul", "max-dst-physical-size-tiles", "override-device-shape", "mock-system-desc-arch",
                     "insert-profiler-traces", "system-desc-path", "ttnn-mode", "set-math-fidelity", "available-l1-addr-range")  # fmt: skip
_logger = logging.getLogger("ttnn_jit")
_told: set[str] = set()


def jit(
    compile_only: bool = False,
    debug: bool = False,
    enable_cache: bool = True,
    math_fidelity: Any = None,
    memory_config: Any = None,
    fallback: bool = False,
    extra_pipeline_options: str = "",
    max_grid: tuple[int, int] | None = None,
) -> Callable[[Callable[..., Any]], JitFunction]:
    """Decorates a function of TT-NN ops on tensors.

    Args:
        compile_only: a call returns the traced module (`IrModule`) and runs nothing. The module goes to `out_dir` as text, and as
            a `.ttnn` binary where alchemist is installed.
        debug: print the module, and write it to `out_dir`.
        enable_cache: keep up to 64 traces per function; `num_entries` counts them. On as in tt-mlir of 2025; its later versions have it off.
        math_fidelity: `ttnn.MathFidelity` of matmuls. None and HiFi4 (the real default) leave each op the config of the undecorated call.
        memory_config: where the result lies; None: block-sharded over L1 on the largest grid that divides its tiles.
        fallback: after any failure the plain function runs, and `fallback_used` is True.
        extra_pipeline_options: "key=value key=value"; `enable-elementwise-fusion=true` makes one program of elementwise trees.
        max_grid: (y, x) of the last core that the sharded result may use, counted from 0; an option of tt-mlir until 2025-12-03.

    Raises:
        ValueError: fallback together with compile_only, malformed pipeline options, or a max_grid that is no pair of numbers from 0.
    """
    if fallback and compile_only:
        raise ValueError("fallback and compile_only exclude each other: a compiled module has no plain function's result")
    fuse = _fusion_asked(extra_pipeline_options)
    if max_grid is not None and not (len(max_grid) == 2 and all(isinstance(side, int) and side >= 0 for side in max_grid)):
        raise ValueError(f"max_grid: expected two numbers from 0, such as (7, 7), got {max_grid!r}")

    def decorate(function: Callable[..., Any]) -> JitFunction:
        made = JitFunction(function, compile_only, debug, enable_cache, math_fidelity=math_fidelity, memory_config=memory_config, fallback=fallback, fuse=fuse)
        made.max_grid = max_grid
        return made

    return decorate


def _fusion_asked(options: str) -> bool:
    values: dict[str, str] = {}
    for part in options.split():
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise ValueError(f"extra_pipeline_options: expected key=value, got {part!r}")
        if key not in _PIPELINE_OPTIONS:
            near = difflib.get_close_matches(key, _PIPELINE_OPTIONS, 1)
            raise ValueError(f"extra_pipeline_options: unknown option {key!r}" + (f"; did you mean {near[0]}?" if near else ""))
        if key != FUSION:
            _tell_once(key, f"ttnn_jit: the pipeline option {key} has no effect on the simulator")
        values[key] = value
    asked = values.get(FUSION, "false").lower()
    if asked not in ("true", "false", "1", "0"):
        raise ValueError(f"extra_pipeline_options: {FUSION} expected true or false, got {asked!r}")
    return asked in ("true", "1")


def _tell_once(key: str, message: str) -> None:
    if key not in _told:
        _told.add(key)
        _logger.warning(message)


class JitFunction:
    """A decorated function.

    Attributes:
        func: the plain function.
        fallback_used: whether the last call ran it because the traced way failed.
        out_dir: where dumps go, made when the function is decorated.
        debug, max_grid: as given to `jit`.
    """

    max_grid: tuple[int, int] | None = None

    def __init__(
        self,
        func: Callable[..., Any],
        compile_only: bool,
        debug: bool,
        enable_cache: bool,
        *,
        math_fidelity: Any = None,
        memory_config: Any = None,
        fallback: bool = False,
        fuse: bool = False,
    ) -> None:
        functools.update_wrapper(self, func)
        self.func = func
        self.debug = debug
        self.fallback_used = False
        self._name = re.sub(r"[^A-Za-z0-9_]", "_", getattr(func, "__name__", "function"))
        self.out_dir = Path("generated") / "ttnn-jit" / self._name
        self.out_dir.mkdir(parents=True, exist_ok=True)
        self._compile_only = compile_only
        self._fallback = fallback
        self._fuse = fuse
        self._fidelity = None if math_fidelity in (None, ttnn.MathFidelity.HiFi4) else math_fidelity
        self._memory_config = memory_config
        self._cache: OrderedDict[Hashable, Graph] | None = OrderedDict() if enable_cache else None

    @property
    def num_entries(self) -> int:
        """Traces in the cache."""
        assert self._cache is not None, "Cache is not enabled"
        return len(self._cache)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function, or its module with compile_only.

        Raises:
            ValueError: a layout, shape, dtype or argument that ttnn.jit does not take.
            TypeError: an op outside ttnn.jit's list, or Python operators on a traced value.
        """
        self.fallback_used = False
        if not self._fallback:
            return self._run(args, kwargs)
        try:
            return self._run(args, kwargs)
        except Exception as error:  # noqa: BLE001  documented: whatever fails, the plain function runs
            _logger.warning("ttnn_jit: %s falls back to the plain function: %s", self._name, error)
            self.fallback_used = True
            return self.func(*args, **kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._check_arguments(args, kwargs)
        graph = self._graph(args, kwargs)
        if self._compile_only:
            return IrModule.of(graph, self._name)
        if self._fuse:
            _tell_once("fused", "ttnn_jit: modelled fused kernel, no C++ is compiled; its time is extrapolated, no ttnn.jit timing is published")
        wanted = self._memory_config or output_memory_config(graph.spec(graph.output), args[0].device(), self.max_grid)
        return execute(graph, args, wanted, self._fidelity, self._fuse)

    def _check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not args or not isinstance(args[0], ttnn.Tensor) or args[0].device() is None:
            raise ValueError("Device is required: the first argument must be a tensor on a device")
        try:
            inspect.signature(self.func).bind(*args, **kwargs)
        except TypeError as error:
            raise ValueError(f"Invalid arguments for function {self._name}: {error}") from None
        for name, value in (*enumerate(args), *kwargs.items()):
            if isinstance(value, ttnn.Tensor) and isinstance(name, str):
                raise ValueError(f"Invalid arguments for function {self._name}: tensors are passed by position, {name} is a keyword")
            if not isinstance(value, ttnn.Tensor) and isinstance(name, int):
                raise ValueError(f"Invalid arguments for function {self._name}: positional argument {name} must be a tensor, got {type(value).__name__}")
        for tensor in args:
            check_layout(tensor)

    def _graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Graph:
        key = (tuple((tuple(t.shape), t.dtype, repr(t.memory_config())) for t in args), repr(sorted(kwargs.items())))
        if self._cache is not None and key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        graph = trace(self.func, args, kwargs)
        if self.debug or self._compile_only:
            self._dump(graph)
        if self._cache is not None:
            self._cache[key] = graph
            if len(self._cache) > CACHE_ENTRIES:
                self._cache.popitem(last=False)
        return graph

    def _dump(self, graph: Graph) -> None:
        module = IrModule.of(graph, self._name)
        (self.out_dir / f"{self._name}.mlir").write_text(str(module), encoding="utf-8")
        if self._compile_only and importlib.util.find_spec("alchemist") is not None:
            compiler = importlib.import_module("alchemist.driver.translate")  # the simulator itself does without a compiler
            binary = self.out_dir / f"{self._name}.ttnn"
            binary.unlink(missing_ok=True)  # of an earlier function of this name
            try:
                binary.write_bytes(compiler.lowered_binary(str(module), self._name))
            except compiler.AlchemistError as error:  # types that the compiler cannot lower, block formats among them
                _logger.warning("ttnn_jit: no .ttnn of %s: %s", self._name, error)
        if self.debug:
            print(f"// -----// IR Dump after TracingCompiler (Tracing-based) //----- //\n{module}")
            groups = fused_groups(graph) if self._fuse else [[index] for index in range(len(graph.nodes))]
            print("// -----// Programs that the simulator prices (it has no ttnn_to_ttmetal_pipeline) //----- //")
            for group in groups:
                print(f"// {' -> '.join(graph.nodes[index].op for index in group)}")
