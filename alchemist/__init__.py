"""alchemist: a PyTorch or JAX model becomes readable Python or C++ source on Tenstorrent's TT-NN library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alchemist.version import VERSION as __version__

__all__ = ["CodegenResult", "__version__", "codegen_cpp", "codegen_py", "load_codegen_py", "tune"]

if TYPE_CHECKING:
    from alchemist.codegen import CodegenResult, codegen_cpp, codegen_py
    from alchemist.loaded import load_codegen_py
    from alchemist.tuning import tune


def __getattr__(name: str) -> Any:
    """Loads the compiler on first use, so that `import alchemist` costs nothing."""
    if name in ("CodegenResult", "codegen_cpp", "codegen_py"):
        from alchemist import codegen

        return getattr(codegen, name)
    if name == "load_codegen_py":
        from alchemist import loaded

        return loaded.load_codegen_py
    if name == "tune":
        import importlib

        return importlib.import_module("alchemist.tuning").tune
    raise AttributeError(f"module 'alchemist' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
