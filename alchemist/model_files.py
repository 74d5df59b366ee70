"""MLIR and ONNX files: the arguments that the functions on them share, and the programs in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from alchemist.errors import OptionError, checked_path, printable, quoted
from alchemist.export.arrays import values_in
from alchemist.frontends.base import FrontendResult
from alchemist.mesh import partition
from alchemist.mesh.plan import mesh_of
from alchemist.mesh.stated import stated_mesh, states_shardings
from alchemist.mesh.text import each_chip, has_collectives, with_golden
from alchemist.mesh.ttnn_text import each_chip as each_chip_of_ttnn
from alchemist.mesh.ttnn_text import is_ttnn
from alchemist.options import CompilerOptions, Init, Language, choice
from alchemist.pipeline import check_options
from alchemist.toolchain.ttnn_file import read_module_text

MOST_SEED = 1 << 63
Programs = dict[str, FrontendResult]
"""Name -> program of a source; the only one of a source has the name "" if nothing calls it otherwise."""


@dataclass(frozen=True, slots=True)
class FileCall:
    """The checked arguments that all four functions on files (MLIR, ONNX) share. inputs: values by argument name, if a directory was named."""

    source: Path
    language: Language
    init: Init
    seed: int
    inputs: Path | None
    options: CompilerOptions

    @classmethod
    def checked(
        cls,
        source: str | Path,
        language: Language = "python",
        init: Init = "randn",
        seed: int = 0,
        inputs: str | Path | None = None,
        compiler_options: Mapping[str, Any] | CompilerOptions | None = None,
    ) -> FileCall:
        """Raises OptionError for the first argument that is not what the public functions' docstrings say."""
        path = checked_path(source, "source")
        # A missing file is reported where it is read, after all arguments are checked.
        text = read_module_text(path) if path.suffix != ".onnx" and path.is_file() else ""
        options = CompilerOptions.for_module(compiler_options, text)
        language = choice("language", language, get_args(Language))
        check_options(options, language, is_text=path.suffix != ".onnx")
        init = choice("init", init, get_args(Init))
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < MOST_SEED:
            raise OptionError("bad seed", expected="a whole number from 0, below 2**63", got=quoted(seed))
        return cls(path, language, init, seed, None if inputs is None else checked_path(inputs, "inputs"), options)

    def values(self) -> Mapping[str, Any] | None:
        """Arrays of the `inputs` directory by argument name."""
        return None if self.inputs is None else values_in(self.inputs)


def onnx_loader(call: FileCall, dims: Mapping[str, int] | None) -> Callable[[], Programs]:
    def load_file() -> Programs:
        from alchemist.frontends.onnx import load

        return {"": load(call.source, dims=dims, values=call.values(), init=call.init, seed=call.seed)}

    return load_file


def on_its_mesh(captured: FrontendResult, call: FileCall) -> FrontendResult:
    """A function of text with shardings or collectives as the program of each chip of the mesh that the option or the module says."""
    shape = stated_mesh(captured) or (1, 1)
    states = states_shardings(captured)
    if shape == (1, 1) or not (states or has_collectives(captured)):
        return captured
    mesh = mesh_of(shape, call.options)
    if is_ttnn(captured):
        return each_chip_of_ttnn(captured, mesh)
    if not states:
        return each_chip(captured, mesh)
    made = partition(captured, mesh, [None] * len(captured.arguments))
    return made if made.golden is not None else with_golden(made)


def mlir_loader(call: FileCall, entry: str) -> Callable[[], Programs]:
    """Reads the file at once, so that a missing one is told before any directory is made; its functions are loaded by the call."""
    if not isinstance(entry, str):
        raise OptionError("bad entry", expected="the name of a function, as text", got=quoted(entry))
    text = read_module_text(call.source)

    def load_functions() -> Programs:
        """By name; those behind a `// -----` line have the part's number in front."""
        from alchemist.frontends.mlir import load_each
        from alchemist.frontends.mlir.read import parts
        from alchemist.frontends.mlir.values import LoadOptions

        values = call.values()
        sections = parts(text)
        programs: Programs = {}
        for number, section in enumerate(sections):
            if len(sections) > 1 and "func" not in section:
                continue
            prefix = f"{number}_" if len(sections) > 1 else ""
            options: LoadOptions = {"mesh": call.options.mesh_shape, "entry": entry, "init": call.init, "seed": call.seed, "values": values}
            for name, program in load_each(section, printable(str(call.source)), **options):
                programs[prefix + name] = on_its_mesh(program, call)
        return programs

    return load_functions
