"""Emitted C++ that calls every op, compiled to objects; its undefined symbols against those of the real library.

    python -m tests.emit.cpp_symbols          measures and writes docs/lab/cpp_api.md

Each op is called as its samples say, with what it requires only, and with every argument that its C++ overload has. The objects are
never linked or run: what counts is which functions the compiler chose, by mangled name.
"""

from __future__ import annotations

import ast
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import emit_cpp
from alchemist.ir.dialects import op_info
from alchemist.ops import TTNN_OPS
from alchemist.ops.spec import REQUIRED, Arg, EnumRef, Kind, OpSpec, Sample
from alchemist.program import model
from alchemist.program.extract import to_value

REPOSITORY = Path(__file__).parents[2]
INCLUDE = REPOSITORY / "ttnn_shim" / "include"
REAL_SYMBOLS = REPOSITORY / "tests" / "data" / "ttnn_cpp_symbols.tsv.gz"
PAGE = REPOSITORY / "docs" / "lab" / "cpp_api.md"
FILES = 6
"""Number of programs that the calls are spread over: each compiles in a few hundred MB."""

WITHOUT_FUNCTION = {
    "ttnn.constant": "becomes a tensor file that the program loads",
    "ttnn.deallocate": "becomes `release(...)`: the memory goes with the last reference",
}
"""Ops that C++ programs do without, and how."""

UNEXPORTED = {
    "ttnn::global_avg_pool2d": "the real library exports no function of this name (Python only)",
    "ttnn::device::open_mesh_device": "not exported there; emitted programs use ttnn::distributed::open_mesh_device",
    "ttnn::Tensor::buffer_address": "the simulator's own door to a tensor's address",
    "ttnn::Tensor::shim": "the simulator's own door to a tensor's values",
}
"""Functions that are declared here and missing from the real library's exports, and why."""


NOT_OURS = {
    "ttnn::prod": "the form that writes into an output tensor, which the Python door refuses too",
}
"""Exported functions of simulated ops that are not declared here: (part of the signature, why)."""


@dataclass(frozen=True, slots=True)
class Symbol:
    mangled: str
    demangled: str

    @property
    def is_ttnn(self) -> bool:
        """Whether the function, not only a parameter of it, is of namespace ttnn."""
        return self.mangled.startswith(("_ZN4ttnn", "_ZNK4ttnn"))

    @property
    def reason(self) -> str:
        """Why the real library's list cannot hold the symbol; "" when it should."""
        if self.is_template:
            return "a template's instance: the list holds none"
        if not self.is_ttnn:
            return "of libtt_metal, not of libttnn, whose exports the list holds"
        if _implicit(self):
            return "the compiler makes it from the real headers"
        return next((reason for name, reason in UNEXPORTED.items() if self.demangled.startswith(name + "(")), "")

    @property
    def is_template(self) -> bool:
        return re.search(r"I[^E]*E+v?", self.mangled) is not None and re.match(r"[^(]*<[^(]*>\(", self.demangled) is not None


def real_symbols() -> frozenset[str]:
    """Mangled names of the functions that the real library exports."""
    with gzip.open(REAL_SYMBOLS, "rt", encoding="utf-8") as file:
        return frozenset(line.partition("\t")[0] for line in file)


@cache
def _real_by_name() -> Mapping[str, list[tuple[str, str, str]]]:
    """Last part of a function's name -> [(namespace, mangled, demangled)]."""
    table: dict[str, list[tuple[str, str, str]]] = {}
    with gzip.open(REAL_SYMBOLS, "rt", encoding="utf-8") as file:
        for line in file:
            mangled, _, demangled = line.rstrip("\n").partition("\t")
            namespace, _, name = demangled.partition("(")[0].rpartition("::")
            if "ttnn::Tensor" in demangled and not re.search(r"prim|detail|quasar|unity|::bw", namespace):
                table.setdefault(name, []).append((namespace, mangled, demangled))
    return table


def functions_of(op: str) -> list[tuple[str, str]]:
    """(mangled, demangled) functions of the real library that a Python name of an op stands for: in its namespace or among `operations`."""
    namespace, _, name = op.replace(".", "::").rpartition("::")
    near = ("ttnn::operations::", "ttnn::experimental::reduction")
    return [(m, d) for space, m, d in _real_by_name().get(name, ()) if space == namespace or (namespace.startswith("ttnn") and space.startswith(near))]


