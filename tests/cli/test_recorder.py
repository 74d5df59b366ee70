"""What `alchemist verify` notes of a program's calls, with the simulator in the place of the real package."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import ttnn

from alchemist.cli import main
from alchemist.errors import UserError
from alchemist.verify import RealTtnn, environment, recorder
from alchemist.verify.recorder import RecordedModule, Recorder, Unavailable, device_programs

PROGRAM = """\
import sys
import ttnn
from steps import twice

assert sys.argv == [__file__]
assert __name__ == "__main__"
assert open("steps.py").read(), "the program's folder is the working one"
print("not read by anybody")
device = ttnn.open_device(device_id=0)
x = ttnn.ones([40, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
assert isinstance(x, ttnn.Tensor)
y = twice(x)
z = ttnn.matmul(ttnn.reshape(x, [32, 40]), x, transpose_a=True)
(part,) = z
late = ttnn.concat([x, z.some[0](3)], 0)
s = ttnn.transformer.concatenate_heads(ttnn.reshape(x, [1, 1, 40, 32]))
host = ttnn.from_device(x)
ttnn.deallocate(x)
ttnn.deallocate(y)
ttnn.close_device(device)
ttnn.Shape([1])
"""
STEPS = """\
import ttnn
def twice(x):
    return ttnn.add(x, x, memory_config=ttnn.L1_MEMORY_CONFIG)
"""
X = {
    "shape": [40, 32], "padded_shape": [64, 32], "dtype": "BFLOAT16", "layout": "TILE", "storage": "DEVICE",
    "buffer_type": "DRAM", "memory_layout": "INTERLEAVED", "address": 1048640,
}  # fmt: skip


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The process of the real package runs the simulator's."""
    runtime = environment.MockRuntime(Path(sys.executable), tmp_path)
    monkeypatch.setattr(environment.MockRuntime, "prepare", staticmethod(lambda: runtime))


def put(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "main.py").write_text(text)
    return folder


def test_records_of_a_program(simulator: None, tmp_path: Path) -> None:
    folder = put(tmp_path / "program", PROGRAM)
    (folder / "steps.py").write_text(STEPS)
    with RealTtnn() as real:
        verdict = real.run(folder)
    assert (verdict.fatal, verdict.crash, verdict.accepted) == ("", "", False)
    assert [call["index"] for call in verdict.calls] == list(range(len(verdict.calls)))
    calls = {call["call"].removeprefix("ttnn."): call for call in verdict.calls}
    assert [(call["call"], call["at"], call["status"]) for call in verdict.calls] == [
        ("ttnn.open_device", "main.py:9", "accepted"), ("ttnn.ones", "main.py:10", "accepted"), ("ttnn.add", "steps.py:3", "accepted"),
        ("ttnn.reshape", "main.py:13", "accepted"), ("ttnn.matmul", "main.py:13", "rejected"), ("ttnn.concat", "main.py:15", "dependent"),
        ("ttnn.reshape", "main.py:16", "accepted"), ("ttnn.transformer.concatenate_heads", "main.py:16", calls["transformer.concatenate_heads"]["status"]),
        ("ttnn.from_device", "main.py:17", "accepted"), ("ttnn.deallocate", "main.py:18", "accepted"), ("ttnn.deallocate", "main.py:19", "accepted"),
        ("ttnn.close_device", "main.py:20", "accepted"),
    ]  # fmt: skip
    assert calls["open_device"]["arguments"] == [0]
    assert calls["ones"]["arguments"] == [[40, 32], "<DataType>", "<Layout>", "<MeshDevice>"]
    assert calls["ones"]["out"] == X
    assert calls["ones"]["memory"] == {"L1": 0, "DRAM": 2048, "L1_SMALL": 0}
    assert calls["add"]["arguments"] == [X, X, "<MemoryConfig>"]
    assert calls["add"]["out"]["buffer_type"] == "L1"
    (program,) = calls["add"]["programs"]
    assert program["op"] == "BinaryNgDeviceOperation"
    assert program["cb_bytes"] > 0
    assert calls["add"]["memory"]["L1"] == 2048
    assert calls["matmul"]["error_type"] == "InvalidArgument"
    assert list(verdict.rejected) == [call for call in verdict.calls if call["status"] == "rejected"]
    assert calls["concat"]["depends_on"] == calls["matmul"]["index"]
    assert calls["concat"]["arguments"] == [[X, None], 0]
    assert "address" not in calls["from_device"]["out"]
    assert calls["from_device"]["out"]["storage"] == "HOST"
    assert verdict.calls[-2]["memory"]["L1"] == 0
    assert calls["close_device"]["memory"] == {}
    lines = verdict.lines("here")
    assert lines[0] == f"rejected  main.py:13  ttnn.matmul: {calls['matmul']['error']}"
    programs = sum(len(call.get("programs", ())) for call in verdict.calls)
    assert lines[-1] == f"here: 12 calls, {programs} device programs, {len(verdict.rejected)} rejected by the real ttnn on wormhole_b0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.exit(0)\n", ""),
        ("import sys\nsys.exit(3)\n", "the program ended with 3"),
        ("raise KeyError('lost')\n", "KeyError: 'lost'"),
        ("import os, sys\nprint('x' * 400 + 'my last words', file=sys.stderr, flush=True)\nos.kill(os.getpid(), 9)\n", "died with code -9: xxx"),
        ("import os, ttnn\nttnn.Shape([1])\nttnn.open_device(device_id=7)\n", "rejected  main.py:3  ttnn.open_device:"),
        ("import os, ttnn\nttnn.set_printoptions(profile=type('T', (), {'lower': lambda _: os.kill(os.getpid(), 9)})())\n",
         "rejected  main.py:2  ttnn.set_printoptions: the process died in this call"),
    ],
    ids=["exit 0", "exit 3", "raises", "killed", "refused", "killed in a call"],
)  # fmt: skip
def test_how_programs_end(text: str, said: str, simulator: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that ends badly, then a good one: each is judged on its own; with `--json`."""
    folders = [put(tmp_path / "bad", text), put(tmp_path / "good", "import ttnn\nttnn.open_device(device_id=0)\n")]
    out = tmp_path / "out.json"
    assert main(["verify", *map(str, folders), "--json", str(out)]) == int(bool(said))
    printed = capsys.readouterr().out
    assert said in printed
    assert ("my last words" in printed) == ("my last words" in text)
    assert "x" * 300 not in printed, "the end of what it said"
    assert f"{folders[1]}: 1 calls, 0 device programs, 0 rejected by the real ttnn on wormhole_b0" in printed
    rows = json.loads(out.read_text())
    assert [(row["directory"], row["arch"], row["accepted"]) for row in rows] == [
        (str(folders[0]), "wormhole_b0", not said),
        (str(folders[1]), "wormhole_b0", True),
    ]
    assert [call["call"] for call in rows[1]["calls"]] == ["ttnn.open_device"]
    assert main(["verify", str(folders[1]), "--arch", "blackhole", "--json", str(out)]) == 0
    assert json.loads(out.read_text())["arch"] == "blackhole", "one folder: no list"
    out.unlink()
    assert main(["verify", "--json", str(out)]) == 0
    assert not out.exists(), "nothing was asked"


def test_a_program_without_end_is_stopped(simulator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alchemist.verify._TIMEOUT_S", 1)
    with RealTtnn() as real:
        verdict = real.run(put(tmp_path / "endless", "import time\ntime.sleep(60)\n"))
        with pytest.raises(UserError, match=r"no other\.py"):
            real.run(tmp_path / "endless", program="other.py")
    assert verdict.crash.startswith("the ttnn process died with code -14")
    assert not verdict.accepted


def test_a_package_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'no such library' >&2\nexit 5\n")
    python.chmod(0o755)
    runtime = environment.MockRuntime(python, tmp_path)
    monkeypatch.setattr(environment.MockRuntime, "prepare", staticmethod(lambda: runtime))
    with RealTtnn() as real:
        for name in ("one", "two"):  # the second time nothing reads
            verdict = real.run(put(tmp_path / name, ""))
            assert verdict.crash == "the ttnn process died with code 5: no such library\n"
            assert not verdict.accepted


def test_what_a_rejected_call_gives() -> None:
    missing: Any = Unavailable(4)
    assert missing.shape[0](1, a=2) is missing
    assert list(missing) == [missing]
    assert not hasattr(missing, "__len__"), "no number, no sequence"


def test_calls_inside_calls_and_modules(tmp_path: Path) -> None:
    """A call that the package makes itself is no call of the program; classes and private names pass through."""
    report = io.StringIO()
    noted = Recorder(ttnn, tmp_path / "main.py", report)
    module = RecordedModule(ttnn, "ttnn", noted)
    assert module.Tensor is ttnn.Tensor
    assert module.bfloat16 is ttnn.bfloat16
    assert module._ttnn is ttnn._ttnn
    assert module.transformer is module.transformer, "made once"
    outer = noted.call("outer", lambda: noted.call("inner", lambda a, b: (a, b), (1,), {"b": 2.5}), (), {})
    assert outer == (1, 2.5)
    module.transformer.concatenate_heads(None)
    rows = [json.loads(line) for line in report.getvalue().splitlines()]
    ended = [(row["index"], row["call"], row["status"]) for row in rows if row["status"] != "started"]
    assert ended == [(0, "outer", "accepted"), (1, "ttnn.transformer.concatenate_heads", "rejected")]
    assert len(rows) == 2 * len(ended)
    assert rows[1]["out"] == [1, 2.5]
    assert {row["at"] for row in rows} == {"?"}
    assert len(rows[-1]["error"]) <= 900


def test_programs_of_a_capture() -> None:
    def buffer(size: int, kind: str = "circular_buffer_allocate", **params: Any) -> dict[str, Any]:
        return {"node_type": kind, "params": {"size": str(size), "core_range_set": f"cores {size}", **params}}

    captured = [
        {"node_type": "capture_start"},
        buffer(1),  # before any operation: of nobody
        {"node_type": "function_start", "params": {"name": "ttnn::add"}},
        {"node_type": "function_start", "params": {"name": "BinaryDeviceOperation", "program_factory_type": "a::b::Broadcast"}},
        buffer(100), buffer(20), buffer(3000, globally_allocated="1"), buffer(5000, borrows_memory=True),
        {"node_type": "function_end", "params": {"name": "CopyDeviceOperation"}},
        {"node_type": "function_start", "params": {"name": "CopyDeviceOperation", "program_factory_type": None}},
        buffer(7, "dataflow_buffer_allocate", borrows_memory=False), buffer(8, "buffer_allocate"),
    ]  # fmt: skip
    assert device_programs(captured) == [
        {"op": "BinaryDeviceOperation", "factory": "Broadcast", "cb_bytes": 120, "cores": "cores 20"},
        {"op": "CopyDeviceOperation", "factory": "", "cb_bytes": 7, "cores": "cores 7"},
    ]


def test_the_recorder_needs_nothing_of_alchemist() -> None:
    """It runs in the interpreter of the real package."""
    assert "import alchemist" not in Path(recorder.__file__).read_text()
    assert "from alchemist" not in Path(recorder.__file__).read_text()
