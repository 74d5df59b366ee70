"""`./run --what-if`: suggestions applied as text, priced again by the program's own estimate."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ttnn_shim.reports.answers import Edit
from ttnn_shim.whatif import Source, edited

from alchemist import codegen_py
from tests.e2e.models import torch_mlp

SMALL = """import ttnn

# ä: columns count bytes
def layer(x, weights):
    y = ttnn.linear(x, weights["ä"], memory_config=DRAM)
    return ttnn.add(
        y,
        x,
    )
"""


@pytest.mark.parametrize(
    ("op", "name", "text"),
    [
        ("ttnn.linear", "memory_config", 'ttnn.linear(x, weights["ä"], memory_config=L1)'),
        ("ttnn.linear", "dtype", 'ttnn.linear(x, weights["ä"], memory_config=DRAM, dtype=L1)'),
        ("ttnn.add", "dtype", "ttnn.add(\n        y,\n        x, dtype=L1\n    )"),
    ],
)
def test_keywords_of_a_call(op: str, name: str, text: str) -> None:
    source = Source("main.py", SMALL)
    node, function = next(iter(source.calls(op)))
    assert function == "layer"
    changed = edited(SMALL, [source.keyword(node, name, "L1")])
    assert text in changed
    compile(changed, "main.py", "exec")


def test_edits_at_one_place_stand_in_their_order() -> None:
    assert edited("f()", [Edit("", 2, 2, "a"), Edit("", 2, 2, ", b"), Edit("", 0, 1, "g")]) == "g(a, b)"


def bert() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(num_hidden_layers=2)).eval(), (torch.randint(0, 1000, (1, 128)),)


def resnet50() -> tuple[Any, tuple[Any, ...]]:
    import torch
    import torchvision

    return torchvision.models.resnet50(weights=None).eval(), (torch.randn(1, 3, 224, 224),)


def mlp() -> tuple[Any, tuple[Any, ...]]:
    model, args, _ = torch_mlp()
    return model, args


@pytest.mark.parametrize("build", [mlp, pytest.param(bert, marks=pytest.mark.slow), pytest.param(resnet50, marks=pytest.mark.slow)])
def test_the_best_three_applied_gain_what_is_told(build: Callable[[], tuple[Any, tuple[Any, ...]]], tmp_path: Path) -> None:
    model, args = build()
    codegen_py(model, *args, export_path=tmp_path / "out", export_golden="none", overwrite=True)
    command = [sys.executable, "-m", "ttnn_shim", "what-if", tmp_path / "out", "--json", tmp_path / "answer.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    before_ns = estimate(tmp_path / "out")
    assert answer["device_ns"] == pytest.approx(before_ns, rel=0.001)
    assert answer["together"]
    gains = [(answer["device_ns"] - answer["together_ns"], answer["together"]), *((one["gain_ns"], [one]) for one in answer["suggestions"][:3])]
    for number, (told_ns, applied) in enumerate(gains):
        copy = tmp_path / f"copy_{number}"
        shutil.copytree(tmp_path / "out", copy)
        edits = [Edit(**edit) for one in applied for edit in one["edits"]]
        for name in {edit.file for edit in edits}:
            (copy / name).write_text(edited((copy / name).read_text(), [edit for edit in edits if edit.file == name]))
        assert before_ns - estimate(copy) == pytest.approx(told_ns, rel=0.1)


def estimate(folder: Path) -> float:
    subprocess.run([folder / "run", "--estimate", "--json", folder / "result.json"], capture_output=True, check=True)
    return float(json.loads((folder / "result.json").read_text())["device_ns"])


def test_a_program_that_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import ttnn\nraise ValueError('x')\n")
    done = subprocess.run([sys.executable, "-m", "ttnn_shim", "what-if", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "what-if: the program does not run: ValueError: x\n"