def surface_gaps(ops: Iterable[str], exported: Sequence[Symbol]) -> list[tuple[str, str, str]]:
    """(op, function, reason) of real functions of simulated ops that the shim does not export; reason "" where there is none."""
    ours = {one.mangled for one in exported}
    missing = [(op, text) for op in ops for mangled, text in functions_of(op) if mangled not in ours and ".ComplexTensor::" not in text]
    return [(op, text, next((why for part, why in NOT_OURS.items() if part in text), "")) for op, text in missing if "::deallocate()" not in text]


def without_header() -> list[str]:
    """Ops whose C++ header the shim does not have."""
    return sorted(spec.name for spec in TTNN_OPS.values() if not (INCLUDE / spec.header).is_file())


def callable_ops() -> list[OpSpec]:
    left_out = {*without_header(), *WITHOUT_FUNCTION}
    return [spec for spec in TTNN_OPS.values() if spec.name not in left_out]


# --------------------------------------------------------------------------------------------------------------- calls


def _made_up(spec: OpSpec, arg: Arg) -> model.Value | None:
    """Some value of the argument's kind; None when the argument has to stay out."""
    source = arg.source.partition(":")[0]
    match arg.kind:
        case Kind.TENSOR:
            return model.TensorRef("x")
        case Kind.TENSOR_LIST:
            return model.Items((model.TensorRef("x"), model.TensorRef("x")))
        case Kind.DEVICE:
            return model.DeviceRef()
        case Kind.DTYPE:
            return model.DType("bfloat16")
        case Kind.LAYOUT:
            return model.Layout("tile")
        case Kind.MEMORY_CONFIG:
            return model.MemoryConfig()
        case Kind.COMPUTE_CONFIG:
            return model.Record("ttnn.WormholeComputeKernelConfig", (("math_fidelity", EnumRef("ttnn.MathFidelity", "HiFi2")),))
        case Kind.CONV2D_CONFIG:
            return model.Record("ttnn.Conv2dConfig", (("weights_dtype", model.DType("bfloat16")),)) if "conv3d" not in spec.name else None
        case Kind.PROGRAM_CONFIG:
            return None  # samples of the op, where it has any
        case Kind.UNARY_LIST:
            return model.Items((model.Unary("RELU"),))
        case Kind.ENUM:
            return arg.default if isinstance(arg.default, EnumRef) else None
        case Kind.CORE_GRID:
            return to_value((8, 8), arg)
        case Kind.STR:
            return model.Literal(str(arg.default) if isinstance(arg.default, str) else "relu")
        case Kind.INT_LIST | Kind.SHAPE | Kind.PAIR_LIST:
            size = re.search(r", (\d+)>$", arg.cpp_type)
            given = (8, 8) if arg.name == "core_grid" else (1,) * (int(size[1]) if size and arg.kind is not Kind.PAIR_LIST else 4)
            return to_value(given, arg)
        case Kind.FLOAT_LIST:
            return to_value((1.0, 2.0), arg)
        case Kind.BOOL:
            return model.Literal(True)
        case Kind.INT:
            return model.Literal(2) if source != "operand" else model.TensorRef("x")
        case _:
            return model.Literal(2.5)


def _of_sample(spec: OpSpec, sample: Sample) -> Iterator[tuple[Arg, model.Value]]:
    groups = [group.name for group in op_info(spec.name).operands]
    for arg in spec.args:
        source, _, name = arg.source.partition(":")
        value: model.Value | None = None
        if source == "operand":
            if arg.kind is Kind.TENSOR_LIST or groups.index(name) < len(sample.inputs):
                value = _made_up(spec, arg)
        elif source == "attr":
            given = sample.attributes.get(name)
            value = None if given is None else to_value(given, arg, name)
        elif source == "shape" and sample.outputs:
            value = to_value(sample.outputs[0], arg)
        if value is None and (arg.default is REQUIRED or source == "const"):
            value = to_value(ast.literal_eval(name), arg) if source == "const" else _made_up(spec, arg)
        if value is not None:
            yield arg, value


