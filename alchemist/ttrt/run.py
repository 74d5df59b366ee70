"""`ttrt run`, `perf` and `emitpy`: programs on the simulator. Times are simulated: of the device, and of the host that launches op by op."""

from __future__ import annotations

import importlib.util
import inspect
import logging
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from alchemist.errors import InputError, UserError, explained, printable, quoted
from alchemist.loaded import LoadedProgram
from alchemist.toolchain.ttnn_file import read_ttnn
from alchemist.ttrt import files
from alchemist.ttrt.torch_file import write_torch
from alchemist.ttrt.util import Artifacts

Array = np.ndarray[Any, Any]


class Differs(UserError):
    """Outputs that are not what was asked for: exit code 42."""


@contextmanager
def folder_of(artifacts: Artifacts, keep: bool, *parts: str) -> Iterator[Path]:
    """A folder of the artifacts, or a temporary one."""
    if keep:
        yield artifacts.folder(*parts)
    else:
        with tempfile.TemporaryDirectory(prefix="ttrt-") as name:
            yield Path(name)


def run(path: Path, values: Mapping[str, Any], artifacts: Artifacts, log: logging.Logger) -> dict[str, Any]:
    """Runs the public programs of a binary.

    Raises:
        UserError: several chips, a chip without a model, an op without a form. Differs: outputs that miss --identity or golden values.
    """
    root = read_ttnn(path)
    results: dict[str, Any] = {}
    selection, loops = ("0", 2) if values["benchmark"] else (values["program-index"], values["loops"])
    for index, program in files.programs(root, selection):
        for op in program.get("operations", ()):
            log.debug("op: %s", op.get("debug_info", ""))
        with folder_of(artifacts, values["save-artifacts"], files.file_stem(path), "run", f"program_{index}") as folder:
            place = files.export(path, program, values, root, folder / "program")
            with simulated(files.card(root, values["card"])), LoadedProgram(place) as loaded:
                results[f"program_index_{index}"] = _run_program(loaded, values, loops, folder, log)
        log.info("%s: program %d %s: %s", path.name, index, quoted(program.get("name", "")), _times(results[f"program_index_{index}"]))
    return {"program_index": values["program-index"], "program_results": results}


@contextmanager
def simulated(card: str) -> Iterator[None]:
    """The card that `open_device` opens."""
    from ttnn_shim import session

    before, session.settings.card = session.settings.card, card
    try:
        yield
    finally:
        session.settings.card = before


def _run_program(loaded: LoadedProgram, values: Mapping[str, Any], loops: int, folder: Path, log: logging.Logger) -> dict[str, Any]:
    tensors = loaded.manifest["tensors"]
    inputs = {name: read_stored(loaded.path / entry["file"]) for name, entry in tensors.items() if entry["kind"] == "input"}
    on_device = [loaded.to_device(name, inputs[name]) for name in loaded.inputs]
    outputs, results = timed(lambda: loaded.run(on_device), loops)
    arrays = [loaded.utils.to_numpy(output) for output in outputs]
    if values["print-input-output-tensors"]:
        for name, array in (*inputs.items(), *zip(loaded.outputs, arrays, strict=True)):
            log.info("%s\n%s", name, array)
    if values["save-artifacts"]:
        for stem, saved in (("input", list(inputs.values())), ("device_output", arrays)):
            save(folder, stem, saved)
    for name, array in zip(loaded.outputs, arrays, strict=True):
        if array.dtype.kind == "f" and not np.isfinite(array.astype(np.float32)).all():
            log.warning("output %s has values that are not finite", name)
    if values["identity"]:
        _check_identity(loaded, list(inputs.values()), arrays, values)
    golden = {name: entry for name, entry in loaded.manifest["outputs"].items() if "golden" in entry}
    if golden:
        results["golden"] = _check_golden(loaded, golden, arrays, float(values["pcc"]))
    return results


def timed(call: Any, loops: int) -> tuple[Sequence[Any], dict[str, Any]]:
    """Outputs of the last call, and simulated nanoseconds of each by `loop_N`."""
    from ttnn_shim import session

    times: dict[str, Any] = {}
    outputs: Sequence[Any] = ()
    for number in range(loops):
        session.begin_forward()
        outputs = call()
        clock = session.end_forward()
        host_ns = clock["wall_ns"]["eager"]["ns"]
        times[f"loop_{number}"] = {
            "total_duration_ns": host_ns, "total_submit_duration_ns": host_ns, "total_ttnn_api_duration_ns": host_ns,
            "total_device_kernel_duration_ns": clock["device_ns"], "device_programs": clock["ops"],
        }  # fmt: skip
    return outputs, times


def _times(results: Mapping[str, Any]) -> str:
    first = results["loop_0"]
    device_ns, host_ns = first["total_device_kernel_duration_ns"], first["total_ttnn_api_duration_ns"]
    return f"device {device_ns:,} ns, host {host_ns:,} ns (simulated), {first['device_programs']} device programs"


def read_stored(file: Path) -> Array:
    """A tensor of an export."""
    from alchemist.export.tensorbin import read_tensor

    return read_tensor(file)


