"""Damaged input of every kind for `tools/fuzz/worker.py`: MLIR text, tensor files, `.npy`, manifests, options, arguments of the API.

Every area is a function of a random generator that makes one case and answers "accepted" or the name of a refusal. A refusal is an
error of the user's side with a message of at most 2,000 characters; everything else is a `Bad` answer, or ends the process.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import struct
import subprocess
import tempfile
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr

from alchemist.errors import MOST_CHARACTERS, AlchemistError, InternalError
from alchemist.resources import template_text
from tests.mlir.fuzz import damaged

HERE = Path(__file__).parent
TENSORS = sorted((HERE.parents[1] / "tests" / "data" / "tensorbin").glob("*.tensorbin"))
MODEL = """
func.func @main(%arg0: tensor<2x3xf32> {ttir.name = "x"}, %arg1: tensor<3x4xf32> {ttir.name = "w", ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<2x4xf32> {
  %0 = "ttir.matmul"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
"""
WORDS = (
    "", " ", "x", "-1", "0", "1", "true", "False", "no", "nan", "1e999", "9" * 30, "9" * 5000, "none", "\x00", "\n", "\ud800", "\u202e", "é漢\U0001f600", "../..", "/",
    "/nonexistent/x", ".", "-", "--", "x" * 300, "x" * 100_000, "{}", "[]", "{", '"', "'", "a=b", "=", "=b", "a=", ",", "%s%n", "$(id)", "main", "n150", "lofi", "bfp_bf8",
)  # fmt: skip


class Bad(AssertionError):
    """An answer that a user should never see."""


def refusal(error: BaseException) -> str:
    """Its name, once it is known to be a user's error with a short message."""
    text = str(error)
    if isinstance(error, InternalError) or "ALC-09" in text or "internal error" in text:
        raise Bad(f"internal error: {text[:400]}") from error
    if len(text) > MOST_CHARACTERS:
        raise Bad(f"a message of {len(text)} characters: {text[:200]}") from error
    if any(0xD800 <= ord(each) < 0xE000 for each in text):
        raise Bad("a lone surrogate in the message") from error
    return type(error).__name__


# ------------------------------------------------------------------------------------------------------------------- MLIR


def mlir(rng: random.Random) -> str:
    """A text with one to three damages, read and emitted; the errors behind the first one too."""
    from alchemist.driver import mlir_files
    from alchemist.driver.translate import translate

    chunk = mlir_files.Chunk(damaged(rng.getrandbits(48)), "fuzz.mlir")
    try:
        mlir_files.read(chunk)
        translate(chunk, rng.choice(("python", "cpp")))
    except AlchemistError as error:
        for each in mlir_files.all_errors(chunk, error):
            refusal(each)
        return refusal(error)
    return "accepted"


# -------------------------------------------------------------------------------------------------------- TTNN binaries


@cache
def binaries() -> tuple[bytes, ...]:
    """A `.ttnn` of the model, one with a text of 100 KB, and a `.ttsys` of two chips."""
    from alchemist.frontends.mlir.read import read_module
    from alchemist.options import CompilerOptions
    from alchemist.passes import lower_to_ttnn
    from alchemist.toolchain.descriptors import descriptor
    from alchemist.toolchain.ttnn_binary import ttnn_binary

    module = lower_to_ttnn(read_module(MODEL), CompilerOptions()).module
    small = ttnn_binary(module)
    module.attributes["note"] = StringAttr("x" * 100_000)
    return small, ttnn_binary(module), descriptor("n300")


def binary(rng: random.Random) -> str:
    """A damaged `.ttnn` or `.ttsys` by every reader; the peak of memory is below ten times the file."""
    from alchemist.toolchain import descriptors, flatbuffer
    from alchemist.toolchain.ttnn_file import read_module_text, read_ttnn

    def read_system(raw: bytes) -> tuple[str, int]:
        return descriptors.card_of(flatbuffer.read(raw, "f.ttsys", {flatbuffer.TTSYS: descriptors.ROOT})[1].get("system_desc", {}))

    data = bytes_damaged(rng.choice(binaries()), rng)
    outcomes = set()
    tracemalloc.start()
    for read in (read_ttnn, read_system, lambda raw: read_module_text(io.BytesIO(raw))):
        try:
            read(data)
            outcomes.add("accepted")
        except AlchemistError as error:
            outcomes.add(refusal(error))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if peak_bytes > 10 * len(data) + 500_000:
        raise Bad(f"{peak_bytes} bytes of memory for a file of {len(data)}")
    return min(outcomes, key=lambda each: (each != "accepted", each))


# ---------------------------------------------------------------------------------------------------------- tensor files


def bytes_damaged(raw: bytes, rng: random.Random) -> bytes:
    """Up to eight changes: bits, bytes, words of extreme size, a cut, an insertion."""
    data = bytearray(raw)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8))):
        kind = rng.randrange(6)
        at = rng.randrange(len(data)) if data else 0
        near = rng.randrange(min(len(data), 256)) if data else 0
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[near] = rng.randrange(256)
        elif kind == 2:
            data[near : near + 4] = struct.pack("<I", rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.getrandbits(32))))
        elif kind == 3:
            data[near : near + 8] = struct.pack("<Q", rng.choice((0, 1, 2**63 - 1, 2**63, 2**64 - 1, rng.getrandbits(64))))
        elif kind == 4:
            del data[rng.choice((at, near)) :]
        else:
            data[near:near] = bytes(rng.getrandbits(8) for _ in range(rng.randrange(1, 40)))
    return bytes(data)