def _needed(spec: OpSpec, arg: Arg) -> bool:
    """Whether every IR op of this kind has a value for the argument."""
    source, _, name = arg.source.partition(":")
    required = {group.name for group in op_info(spec.name).operands if not group.optional and not group.variadic}
    if source == "attr" and name in op_info(spec.name).attributes and op_info(spec.name).attributes[name].required:
        return True
    return arg.default is REQUIRED or (source == "operand" and name in required)


def calls_of(spec: OpSpec) -> list[model.Call]:
    """Calls as samples say, with the required arguments, with all that C++ has."""
    wanted = {parameter.arg for parameter in spec.cpp}
    variants = [tuple(_of_sample(spec, sample)) for sample in spec.samples]
    variants.append(tuple((arg, value) for arg in spec.args if _needed(spec, arg) and (value := _made_up(spec, arg)) is not None))
    variants.append(tuple((arg, value) for arg in spec.args if arg.name in wanted and (value := _made_up(spec, arg)) is not None))
    results = max(len(op_info(spec.name).results), 1)
    calls = []
    for arguments in dict.fromkeys(variants):
        names = tuple(f"y{index}" for index in range(results)) if op_info(spec.name).results else ()
        calls.append(model.Call(spec, arguments, names))
    return calls


def function_of(spec: OpSpec, number: int, call: model.Call) -> model.Function:
    name = f"{spec.name.removeprefix('ttnn.')}_{number}"
    parameters = (model.Parameter("x"), model.Parameter("device", "device"))
    return model.Function(name, parameters, (call, model.Return((model.TensorRef("x"),))), 1)


def program(functions: Sequence[model.Function]) -> dict[str, str]:
    body: tuple[model.Statement, ...] = (
        model.GetDevice(model.TensorRef("x")),
        *(model.CallFunction(one.name, (model.TensorRef("x"), model.DeviceRef()), (f"z{index}",)) for index, one in enumerate(functions)),
        model.Return((model.TensorRef("x"),)),
    )
    forward = model.Function("forward", (model.Parameter("x"),), body, 1)
    made = model.Program(
        title="calls", facts=(), outline=(), constants=(), prepare_constants=(), functions=(*functions, forward), prepare=(),
        inputs=(model.Variable("x", "x"),), outputs=(model.Variable("y", "y"),), entry="forward", has_weights=False,
    )  # fmt: skip
    return emit_cpp.emit(made)


# ----------------------------------------------------------------------------------------------------------- measuring


def compiled(files: Mapping[str, str], directory: Path) -> set[str]:
    """Mangled undefined symbols of the files' objects.

    Raises:
        RuntimeError: the compiler refuses a file.
    """
    undefined: set[str] = set()
    for name, content in files.items():
        (directory / name).write_text(content)
    for name in files:
        if not name.endswith(".cpp"):
            continue
        command = ["g++", "-c", "-O0", "-std=c++20", "-w", f"-I{INCLUDE}", '-DPROGRAM_DIR="."', name, "-o", name + ".o"]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{name} does not compile:\n{done.stderr[:6000]}")
        undefined.update(line.split()[-1] for line in _lines(["nm", "-u", name + ".o"], directory))
    return undefined


def _lines(command: Sequence[str], directory: Path) -> list[str]:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def needed_symbols() -> list[Symbol]:
    """Undefined symbols of namespaces `ttnn` and `tt` in programs that use every op."""
    functions = [function_of(spec, i, call) for spec in callable_ops() for i, call in enumerate(calls_of(spec))]
    needed: set[str] = set()
    for part in range(FILES):
        files = program(functions[part::FILES])
        if part:  # the run-time library is the same in each
            files = {name: text for name, text in files.items() if name not in emit_cpp.COMMON}
        with tempfile.TemporaryDirectory() as scratch:
            needed |= compiled(files, Path(scratch))
    return symbols(needed)


def exported_symbols(library: Path) -> list[Symbol]:
    """What `libttnn_shim` exports of the two namespaces: everything that its headers declare."""
    lines = _lines(["nm", "-D", "--defined-only", str(library)], library.parent)
    return symbols(line.split()[-1] for line in lines if line.split()[-2] in "TW")


