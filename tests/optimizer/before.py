"""What another commit emits at level 0, priced by this checkout's clock: the times that docs/lab/optimizer.md's tables compare with.

The other commit's Python alone is used (`git archive`, nothing is built there): it captures this checkout's models and writes programs without weights,
which run here on a device without values.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
_EXPORT = """
import sys, warnings
from pathlib import Path
checkout, out = sys.argv[1:]
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]  # that of the editable install here
sys.path.insert(0, checkout)
sys.path.insert(0, str(Path.cwd()))
warnings.simplefilter("ignore")
import alchemist
assert Path(alchemist.__file__).is_relative_to(checkout), alchemist.__file__
from tests.optimizer.table_models import built
for line in sys.stdin:
    table, name = line.rstrip("\\n").split("\\t")
    try:
        model = built(table, name)
        given = dict(model.options) or None
        alchemist.codegen_py(model.model, *model.args, export_path=out, export_tensors=False, overwrite=True, compiler_options=given, **model.kwargs)
        print("made", flush=True)
    except Exception as error:
        print("failed", type(error).__name__, " ".join(str(error).split())[:200], flush=True)
    model = None
"""


class Before:
    """A process of the other commit. `with`: it and its files go away at the end."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout.resolve()
        self._scratch = Path(tempfile.mkdtemp())
        (self._scratch / "tests").symlink_to(ROOT / "tests")  # of this checkout, whatever alchemist is
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Before:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def ms(self, table: str, name: str, cards: Sequence[str]) -> dict[str, float] | str:
        """Milliseconds by card, or why there are none."""
        program = self._scratch / "program"
        answer = self._ask(f"{table}\t{name}\n", program)
        if answer != "made":
            return answer
        try:
            return {card: device_ms(program, card) for card in cards}
        except subprocess.CalledProcessError as error:
            return f"failed: {str(error.stderr).strip().splitlines()[0][:300]}"

    def _ask(self, line: str, program: Path) -> str:
        if self._process is None or self._process.poll() is not None:
            environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
            command = [sys.executable, "-c", _EXPORT, str(self._checkout), str(program)]
            self._process = subprocess.Popen(
                command, cwd=self._scratch, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        for said in self._process.stdout:
            if said.startswith(("made", "failed")):  # not what a model prints
                return said.strip()
        return "failed: the process ended"

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def device_ms(program: Path, card: str) -> float:
    """Of the forward function, as `./run --estimate` gives it."""
    report = program.with_suffix(".json")
    command = [sys.executable, "-m", "ttnn_shim", "run", "--arch", card, "--estimate", "main.py", "--estimate", "--json", str(report)]
    subprocess.run(command, cwd=program, check=True, capture_output=True, text=True)
    return float(json.loads(report.read_text())["device_ns"]) / 1e6