@cache
def reader() -> subprocess.Popen[str]:
    """The emitted C++ sources' own readers in a process of their own."""
    import ttnn_shim.native

    scratch = Path(tempfile.mkdtemp(prefix="fuzz_reader."))
    for name in ("files.hpp", "files.cpp"):
        (scratch / name).write_text(template_text(f"cpp/{name}"))
    library = ttnn_shim.native.library_path()
    include = HERE.parents[1] / "ttnn_shim" / "include"
    command = [
        "c++", "-std=c++20", "-O1", f'-DPROGRAM_DIR="{scratch}"', f"-I{scratch}", f"-I{include}", str(HERE / "reader.cpp"), str(scratch / "files.cpp"),
        "-o", str(scratch / "reader"), f"-L{library.parent}", "-lttnn_shim", f"-Wl,-rpath,{library.parent}",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return subprocess.Popen([scratch / "reader"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="surrogateescape", bufsize=1)


def ask_reader(kind: str, file: Path) -> str:
    """Of the C++ reader: "accepted" or "refused"."""
    process = reader()
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(f"{kind} {file}\n")
    answer = process.stdout.readline()
    if not answer:
        reader.cache_clear()
        raise Bad(f"the C++ reader died with code {process.wait()}")
    text = answer.removeprefix("error ")
    if len(text) > MOST_CHARACTERS:
        raise Bad(f"C++: a message of {len(text)} characters: {text[:200]}")
    known = ("manifest.json", "ttnn.load_tensor", "cannot read", str(file), "not enough memory")
    if answer != "ok\n" and not text.startswith(known) and "std::bad_alloc" not in text:
        raise Bad(f"C++: {text[:300]}")
    return "accepted" if answer == "ok\n" else "refused"


@contextlib.contextmanager
def file_of(raw: bytes, suffix: str) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(raw)
        file.flush()
        yield Path(file.name)


def tensor(rng: random.Random) -> str:
    """A tensor file by the export's reader, the shim's Python door and the emitted C++."""
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    from alchemist.export.arrays import read_array

    with file_of(bytes_damaged(rng.choice(TENSORS).read_bytes(), rng), ".tensorbin") as file:
        outcome = ask_reader("tensor", file)
        for read in (read_array, lambda path: ttnn.load_tensor(str(path)).cpu()._read()):
            try:
                read(file)
            except (AlchemistError, ttnn_shim.errors.ShimError) as error:
                outcome = refusal(error)
    return outcome


NPY_HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", "{'descr': '>f4', 'fortran_order': True, 'shape': (12,), }", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9999999999999999), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (6,), }", "{'descr': '<U999999999', 'fortran_order': False, 'shape': (1,), }", "{'descr': '<c8', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 3000 + ")" * 3000 + "}", "{'descr': '<f4', 'fortran_order': 'no', 'shape': (3, 4.0)}", "{" * 2000, "", "{'descr': None}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': " + str((1,) * 70) + "}", "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "__import__('os').abort()",
)  # fmt: skip


