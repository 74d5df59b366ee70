"""What a user can get wrong with files, names and options: an error of theirs in our shape, never a traceback or "a bug in alchemist"."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ttnn_shim.__main__ import main as launcher_main

from alchemist import codegen_py, source_text
from alchemist import progress as progress_module
from alchemist.cli import main
from alchemist.driver.show import readable, size_bytes
from alchemist.errors import (
    MOST_CHARACTERS,
    AlchemistError,
    FileError,
    FrontendError,
    InputError,
    InternalError,
    ParseError,
    UnsupportedOpError,
    UserError,
    as_our_error,
    printable,
)
from alchemist.ir.attributes import tensor
from alchemist.ir.layout import TTNNLayout
from alchemist.model_files import FileCall, mlir_loader
from alchemist.progress import Progress
from tests.tables import table

MODEL = """
func.func @main(%arg0: tensor<32x32xf32> {ttir.name = "x"}) -> tensor<32x32xf32> {
  %0 = "ttir.relu"(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}
"""
LONG = "x" * 300


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "m.mlir").write_text(MODEL)
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, array in {"pickled": np.array([{}], dtype=object), "text": np.array(["a"]), "complex": np.array([1j])}.items():
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "x.npy", array, allow_pickle=True)
    for name, raw in {"empty": b"", "cut": b"\x93NUMPY\x01\x00v\x00{'descr'", "version": b"\x93NUMPY\x09\x00v\x00", "pickle": pickle.dumps([1])}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.npy").write_bytes(raw)
    huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 9999999), }\n"
    (tmp_path / "huge").mkdir()
    (tmp_path / "huge" / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(huge).to_bytes(2, "little") + huge)
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / "x.npy")
    (tmp_path / "fifo_tensor").mkdir()
    os.mkfifo(tmp_path / "fifo_tensor" / "x.tensorbin")
    (tmp_path / "bad.csv").write_text("OP CODE,TIME\nMatmul,abc\n")
    return tmp_path


COMMANDS = [
    "generate-python m.mlir -o out --seed -1", "generate-cpp m.mlir -o out --seed 99999999999999999999", "model-to-python m.mlir --seed -1",
    *(f"generate-python m.mlir -o out --inputs {name}" for name in ("pickled", "text", "complex", "empty", "cut", "version", "pickle", "huge", "fifo", "fifo_tensor", "m.mlir", LONG)),
    "generate-python directory -o out", "generate-python loop -o out", f"generate-python {LONG} -o out", "generate-python m.mlir/x -o out",
    f"generate-python m.mlir -o {LONG}", "generate-python m.mlir -o m.mlir/x", "generate-python m.mlir -o loop", "generate-python m.mlir -o /proc/nowhere/x",
    "opt directory", "opt m.mlir -o directory", "opt m.mlir -o missing/x", f"opt m.mlir -o {LONG}", "opt m.mlir/x", "opt loop",
    "translate m.mlir --mlir-to-python -o directory", "translate m.mlir --mlir-to-cpp -o missing/x", "show directory", "show m.mlir/x",
    "explore m.mlir -o directory", "explore m.mlir -o missing/x", "explore m.mlir -o out.json --profile m.mlir", "explore m.mlir -o out.json --profile bad.csv",
    "estimate --csv directory --out out.csv", "estimate --csv missing --out out.csv", "estimate --csv m.mlir --out directory",
    "estimate --csv m.mlir --out missing/x", f"estimate --csv m.mlir --out {LONG}", "verify directory --json missing/x", "verify directory --json directory",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    assert main(command.split()) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(("error[ALC-0", "error[SHIM-0")), printed
    assert "ALC-09" not in printed
    assert "Traceback" not in printed
    assert len(printed) <= MOST_CHARACTERS
    assert sorted(path for path in place.rglob("*") if path.name != "out.json") == before


@pytest.mark.parametrize("command", ["opt closed.mlir", "generate-python m.mlir -o closed/out", "opt m.mlir -o closed/x", "verify directory --json closed/x"])
def test_mode_000(command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(place)
    assert main(["model-to-python", "m.mlir"]) == 0  # loads every module, which another user may not be able to
    assert main(["opt", "m.mlir"]) == 0
    root = os.geteuid() == 0
    for folder in (place, place.parent, place.parent.parent, place.parent.parent.parent):
        if folder.name.startswith(("pytest", "test", "popen")) and root:
            folder.chmod(0o777)
    (place / "closed.mlir").write_text(MODEL)
    (place / "closed.mlir").chmod(0)
    (place / "closed").mkdir(mode=0)
    capsys.readouterr()
    if root:  # whom modes do not stop
        os.seteuid(65534)
    try:
        assert main(command.split()) == 1
    finally:
        if root:
            os.seteuid(0)
    printed = capsys.readouterr().err
    assert printed.startswith("error[ALC-0")
    assert "no permission" in printed
    assert "ALC-09" not in printed


def test_names_that_are_no_text(place: Path) -> None:
    name = os.fsencode(place) + b"/caf\xe9.mlir"
    os.rename(place / "m.mlir", name)
    done = subprocess.run([sys.executable, "-m", "alchemist", "generate-python", name, "-o", os.fsencode(place) + b"/o\xff"],
                          capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"\\udce9" in (Path(os.fsdecode(os.fsencode(place) + b"/o\xff")) / "main.py").read_bytes()


@pytest.mark.slow
def test_without_docstrings_and_asserts(place: Path) -> None:
    for words in (["generate-python", "m.mlir", "-o", "out"], ["opt", "--list"], ["opt", "m.mlir", "--ttir-to-ttnn-backend-pipeline"]):
        done = subprocess.run([sys.executable, "-OO", "-m", "alchemist", *words], cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, "-OO", "-m", "ttnn_shim", "run", "out/main.py", "--check"], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "error",
    [
        UserError("m" * 400_000, op="o" * 3000, location="l" * 3000, expected="e" * 3000, got="g" * 3000, hint="h" * 3000),
        UserError("short", hint="h" * 9000),
        UnsupportedOpError("o" * 3000, ops=tuple(("aten.op", 3, "f.py:3", "r" * n) for n in range(300))),
        as_our_error(OSError(36, "x", "n" * 400_000)),
        as_our_error(KeyError("k" * 400_000)),
    ],
)
def test_length(error: AlchemistError) -> None:
    text = str(error)
    assert len(text) <= MOST_CHARACTERS
    assert "left out" in text or "more (" in text or isinstance(error, InternalError)
    assert text.startswith(f"error[{error.code}]")


def test_characters_of_messages() -> None:
    text = str(UserError("a\ud800b\x1b[2Jc\u202ed\x00\u00e9\u6f22", got="\udcff"))
    assert text == "error[ALC-0100] a\\ud800b\\x1b[2Jc\\u202ed\\x00\u00e9\u6f22\n  got \\udcff"
    text.encode()
    whole = "".join(map(chr, (*range(0x3000), *range(0xD7F0, 0xE010))))
    for each, shown in zip(whole, map(printable, whole), strict=True):
        marks = unicodedata.bidirectional(each) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") or each in "\u200e\u200f"
        unseen = marks or (unicodedata.category(each) in ("Cc", "Cs") and each not in "\t\n")
        assert shown == (ascii(each)[1:-1] if unseen else each)


def test_what_is_left_out_is_counted() -> None:
    """The longest parts are cut to one length, whatever the short ones leave of 2000 - 80 characters, and say how many of their own are missing."""
    head, got, hint = UserError("m" * 1000, got="g" * 5000, hint="h" * 500).text(2000).split("\n")
    assert hint == "  hint: " + "h" * 500
    for text, label, letter, size, missing in ((head, "error[ALC-0100] ", "m", 1000, 290), (got, "  got ", "g", 5000, 4290)):
        front, mark, back = text.removeprefix(label).split(" ... ")
        assert mark == f"{missing} characters left out"
        assert front + back == letter * (size - missing - len(f" ... {mark} ... "))


@pytest.mark.parametrize(
    "words", [["estimate", "--csv", "{}", "--out", "x.csv"], ["generate-python", "{}", "-o", "out"], ["opt", "m.mlir", "-o", "{}"], ["{}"]]
)
@pytest.mark.parametrize("text", ["\ud800", "a\0b"], ids=["lone surrogate", "NUL"])
def test_arguments_that_no_shell_passes(words: list[str], text: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(place)
    before = sorted(path.name for path in place.iterdir())
    assert main([word.format(text) for word in words]) == 1
    assert f"got {text!a}" in capsys.readouterr().err
    assert sorted(path.name for path in place.iterdir()) == before


@table("run", [main, launcher_main], ids=["alchemist", "ttnn_shim"])
@table("command", ["report", "compare", "what-if", "run", "show", "explore", "verify", "opt", "translate", ""])
@table("words", [["/nonexistent/m", "/nonexistent/n", "--" + "x" * 100_000], ["y" * 100_000] * 3, ["z" * 9000], ["--arch", "w" * 9000]])
def test_long_arguments(run: Callable[[list[str]], int], command: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What a command does not know or find is told without its whole text, whether the command exists or not."""
    with contextlib.suppress(SystemExit):
        run([command, *words])
    assert 0 < len(capsys.readouterr().err) < 4000


@pytest.mark.parametrize(
    "error", [InputError("bad x", op="an.op", location="m.py:3", expected="one", got="two", hint="three"), UnsupportedOpError("a", code="ALC-0999")]
)
def test_errors_come_out_of_other_processes(error: AlchemistError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.text(), again.code, again.op, again.location) == (error.text(), error.code, error.op, error.location)


def test_what_nothing_has_explained() -> None:
    memory = as_our_error(MemoryError("12 GiB"))
    assert (type(memory), memory.code, memory.got) == (UserError, "ALC-0105", "12 GiB")
    assert isinstance(as_our_error(RecursionError()), ParseError)
    assert as_our_error(memory) is memory
    ours = as_our_error(KeyError("x" * 400))
    assert isinstance(ours, InternalError)
    assert ours.message == f"KeyError: {chr(39)}{'x' * 299}"


@pytest.mark.parametrize("from_stream", [False, True])
def test_sources_are_read_up_to_a_size(from_stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"ab\xffd")
    source = (lambda: io.BytesIO(b"ab\xffd")) if from_stream else (lambda: tmp_path / "x")
    monkeypatch.setattr(source_text, "MOST_BYTES", 4)
    assert source_text.read_bytes(source()) == b"ab\xffd"
    monkeypatch.setattr(source_text, "MOST_BYTES", 3)
    with pytest.raises(FileError, match="the file is too large") as error:
        source_text.read_bytes(source())
    assert error.value.location == ("<stdin>" if from_stream else str(tmp_path / "x"))
    with pytest.raises(FileError, match="invalid file name"):
        source_text.read_bytes("a\0b")


@pytest.mark.parametrize(("name", "hint"), [("model.mlir", "call codegen_mlir for MLIR files"), ("model.pt", "")])
def test_a_model_is_no_other_file(name: str, hint: str) -> None:
    with pytest.raises(FrontendError, match="the file of a model must be an ONNX file") as error:
        codegen_py(name, export_path="never")
    assert (error.value.hint, error.value.got) == (hint, repr(name))


@pytest.mark.parametrize(("parts", "names"), [([MODEL], [""]), ([MODEL, MODEL], ["0_main", "1_main"]), ([MODEL, "module {}", MODEL], ["0_main", "2_main"])])
def test_programs_of_parts_have_their_numbers(parts: list[str], names: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.mlir").write_text("\n// -----\n".join(parts))
    assert [name.removeprefix("main") for name in mlir_loader(FileCall.checked(tmp_path / "x.mlir"), "")()] == names


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        (tensor((3, 5), "f32"), 60), (tensor((3, 5), "bf16"), 30), (tensor((3, 5), "i8"), 15), (tensor((3, 5), "i64"), 120), (tensor((3, 5), "si32"), 60),
        (TTNNLayout.make((33, 5), "bf16").type_for((33, 5)), 64 * 32 * 2), (TTNNLayout.make((33, 5), "bfp_bf8").type_for((33, 5)), 2 * 1088),
        (TTNNLayout.make((33, 5), "f32", page="row_major").type_for((33, 5)), 660),
    ],
)  # fmt: skip
def test_bytes_of_a_tensor(type_: Any, size: int) -> None:
    assert size_bytes(type_) == size


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1 << 20, "1.0 MiB"), (1 << 30, "1.0 GiB"), (5 << 40, "5120.0 GiB")]
)
def test_readable_sizes(size: int, text: str) -> None:
    assert readable(size) == text


def test_stages_are_told_and_timed(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose in (True, False):
        progress = Progress(verbose=verbose)
        with progress.stage("capture", "a model"), progress.stage("lower"):
            pass
        with progress.stage("lower"):
            pass
        assert list(progress.stage_seconds) == ["lower", "capture"]
        told = capsys.readouterr().err
        assert [line.partition("] ")[2] for line in told.splitlines()] == (["capture: a model ...", "lower ...", "lower ..."] if verbose else [])


def test_long_work_is_reported_in_a_log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALCHEMIST_PROGRESS", raising=False)
    monkeypatch.setattr(progress_module, "PATIENCE_S", 0.2)
    progress = Progress()
    with progress.stage("short"):
        pass
    with progress.stage("long"):
        time.sleep(0.5)
    with progress.stage("next"):
        pass
    progress.say("wrote it", always=True)
    lines = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == "long ..." and lines[-1] == "wrote it" and "short ..." not in lines
