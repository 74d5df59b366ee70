"""Runs programs with every call of the real `ttnn` recorded. Started by `alchemist.verify` in the wheel's own interpreter.

    python recorder.py TIMEOUT_S

Imports nothing of alchemist. Each line of stdin is a JSON list [program, report.jsonl]; the wheel is imported once, each program
runs in a fork of its own, and a line is printed when it has ended. Each call becomes a JSON line {"index", "call", "at",
"arguments", "status", ...}, written when it starts and again when it ends; status is accepted, rejected or dependent (an argument
is the result of a rejected call). The last line is {"fatal": text}, or {"died": exit status} where the process ended without one;
REPORT.jsonl.err holds its stderr.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import traceback
import types
from pathlib import Path
from typing import Any


class Unavailable:
    """Stands for the result of a rejected call, so that the program goes on and later calls are still checked."""

    def __init__(self, index: int) -> None:
        self._index = index

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getitem__(self, _: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter((self,))


class Recorder:
    """Wraps the callables of `ttnn`; calls made inside a recorded call are not recorded."""

    def __init__(self, ttnn: Any, program: Path, report: Any) -> None:
        self.ttnn, self.program, self.report = ttnn, program, report
        self.count, self.inside = 0, False
        self.devices: list[Any] = []
        self.needs_worker_dispatch = str(ttnn.cluster.get_cluster_type()).rpartition(".")[2] in ("N300", "T3K")
        """Whether the mock checks kernels against the grid without the cores that this machine does not use for dispatch."""

    def write(self, record: dict[str, Any]) -> None:
        self.report.write(json.dumps(record, default=str) + "\n")
        self.report.flush()

    def call(self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.inside:
            return function(*args, **kwargs)
        record: dict[str, Any] = {
            "index": self.count,
            "call": name,
            "at": self.place(),
            "arguments": [self.describe(value) for value in (*args, *kwargs.values())],
        }
        self.count += 1
        blocker = next((v for v in self.flatten([*args, *kwargs.values()]) if isinstance(v, Unavailable)), None)
        if blocker is not None:
            self.write(record | {"status": "dependent", "depends_on": blocker._index})
            return blocker
        self.write(record | {"status": "started"})
        if name in ("ttnn.open_device", "ttnn.open_mesh_device") and self.needs_worker_dispatch:
            kwargs.setdefault("dispatch_core_config", self.ttnn.DispatchCoreConfig(self.ttnn.DispatchCoreType.WORKER))
        self.inside = True
        graph = self.ttnn._ttnn.graph
        capturing = bool(self.devices) and not graph.is_graph_capture_active()
        try:
            if capturing:
                graph.begin_graph_capture(graph.RunMode.NORMAL)
            try:
                result = function(*args, **kwargs)
            finally:
                captured = graph.end_graph_capture() if capturing else []
        except Exception as error:  # noqa: BLE001  whatever the real package raises is its verdict
            record |= {"status": "rejected", "error": " ".join(str(error).split())[:900], "error_type": type(error).__name__}
            return Unavailable(record["index"])
        else:
            record |= {"status": "accepted", "out": self.describe(result), "programs": device_programs(captured)}
            if name in ("ttnn.open_device", "ttnn.open_mesh_device"):
                self.devices.append(result)
            if name in ("ttnn.close_device", "ttnn.close_mesh_device"):
                self.devices.clear()
            record["memory"] = self.memory()
            return result
        finally:
            self.inside = False
            self.write(record)

    def memory(self) -> dict[str, int]:
        """Allocated bytes per bank."""
        found = {}
        for device in self.devices:
            for kind in ("L1", "DRAM", "L1_SMALL"):
                view = self.ttnn.get_memory_view(device, getattr(self.ttnn.BufferType, kind))
                found[kind] = view.total_bytes_allocated_per_bank
        return found

    def place(self) -> str:
        """file:line of the innermost frame in the program's directory."""
        frame: Any = sys._getframe(2)
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(self.program.parent):
                return f"{path.name}:{frame.f_lineno}"
            frame = frame.f_back
        return "?"

    def flatten(self, values: Any) -> Any:
        for value in values:
            if isinstance(value, (list, tuple)):
                yield from self.flatten(value)
            else:
                yield value

    def describe(self, value: Any) -> Any:
        if isinstance(value, Unavailable) or value is None or isinstance(value, (bool, int, float, str)):
            return None if isinstance(value, Unavailable) else value
        if isinstance(value, (list, tuple)):
            return [self.describe(item) for item in value]
        if not isinstance(value, self.ttnn.Tensor):
            return f"<{type(value).__name__}>"
        described = {
            "shape": list(value.shape),
            "padded_shape": list(value.padded_shape),
            "dtype": str(value.dtype).rpartition(".")[2],
            "layout": str(value.layout).rpartition(".")[2],
            "storage": str(value.storage_type()).rpartition(".")[2],
        }
        if described["storage"] == "DEVICE" and value.is_allocated():
            config = value.memory_config()
            described["buffer_type"] = str(config.buffer_type).rpartition(".")[2]
            described["memory_layout"] = str(config.memory_layout).rpartition(".")[2]
            described["address"] = value.buffer_address()
        return described


