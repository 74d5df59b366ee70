"""Small commands and manners of the command line: explain, ops WORD, completion, doctor, pipes, Ctrl-C, public names."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest

import alchemist
from alchemist import cli, doctor, explanations
from alchemist.verify import environment
from ttnn_shim import progress


@pytest.mark.parametrize("code", ["ALC-0601", "alc-0601", "0601", "601", "error[ALC-0601]"])
def test_explain(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", code]) == 0
    said = capsys.readouterr().out
    assert said.startswith("ALC-0601: ")
    assert explanations.EXPLANATIONS["ALC-0601"].remedy in said


def test_explain_lists_all_and_knows_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(explanations.EXPLANATIONS)
    assert cli.main(["explain", "ALC-0611"]) == 1
    assert "did you mean" in capsys.readouterr().err


def test_ops_by_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ops", "CONV", "transpose"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("ttnn.conv_transpose2d ") for line in lines)
    assert all("conv" in line.lower() and "transpose" in line.lower() for line in lines[1:-2])
    assert cli.main(["ops", "no_such_op"]) == 0
    assert "no op has 'no_such_op'" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_has_commands_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("generate-python", "explain", "doctor", "math-fidelity"):
        assert word in script


def test_doctor_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.report() == 0
    capsys.readouterr()
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "available_python", lambda: None)
    monkeypatch.setattr(doctor, "is_ready", lambda: False)
    monkeypatch.setitem(doctor.PACKAGES, "no_such_package", ("magic", "pip install magic"))
    assert doctor.report() == 0
    advice = [line for line in capsys.readouterr().out.splitlines() if line.startswith("advice: ")]
    for part in ("magic needs no_such_package: pip install magic", "apt install g++", "apt install cmake", "alchemist verify needs Python 3.12"):
        assert any(part in line for line in advice), part


def test_verify_takes_the_wheel_of_its_own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment.importlib.metadata, "version", lambda name: environment.TTNN_WHEEL.removeprefix(f"{name}=="))
    assert environment.is_ready()
    assert environment._python_with_wheel(tmp_path / "state") == Path(sys.executable)


def test_a_reader_that_leaves_is_no_error() -> None:
    done = subprocess.run(f"'{sys.executable}' -m alchemist ops | head -n 1", shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("op ")


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "report", interrupted)
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_dir_has_the_public_names_alone() -> None:
    assert dir(alchemist) == sorted(alchemist.__all__)
    assert all(getattr(alchemist, name) is not None for name in dir(alchemist))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_run_says_where_it_is() -> None:
    here = Path(__file__).parent
    shown, hidden = Terminal(), io.StringIO()
    for stream in (shown, hidden):
        with progress.shown(here, stream, first_s=0.02):
            end_s = time.monotonic() + 20
            while not shown.getvalue() and time.monotonic() < end_s:
                time.sleep(0.01)
    assert "at test_commands.py:" in shown.getvalue()
    assert "in test_a_long_run_says_where_it_is: " in shown.getvalue()
    assert hidden.getvalue() == ""
    with progress.shown(here, quick := Terminal(), first_s=60.0):
        pass
    assert quick.getvalue() == ""
