"""Records the calls that a model makes on `ttnn`, whether that is the simulator or the real package; imports neither.

A call is recorded where the model's own code makes it. With the records of another run (`expected`) a refused call is answered by an unwritten tensor
of the recorded spec, so that one run finds all refusals.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_METHODS = (
    "to", "cpu", "reshape", "deallocate", "pad", "unpad", "pad_to_tile", "unpad_from_tile", "to_torch", "__getitem__",
    *(f"__{name}__" for name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "matmul", "neg", "pow")),
)  # fmt: skip


class Recorder:
    """root: directory of the models; out: JSON lines, one per call; expected: the lines of a run to follow after refusals."""

    def __init__(self, ttnn: Any, root: Path, out: Any, expected: list[dict[str, Any]] | None = None) -> None:
        self.ttnn, self.root, self.out = ttnn, f"{root}/", out
        self.expected = expected
        self.count, self.inside, self.refused = 0, False, 0
        self.device: Any = None
        self.last_s = time.monotonic()

    def install(self) -> None:
        """Puts itself between the models and `ttnn`."""
        sys.modules["ttnn"] = _Module(self.ttnn, "ttnn", self)
        for name in _METHODS:
            method = getattr(self.ttnn.Tensor, name, None)
            if method is not None:
                setattr(self.ttnn.Tensor, name, self._wrapped(f"Tensor.{name}", method))

    def _wrapped(self, name: str, function: Any) -> Any:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            return self.call(name, function, args, kwargs)

        return recorded

    def call(self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        at = None if self.inside else self.place()
        if at is None:
            return function(*args, **kwargs)
        record: dict[str, Any] = {"index": self.count, "call": name, "at": at}
        self.count += 1
        self.inside = True
        try:
            record["arguments"] = [self.describe(value) for value in (*args, *kwargs.values())]
            with self.programs_into(record):
                result = function(*args, **kwargs)
        except Exception as error:
            if "estimate mode" in str(error) and name.endswith("to_torch"):
                record["status"] = "accepted"
                return self.zeros(args[0])
            record |= {"status": "refused", "error": " ".join(str(error).split())[:1500], "type": type(error).__name__}
            followed, result = self.follow(record)
            if not followed:
                raise
            return result
        else:
            record |= {"status": "accepted", "out": self.describe(result)}
            return result
        finally:
            self.inside = False
            self.refused += record.get("status") == "refused"
            self.out.write(json.dumps(record, default=str) + "\n")
            self.out.flush()

    @contextlib.contextmanager
    def programs_into(self, record: dict[str, Any]) -> Iterator[None]:
        """Writes the device programs of the call, by `ttnn`'s own graph capture: operation and cores of each."""
        graph = self.ttnn.graph
        if self.device is None:
            yield
            return
        graph.begin_graph_capture(graph.RunMode.NORMAL)
        try:
            yield
        finally:
            record["programs"] = programs_of(graph.end_graph_capture())

    def follow(self, record: dict[str, Any]) -> tuple[bool, Any]:
        """What the other run returned for this call, unwritten; (False, None) where it does not say."""
        index = record["index"]
        if self.expected is None or index >= len(self.expected):
            return False, None
        other = self.expected[index]
        if (other["call"], other["at"], other.get("status")) != (record["call"], record["at"], "accepted"):
            return False, None
        try:
            return True, self.rebuild(other["out"])
        except Exception as error:  # noqa: BLE001  a spec that cannot be rebuilt ends the run with the refusal itself
            record["follow_error"] = str(error)[:300]
            return False, None

    def zeros(self, tensor: Any) -> Any:
        """What a run without values reads back."""
        import torch

        names = {"BFLOAT16": torch.bfloat16, "UINT32": torch.int64, "INT32": torch.int32, "UINT16": torch.int32, "UINT8": torch.uint8}
        return torch.zeros(list(tensor.shape), dtype=names.get(str(tensor.dtype).rpartition(".")[2], torch.float32))

    def rebuild(self, out: Any) -> Any:
        if isinstance(out, list):
            return tuple(self.rebuild(item) for item in out)
        if not isinstance(out, dict):
            return out
        ttnn = self.ttnn
        shape, dtype, layout = ttnn.Shape(out["shape"]), getattr(ttnn, out["dtype"].lower()), getattr(ttnn.Layout, out["layout"])
        if "memory_layout" not in out:
            return ttnn.allocate_tensor_on_host(ttnn.TensorSpec(list(shape), dtype, layout), self.device)
        parts = [getattr(ttnn.TensorMemoryLayout, out["memory_layout"]), getattr(ttnn.BufferType, out["buffer_type"])]
        if "shard" in out:
            grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(*box[0]), ttnn.CoreCoord(*box[1])) for box in out["shard"]["grid"]])
            parts.append(ttnn.ShardSpec(grid, out["shard"]["shape"], getattr(ttnn.ShardOrientation, out["shard"]["orientation"])))
        return ttnn.allocate_tensor_on_device(shape, dtype, layout, self.device, ttnn.MemoryConfig(*parts))

    def place(self) -> str | None:
        """file:line of the frame that calls, if it is in the tree of models."""
        frame = sys._getframe(3)
        path = frame.f_code.co_filename
        return f"{path.removeprefix(self.root)}:{frame.f_lineno}" if path.startswith(self.root) else None

    def describe(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (list, tuple)):
            return [self.describe(item) for item in value]
        if not isinstance(value, self.ttnn.Tensor):
            return (
                f"<{type(value).__name__}> {str(value)[:400]}" if type(value).__module__.split(".")[0] in ("ttnn", "builtins") else f"<{type(value).__name__}>"
            )
        found = {
            "shape": list(value.shape), "padded_shape": list(value.padded_shape), "dtype": str(value.dtype).rpartition(".")[2],
            "layout": str(value.layout).rpartition(".")[2],
        }  # fmt: skip
        if not str(value.storage_type()).endswith("DEVICE"):
            return found
        if not value.is_allocated():
            return found | {"freed": True}
        config = value.memory_config()
        found["buffer_type"], found["memory_layout"] = (str(part).rpartition(".")[2] for part in (config.buffer_type, config.memory_layout))
        spec = config.shard_spec
        if spec is not None:
            boxes = [[[box.start.x, box.start.y], [box.end.x, box.end.y]] for box in spec.grid.ranges()]
            found["shard"] = {"shape": list(spec.shape), "grid": boxes, "orientation": str(spec.orientation).rpartition(".")[2]}
        found["address"] = value.buffer_address()
        return found


