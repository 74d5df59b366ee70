"""Mistakes in edited programs: one message at the user's line, with a suggestion and the way there, and nothing of ours."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py
from alchemist.export import writer
from tests.running import run


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.up = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.tanh(self.up(self.norm(x)))


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


# Old text -> new text, what the first line says, the line it points to, other parts of the message.
MISTAKES = {
    "keyword": ("memory_config=DRAM", "memory_cofnig=DRAM", "ttnn.layer_norm: no parameter 'memory_cofnig'", "ttnn.layer_norm(", "did you mean memory_config?"),
    "op": ("ttnn.layer_norm", "ttnn.layer_nrm", "ttnn: no 'layer_nrm'", "ttnn.layer_nrm(", "did you mean layer_norm"),
    "op elsewhere": ("ttnn.layer_norm", "ttnn.concatenate_heads", "no 'concatenate_heads'", "ttnn.concatenate_heads(", "ttnn.transformer.concatenate_heads?"),
    "weight": ('weights["norm.weight"]', 'weights["norm.weigth"]', "no tensor 'layers.0.norm.weigth'", 'weights["norm.weigth"]', "'layers.0.norm.weight'?"),
    "scope": ("layers.{i}", "lyers.{i}", "no tensor 'lyers.0.norm.weight'", 'weights["norm.weight"]', "(i = 0)"),
    "type": ("epsilon=", "epsilon='a' or ", "ttnn.layer_norm: does not take (", "ttnn.layer_norm(", "expected (input_tensor: Tensor"),
    "name": ("ttnn.layer_norm(", "ttnn.layer_norm(y or ", "NameError: name 'y' is not defined", "ttnn.layer_norm(y or", "called from main.py:"),
    "near name": (
        "ttnn.layer_norm(",
        "ttnn.layer_norm(weihgts or ",
        "NameError: name 'weihgts' is not defined",
        "ttnn.layer_norm(weihgts or",
        "did you mean weights?",
    ),
    "value": ("ttnn.layer_norm(", "ttnn.permute(x, [7, 1]) or ttnn.layer_norm(", "[SHIM-0001] ttnn.permute: ", "ttnn.permute(", "called from main.py:"),
    "syntax": ("return ttnn.add", "return return ttnn.add", "SyntaxError: invalid syntax", "return return", ""),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    return codegen_py(Stack().eval(), torch.randn(32, 32), export_path=tmp_path_factory.mktemp("edited") / "out", export_golden="none").path


def edited(exported: Path, folder: Path, old: str, new: str) -> Path:
    shutil.copytree(exported, folder)
    text = (folder / "main.py").read_text()
    assert old in text
    (folder / "main.py").write_text(text.replace(old, new, 1))
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_message_at_the_users_line(mistake: str, exported: Path, tmp_path: Path) -> None:
    old, new, what, line, part = MISTAKES[mistake]
    folder = edited(exported, tmp_path / "out", old, new)
    done = run(folder, "--estimate")
    assert done.returncode == 1, done.stdout
    said = done.stderr
    assert said.startswith("error[ALC-0601] " if "[SHIM" not in what else "error[SHIM-0001] "), said
    assert what in said.splitlines()[0] or what in said, said
    assert part in said
    place = re.search(r"^  at main\.py:(\d+)", said, re.MULTILINE)
    assert place is not None, said
    assert line in (folder / "main.py").read_text().splitlines()[int(place[1]) - 1 :][0] or mistake == "scope", said
    if mistake != "syntax":
        assert re.search(r"called from main\.py:\d+ in stack \(i = 0\), main\.py:\d+ in main", said), said
    assert "Traceback" not in said
    assert "ttnn_shim" not in said
    assert "utils.py" not in said
    assert len(said) < 2000


def test_the_turn_of_the_loop_is_that_of_the_error(exported: Path, tmp_path: Path) -> None:
    folder = edited(exported, tmp_path / "out", 'weights.scope(f"layers.{i}")', "weights.scope(f\"layers.{i}\" if i < 2 else 'layer')")
    assert "(i = 2)" in run(folder, "--estimate").stderr
    whole = run(folder, "--estimate", ALCHEMIST_TRACEBACK="1").stderr
    assert "Traceback (most recent call last)" in whole
    assert "error[ALC-0601] " in whole


def test_a_reader_that_leaves_and_ctrl_c(exported: Path, tmp_path: Path) -> None:
    folder = edited(exported, tmp_path / "out", "def main() -> int:\n", "def main() -> int:\n    print('x' * 200_000, flush=True)\n")
    done = subprocess.run(f"'{folder}/run' --estimate | head -c 1", shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("x", "")
    (folder / "main.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen([str(folder / "run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)  # into the sleep
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "run: stopped\n")


def test_run_is_the_same_on_every_machine(exported: Path) -> None:
    """The exporting machine's Python is named in a file of its own, without which `run` finds another."""
    assert sys.prefix not in (exported / "run").read_text()
    assert (exported / ".interpreter").read_text() == f"{writer.interpreter_from(exported)}\n"


@pytest.mark.parametrize(
    ("prefix", "place", "found"),
    [
        ("p/.venv", "p/out", "../.venv/bin/python"),
        ("p/.venv", "p/models/a b/out", "../../../.venv/bin/python"),
        ("p/.venv", "q/out", None),
        ("p/.venv", None, None),
        ("", "p/out", None),  # no virtual environment
    ],
)
def test_run_names_the_environment_beside_it(prefix: str, place: str | None, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path of the exporting machine, where the environment belongs to the same project."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / prefix) if prefix else sys.base_prefix)
    monkeypatch.setattr(sys, "executable", str(tmp_path / prefix / "bin/python"))
    (tmp_path / "p").mkdir()
    assert writer.interpreter_from(tmp_path / place if place else None) == (found or sys.executable)
