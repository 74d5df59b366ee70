"""The lit files of `passes/`, run in this process (lit itself runs them too: `lit tests/mlir/passes`)."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from filecheck.main import main as filecheck

from alchemist.cli import main

FILES = sorted((Path(__file__).parent / "passes").glob("*.mlir"))


def _runs(path: Path) -> list[str]:
    return [line.split("RUN:", 1)[1].strip() for line in path.read_text().splitlines() if line.startswith("// RUN:")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lit_file(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = _runs(path)
    assert runs
    for line in runs:
        command, _, check = line.replace("%s", shlex.quote(str(path))).partition("|")
        words = shlex.split(command)
        assert words[0] == "alchemist"
        status = main(words[1:])
        captured = capsys.readouterr()
        assert status == 0, captured.err
        if check:
            output = tmp_path / "out.mlir"
            output.write_text(captured.out)
            arguments = [*shlex.split(check)[1:], "--input-file", str(output)]
            with pytest.raises(SystemExit) as end:
                filecheck(["filecheck", *arguments])
            told = capsys.readouterr()
            assert end.value.code in (0, None), told.out + told.err