def programs_of(nodes: list[dict[str, Any]]) -> list[str]:
    """The programs of a graph capture in their order, as "operation on cores"."""
    open_functions: list[str] = []
    found = []
    for node in nodes:
        kind, parameters = node["node_type"], node["params"]
        if kind == "function_start":
            open_functions.append(parameters["name"])
        elif kind == "function_end":
            open_functions.pop()
        elif kind == "program_execution":
            operation = next((name for name in reversed(open_functions) if "DeviceOperation" in name), open_functions[-1] if open_functions else "")
            found.append(f"{operation.rpartition('::')[2]} on {_cores(json.loads(parameters['worker_core_ranges']))}")
    return found


def _cores(boxes: list[dict[str, dict[str, int]]]) -> str:
    """The same text for the same cores, whatever boxes they are given in: runs of cores by row."""
    rows: dict[int, set[int]] = {}
    for box in boxes:
        for y in range(box["start"]["y"], box["end"]["y"] + 1):
            rows.setdefault(y, set()).update(range(box["start"]["x"], box["end"]["x"] + 1))
    runs = {y: [x for x in sorted(columns) if x - 1 not in columns or x + 1 not in columns] for y, columns in rows.items()}
    return f"{sum(map(len, rows.values()))} cores " + " ".join(f"{y}:{','.join(map(str, runs[y]))}" for y in sorted(runs))


class _Module(types.ModuleType):
    """`ttnn` or a module of it whose functions are recorded; classes, enums and constants pass through."""

    def __init__(self, real: types.ModuleType, name: str, recorder: Recorder) -> None:
        super().__init__(name)
        self.__dict__.update(_real=real, _recorder=recorder)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if name.startswith("_"):
            return value
        full = f"{self.__name__}.{name}"
        if isinstance(value, types.ModuleType):
            value = _Module(value, full, self._recorder)
        elif callable(value) and not isinstance(value, type):
            value = self._recorder._wrapped(full, value)
        self.__dict__[name] = value
        return value