def npy(rng: random.Random) -> str:
    """A .npy file by the command line's reader and the emitted Python and C++."""
    from alchemist.export.arrays import read_array

    if rng.random() < 0.5:
        kind = rng.choice(("<f4", ">f8", "<f2", "|b1", "|u1", "<i8", ">i2", "<c8", "<U3", "|S5", "|O"))
        made = io.BytesIO()
        np.save(made, np.zeros([rng.randrange(4) for _ in range(rng.randrange(4))], kind), allow_pickle=True)
        raw = made.getvalue()
    else:
        header = rng.choice(NPY_HEADERS).encode()
        raw = b"\x93NUMPY" + bytes(rng.choice(((1, 0), (2, 0), (3, 0), (9, 9))))
        raw += struct.pack("<H" if raw[6] == 1 else "<I", len(header)) + header + bytes(rng.randrange(64))
    with file_of(bytes_damaged(raw, rng), ".npy") as file:
        outcome = ask_reader("npy", file)
        try:
            read_array(file)
        except AlchemistError as error:
            outcome = refusal(error)
        try:
            emitted_utils().read_npy(file, "x", rng.choice(("bfloat16", "float32", "int32", "uint8")))
        except SystemExit as error:
            refusal(error)
    return outcome


# -------------------------------------------------------------------------------------------------------------- manifests


@cache
def export() -> Path:
    """An export of a small model, made once in this process."""
    from alchemist.codegen import codegen_mlir

    scratch = Path(tempfile.mkdtemp(prefix="fuzz_export."))
    (scratch / "m.mlir").write_text(MODEL)
    with contextlib.redirect_stderr(io.StringIO()):
        codegen_mlir(scratch / "m.mlir", export_path=scratch / "out")
    return scratch / "out"


@cache
def emitted_utils() -> Any:
    """The emitted utils.py as a module."""
    import importlib.util
    import sys

    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    sys.path.insert(0, str(export()))  # it imports its neighbours
    spec = importlib.util.spec_from_file_location("fuzzed_utils", export() / "utils.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(export()))
    return module


JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    2**70,
    "",
    "x",
    "x" * 50_000,
    "\ud800",
    [],
    {},
    [[]],
    {"shape": [-1]},
    [2**40, 2**40],
    "../../etc/passwd",
    ["x"],
)


