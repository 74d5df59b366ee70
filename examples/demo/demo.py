"""The demo: two real models become TT-NN source, run on the simulated chip, and agree with their framework.

    python examples/demo/demo.py [--directory DIR]

(a) JAX: a CNN trained on handwritten digits, as Python. (b) PyTorch: sentence embeddings with real weights, as Python and C++.
(c) A wrong edit of the emitted Python, which `./run --check` finds, and the report of where the device time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from comparison import Comparison, compare_digits, compare_sentences, nearest, similarities

os.environ.setdefault("HF_HUB_OFFLINE", "1")


NEXT = """
read the code   {directory}/minilm_py/main.py, {directory}/minilm_cpp/model.cpp
see the times   {directory}/report/report.html

your own model: save this as mine.py, put your model and an input in it, and run it with {python}

    import torch
    from alchemist import codegen_py
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).eval()
    codegen_py(model, torch.randn(8, 64), export_path="mine")

then ./mine/run --check, edit mine/main.py, and check again"""


@dataclass(frozen=True)
class Row:
    model: str
    language: str
    ops: int
    pcc: float
    device_ms: float
    host_s: float
    codegen_s: float


def run(directory: Path, *options: str, expected_exit: int = 0) -> None:
    """`./run` of an export, from another working directory.

    Raises:
        SystemExit: the program ended with another exit code.
    """
    print(f"$ {directory.name}/run {' '.join(options[:1])}", flush=True)
    code = subprocess.run([str(directory / "run"), *options], cwd="/", check=False).returncode
    if code != expected_exit:
        raise SystemExit(f"demo: {directory}/run {options[0]} ended with {code}, expected {expected_exit}")


def run_and_check(directory: Path) -> dict[str, Any]:
    """`./run --check`: what its JSON file holds. The outputs are written to `outputs/` of the export.

    Raises:
        SystemExit: the program failed its check.
    """
    result = directory / "result.json"
    run(directory, "--check", "--json", str(result), "--outputs", str(directory / "outputs"))
    return json.loads(result.read_text())


def require(*comparisons: Comparison) -> None:
    """Prints each comparison.

    Raises:
        SystemExit: one of them is not accepted.
    """
    for comparison in comparisons:
        print(f"{'ok    ' if comparison.accepted else 'FAILED'} {comparison.text}")
    if not all(comparison.accepted for comparison in comparisons):
        raise SystemExit("demo: the simulated chip differs from the framework by more than the limit")


def row(model: str, language: str, result: dict[str, Any], codegen_s: float) -> Row:
    pcc = min(output["pcc"] for output in result["outputs"])
    return Row(
        model,
        language,
        result["ops"],
        pcc,
        result["device_ns"] / 1e6,
        result["host_s"],
        codegen_s,
    )


def digits_demo(directory: Path) -> Row:
    import jax.numpy as jnp
    from digits_cnn import DigitsCNN, digits, train
    from flax import nnx

    from alchemist import codegen_py

    train_x, train_y, test_x, test_y = digits()
    print(f"(a) JAX: training a CNN on {len(train_x)} digits", flush=True)
    model = DigitsCNN(nnx.Rngs(0))
    train(model, train_x, train_y)

    graphdef, state = nnx.split(model)

    def forward(graphdef: Any, state: Any, x: Any) -> Any:
        return nnx.merge(graphdef, state)(x)

    start_s = time.perf_counter()
    path = directory / "digits_cnn_py"
    codegen_py(forward, graphdef, state, jnp.asarray(test_x), export_path=path, overwrite=True)
    codegen_s = time.perf_counter() - start_s
    result = run_and_check(path)

    logits = np.load(path / "outputs" / f"{result['outputs'][0]['name']}.npy")
    require(compare_digits(logits, np.asarray(model(jnp.asarray(test_x))), test_y))
    print()
    return row("digits CNN (flax)", "Python", result, codegen_s)


def sentences_demo(directory: Path) -> list[Row]:
    import torch
    from sentences import SENTENCES, encoder_and_inputs

    from alchemist import codegen_cpp, codegen_py

    print("(b) PyTorch: all-MiniLM-L6-v2 with its real weights", flush=True)
    model, inputs = encoder_and_inputs()
    with torch.no_grad():
        expected = model(**inputs)
    rows, outputs = [], {}
    for language, codegen in (("Python", codegen_py), ("C++", codegen_cpp)):
        start_s = time.perf_counter()
        path = directory / f"minilm_{'py' if language == 'Python' else 'cpp'}"
        codegen(model, export_path=path, overwrite=True, **inputs)
        codegen_s = time.perf_counter() - start_s
        result = run_and_check(path)
        outputs[language] = np.load(path / "outputs" / f"{result['outputs'][0]['name']}.npy")
        rows.append(row("MiniLM-L6 (torch)", language, result, codegen_s))

    if not np.array_equal(outputs["Python"].view(np.uint32), outputs["C++"].view(np.uint32)):
        raise SystemExit("demo: the outputs of emitted Python and emitted C++ differ")
    print("outputs of emitted Python and emitted C++: bit-equal")
    for index, sentence in enumerate(SENTENCES):
        print(f"  {sentence:52} is nearest to: {SENTENCES[nearest(similarities(outputs['Python']))[index]]}")
    require(*compare_sentences(outputs["Python"], expected.numpy()))
    print()
    return rows


def edit_demo(directory: Path) -> None:
    """Removes the activation of one call in a copy of the digits' program: `./run --check` must fail.

    Raises:
        SystemExit: the program has no such call, or the check does not notice the edit.
    """
    edited = directory / "digits_cnn_edited"
    shutil.rmtree(edited, ignore_errors=True)
    shutil.copytree(directory / "digits_cnn_py", edited)
    main = edited / "main.py"
    text, removed = re.subn(r',\s*activation="relu"', "", main.read_text(), count=1)
    if not removed:
        raise SystemExit(f'demo: {main} has no call with activation="relu"')
    main.write_text(text)
    print('(c) a wrong edit: main.py without the first activation="relu"', flush=True)
    run(edited, "--check", expected_exit=1)
    print("the check found the edit, as it should\n")


def report_demo(directory: Path) -> None:
    """Writes the profile of the sentence encoder and prints its first table: device time by op.

    Raises:
        SystemExit: the program failed.
    """
    command = [str(directory / "minilm_py" / "run"), "--profile", str(directory / "report")]
    print("$ minilm_py/run --profile report", flush=True)
    done = subprocess.run(command, cwd="/", check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"demo: minilm_py/run --profile failed\n{done.stderr}")
    print("\n\n".join(done.stdout.split("\n\n")[:2]) + "\n")


def print_table(rows: list[Row]) -> None:
    print(f"{'model':20} {'language':9} {'ops':>5} {'PCC':>9} {'device time':>13} {'host time':>10} {'codegen':>9}")
    for r in rows:
        print(f"{r.model:20} {r.language:9} {r.ops:5} {r.pcc:9.6f} {r.device_ms:10.3f} ms {r.host_s:8.3f} s {r.codegen_s:7.1f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path(".demo"), help="where the exports go (default .demo)")
    directory = parser.parse_args().directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    rows = [digits_demo(directory), *sentences_demo(directory)]
    edit_demo(directory)
    report_demo(directory)
    print_table(rows)
    print(NEXT.format(directory=directory, python=sys.executable))
    return 0


if __name__ == "__main__":
    sys.exit(main())
