"""The demo: two real models become TT-NN source, run on the simulated chip, and agree with their framework.

    python examples/demo/demo.py [--directory DIR]

(a) JAX: a CNN trained on handwritten digits, as Python. (b) PyTorch: sentence embeddings with real weights, as Python and C++.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")


@dataclass(frozen=True)
class Row:
    model: str
    language: str
    ops: int
    pcc: float
    device_ms: float
    host_s: float
    codegen_s: float


def run_program(directory: Path, *options: str) -> dict[str, Any]:
    """`./run --check --json`, from another working directory.

    Raises:
        SystemExit: the program failed its check.
    """
    result = directory / "result.json"
    command = [str(directory / "run"), "--check", "--json", str(result), "--outputs", str(directory / "outputs"), *options]
    print(f"$ {directory.name}/run --check", flush=True)
    if subprocess.run(command, cwd="/", check=False).returncode != 0:
        raise SystemExit(f"demo: {directory}/run --check failed")
    return json.loads(result.read_text())


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
    result = run_program(path)

    jax_accuracy = float((np.argmax(np.asarray(model(jnp.asarray(test_x))), axis=1) == test_y).mean())
    name = result["outputs"][0]["name"]
    chip_logits = np.load(path / "outputs" / f"{name}.npy")
    chip_accuracy = float((np.argmax(chip_logits, axis=1) == test_y).mean())
    print(f"accuracy on {len(test_x)} unseen digits: JAX {jax_accuracy:.1%}, simulated chip {chip_accuracy:.1%}\n")
    return row("digits CNN (flax)", "Python", result, codegen_s)


def sentences_demo(directory: Path) -> list[Row]:
    import torch
    from sentences import SENTENCES, encoder_and_inputs, ranking

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
        result = run_program(path)
        outputs[language] = np.load(path / "outputs" / f"{result['outputs'][0]['name']}.npy")
        rows.append(row("MiniLM-L6 (torch)", language, result, codegen_s))

    if not np.array_equal(outputs["Python"].view(np.uint32), outputs["C++"].view(np.uint32)):
        raise SystemExit("demo: the outputs of emitted Python and emitted C++ differ")
    print("outputs of emitted Python and emitted C++: bit-equal")
    ours, theirs = ranking(torch.from_numpy(outputs["Python"])), ranking(expected)
    for index, sentence in enumerate(SENTENCES):
        print(f"  {sentence:52} is nearest to: {SENTENCES[ours[index][0]]}")
    if ours != theirs:
        raise SystemExit("demo: the similarity ranking differs from torch's")
    print("similarity ranking: equal to torch's\n")
    return rows


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
    print_table(rows)
    print(f"\nread the code: {directory}/minilm_py/main.py, {directory}/minilm_cpp/model.cpp")
    return 0


if __name__ == "__main__":
    sys.exit(main())