def changed_json(value: Any, rng: random.Random) -> Any:
    """One entry somewhere below becomes junk, is dropped or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        out = dict(value)
        if rng.random() < 0.15:
            del out[key]
        else:
            out[key] = changed_json(value[key], rng)
        return out
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], changed_json(value[at], rng), *value[at + 1 :]]
    return rng.choice(JUNK)


def manifest(rng: random.Random) -> str:
    """A damaged manifest.json by the emitted Python and C++, `load_codegen_py` and the next export."""
    from alchemist.export.directory import edited_files, read_manifest
    from alchemist.loaded import LoadedProgram, compare_call
    from alchemist.loaded import read_manifest as read_loaded

    good = (export() / "manifest.json").read_bytes()
    kind = rng.randrange(5)
    if kind == 0:
        raw = bytes_damaged(good, rng)
    elif kind == 1:
        deep = rng.choice((10, 70, 1000, 100_000))
        raw = rng.choice((b"[" * deep, b'{"a":' * deep, b"[" * deep + b"]" * deep, b'{"tensors":' + b"[" * deep + b"]" * deep + b"}"))
    elif kind == 2:
        raw = good.replace(
            rng.choice((b'"', b"0", b"2", b":", b",", b"{", b"}", b"[", b"e")),
            rng.choice((b"\\u12", b"\\ud800", b"1e999", b"-", b"\x00", b"\xff", b"nul")),
            rng.randrange(1, 4),
        )
    else:
        raw = json.dumps(changed_json(json.loads(good), rng)).encode()
    with file_of(raw, ".json") as file:
        outcome = ask_reader("json", file)
        try:
            emitted_utils().read_manifest(file)
        except SystemExit as error:
            outcome = refusal(error)
    if kind >= 3 or rng.random() < 0.1:
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch) / "out"
            directory.mkdir()
            for each in export().iterdir():
                if each.name.endswith(".py") and rng.random() < 0.5:  # whose place is that of the link or of what it links to
                    (directory / each.name).write_bytes(each.read_bytes())
                elif each.name != "manifest.json":
                    (directory / each.name).symlink_to(each)
            (directory / "manifest.json").write_bytes(raw)
            found = read_manifest(directory)
            if found is not None:
                edited_files(directory, found)
            try:
                compare_call(read_loaded(directory), [])
                LoadedProgram(directory).close()
            except AlchemistError as error:
                outcome = refusal(error)
    return outcome


# ---------------------------------------------------------------------------------------------------------------- options


def option_value(rng: random.Random) -> Any:
    return rng.choice((rng.choice(WORDS), rng.choice(JUNK), rng.choice(("true", "0", "bfp_bf4", "hifi4", "blackhole", True, 0, 1))))


def options(rng: random.Random) -> str:
    """Compiler options as a dictionary or text, and whole command lines."""
    from dataclasses import fields

    from alchemist.cli import main
    from alchemist.options import CompilerOptions, pairs, spellings

    known = sorted(spellings(CompilerOptions)) + [field.name for field in fields(CompilerOptions)]
    try:
        kind = rng.randrange(6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind < 3:
                keys = [rng.choice((rng.choice(known), rng.choice(known), rng.choice(WORDS))) for _ in range(rng.randrange(1, 4))]
                CompilerOptions.parse({key: option_value(rng) for key in keys})
                return "accepted"
            if kind == 3:
                keys = [rng.choice((*known, rng.choice(WORDS))) for _ in range(rng.randrange(1, 4))]
                text = " ".join(f"{key}={rng.choice(WORDS)}" for key in keys) + rng.choice(("", "'", "}", "\\"))
                CompilerOptions.parse(pairs(text))
                return "accepted"
    except AlchemistError as error:
        return refusal(error)
    return command_line(main, rng)


COMMANDS = (
    "generate-python {m} -o {o}", "generate-cpp {m} -o {o}", "model-to-python {m}", "model-to-cpp {m}", "opt {m}", "opt {m} --ttir-to-ttnn-backend-pipeline", "translate {m} --mlir-to-python",
    "show {m}", "explore {m} -o {o}", "estimate --csv {m} --out {o}", "verify {w} --json /nonexistent/x", "ops", "doctor --x", "opt {m} --pass-pipeline={w}", "opt {m} --{w}", "{w}",
)  # fmt: skip
FLAGS = (
    "--seed={w}", "--seed {w}", "--init {w}", "--entry {w}", "--inputs {w}", "--pipeline-options {w}", "--pipeline-options optimization-level={w}", "-o {w}", "--{w}", "{w}", "--overwrite", "--standalone{w}",
    "--split-input-file", "--verify-diagnostics", "--mlir-print-ir-after-all", "--options {w}", "--file-id {w}", "--profile {w}", "--csv {w}", "--out {w}",
)  # fmt: skip


def command_line(main: Callable[[list[str]], int], rng: random.Random) -> str:
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        Path("m.mlir").write_text(MODEL)
        places = {"m": rng.choice(("m.mlir", "m.mlir", ".", "{w}")), "o": rng.choice(("out", "m.mlir", "{w}"))}
        line = rng.choice(COMMANDS) + "".join(" " + rng.choice(FLAGS) for _ in range(rng.randrange(3)))
        words = [word.format(**places, w="{w}").replace("{w}", rng.choice(WORDS)) for word in line.split()]
        words = [word for word in words if not word.startswith("/") or word == "/nonexistent/x"]
        if not words or "-" in words:  # reads this process's stdin
            words = ["ops"]
        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(words)
        except SystemExit as error:  # argparse
            return f"exit {error.code}"
        text = err.getvalue()
        if "ALC-09" in text or "Traceback" in text:
            raise Bad(f"{[word[:60] for word in words]}: {text[:400]}")
        for message in text.split("error[")[1:]:
            if len(message) > MOST_CHARACTERS:
                raise Bad(f"{[word[:60] for word in words]}: a message of {len(message)} characters: {message[:200]}")
        if status == 1 and "error[" not in text and "difference" not in text:
            raise Bad(f"{[word[:60] for word in words]}: exit code {status} without an error: {text[:300]}")
        return f"status {status}"


# -------------------------------------------------------------------------------------------------------------------- API


def api(rng: random.Random) -> str:
    """Arguments of `codegen_py`, `codegen_cpp`, `codegen_mlir`, `load_codegen_py` and the shim's own functions."""
    from tools.fuzz import api_cases

    return api_cases.run(rng)


AREAS: dict[str, Callable[[random.Random], str]] = {
    "mlir": mlir,
    "binary": binary,
    "tensor": tensor,
    "npy": npy,
    "manifest": manifest,
    "options": options,
    "api": api,
}