def symbols(mangled: Iterable[str]) -> list[Symbol]:
    names = sorted(set(mangled))
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    pairs = zip(names, done.stdout.splitlines(), strict=True)
    return [Symbol(name, text) for name, text in pairs if re.match(r"_ZN?K?(4ttnn|2tt)", name) and "ttnn_shim::" not in text]


def simulated_ops() -> list[str]:
    """Names of the ops that have a kernel."""
    import ttnn_shim

    ttnn_shim.activate()
    from ttnn import _core

    return sorted(_core.op_names())


def available() -> bool:
    return all(shutil.which(tool) for tool in ("g++", "nm", "c++filt"))


# ---------------------------------------------------------------------------------------------------------------- page


def page(needed: Sequence[Symbol], exported: Sequence[Symbol], surface: Sequence[str]) -> str:
    real = real_symbols()
    ops = callable_ops()
    calls = sum(len(calls_of(spec)) for spec in ops)
    lines = [
        "# The C++ API",
        "",
        "Generated by `python -m tests.emit.cpp_symbols`. Emitted programs that together call every op with a C++ form are compiled to objects",
        "against the headers of `ttnn_shim/include`; each undefined `ttnn::` symbol is looked up, by mangled name, among the functions that the",
        "real library exports (ttnn 0.81.1). A symbol that is found could link against it. Required: 90%.",
        "",
        *(_summary(f"{len(ops)} ops in {calls} calls, with the programs' run-time library", needed, real)),
        *(_summary("everything that `libttnn_shim` exports in namespace `ttnn`", exported, real)),
        "",
        "## Not found",
        "",
        "| function | needed by emitted programs | reason |",
        "|---|---|---|",
    ]
    used = {one.mangled for one in needed}
    missing = {one.mangled: one for one in (*needed, *exported) if one.is_ttnn and one.mangled not in real}
    rows = {(_short(one), one.mangled in used, one.reason) for one in missing.values() if not _implicit(one)}
    lines += [f"| `{name}` | {'yes' if wanted else ''} | {reason} |" for name, wanted, reason in sorted(rows)]
    lines += ["", "## Ops without a call in C++", "", "| op | reason |", "|---|---|"]
    gone = {name: "no C++ header yet" for name in without_header()} | WITHOUT_FUNCTION
    lines += [f"| {name} | {reason} |" for name, reason in sorted(gone.items())]
    with_function = [op for op in surface if functions_of(op)]
    gaps = surface_gaps(surface, exported)
    lines += [
        "",
        "## Ops of the simulator",
        "",
        f"Of the {len(surface)} ops that the simulator has a kernel for, the real library exports a function of that name for {len(with_function)}; the others",
        "are templates, aliases and Python functions there. All overloads are declared and defined here, but for these:",
        "",
        "| op | function | reason |",
        "|---|---|---|",
    ]
    lines += [f"| {op} | `{text.partition('(')[0]}` | {reason} |" for op, text, reason in gaps]
    return "\n".join([*lines, ""])


def _summary(what: str, found: Sequence[Symbol], real: frozenset[str]) -> list[str]:
    asked = [one for one in found if one.is_ttnn and not _implicit(one)]
    hits = sum(one.mangled in real for one in asked)
    return [f"- {what}: {len(asked)} symbols, {hits} found ({hits / len(asked):.1%})"]


def _implicit(one: Symbol) -> bool:
    """Constructors, assignments and destructors that the compiler makes in the real headers; ours are in the library."""
    head = one.demangled.partition("(")[0]
    owner, _, last = head.rpartition("::")
    return last.startswith("~") or last in ("operator=", owner.partition("<")[0].rpartition("::")[2])


def _short(one: Symbol) -> str:
    """Name and template arguments, without parameters."""
    return "ttnn::" + re.split(r"(?:^| )ttnn::", one.demangled.partition("(")[0])[-1]


def share_found(found: Sequence[Symbol]) -> float:
    real = real_symbols()
    asked = [one for one in found if one.is_ttnn]
    return sum(one.mangled in real for one in asked) / len(asked)


def main() -> None:
    from ttnn_shim import native

    library = native.library_path()
    if library is None or not available():
        sys.exit("needs a built libttnn_shim, g++, nm and c++filt")
    PAGE.write_text(page(needed_symbols(), exported_symbols(library), simulated_ops()))
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
