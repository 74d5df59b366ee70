"""After an edit: `--check` says that it is wrong, `--check-ops` where; an edited program stands in for its model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist import codegen_cpp, codegen_py, load_codegen_py
from alchemist.errors import InputError, UserError
from tests.e2e.models import SMALL, Built
from tests.e2e.test_codegen import copy_of
from tests.running import run
from tests.shared import made_once, small_export


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small models with all intermediate values of the framework."""

    def make_steps(folder: Path) -> None:
        model, args, kwargs = jax_steps()
        codegen_py(model, *args, export_path=folder / "out", export_golden="ops", **kwargs)

    names = ("torch_attention", "torch_cnn", "jax_transformer_block")
    paths = {name: small_export(tmp_path_factory, name, codegen_py, export_golden="ops") for name in names}
    return paths | {"jax_steps": made_once(tmp_path_factory, "jax_steps", make_steps) / "out"}


def jax_steps() -> Built:
    """The same function called twice, in a scan, in a loop with a counter, and in a branch that data decides."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def body(state: Any, row: Any) -> tuple[Any, Any]:
        state = jax.nn.silu(state @ jnp.full((32, 32), 0.02) + row)
        return state, jnp.tanh(state) * 2.0

    def model(x: Any, rows: Any) -> Any:
        state, collected = lax.scan(body, x, rows)
        state = lax.fori_loop(0, 3, lambda i, s: jax.nn.softplus(s) - 0.5 * i, state)
        state = lax.cond(state[0, 0] > 0, lambda s: jax.nn.silu(s), lambda s: jax.nn.silu(s * 3) + 1, state)
        return jax.nn.silu(state) + collected.sum(0)

    keys = jax.random.split(jax.random.key(0))
    return model, (jax.random.normal(keys[0], (32, 32)), jax.random.normal(keys[1], (4, 32, 32))), {}


@pytest.mark.parametrize("name", ["torch_attention", "torch_cnn", "jax_transformer_block", "jax_steps"])
def test_every_op_of_an_unedited_program_agrees(exports: dict[str, Path], name: str) -> None:
    done = run(exports[name], "--check", "--check-ops")
    assert done.returncode == 0, done.stdout + done.stderr
    calls, known, agree = map(int, re.findall(r"check-ops: (\d+) calls, (\d+) have a value .*, (\d+) agree", done.stdout)[0])
    assert known == agree
    assert known >= calls // 4


def edit(directory: Path, pattern: str, replacement: str) -> int:
    """Replaces the first match in main.py; returns its line."""
    text = (directory / "main.py").read_text()
    match = re.search(pattern, text)
    assert match is not None, text
    (directory / "main.py").write_text(text[: match.start()] + match.expand(replacement) + text[match.end() :])
    return text.count("\n", 0, match.start()) + 1


@pytest.mark.parametrize(
    ("name", "pattern", "replacement"),
    [
        ("torch_attention", r"ttnn\.add\(", "ttnn.subtract("),  # another op
        ("torch_attention", r'activation="gelu"', 'activation="tanh"'),  # another option
        ("torch_cnn", r"ttnn\.mean\(", "ttnn.sum("),  # perfectly correlated, and wrong
        ("jax_transformer_block", r'activation="gelu_tanh"', 'activation="tanh"'),
        ("jax_steps", r"ttnn\.tanh\(", "ttnn.sigmoid("),  # in the body of the scan
    ],
)
def test_wrong_edit_is_caught_and_located(exports: dict[str, Path], tmp_path: Path, name: str, pattern: str, replacement: str) -> None:
    out = copy_of(exports[name], tmp_path / "out")
    line = edit(out, pattern, replacement)
    assert run(out, "--check").returncode == 1
    done = run(out, "--check-ops")
    assert done.returncode == 1, done.stdout + done.stderr
    first = re.search(r"FAILED: first at main\.py:(\d+)", done.stdout)
    assert first is not None, done.stdout
    assert abs(int(first[1]) - line) <= 12, done.stdout  # the call's first line; the edit may stand further down in it


def test_inserted_line_is_named(exports: dict[str, Path], tmp_path: Path) -> None:
    out = copy_of(exports["torch_attention"], tmp_path / "out")
    lines = (out / "main.py").read_text().splitlines()
    number = next(i for i, text in enumerate(lines) if re.match(r"\s+(\w+) = ttnn\.layer_norm\(", text))
    end = next(i for i in range(number, len(lines)) if ")" in lines[i] and lines[i].count("(") <= lines[i].count(")"))
    indent, name = re.match(r"(\s+)(\w+) =", lines[number]).groups()  # type: ignore[union-attr]
    lines.insert(end + 1, f"{indent}{name} = ttnn.neg({name})")
    (out / "main.py").write_text("\n".join(lines) + "\n")
    done = run(out, "--check-ops")
    assert done.returncode == 1, done.stdout
    assert f"not in the export: main.py:{end + 2}" in done.stdout


def test_right_edit_passes(exports: dict[str, Path], tmp_path: Path) -> None:
    """gelu written out as x * 0.5 * (1 + erf(x / sqrt(2))): other ops, the same values."""
    out = copy_of(exports["torch_attention"], tmp_path / "out")
    text = (out / "main.py").read_text()
    match = re.search(r'\n( +)(\w+) = (ttnn\.linear\([^=]*=[^=]*=[^=]*), activation="gelu"\s*\)[^\n]*', text)
    assert match is not None, text
    indent, name, call = match.groups()
    edited = (
        f"\n{indent}up = {call})"
        f"\n{indent}half = ttnn.multiply(up, 0.5)"
        f"\n{indent}{name} = ttnn.multiply(half, ttnn.add(ttnn.erf(ttnn.multiply(up, 0.70710678)), 1.0))"
    )
    (out / "main.py").write_text(text[: match.start()] + edited + text[match.end() :])
    done = run(out, "--check", "--check-ops")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["jax_transformer_block", "jax_steps"])
def test_recording_values_does_not_change_a_jax_program(exports: dict[str, Path], tmp_path: Path, name: str) -> None:
    model, args, kwargs = jax_steps() if name == "jax_steps" else SMALL[name]()
    codegen_py(model, *args, export_path=tmp_path / "out", **kwargs)
    assert (tmp_path / "out" / "main.py").read_text() == (exports[name] / "main.py").read_text()


# --------------------------------------------------------------------------------------------------------------- load


@pytest.mark.parametrize("name", ["torch_attention", "torch_cnn", "jax_mlp"])
def test_loaded_program_stands_in_for_the_model(name: str, tmp_path: Path) -> None:
    model, args, kwargs = SMALL[name]()
    codegen_py(model, *args, export_path=tmp_path / "out", **kwargs)
    expected = model(*args, **kwargs)
    result = load_codegen_py(model, *args, load_path=tmp_path / "out", **kwargs)
    assert type(result).__module__.split(".")[0] == type(expected).__module__.split(".")[0]
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    values = [np.asarray(one.detach().float() if hasattr(one, "detach") else one).ravel() for one in (result, expected)]
    assert np.corrcoef(*values)[0, 1] > 0.999


def test_loaded_program_is_the_edited_one(exports: dict[str, Path], tmp_path: Path) -> None:
    import torch

    out = copy_of(exports["torch_cnn"], tmp_path / "out")
    model, args, _ = SMALL["torch_cnn"]()
    edit(out, r"return ttnn\.linear\(", "return ttnn.neg(ttnn.linear(")
    text = (out / "main.py").read_text()
    start = text.index("return ttnn.neg(ttnn.linear(")
    end = text.index("\n\n", start)
    call, _, note = text[start:end].rpartition(")")
    (out / "main.py").write_text(text[:start] + call + "))" + note + text[end:])
    torch.testing.assert_close(load_codegen_py(model, *args, load_path=out), -model(*args), rtol=2e-2, atol=2e-2)


def test_output_structure_and_written_buffers(tmp_path: Path) -> None:
    import torch

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4, 32))

        def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> dict[str, Any]:
            self.total.add_(x)
            return {"scaled": x * scale, "sums": (self.total * 2, None)}

    model, x, scale = Counter().eval(), torch.randn(4, 32), torch.randn(32)
    codegen_py(model, x, scale=scale, export_path=tmp_path / "out")
    result = load_codegen_py(model, x, scale=scale, load_path=tmp_path / "out")
    assert set(result) == {"scaled", "sums"}
    assert result["sums"][1] is None
    torch.testing.assert_close(result["scaled"], x * scale, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(model.total, x, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(result["sums"][0], 2 * x, rtol=1e-3, atol=1e-3)


def test_what_cannot_be_loaded(exports: dict[str, Path], tmp_path: Path) -> None:
    import torch

    model, args, kwargs = SMALL["torch_mlp"]()
    with pytest.raises(UserError):
        load_codegen_py(model, *args, load_path=tmp_path)
    with pytest.raises(InputError):
        load_codegen_py(model, torch.zeros(1, 40), load_path=exports["torch_cnn"])
    codegen_cpp(model, *args, export_path=tmp_path / "cpp", **kwargs)
    with pytest.raises(UserError):
        load_codegen_py(model, *args, load_path=tmp_path / "cpp")


# ------------------------------------------------------------------------------------------------------- torch.compile


def test_torch_compile_with_a_graph_break(tmp_path: Path) -> None:
    import torch

    class Broken(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = torch.nn.Linear(32, 64)
            self.down = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.BatchNorm1d(32))

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            hidden = torch.relu(self.up(x))
            torch._dynamo.graph_break()
            return {"out": self.down(hidden), "hidden": hidden}

    torch.manual_seed(0)
    model, x = Broken().eval(), torch.randn(4, 32)
    compiled = torch.compile(model, backend="alchemist", options={"export_path": str(tmp_path / "graphs")}, dynamic=False)
    with torch.no_grad():
        expected = model(x)
        for value in (x, x * 2):
            result, expected = compiled(value), model(value)
            torch.testing.assert_close(result, expected, rtol=2e-3, atol=2e-3)
    assert sorted(path.name for path in (tmp_path / "graphs").iterdir()) == ["graph_0", "graph_1"]
    text = (tmp_path / "graphs" / "graph_1" / "main.py").read_text()
    assert "down.0" in text
    assert "test_edit_loop.py" in text
    assert run(tmp_path / "graphs" / "graph_1", "--check").returncode == 0


def test_torch_compile_reads_state_and_weights_of_now(tmp_path: Path) -> None:
    """A written buffer and a counter, a weight changed as optimizers do, one changed through `.data`; then another input shape."""
    import copy

    import torch

    class Running(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(32, 32)
            self.register_buffer("total", torch.zeros(32))
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int, torch.Tensor]:
            self.total += x.sum(0)
            self.calls += 1
            return self.linear(self.total) * self.calls, x.shape[0], x.sum()

    model = Running().eval()
    expected = copy.deepcopy(model)
    compiled = torch.compile(model, backend="alchemist", options={"export_path": str(tmp_path / "graphs")})

    def agree(length: int) -> None:
        (product, rows, total), (wanted, wanted_rows, wanted_total) = compiled(torch.ones(length, 32)), expected(torch.ones(length, 32))
        assert (rows, float(total)) == (wanted_rows, float(wanted_total))
        # A float32 product has 1.6e-3 in the bit model; values that cancel are off by more of themselves.
        assert float((product - wanted).norm() / wanted.norm()) < 5e-3

    with torch.no_grad():
        for change in (None, lambda one: one.linear.weight.mul_(2), lambda one: one.linear.bias.data.fill_(4), None):
            if change is not None:
                change(model), change(expected)
            agree(4)
        for length in (8, 4, 8, 3):
            agree(length)
    assert int(model.calls) == 8
    assert len(list((tmp_path / "graphs").iterdir())) in (3, 4)  # torch may leave the first graph's shape open for later ones


def test_torch_compile_refuses_unknown_options(tmp_path: Path) -> None:
    import torch

    compiled = torch.compile(torch.nn.Linear(32, 32).eval(), backend="alchemist", options={"path": str(tmp_path)})
    with torch.no_grad(), pytest.raises(Exception, match="export_path"):
        compiled(torch.randn(2, 32))
