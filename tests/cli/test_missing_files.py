"""A file that is not there: the same error from every command, exit code 1, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from alchemist.cli import main

COMMANDS = [
    ["generate-python", "{missing}", "-o", "{out}"], ["generate-cpp", "{missing}", "-o", "{out}"], ["model-to-python", "{missing}"],
    ["model-to-cpp", "{missing}"], ["opt", "{missing}"], ["translate", "{missing}", "--mlir-to-python"], ["show", "{missing}"],
    ["explore", "{missing}", "-o", "{out}"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_missing_input(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"missing": str(tmp_path / "missing.mlir"), "out": str(tmp_path / "out")}
    assert main([part.format(**places) for part in command]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("error[ALC-0103] no such file")
    assert "missing.mlir" in printed
    assert list(tmp_path.iterdir()) == []
