"""alchemist: a PyTorch or JAX model becomes readable Python or C++ source on Tenstorrent's TT-NN library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alchemist.version import VERSION as __version__

__all__ = ["CodegenResult", "EntryPoint", "__version__", "codegen_cpp", "codegen_py", "load", "load_codegen_py", "stand_in", "text_generation", "tune"]

if TYPE_CHECKING:
    from alchemist.codegen import CodegenResult, codegen_cpp, codegen_py
    from alchemist.entry_points import EntryPoint
    from alchemist.generation import text_generation
    from alchemist.loaded import load_codegen_py
    from alchemist.stand_ins import install as stand_in
    from alchemist.stitching import load
    from alchemist.tuning import tune


def __getattr__(name: str) -> Any:
    """Loads the compiler on first use, so that `import alchemist` costs nothing."""
    if name in ("CodegenResult", "codegen_cpp", "codegen_py"):
        from alchemist import codegen

        return getattr(codegen, name)
    if name == "load_codegen_py":
        from alchemist import loaded

        return loaded.load_codegen_py
    if name == "load":
        from alchemist import stitching

        return stitching.load
    if name == "stand_in":
        from alchemist import stand_ins

        return stand_ins.install
    if name == "EntryPoint":
        from alchemist import entry_points

        return entry_points.EntryPoint
    if name == "text_generation":
        from alchemist import generation

        return generation.text_generation
    if name == "tune":
        import importlib

        return importlib.import_module("alchemist.tuning").tune
    raise AttributeError(f"module 'alchemist' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
