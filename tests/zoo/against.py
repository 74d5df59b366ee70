"""Device time of the zoo's programs as this checkout emits them and as another one does, both priced by this checkout's clock.

    python -m tests.zoo.against CHECKOUT [--every N] [--json ROWS.jsonl] [NAME ...]

CHECKOUT is a built checkout (`make setup`) of another commit. Both export the same models, of this checkout's tests/zoo; `--estimate` prices each
program (optimization level 0, n150). --every N: one model of N. --json: rows are appended there, and models that have one are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_EXPORT = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from alchemist import codegen_py
from tests.zoo.models import table
models = table()
for line in sys.stdin:
    name = line.strip()
    try:
        model, args, kwargs = models[name][1]()
        codegen_py(model, *args, export_path=Path(sys.argv[1]) / name, overwrite=True, **kwargs)
        print("made", flush=True)
    except Exception as error:
        print("failed", type(error).__name__, " ".join(str(error).split())[:200], flush=True)
"""


class Exporter:
    """A process of one checkout that exports models by name."""

    def __init__(self, checkout: Path, scratch: Path) -> None:
        self._out = scratch / f"exports_{checkout.name}"
        start = scratch / f"start_{checkout.name}"  # where `tests` are this checkout's, whatever alchemist is
        self._out.mkdir()
        start.mkdir()
        (start / "tests").symlink_to(ROOT / "tests")
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(checkout)}
        command = [str(checkout / ".venv/bin/python"), "-c", _EXPORT, str(self._out)]
        self._process = subprocess.Popen(
            command, cwd=start, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def export(self, name: str) -> Path | str:
        """The program, or why there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        while answer and not answer.startswith(("made", "failed")):  # what a model prints
            answer = self._process.stdout.readline().strip()
        return self._out / name if answer == "made" else answer or "the process ended"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def device_us(program: Path) -> float:
    """By this checkout's clock."""
    report = program.with_suffix(".json")
    command = [sys.executable, "-m", "ttnn_shim", "run", "--arch", "n150", "--estimate", "main.py", "--estimate", "--json", str(report)]
    subprocess.run(command, cwd=program, check=True, capture_output=True, text=True)
    return float(json.loads(report.read_text())["device_ns"]) / 1000


def measured(names: Sequence[str], checkout: Path, scratch: Path) -> Iterator[dict[str, object]]:
    """Rows: model, here_us and there_us, or `left_out` with the reason."""
    exporters = {"here": Exporter(ROOT, scratch), "there": Exporter(checkout, scratch)}
    try:
        for name in names:
            row: dict[str, object] = {"model": name}
            for side, exporter in exporters.items():
                made = exporter.export(name)
                if isinstance(made, str):
                    row["left_out"] = f"{side}: {made}"
                    break
                try:
                    row[f"{side}_us"] = round(device_us(made), 1)
                except subprocess.CalledProcessError as error:
                    row["left_out"] = f"{side}: {str(error.stderr).strip()[-200:]}"
                    break
            yield row
    finally:
        for exporter in exporters.values():
            exporter.close()


def main(words: Sequence[str]) -> int:
    from tests.zoo.models import table

    parser = argparse.ArgumentParser(prog="python -m tests.zoo.against", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(words)
    rows = [json.loads(line) for line in options.json.read_text().splitlines()] if options.json and options.json.exists() else []
    done = {row["model"] for row in rows}
    names = [name for name in (options.names or list(table())[:: options.every]) if name not in done]
    with tempfile.TemporaryDirectory() as scratch:
        for row in measured(names, options.checkout.resolve(), Path(scratch)):
            rows.append(row)
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            if options.json:
                with options.json.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    ratios = [row["here_us"] / row["there_us"] for row in rows if "left_out" not in row]
    left_out = [row["model"] for row in rows if "left_out" in row]
    if ratios:
        print(f"{len(ratios)} models: geometric mean of device time here / there {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    print(f"left out: {', '.join(left_out) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
