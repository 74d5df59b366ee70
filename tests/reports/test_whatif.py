"""`./run --what-if`: suggestions applied as text, priced again by the program's own estimate."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ttnn_shim.reports.answers import Edit
from ttnn_shim.reports.calls import Call, Run

from alchemist import codegen_py
from alchemist.tools.batches import reshaped
from alchemist.tools.changes import suggestions
from alchemist.tools.fusions import fusions
from alchemist.tools.program_text import Source, edited
from tests.e2e.models import Built, bert, resnet50, torch_mlp
from tests.running import run, simulator
from tools.bench.patterns import CASES

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


FUSIBLE = """import ttnn
def layer(x, up, weights):
    a = ttnn.linear(x, weights["a"])
    b = ttnn.gelu(a)
    del a
    c = ttnn.silu(b, memory_config=DRAM)
    d = ttnn.multiply(c, up)
    e = ttnn.linear(d, weights["e"], activation="silu")
    f = ttnn.multiply(up, e)
    g = ttnn.add(f, x)
    h = ttnn.layer_norm(g, weight=weights["h"])
    k = ttnn.matmul(h, weights["k"])
    m = ttnn.typecast(k, ttnn.float32)
    n = ttnn.add(m, up)
    o = ttnn.relu(n)
    p = ttnn.relu(x)
    return o, p, p
