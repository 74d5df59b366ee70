"""Programs that others wrote, run as they are: tt-alchemist's printed programs with its utils.py, and plain scripts with one line of totals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .printed_programs import PROGRAMS, printed

# As tt-alchemist's `run` does it, for all programs in one process.
RUN_ALL = """\
import runpy, sys
for program in sys.argv[1:]:
    assert runpy.run_path(program)["main"]() == 0
    print("ran", program, flush=True)
"""
SCRIPT = """\
import ttnn
{marks}
device = ttnn.open_device(device_id=0)
def work(times):
    for _ in range(times):
        ttnn.relu(ttnn.ones([64, 64], device=device, layout=ttnn.TILE_LAYOUT, dtype=ttnn.bfloat16), queue_id=0)
work(1)
{start}
work(2)
{stop}
work(4)
{end}
"""
MARKS = {"marks": "from tracy import signpost", "start": "signpost(header='start')", "stop": "signpost(header='stop')"}


def run(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ttnn_shim", "run", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arch", ["n150", "p150"])
def test_printed_programs_run(arch: str, tmp_path: Path) -> None:
    """In tt-alchemist's style, with its device getter; the real wheel takes all of them over the mock device."""
    (tmp_path / "utils.py").write_text((Path(__file__).parent / "printed_utils.py").read_text())
    (tmp_path / "run_all.py").write_text(RUN_ALL)
    names = [f"{name}.py" for name in PROGRAMS]
    for name, program in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(printed(program))
    done = run("--arch", arch, "run_all.py", *names, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(names) >= 10
    assert [line.removeprefix("ran ") for line in done.stdout.splitlines() if line.startswith("ran ")] == names


@pytest.mark.parametrize(
    ("parts", "ops"),
    [({"end": "ttnn.close_device(device)"}, 7), ({"end": ""}, 7), (MARKS | {"end": "ttnn.close_device(device)"}, 2)],
    ids=["closed", "left open", "signposts"],
)
def test_totals_of_a_plain_script(parts: dict[str, str], ops: int, tmp_path: Path) -> None:
    empty = dict.fromkeys(("marks", "start", "stop"), "")
    (tmp_path / "script.py").write_text(SCRIPT.format(**empty | parts))
    done = run("--json", "totals.json", "script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    totals = json.loads((tmp_path / "totals.json").read_text())
    assert totals["ops"] == ops
    assert 0 < totals["kernel_ns"] < totals["device_ns"]
    assert totals["unmodelled"] == []
    assert done.stdout.startswith(f"device {totals['device_ns'] / 1e6:.3f} ms, {ops} device programs, host ")


def test_profile_of_a_plain_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT.format(**MARKS, end=""))
    done = run("--profile", "out", "script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["ops"] == 2


PLAIN_C = """\
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "ttnn_shim/abi.h"

int main(int count, char** arguments) {
    if (count > 2) return atoi(arguments[2]);
    shim_device* device;
    shim_tensor* input;
    static shim_result result;
    const uint32_t shape[2] = {64, 64};
    const unsigned char name[] = "\\x01\\x00\\x0cinput_tensort\\0\\0\\0\\0";
    shim_attrs* attributes;
    int op;
    if (shim_device_open(getenv("TTNN_SHIM_CARD"), 0, 0, atoi(getenv("TTNN_SHIM_ESTIMATE")), &device) ||
        shim_tensor_new(device, 0, 1, 2, shape, NULL, NULL, 0, 1, &input) || shim_op_find("ttnn.relu", &op) ||
        shim_attrs_new(name, sizeof name - 1, &attributes)) return 1;
    for (int i = 0; i < atoi(arguments[1]); ++i) {
        if (shim_invoke(op, &input, 1, NULL, attributes, &result)) { puts(shim_error_message()); return 1; }
        shim_tensor_free(result.tensors[0]);
    }
    shim_tensor_free(input);
    shim_device_close(device);
    shim_device_free(device);
    return 0;
}
"""


def test_compiled_programs(tmp_path: Path) -> None:
    """Totals, JSON and reports as of a plain script; the program's own exit code."""
    from ttnn_shim.simlib import simulator_library

    library = simulator_library()
    (tmp_path / "plain.c").write_text(PLAIN_C)
    include = Path(__file__).parents[2] / "ttnn_shim" / "include"
    command = ["cc", "-o", "plain", "plain.c", f"-I{include}", str(library), f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = run("--arch", "p150", "--json", "totals.json", "--profile", "out", "./plain", "3", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    totals = json.loads((tmp_path / "totals.json").read_text())
    assert totals["ops"] == 3 and 0 < totals["kernel_ns"] < totals["device_ns"]
    assert f"device {totals['device_ns'] / 1e6:.3f} ms, 3 device programs, host " in done.stdout
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["ops"] == 3
    failed = run("./plain", "0", "7", folder=tmp_path)
    assert failed.returncode == 7 and "used no simulated device" in failed.stderr


# Of reports, comparisons and questions: a run that asks for none of them should not wait for them.
LOADED_ON_DEMAND = ("ttnn_shim.records", "ttnn_shim.profiles", "ttnn_shim.reports", "alchemist.tools.check_ops", "ttnn_shim.queries", "ttnn_shim.simlib",
                    "ttnn_shim.plain_cpp", "ttnn_shim.program_errors", "importlib.metadata", "torch")  # fmt: skip


def test_a_run_loads_what_it_needs(tmp_path: Path) -> None:
    loaded = "print(*sys.modules, sep='\\n')"
    (tmp_path / "script.py").write_text(f"import sys\n{SCRIPT.format(marks='', start='', stop='', end='ttnn.close_device(device)')}{loaded}\n")
    done = run("--estimate", "script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ttnn._device" in done.stdout.split()
    assert sorted(set(LOADED_ON_DEMAND) & set(done.stdout.split())) == []
