"""Run time of emitted programs on this checkout's simulator against another checkout's: what a change of the kernels costs.

    python -m tools.bench.against CHECKOUT [--models bert,vit] [--exports DIR] [--docs docs/lab/numerics.md]

CHECKOUT is a built checkout (`make setup`) of another commit. Its code exports the models of `make bench`, once; each export is then loaded by both
interpreters, with one thread each, and both make forward calls in turns. Compared are the CPU times of calls that follow each other, and the middle
of these ratios counts: a machine that is slower for seconds, or shared, slows both. `--exports` keeps the exports there for the next run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.bench.models import NAMES

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- run time: begin -->", "<!-- run time: end -->"
_EXPORT = """
import sys
from pathlib import Path
from alchemist import codegen_py
from tools.bench.models import build
model, args, kwargs = build(sys.argv[1])
codegen_py(model, *args, export_path=Path(sys.argv[2]), **kwargs)
"""
_CALLS = """
import sys, time
from pathlib import Path
from alchemist.loaded import LoadedProgram
with LoadedProgram(Path(sys.argv[1])) as program:
    values = [program.utils.load(key, program.device) for key in program.inputs]
    def forward():
        for output in program.run(values):
            program.utils.to_numpy(output)
    forward()
    forward()
    print("ready", flush=True)
    for line in sys.stdin:
        start_s = time.process_time()
        forward()
        print(time.process_time() - start_s, flush=True)
"""


@dataclass(frozen=True)
class Ratio:
    """Middle CPU seconds of a forward call here and there, and the middle ratio of two calls that followed each other."""

    model: str
    here_s: float
    there_s: float
    ratio: float


def _environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}


def _python(checkout: Path) -> str:
    return str(checkout / ".venv" / "bin" / "python")


def export(checkout: Path, model: str, target: Path) -> None:
    command = [_python(checkout), "-c", _EXPORT, model, str(target)]
    done = subprocess.run(command, cwd=checkout, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{checkout} does not export {model}:\n{done.stderr[-2000:]}")


class Caller:
    """A program that is loaded in a process of its own and called on demand."""

    def __init__(self, checkout: Path, program: Path) -> None:
        command = [_python(checkout), "-c", _CALLS, str(program)]
        self._process = subprocess.Popen(command, cwd=checkout, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        if self._out.readline() != "ready\n":
            raise RuntimeError(f"{program} does not run in {checkout}")

    def call(self) -> float:
        """CPU seconds of one forward call."""
        self._in.write("\n")
        self._in.flush()
        return float(self._out.readline())

    def close(self) -> None:
        self._in.close()
        self._process.wait()


def measure(checkout: Path, model: str, program: Path, processes: int, calls: int) -> Ratio:
    """`processes` pairs of processes one after another (where memory falls differs between them), `calls` calls in each."""
    here: list[float] = []
    there: list[float] = []
    for number in range(processes):
        sides = [(Caller(ROOT, program), here), (Caller(checkout, program), there)]
        if number % 2:
            sides.reverse()
        for _ in range(calls):
            for caller, seconds in sides:
                seconds.append(caller.call())
        for caller, _ in sides:
            caller.close()
    ratios = [own / other for own, other in zip(here, there, strict=True)]
    return Ratio(model, statistics.median(here), statistics.median(there), statistics.median(ratios))


def table(rows: list[Ratio], commit: str) -> str:
    lines = [f"| model | {commit}, ms | here, ms | ratio |", "|---|---:|---:|---:|"]
    lines += [f"| {row.model} | {row.there_s * 1e3:.1f} | {row.here_s * 1e3:.1f} | {row.ratio:.2f} |" for row in rows]
    ratios = [row.ratio for row in rows]
    lines.append(f"| geometric mean of {len(rows)} | | | **{statistics.geometric_mean(ratios):.2f}** |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.against", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT")
    parser.add_argument("--models", default=",".join(NAMES), help="all of make bench by default")
    parser.add_argument("--exports", type=Path, metavar="DIR", help="keep the exports here; those that are there are not made again")
    parser.add_argument("--processes", type=int, default=3, metavar="N", help="pairs of processes a model (3)")
    parser.add_argument("--calls", type=int, default=15, metavar="N", help="calls a process (15)")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="write the table into this file")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    commit = subprocess.run(["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    rows: list[Ratio] = []
    with tempfile.TemporaryDirectory() as directory:
        exports = options.exports or Path(directory)
        for model in options.models.split(","):
            if not (exports / model).exists():
                export(checkout, model, exports / model)
            rows.append(measure(checkout, model, exports / model, options.processes, options.calls))
            print(f"{model:14} {rows[-1].there_s * 1e3:8.2f} -> {rows[-1].here_s * 1e3:8.2f} ms  {rows[-1].ratio:.3f}", flush=True)
    text = table(rows, commit)
    print(text)
    if options.docs is not None:
        before, rest = options.docs.read_text().split(BEGIN)
        options.docs.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
