"""Programs for meshes: written, read, and run against the framework's own outputs of the whole model."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import InputError, OptionError, UserError
from tests import running

PLAN = {"up": "colwise", "down": "rowwise"}


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(64, 64)
        self.up, self.down, self.norm = nn.Linear(64, 128), nn.Linear(128, 64), nn.LayerNorm(64)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        return self.norm(x + self.down(torch.relu(self.up(x))))


def _model() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return Perceptron().eval(), torch.arange(64, dtype=torch.int32).reshape(8, 8)


def test_a_program_for_a_mesh_agrees_with_the_whole_model(tmp_path: Path) -> None:
    model, ids = _model()
    shardings = {**PLAN, "words": "rowwise", "ids": (0, None)}
    made = codegen_py(model, ids, mesh=(2, 2), shardings=shardings, export_path=tmp_path / "made")
    text = (made.path / "main.py").read_text()
    assert text.count("ttnn.all_reduce(") == 2
    assert "CHIP_COLUMNS = 1" in text
    assert "Exchange  collectives: 2 all_reduce of " in text or "1 all_reduce of" in text
    manifest = json.loads((made.path / "manifest.json").read_text())
    assert manifest["device"]["mesh_shape"] == [2, 2]
    assert manifest["tensors"]["up.weight"]["shape"] == [64, 64]
    assert manifest["tensors"]["up.weight"]["placement"] == [None, 0]
    done = running.run(made.path, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "simulated t3000" in done.stdout

    # own inputs are cut as the exported ones are, and other outputs fail the check
    (tmp_path / "own").mkdir()
    np.save(tmp_path / "own" / "ids.npy", ids.numpy()[::-1].copy())
    done = running.run(made.path, "--inputs", str(tmp_path / "own"), "--outputs", str(tmp_path / "got"))
    assert done.returncode == 0, done.stderr
    want = model(ids.flip(0)).detach().numpy()
    assert np.abs(np.load(tmp_path / "got" / "output.npy") - want).max() < 0.05

    # a forgotten sum is warned about, and fails
    line = next(line for line in text.splitlines() if "ttnn.all_reduce(down" in line)
    (made.path / "main.py").write_text(text.replace(line, line.replace("ttnn.all_reduce(down, cluster_axis=CHIP_COLUMNS, memory_config=DRAM)", "down")))
    done = running.run(made.path, "--check")
    assert done.returncode == 1
    assert "PlacementWarning" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mesh": (3, 3)}, "no wormhole_b0 system has a mesh of 3x3"),
        ({"mesh": (1, 2), "shardings": {"upp": "colwise"}}, "no module is called 'upp'"),
        ({"mesh": (1, 2), "shardings": {"up.weight": "colwise"}}, r"no module is called 'up.weight'(?s:.*)expected up\n(?s:.*)a style is for a module"),
        ({"mesh": (1, 2), "shardings": {"up": (None, 0)}}, r"no tensor is called 'up'(?s:.*)expected up\.weight(?s:.*)is for a tensor"),
        ({"mesh": (1, 2), "shardings": {"up": "packed_colwise"}}, "a style that is not spread over chips"),
        ({"mesh": (1, 2), "shardings": {"up.weight": (None, 2)}}, "no placement of up.weight"),
        ({"mesh": (1, 2), "shardings": {"up.weight": 0}}, "no placement of up.weight"),
        ({"mesh": (8, 1), "shardings": "data", "size": 12}, "do not divide the batch"),
        ({"mesh": (1, 2), "shardings": PLAN, "compiler_options": {"enable_trace": True}}, "enable_trace is for programs on one chip"),
        ({"mesh": "1x2"}, "mesh is not the rows and columns of chips"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals_leave_nothing_behind(arguments: dict, message: str, tmp_path: Path) -> None:
    model, _ = _model()
    ids = torch.zeros(arguments.pop("size", 8), 8, dtype=torch.int32)
    with pytest.raises((OptionError, InputError, UserError), match=message):
        codegen_py(model, ids, export_path=tmp_path / "made", **arguments)
    assert not (tmp_path / "made").exists()


def test_cpp_gives_the_same_bits(tmp_path: Path) -> None:
    model, ids = _model()
    np.save(tmp_path / "ids.npy", ids.numpy()[::-1].copy())
    values = []
    for codegen in (codegen_py, codegen_cpp):
        made = codegen(model, ids, mesh=(2, 2), shardings={**PLAN, "words": "rowwise", "ids": (0, None)}, export_path=tmp_path / codegen.__name__)
        for options in ((), ("--inputs", str(tmp_path))):
            done = running.run(made.path, *options, *(() if options else ("--check",)), "--outputs", str(tmp_path / "out"))
            assert done.returncode == 0, done.stdout + done.stderr
            values.append(np.load(tmp_path / "out" / "output.npy"))
    assert np.array_equal(values[0], values[2])
    assert np.array_equal(values[1], values[3])
    assert not np.array_equal(values[0], values[1])


def test_a_model_without_a_plan_gets_one_that_can_be_fed_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, ids = _model()
    chosen = codegen_py(model, ids, mesh=(1, 2), export_path=tmp_path / "chosen", export_golden="none")
    err = capsys.readouterr().err
    said = next(line for line in err.splitlines() if "brings no plan" in line)
    assert "each chip of 1x2 needs 0.1 MB of weights" in err
    plan = ast.literal_eval(said.partition("shardings=")[2])
    assert plan == {"words.weight": (None, 0), "up.weight": (None, 0), "down.weight": (None, 1)}
    again = codegen_py(model, ids, mesh=(1, 2), shardings=plan, export_path=tmp_path / "again", export_golden="none")
    assert (again.path / "main.py").read_text() == (chosen.path / "main.py").read_text()


def test_a_jax_function_takes_a_dictionary(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")

    def forward(weights, x):
        heads = (jax.nn.relu(x @ weights["up"] + weights["bias"]) @ weights["down"]).reshape(8, 4, 16)
        chances = jax.nn.softmax(jax.numpy.einsum("bhd,bkd->bhk", heads, heads), -1)
        return jax.numpy.einsum("bhk,bkd->bhd", chances, heads)

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    weights = {"up": jax.random.normal(keys[0], (64, 128)) * 0.1, "bias": jax.numpy.ones(128), "down": jax.random.normal(keys[1], (128, 64)) * 0.1}
    shardings = {"*up": (None, 1), "*down": (None, 0), "x": (0, None)}
    made = codegen_py(forward, weights, jax.random.normal(keys[2], (8, 64)), mesh=(2, 2), shardings=shardings, export_path=tmp_path / "made")
    assert (made.path / "main.py").read_text().count("ttnn.all_reduce(") == 1
    done = running.run(made.path, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("mesh", [(1, 2), (2, 2), (2, 4)], ids=str)
def test_a_llama_follows_its_own_plan(mesh: tuple[int, int], level: int, tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=4, intermediate_size=256, vocab_size=512)
    made = codegen_py(
        LlamaForCausalLM(config).eval(),
        torch.randint(0, 512, (2, 32)),
        use_cache=False,
        mesh=mesh,
        export_path=tmp_path / "made",
        compiler_options={"optimization_level": level},
    )
    assert (made.path / "main.py").read_text().count("ttnn.all_reduce(") == 3  # in a loop: 1 + 2 a layer
    done = running.run(made.path, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