def save(folder: Path, stem: str, arrays: Sequence[Array]) -> None:
    """`<stem>_N.pt` and `.tensorbin`."""
    from alchemist.export.tensorbin import DTYPE_CODES, write_tensor

    for number, array in enumerate(arrays):
        write_torch(folder / f"{stem}_{number}.pt", array)
        write_tensor(folder / f"{stem}_{number}.tensorbin", array if array.dtype.name in DTYPE_CODES else array.astype(np.float32))


def _check_identity(loaded: LoadedProgram, inputs: Sequence[Array], outputs: Sequence[Array], values: Mapping[str, Any]) -> None:
    for name, left, right in zip(loaded.outputs, inputs, outputs, strict=False):
        a, b = left.astype(np.float64), right.astype(np.float64)
        if a.shape != b.shape or not np.allclose(a, b, rtol=values["rtol"], atol=values["atol"], equal_nan=True):
            got = f"shape {list(b.shape)}" if a.shape != b.shape else f"largest difference {np.max(np.abs(a - b)):.6g}"
            raise Differs(f"output {printable(name)} is not its input", expected=f"rtol {values['rtol']}, atol {values['atol']}", got=got)


def correlation(a: Array, b: Array) -> float:
    """Pearson's coefficient as ttrt has it: of constants 1 where they agree, else 0; values that are not finite count as 0."""
    x, y = (np.nan_to_num(values.astype(np.float64).ravel(), nan=0.0, posinf=0.0, neginf=0.0) for values in (a, b))
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float(np.allclose(x, y, rtol=1e-2, atol=1e-2))
    return float(np.corrcoef(x, y)[0, 1])


def _check_golden(loaded: LoadedProgram, golden: Mapping[str, Any], arrays: Sequence[Array], lowest: float) -> dict[str, float]:
    outputs = {
        name: correlation(read_stored(loaded.path / golden[name]["golden"]), array)
        for name, array in zip(loaded.outputs, arrays, strict=True)
        if name in golden
    }
    for name, pcc in outputs.items():
        if pcc < lowest:
            raise Differs(f"output {printable(name)} does not agree with the ops' definitions", expected=f"PCC {lowest}", got=f"{pcc:.6f}")
    return outputs


# --- emitpy -----------------------------------------------------------------------------------------------------------------

_NO_PROGRAM = re.compile(r"main|create_inputs_for_.*|.*const_eval.*|_.*")


@explained
def emitpy(path: Path, values: Mapping[str, Any], artifacts: Artifacts, log: logging.Logger) -> dict[str, Any]:
    """Runs the programs of a Python file of tt-mlir's emitter (those with `create_inputs_for_<name>`), or of an export of ours."""
    results: dict[str, Any] = {}
    if (path.parent / "manifest.json").is_file() and path.name == "main.py":
        with LoadedProgram(path.parent) as loaded:
            results["program_index_0"] = _run_program(
                loaded, {**values, "identity": False, "print-input-output-tensors": False}, values["loops"], path.parent, log
            )
        return {"program_index": "0", "program_results": results}
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    spec = importlib.util.spec_from_file_location("ttrt_emitted", path)
    if spec is None or spec.loader is None:
        raise InputError("not a Python file", location=str(path), expected="a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [
        value for name, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == "ttrt_emitted" and not _NO_PROGRAM.fullmatch(name)
    ]
    makers = {function.__name__: getattr(module, f"create_inputs_for_{function.__name__}", None) for function in functions}
    functions = [function for function in functions if makers[function.__name__] is not None]
    if not functions:
        raise InputError("no program in the file", location=str(path), expected="functions f and create_inputs_for_f")
    for index, function in enumerate(functions):
        if values["program-index"] not in ("all", str(index)):
            continue
        inputs = makers[function.__name__]()  # type: ignore[misc]
        outputs, results[f"program_index_{index}"] = timed(lambda call=function, given=inputs: call(given) if given else call(), values["loops"])
        log.info("%s: %s: %s", path.name, function.__name__, _times(results[f"program_index_{index}"]))
        if values["flatbuffer"]:
            _compare(outputs, artifacts.root / files.file_stem(Path(values["flatbuffer"])) / "run" / f"program_{index}", float(values["pcc"]))
    return {"program_index": values["program-index"], "program_results": results}


def _compare(outputs: Sequence[Any], folder: Path, lowest: float) -> None:
    import ttnn

    for number, output in enumerate(outputs):
        path = folder / f"device_output_{number}.tensorbin"
        if not path.is_file():
            raise InputError("no outputs of the binary", location=str(path), hint="run it first: ttrt run FILE.ttnn --save-artifacts")
        output_array = ttnn.to_dtype(ttnn.to_layout(ttnn.from_device(output), ttnn.ROW_MAJOR_LAYOUT), ttnn.float32)
        pcc = correlation(read_stored(path), np.asarray(output_array.to_list(), np.float32))
        if pcc < lowest:
            raise Differs(f"output {number} does not agree with the binary's", location=str(path), expected=f"PCC {lowest}", got=f"{pcc:.6f}")