"""


@pytest.mark.parametrize(
    ("what", "rows"),
    [
        ("ttnn.gelu as part of ttnn.linear", ('a = ttnn.linear(x, weights["a"], activation="gelu")', "b = a")),
        ("ttnn.multiply: silu as part of it", ("c = b", "d = ttnn.multiply(c, up, input_tensor_a_activations=[ttnn.UnaryOpType.SILU])")),
        (
            "ttnn.multiply: silu as part of it, not of ttnn.linear",
            ('e = ttnn.linear(d, weights["e"])', "f = ttnn.multiply(up, e, input_tensor_b_activations=[ttnn.UnaryOpType.SILU])"),
        ),
        ("ttnn.layer_norm: the sum before it as part of it", ("g = f", 'h = ttnn.layer_norm(g, weight=weights["h"], residual_input_tensor=x)')),
        ("ttnn.matmul: its result as ttnn.float32 at once", ('k = ttnn.matmul(h, weights["k"], dtype=ttnn.float32)', "m = k")),
        ("ttnn.relu as part of ttnn.add", ("n = ttnn.add(m, up, activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)])", "o = n")),
    ],
)
def test_fusions(what: str, rows: tuple[str, ...]) -> None:
    source = Source("main.py", FUSIBLE)
    ops = {f"ttnn.{name}" for name in ("linear", "gelu", "silu", "multiply", "add", "layer_norm", "matmul", "typecast", "relu")}
    found = {one.what: one for one in fusions(source, ops)}
    changed = edited(FUSIBLE, found[what].edits).splitlines()
    kept = [row.strip() for row in changed if row not in FUSIBLE.splitlines()]
    assert kept == list(rows)
    assert len(changed) == len(FUSIBLE.splitlines())
    assert not fusions(source, set())


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ('ttnn.linear(x, w)', 'ttnn.gelu(a)', 1), ('ttnn.linear(x, w)', 'ttnn.gelu(a, memory_config=L1)', 1), ('ttnn.linear(x, w)', 'ttnn.gelu(a, fast_and_approximate_mode=True)', 0),
        ('ttnn.linear(x, w)', 'ttnn.gelu(a, True)', 0), ('ttnn.linear(x, w, activation="relu")', 'ttnn.gelu(a)', 0), ('ttnn.matmul(x, w)', 'ttnn.tanh(a)', 1), ('ttnn.linear(x, w)', 'ttnn.exp(a)', 0),
        ('ttnn.add(x, w)', 'ttnn.relu(a)', 1), ('ttnn.add(x, w, activations=[R])', 'ttnn.relu(a)', 0), ('ttnn.subtract(x, w)', 'ttnn.sigmoid(a)', 1), ('ttnn.exp(x)', 'ttnn.relu(a)', 0),
        ('ttnn.linear(x, w, activation="silu")', 'ttnn.multiply(a, x)', 1), ('ttnn.linear(x, w, activation="silu")', 'ttnn.multiply(x, a)', 1), ('ttnn.linear(x, w, activation="exp")', 'ttnn.multiply(a, x)', 0),
        ('ttnn.linear(x, w, activation="silu", core_grid=G)', 'ttnn.multiply(a, x)', 0), ('ttnn.linear(x, w, activation="silu", program_config=P)', 'ttnn.multiply(a, x)', 0), ('ttnn.linear(x, w)', 'ttnn.multiply(a, x)', 0),
        ('ttnn.linear(x, w, activation="silu")', 'ttnn.multiply(a, x, input_tensor_a_activations=[R])', 0), ('ttnn.linear(x, w, activation="silu")', 'ttnn.multiply(a, x, input_tensor_b_activations=[R])', 1),
        ('ttnn.linear(x, w, activation="silu")', 'ttnn.multiply(x, y, a)', 0), ('ttnn.silu(x)', 'ttnn.add(a, y)', 1), ('ttnn.silu(x, memory_config=L1)', 'ttnn.add(y, a)', 1), ('ttnn.silu(x, output_tensor=y)', 'ttnn.add(a, y)', 0),
        ('ttnn.relu(x, 1)', 'ttnn.add(a, y)', 0), ('ttnn.exp(x)', 'ttnn.add(a, y)', 0), ('ttnn.silu(x)', 'ttnn.add(a, y, input_tensor_a_activations=[R])', 0), ('ttnn.silu(x)', 'ttnn.divide(a, y)', 0),
        ('ttnn.add(x, y)', 'ttnn.layer_norm(a)', 1), ('ttnn.add(x, y, memory_config=L1)', 'ttnn.rms_norm(a)', 1), ('ttnn.add(x, y, dtype=D)', 'ttnn.rms_norm(a)', 0), ('ttnn.subtract(x, y)', 'ttnn.rms_norm(a)', 0), ('ttnn.add(x, y)', 'ttnn.softmax(a)', 0),
        ('ttnn.add(x, y)', 'ttnn.rms_norm(y, a)', 0), ('ttnn.add(x, y)', 'ttnn.rms_norm(a, residual_input_tensor=y)', 0), ('ttnn.add(x)', 'ttnn.rms_norm(a)', 0),
        ('ttnn.matmul(x, y)', 'ttnn.typecast(a, D)', 1), ('ttnn.multiply(x, y)', 'ttnn.typecast(a, D)', 1), ('ttnn.exp(x)', 'ttnn.typecast(a, D)', 0), ('ttnn.matmul(x, y, dtype=D)', 'ttnn.typecast(a, D)', 0), ('ttnn.matmul(x, y)', 'ttnn.typecast(a, dtype=D)', 0),
        ('ttnn.linear(x, w)', 'ttnn.gelu(a) + a', 0), ('ttnn.linear(x, w)', 'ttnn.add(a, a)', 0), ('ttnn.linear(x, w)', 'ttnn.gelu(x=a)', 0), ('x', 'ttnn.gelu(a)', 0),
    ],
)  # fmt: skip
def test_what_is_one_op_and_what_is_not(first: str, second: str, found: int) -> None:
    source = Source("main.py", f"def layer(x, y, w):\n    a = {first}\n    b = {second}\n    a = b\n    return ttnn.exp(a)\n")
    ops = {*re.findall(r"ttnn\.\w+", source.text)}
    made = fusions(source, ops)
    assert len(made) == found
    assert all(one.touches == {"fused main.py:2", "fused main.py:3"} for one in made)
    assert not [one for op in ops - {"ttnn.exp"} for one in fusions(source, ops - {op})]


def test_what_a_loop_reads_is_left_alone() -> None:
    text = "def layer(x, w):\n    a = ttnn.linear(x, w)\n    for i in range(2):\n        b = ttnn.gelu(a)\n    return b\n"
    assert not fusions(Source("main.py", text), {"ttnn.linear", "ttnn.gelu"})
    assert fusions(Source("main.py", text.replace("for i in range(2)", "if x")), {"ttnn.linear", "ttnn.gelu"})


def test_shards_of_a_norm_are_defined_once() -> None:
    """Two calls of equal rows: one change each, and one for both; what they share is added once."""
    norm = 'y = ttnn.layer_norm(x, weight=weights["w"], memory_config=DRAM)'
    text = f"DRAM = ttnn.DRAM_MEMORY_CONFIG\n\n\ndef layer(x, weights):\n    {norm}\n    {norm.replace('(x', '(y')}\n    return y\n"
    setup = {"inputs": "[1, 128, 768] bfloat16 tile dram", "outputs": "[1, 128, 768] bfloat16 tile dram", "fidelity": "HiFi4", "cores": "4"}
    calls = [Call("ttnn.layer_norm", f"main.py:{line}", norm, ("layer",), 1e4, 100.0, ("LayerNorm",), "compute", setup) for line in (5, 6)]
    found = suggestions(Run("", "", "n150", calls), {"main.py": Source("main.py", text)}, (8, 8), 12)
    both = next(one for one in found if one.what.startswith("all norms block-sharded as BLOCK_1X3_ON_4X8"))
    changed = edited(text, both.edits)
    assert changed.count("BLOCK_1X3_ON_4X8 = ") == 1
    assert changed.count("ttnn.to_memory_config(ttnn.layer_norm(ttnn.to_memory_config(") == 2
    assert changed.count("memory_config=BLOCK_1X3_ON_4X8), DRAM)") == 2
    compile(changed, "main.py", "exec")


@pytest.mark.parametrize(
    ("before", "shape", "larger"),
    [
        ((4, 8, 64), [16, 64], [32, 64]),
        ((2, 224, 224, 3), [1, 1, 50176, 3], [1, 1, 100352, 3]),
        ((1, 1, 98, 2048), [1, 7, 7, 2048], [2, 7, 7, 2048]),
        ((8, 64), [2, -1], [2, -1]),
        ((8, 64), [512], [512]),
    ],
)
def test_shapes_of_a_larger_batch(before: tuple[int, ...], shape: list[int], larger: list[int]) -> None:
    assert reshaped(before, shape, 2) == larger


def test_edits_at_one_place_stand_in_their_order() -> None:
    assert edited("f()", [Edit("", 2, 2, "a"), Edit("", 2, 2, ", b"), Edit("", 0, 1, "g")]) == "g(a, b)"


def decode() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A step of decoding, one user, over caches of 1,024 positions."""
    import torch

    torch.manual_seed(0)
    return (*CASES["Llama decode, 4 layers of 512, bf16, cache 1024"](), {})


