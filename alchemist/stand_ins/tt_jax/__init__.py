"""`tt_jax` for scripts written for tt-xla."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from alchemist.stand_ins.absent import getattr_of
from alchemist.stand_ins.artifacts import save_system_descriptor_to_disk
from alchemist.stand_ins.jax_jit import export
from alchemist.stand_ins.request import Request

__all__ = ["codegen_cpp", "codegen_py", "save_system_descriptor_to_disk", "serialize_compiled_artifacts", "serialize_compiled_artifacts_to_disk"]
__getattr__ = getattr_of("tt_jax")


def _export(backend: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Mapping[str, Any] | None, path: Any, tensors: bool) -> None:
    own = {"backend": backend, "export_path": path, "export_tensors": tensors}
    export(function, args, kwargs, Request.of({**(options or {}), **own}))


def codegen_py(
    func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None, export_path: str | Path = "codegen_result",
    export_tensors: bool = True, **kwargs: Any,
) -> None:  # fmt: skip
    """Writes the function as Python to `export_path`. Raises: OptionError, UserError."""
    _export("codegen_py", func, args, kwargs, compiler_options, export_path, export_tensors)


def codegen_cpp(
    func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None, export_path: str | Path = "codegen_result",
    export_tensors: bool = True, **kwargs: Any,
) -> None:  # fmt: skip
    """Like `codegen_py`, in C++."""
    _export("codegen_cpp", func, args, kwargs, compiler_options, export_path, export_tensors)


def serialize_compiled_artifacts(
    func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None, **kwargs: Any
) -> tuple[str, str, bytes]:
    """TTIR text, TTNN text and the `.ttnn` of a call; the binary is for `ttrt` here, a real runtime refuses it."""
    from alchemist.frontends.mlir.read import read_module
    from alchemist.toolchain.ttnn_binary import ttnn_binary

    with tempfile.TemporaryDirectory(prefix="alchemist-tt-") as folder:
        own = {"backend": "codegen_py", "export_path": f"{folder}/program", "export_tensors": False}
        path = export(func, args, kwargs, Request.of({**(compiler_options or {}), **own}))
        ttir, ttnn = ((Path(path) / "irs" / name).read_text(encoding="utf-8") for name in ("01_ttir.mlir", "02_ttnn.mlir"))
    return ttir, ttnn, ttnn_binary(read_module(ttnn, "ttnn.mlir"))


def serialize_compiled_artifacts_to_disk(
    func: Callable[..., Any], *args: Any, output_prefix: str, compiler_options: Mapping[str, Any] | None = None, **kwargs: Any
) -> None:
    """Writes `{output_prefix}_ttir.mlir`, `{output_prefix}_ttnn.mlir` and `{output_prefix}.ttnn`."""
    ttir, ttnn, binary = serialize_compiled_artifacts(func, *args, compiler_options=compiler_options, **kwargs)
    Path(output_prefix).parent.mkdir(parents=True, exist_ok=True)
    Path(f"{output_prefix}_ttir.mlir").write_text(ttir, encoding="utf-8")
    Path(f"{output_prefix}_ttnn.mlir").write_text(ttnn, encoding="utf-8")
    Path(f"{output_prefix}.ttnn").write_bytes(binary)