def device_programs(captured: Any) -> list[dict[str, Any]]:
    """Device operations of a captured call: name, program factory, cores, circular-buffer bytes."""
    programs: list[dict[str, Any]] = []
    for node in captured:
        params = node.get("params") or {}
        if node["node_type"] == "function_start" and params.get("name", "").endswith("Operation"):
            factory = (params.get("program_factory_type") or "").rpartition("::")[2]
            programs.append({"op": params["name"], "factory": factory, "cb_bytes": 0, "cores": ""})
        elif node["node_type"] in ("circular_buffer_allocate", "dataflow_buffer_allocate") and programs:
            shared = params.get("globally_allocated", params.get("borrows_memory", "0"))
            if str(shared) in ("0", "False"):
                programs[-1]["cb_bytes"] += int(params["size"])
                programs[-1]["cores"] = params.get("core_range_set", "")
    return programs


class RecordedModule(types.ModuleType):
    """`ttnn` (or a submodule) whose functions are recorded; classes, enums and constants pass through."""

    def __init__(self, real: types.ModuleType, name: str, recorder: Recorder) -> None:
        super().__init__(name)
        self.__dict__.update(_real=real, _recorder=recorder)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        full = f"{self.__name__}.{name}"
        if name.startswith("_"):
            return value
        if isinstance(value, types.ModuleType):
            value = RecordedModule(value, full, self._recorder)
        elif callable(value) and not isinstance(value, type):
            function, recorder = value, self._recorder

            def recorded(*args: Any, **kwargs: Any) -> Any:
                return recorder.call(full, function, args, kwargs)

            value = recorded
        self.__dict__[name] = value
        return value


def record(ttnn: Any, program: Path, report_path: str) -> None:
    """Runs one program in this process, which it ends."""
    with open(report_path, "w") as report:
        recorder = Recorder(ttnn, program, report)
        sys.modules["ttnn"] = RecordedModule(ttnn, "ttnn", recorder)
        sys.argv = [str(program)]
        sys.path.insert(0, str(program.parent))
        os.chdir(program.parent)
        fatal = ""
        try:
            runpy.run_path(str(program), run_name="__main__")
        except SystemExit as end:
            fatal = f"the program ended with {end.code!r}" if end.code else ""
        except BaseException as error:  # noqa: BLE001  reported, not hidden: the program broke on the way
            fatal = "".join(traceback.format_exception(error)[-3:])
        recorder.write({"fatal": fatal})
    # The mock device has no queues to drain: skip the library's own teardown.
    os._exit(0)


def main() -> None:
    timeout_s = int(sys.argv[1])
    import ttnn

    for line in sys.stdin:
        program, report_path = json.loads(line)
        child = os.fork()
        if not child:
            signal.alarm(timeout_s)  # kills a program that hangs
            for stream, file in ((1, os.devnull), (2, f"{report_path}.err")):
                os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT, 0o644), stream)
            record(ttnn, Path(program), report_path)
        status = os.waitpid(child, 0)[1]
        if status:
            with open(report_path, "a") as report:
                report.write("\n" + json.dumps({"died": os.waitstatus_to_exitcode(status)}) + "\n")
        print("ended", flush=True)


if __name__ == "__main__":
    main()