@pytest.mark.parametrize("build", [torch_mlp, *(pytest.param(build, marks=pytest.mark.slow) for build in (bert, resnet50, decode))])
def test_the_best_three_applied_gain_what_is_told(build: Callable[[], Built], tmp_path: Path) -> None:
    model, args, kwargs = build()
    codegen_py(model, *args, export_path=tmp_path / "out", export_golden="none", overwrite=True, **kwargs)
    done = simulator("what-if", tmp_path / "out", "--json", tmp_path / "answer.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
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
        gained_ns = before_ns - estimate(copy)
        print(f"told {told_ns / 1e3:.1f} us, applied {gained_ns / 1e3:.1f} us: {'; '.join(one['what'] for one in applied)}")
        assert gained_ns == pytest.approx(told_ns, rel=0.1)


@pytest.mark.parametrize("build", [torch_mlp, *(pytest.param(build, marks=pytest.mark.slow) for build in (bert, resnet50))])
def test_a_larger_batch_costs_what_is_told(build: Callable[[], Built], tmp_path: Path) -> None:
    import torch

    model, args, kwargs = build()
    codegen_py(model, *args, export_path=tmp_path / "out", export_golden="none", **kwargs)
    assert simulator("what-if", tmp_path / "out", "--json", tmp_path / "answer.json", "--lines", "0", cwd=tmp_path).returncode == 0
    told = json.loads((tmp_path / "answer.json").read_text())["batches"]
    assert len(told) == 2
    for row in told:
        size = row["size"]
        larger = [tensor.repeat(size // tensor.shape[0], *[1] * (tensor.dim() - 1)) for tensor in (*args, *kwargs.values())]
        named = dict(zip(kwargs, larger[len(args) :], strict=True))
        assert all(isinstance(tensor, torch.Tensor) and tensor.shape[0] == size for tensor in larger)
        codegen_py(model, *larger[: len(args)], export_path=tmp_path / f"batch_{size}", export_golden="none", **named)
        exported_ns = estimate(tmp_path / f"batch_{size}")
        print(f"batch {size}: told {row['device_ns'] / 1e3:.1f} us, exported {exported_ns / 1e3:.1f} us")
        # The program as it is, with more rows. An export at that batch chooses anew: rows of all samples as one matrix (BERT), images in L1 or not (ResNet);
        # docs/make_it_faster.md says by how much.
        assert 0.75 * exported_ns < row["device_ns"] < (1.1 if build is torch_mlp else 2.0) * exported_ns


def estimate(folder: Path) -> float:
    assert run(folder, "--estimate", "--json", str(folder / "result.json")).returncode == 0
    return float(json.loads((folder / "result.json").read_text())["device_ns"])


def test_a_program_that_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import ttnn\nraise ValueError('x')\n")
    done = subprocess.run([sys.executable, "-m", "ttnn_shim", "what-if", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "what-if: the program does not run: error[ALC-0601] ValueError: x\n  at main.py:2: raise ValueError('x')\n"
