"""`alchemist.load`: compiled programs that pass tensors to each other on the device, without knowing of each other.

Each program says what its inputs must be (`inputs`); `submit` runs it on device tensors and leaves its outputs on the device;
`to_layout` is the only thing that moves or converts a tensor, and it is called by the user: every conversion is visible.

    with alchemist.load("encoder") as encoder, alchemist.load("head.ttnn") as head:
        (hidden,) = encoder.submit([encoder.to_layout(image, 0)])
        (logits,) = head.submit([head.to_layout(hidden, 0)])  # the tensor itself where it fits already
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from alchemist.codegen import codegen_mlir
from alchemist.errors import AlchemistError, InputError, UserError, checked_path, explained, printable, quoted
from alchemist.export.arrays import values_in
from alchemist.export.writer import FileNames
from alchemist.frontends.mlir.host_calls import PREFIX as HOST_CONSTANT
from alchemist.loaded import LoadedProgram, read_manifest, weights_wanted
from alchemist.toolchain.ttnn_file import check_one_chip, read_module_text


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What a program takes or returns. dtype, layout, memory: ttnn's own objects; of an output, whose tensor says them: the model's dtype as text, None."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    layout: Any = None
    memory: Any = None

    def __str__(self) -> str:
        place = "" if self.layout is None else f" {self.layout.name} {self.memory.buffer_type.name} {self.memory.memory_layout.name}"
        return f"{printable(self.name)}: {list(self.shape)} {getattr(self.dtype, 'name', self.dtype)}{place}"


class StitchedProgram:
    """A program that is ready to run: its card is open and its weights are on it. Made by `load`.

    path: directory of the program. inputs, outputs: in the order of `submit`. ttnn: the module of the library; device: the open
    card, which all loaded programs share. `close()` (or leaving a `with` block) frees the weights; the last program closes the card.
    """

    def __init__(self, path: Path, weights: Mapping[str, Any], scratch: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.path = path
        self._scratch = scratch
        self._program = LoadedProgram(path, {name: partial(_as_array, value) for name, value in weights.items()})
        self.ttnn, self.device = self._program.ttnn, self._program.device
        tensors, outputs = self._program.manifest["tensors"], self._program.manifest["outputs"]
        self.inputs = tuple(self._spec(name, tensors[name]) for name in self._program.inputs)
        self.outputs = tuple(TensorSpec(name, tuple(outputs[name]["shape"]), outputs[name]["dtype"]) for name in self._program.outputs)

    def _spec(self, name: str, entry: dict[str, Any]) -> TensorSpec:
        dtype = getattr(self.ttnn, entry.get("device_dtype", entry["dtype"]))
        return TensorSpec(name, tuple(entry["shape"]), dtype, getattr(self.ttnn, entry["layout"]), self.ttnn.DRAM_MEMORY_CONFIG)

    def submit(self, tensors: Sequence[Any]) -> list[Any]:
        """Runs the program on device tensors; its outputs stay on the device. An input that the program writes (a cache) is also an output.

        Raises:
            InputError: a tensor that is not as its `inputs` entry says: number, shape, dtype, layout, memory, or its device is closed.
        """
        if len(tensors) != len(self.inputs):
            raise InputError("wrong number of inputs", expected=", ".join(map(str, self.inputs)) or "none", got=f"{len(tensors)} tensors")
        for tensor, spec in zip(tensors, self.inputs, strict=True):
            self._check(tensor, spec)
        try:
            return list(self._program.run(tensors))
        except RuntimeError as error:
            closed = ", ".join(str(spec) for tensor, spec in zip(tensors, self.inputs, strict=True) if not self._is_readable(tensor))
            if not closed:
                raise
            raise InputError(f"input {closed}: the tensor's device was closed", expected="a tensor of the open device", got=str(error)) from error

    def _is_readable(self, tensor: Any) -> bool:
        """A tensor of a closed device looks like any other until an op reads it."""
        try:
            self.ttnn.clone(tensor)
        except RuntimeError:
            return False
        return True

    def _check(self, tensor: Any, spec: TensorSpec) -> None:
        hint = f"convert it first: program.to_layout(tensor, {spec.name!r})"
        what = f"input {printable(spec.name)}"
        if not isinstance(tensor, self.ttnn.Tensor):
            raise InputError(f"{what}: not a tensor on the device", expected=str(spec), got=type(tensor).__name__, hint=hint)
        if tuple(tensor.shape) != spec.shape:
            raise InputError(f"{what}: wrong shape", expected=str(list(spec.shape)), got=str(list(tensor.shape)), hint="programs have fixed shapes")
        if tensor.device() is None or not tensor.is_allocated():
            raise InputError(
                f"{what}: the tensor is not on an open device", expected=str(spec), got="a tensor on the host, of a closed device, or freed", hint=hint
            )
        if tensor.device() is not self.device:
            raise InputError(f"{what}: the tensor is on another device", expected="the device of this program", got=quoted(tensor.device()), hint=hint)
        found = TensorSpec(spec.name, spec.shape, tensor.dtype, tensor.layout, tensor.memory_config())
        if str(found) != str(spec):
            raise InputError(f"{what}: wrong dtype, layout or memory", expected=str(spec), got=str(found), hint=hint)

    def to_layout(self, tensor: Any, wanted: str | int | TensorSpec) -> Any:
        """The tensor as an input needs it; the same object where it is so already.

        tensor: on the device, on the host, a numpy array or a torch tensor. wanted: an input by name or position, or any `TensorSpec`.

        Raises:
            InputError: another shape, no such input, or a tensor whose device is closed.
        """
        spec = self._wanted(wanted)
        if not isinstance(tensor, self.ttnn.Tensor):
            return self._program.to_device(spec.name, _as_array(tensor))
        if tuple(tensor.shape) != spec.shape:
            raise InputError(f"input {printable(spec.name)}: wrong shape", expected=str(list(spec.shape)), got=str(list(tensor.shape)))
        if not tensor.is_allocated():
            raise InputError(f"input {printable(spec.name)}: the tensor was freed", expected="a tensor with values", got="a freed tensor")
        if tensor.device() is None:
            tensor = self.ttnn.to_device(tensor, self.device)
        if tensor.dtype != spec.dtype:
            if tensor.layout != self.ttnn.TILE_LAYOUT:  # the library converts tiles on the device
                tensor = self.ttnn.to_layout(tensor, self.ttnn.TILE_LAYOUT)
            tensor = self.ttnn.typecast(tensor, spec.dtype)
        if tensor.layout != spec.layout:
            tensor = self.ttnn.to_layout(tensor, spec.layout)
        memory = tensor.memory_config()
        if (memory.buffer_type, memory.memory_layout) != (spec.memory.buffer_type, spec.memory.memory_layout):
            tensor = self.ttnn.to_memory_config(tensor, spec.memory)
        return tensor

    def _wanted(self, wanted: str | int | TensorSpec) -> TensorSpec:
        if isinstance(wanted, TensorSpec):
            return wanted
        for index, spec in enumerate(self.inputs):
            if wanted == spec.name or (wanted == index and not isinstance(wanted, bool)):
                return spec
        raise InputError("no such input", expected=", ".join(map(str, self.inputs)) or "none", got=quoted(wanted))

    def close(self) -> None:
        """Frees the weights; the last program closes the card."""
        self._program.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> StitchedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    if hasattr(value, "detach"):  # torch, which numpy cannot read with gradients or in bfloat16
        value = value.detach().float() if value.is_floating_point() else value.detach()
    return np.asarray(value)


@explained
def load(path: str | Path, *, entry: str = "", weights: Mapping[str, Any] | str | Path | None = None) -> StitchedProgram:
    """A program on the simulated card, to be run on tensors that stay there. Its weights are loaded and prepared once.

    path: an export of `codegen_py`, or a `.ttnn` or MLIR file.
    entry: of a file with several programs: which one.
    weights: values of parameters and constants by name (arrays, torch tensors), or a directory of them (`tensors` of an export). A
        file has none of its own, so all of them must be given; those of an export may be replaced.

    Raises:
        UserError: no export or file, a program for another card than the one that is open, or one for several chips.
        InputError: a weight that is missing, or of another shape.
    """
    place = checked_path(path, "path")
    given = weights if isinstance(weights, Mapping) else {} if weights is None else values_in(checked_path(weights, "weights"))
    if place.is_dir():
        if entry:
            raise UserError("the export has only one program", location=str(place), got=f"entry {quoted(entry)}", hint="remove entry")
        return _opened(place, given)
    scratch = tempfile.TemporaryDirectory(prefix="alchemist-load-")
    try:
        text = read_module_text(place)
        if place.suffix == ".ttnn":
            check_one_chip(place, entry)
        source = Path(scratch.name) / f"{place.stem}.mlir"
        source.write_text(text, encoding="utf-8")
        program = Path(scratch.name) / "program"
        write = partial(codegen_mlir, source, export_path=program, entry=entry, init="zeros", export_golden="none", compiler_options={"dump_irs": False})
        write()
        wanted = weights_wanted(read_manifest(program))
        computed = {name for name in wanted if name.startswith(HOST_CONSTANT)}
        if missing := wanted - computed - given.keys():
            raise InputError("the file contains no weights", location=str(place), expected=f"weights={{...}} with {', '.join(sorted(missing))[:400]}",
                             got=", ".join(map(str, given)) or "none")  # fmt: skip
        if computed:  # by host code of the binary, of the weights
            values, stems = Path(scratch.name) / "values", FileNames()
            values.mkdir()
            for name in wanted - computed:
                if stems.stem(name) == name:
                    np.save(values / f"{name}.npy", _as_array(given[name]))
            write(inputs=values, overwrite=True)
        return _opened(Path(scratch.name) / "program", given, scratch)
    except BaseException as error:
        if isinstance(error, AlchemistError):  # the user's file, not our copy of its text
            error.location = error.location.replace(f"{scratch.name}/{place.stem}.mlir", str(place))
        scratch.cleanup()
        raise


def _opened(place: Path, weights: Mapping[str, Any], scratch: tempfile.TemporaryDirectory[str] | None = None) -> StitchedProgram:
    """The card of the first program is the one that is opened."""
    from ttnn_shim import session

    card = str(read_manifest(place)["device"].get("card", "n150"))
    if not session.has_device():
        session.settings.card = card
    elif session.card() != card:
        raise UserError("the program is for another card", location=str(place), expected=session.card(), got=card, hint="close the other programs first")
    return StitchedProgram(place, weights, scratch)
