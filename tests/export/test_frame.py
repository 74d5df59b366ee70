"""The emitted utils.py, imported into this process: damaged manifests, options, own inputs, traces, what is printed and written."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from alchemist.resources import template_text
from tests.device import simulated_device

X = np.arange(6, dtype=np.float32).reshape(2, 3)
TENSORS = {
    "x": {"kind": "input", "shape": [2, 3], "dtype": "float32", "layout": "TILE_LAYOUT", "file": "tensors/x.tensorbin"},
    "ids": {"kind": "input", "shape": [4], "dtype": "uint32", "layout": "ROW_MAJOR_LAYOUT", "file": "tensors/given ids.tensorbin"},
    "layer.weight": {"kind": "weight", "shape": [2, 3], "dtype": "bfloat16", "layout": "TILE_LAYOUT", "file": "tensors/weight.tensorbin"},
    "layer.block": {"kind": "weight", "shape": [32, 32], "dtype": "float32", "device_dtype": "bfloat8_b", "layout": "TILE_LAYOUT", "file": "tensors/block.tensorbin"},
    "layer.absent": {"kind": "weight", "shape": [2, 3], "dtype": "bfloat16", "layout": "TILE_LAYOUT"},
    "absent": {"kind": "weight", "shape": [32, 32], "dtype": "float32", "device_dtype": "bfloat8_b", "layout": "TILE_LAYOUT"},
}  # fmt: skip
LIMITS = {"pcc": 0.999, "rel_l2": 0.05, "noise": 1e-5}
OUTPUTS = {
    "y": {"stem": "y", "shape": [2, 3], "golden": "golden/y.tensorbin", **LIMITS},
    "cache": {"stem": "the cache", "shape": [2, 3], "written": "layer.weight", **LIMITS},
}
MANIFEST = {"model": "small", "tensors": TENSORS, "outputs": OUTPUTS, "device": {"l1_small_size": 0}}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an export without a main.py."""
    import ttnn

    folder = tmp_path_factory.mktemp("frame")
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    for name in ("utils.py", "check.py"):
        (folder / name).write_text(template_text(f"py/{name}"))
    for place in ("tensors", "golden"):
        (folder / place).mkdir()
    for entry in TENSORS.values():
        if "file" in entry:
            values = X if entry["shape"] == [2, 3] else np.ones(entry["shape"], np.uint32 if entry["dtype"] == "uint32" else np.float32)
            ttnn.dump_tensor(folder / str(entry["file"]), ttnn.Tensor(values, getattr(ttnn, str(entry["dtype"]))).to(getattr(ttnn, str(entry["layout"]))))
    ttnn.dump_tensor(folder / "golden" / "y.tensorbin", ttnn.Tensor(X, ttnn.float32))
    return folder


@pytest.fixture(scope="module")
def sources(program: Path) -> dict[str, Any]:
    return {name: compile((program / f"{name}.py").read_text(), program / f"{name}.py", "exec") for name in ("check", "utils")}


@pytest.fixture
def utils(program: Path, sources: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    import ttnn  # noqa: F401  (the simulator's: the program finds its clock)

    found = {name: ModuleType(name) for name in sources}
    monkeypatch.setitem(sys.modules, "check", found["check"])
    for name, module in found.items():
        module.__file__ = str(program / f"{name}.py")
        exec(sources[name], module.__dict__)
    return found["utils"]


@pytest.fixture
def device() -> Iterator[Any]:
    with simulated_device() as found:
        yield found


def ended(function: Any, *args: Any) -> str:
    """What a program that ends itself says."""
    with pytest.raises(SystemExit) as caught:
        function(*args)
    return str(caught.value.code)


# ---------------------------------------------------------------------------------------------------------- manifests


def edited(*path: str, value: Any = ...) -> bytes:
    """MANIFEST with another value (without one: none) at a path of keys."""
    found: Any = json.loads(json.dumps(MANIFEST))
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "Expecting value: line 1 column 1 (char 0)"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b'{"a":' * 100_000, ""),
        (b"[1, 2]", "it has no 'model'"),
        (edited("model"), "it has no 'model'"),
        (edited("model", value=3), "it has no 'model'"),
        *((edited(group), f"it has no '{group}'") for group in ("tensors", "outputs", "device")),
        *((edited(group, value=[]), f"it has no '{group}'") for group in ("tensors", "outputs", "device")),
        *((edited("tensors", "x", key), "tensors: bad entry 'x'") for key in ("shape", "kind", "dtype", "layout")),
        *((edited("tensors", "x", key, value=3), "tensors: bad entry 'x'") for key in ("shape", "kind", "dtype", "layout", "file", "golden", "unedited")),
        *((edited("tensors", "x", "shape", value=value), "tensors: bad entry 'x'") for value in ("23", [2, -1], [2**32, 1], [2, True], [2, 3.0], [2, "3"])),
        (edited("tensors", "x", value="text"), "tensors: bad entry 'x'"),
        (edited("tensors", "y" * 201, value="text"), f"tensors: bad entry '{'y' * 200}'"),
        *((edited("outputs", "y", key), "outputs: bad entry 'y'") for key in ("stem", "shape")),
        *((edited("outputs", "y", key, value=3), "outputs: bad entry 'y'") for key in ("stem", "golden", "unedited", "file")),
        *((edited("tensors", "x", key, value="wide"), "tensors: unknown dtype or layout of 'x'") for key in ("dtype", "layout", "device_dtype")),
        (edited("tensors", "y" * 201, value={**TENSORS["x"], "dtype": "wide"}), f"tensors: unknown dtype or layout of '{'y' * 200}'"),
        (edited("device", value={}), "device: bad 'l1_small_size'"),
        *((edited("device", "l1_small_size", value=value), "device: bad 'l1_small_size'") for value in (-1, 2**31, True, 1.0, "1")),
    ],
)  # fmt: skip
def test_damaged_manifests(utils: ModuleType, tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    said = ended(utils.read_manifest, tmp_path / "manifest.json")
    assert said == f"run: manifest.json is damaged: {message}" if message else said.startswith("run: manifest.json is damaged: ")


@pytest.mark.parametrize(
    "text",
    [
        *(edited("device", "l1_small_size", value=value) for value in (0, 2**31 - 1)),
        *(edited("tensors", "x", "shape", value=value) for value in ([], [0], [2**32 - 1])),
        edited("tensors", value={}),
        edited("tensors", "x", "file"),
        edited("outputs", "y", "golden"),
    ],
)
def test_other_manifests_are_read(utils: ModuleType, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    wanted = json.loads(text)
    assert utils.read_manifest(tmp_path / "manifest.json") == wanted | {"device": {"mesh_shape": [1, 1]} | wanted["device"]}


def test_a_manifest_that_is_not_there(utils: ModuleType, tmp_path: Path) -> None:
    assert ended(utils.read_manifest, tmp_path / "no.json") == f"run: cannot read {tmp_path / 'no.json'}: No such file or directory"


# ------------------------------------------------------------------------------------------------------------ options


def parsed(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str, **manifest: Any) -> Any:
    monkeypatch.setattr(sys, "argv", ["main.py", *words])
    for name, value in manifest.items():
        monkeypatch.setitem(utils.MANIFEST, name, value)
    return utils.parse_args()


NO_STEP = "run: --generate needs an export with a decode step over static caches; this export has none"
OF_PROMPT = "run: pass --generate N together with --prompt-ids A,B,C"


@pytest.mark.parametrize(
    ("words", "manifest", "message"),
    [
        ("--loops 0", {}, "run: --loops needs a whole number from 1"),
        ("--trace", {}, "run: --trace needs an export with the option enable_trace"),
        ("--trace", {"options": {"enable_trace": False}}, "run: --trace needs an export with the option enable_trace"),
        ("--json .", {}, "run: --json: . is a directory"),
        ("--json missing/x", {}, "run: --json: no directory {here}/missing"),
        ("--json file/x", {}, "run: --json: no directory {here}/file"),
        ("--outputs file", {}, "run: --outputs: no directory {here}/file"),
        ("--outputs file/deep/er", {}, "run: --outputs: no directory {here}/file"),
        (f"--outputs {'x' * 300}", {}, f"run: --outputs: {'x' * 200}: File name too long"),
        ("--generate 1", {}, NO_STEP),
        ("--generate -1", {"generation": {"step": 1}}, "run: --generate needs a whole number from 1"),
        ("--generate 1", {"generation": {"step": 1}}, OF_PROMPT),
        ("--prompt-ids 1", {"generation": {"step": 1}}, OF_PROMPT),
        ("--generate 1 --prompt-ids 1 --estimate", {"generation": {"step": 1}}, "run: --generate needs values: remove --estimate"),
        ("--entry x", {}, "run: --entry: no entry point 'x'; there is only one, without a name"),
        ("--entry x", {"entries": {"a": {}, "b": {}}}, "run: --entry: no entry point 'x'; there is a, b"),
        ("--tolerance 0.99", {}, "run: --tolerance needs a number from 1"),
        ("--tolerance inf", {}, "run: --tolerance needs a number from 1"),
        ("--tolerance nan", {}, "run: --tolerance needs a number from 1"),
        ("--inputs file", {}, "run: --inputs: no directory file"),
        ("--inputs empty", {}, "run: --inputs empty:\n  missing: x, given ids (--partial-inputs takes the example input for what is missing)\n  expected x, given ids (.npy or .tensorbin); found none"),
    ],
)  # fmt: skip
def test_refused_options(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, manifest: dict[str, Any], message: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert ended(lambda: parsed(utils, monkeypatch, *words.split(), **manifest)) == message.replace("{here}", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "manifest", "name", "value"),
    [
        ("", {}, "tolerance", 4.0),
        ("", {}, "loops", 1),
        ("", {}, "generate", 0),
        ("--tolerance 1", {}, "tolerance", 1.0),
        ("--loops 1", {}, "loops", 1),
        ("--trace", {"options": {"enable_trace": True}}, "trace", True),
        ("--json new.json", {}, "json", Path("new.json")),
        ("--json file", {}, "json", Path("file")),
        ("--outputs deep/er/out", {}, "outputs", Path("deep/er/out")),
        ("--outputs empty", {}, "outputs", Path("empty")),
        ("--generate 1 --prompt-ids 7", {"generation": {"step": 1}}, "generate", 1),
        ("--entry a", {"entries": {"a": {}}}, "entry", "a"),
        ("--inputs empty --partial-inputs", {}, "inputs", Path("empty")),
        ("--own-option of --the host", {}, "check", False),
    ],
)
def test_options(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, manifest: dict[str, Any], name: str, value: Any) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    args = parsed(utils, monkeypatch, *words.split(), **manifest)
    assert getattr(args, name) == value and args is utils.options


@pytest.mark.parametrize("words", ["--json {here}/x", "--outputs {here}/x/y", "--outputs {here}"])
def test_a_place_without_permission(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str) -> None:
    """A stand-in for the system's answer: this may be root."""
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != tmp_path or mode != os.W_OK)
    words = words.replace("{here}", str(tmp_path))
    assert ended(lambda: parsed(utils, monkeypatch, *words.split())) == f"run: {words.split()[0]}: no permission to write {tmp_path}"


@pytest.mark.parametrize(("entry", "runs"), [(None, ["a", "b"]), ("a", ["a"]), ("b", ["b"])])
def test_chosen_entry_points(utils: ModuleType, entry: str | None, runs: list[str]) -> None:
    assert [name for name in ("a", "b") if utils.chosen(SimpleNamespace(entry=entry), name)] == runs


# ------------------------------------------------------------------------------------------------------------ tensors


@pytest.mark.parametrize(
    ("array", "dtype", "message"),
    [
        (np.array(["text"]), "float32", "{file} holds <U4, expected numbers for float32"),
        (np.array([1 + 2j]), "float32", "{file} holds complex128, expected numbers for float32"),
        (np.array([-1]), "uint32", "values do not fit uint32"),
        (np.array([256.0]), "uint8", "values do not fit uint8"),
        (np.array([2**16]), "uint16", "values do not fit uint16"),
        (np.array([2**31]), "int32", "values do not fit int32"),
        (np.array([-(2**31) - 1]), "int32", "values do not fit int32"),
        (np.array([np.nan]), "int32", "values do not fit int32"),
        (np.array([1.0, 1.5]), "int32", "values are no whole numbers, expected int32"),
    ],
)
def test_refused_arrays(utils: ModuleType, tmp_path: Path, array: Any, dtype: str, message: str) -> None:
    file = tmp_path / "x.npy"
    np.save(file, array)
    assert ended(utils.read_npy, file, "x", dtype) == f"run: input x: {message.replace('{file}', str(file))}"


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array([1.5, -2], ">f8"), "float32"),
        (np.array([1, 2], np.float16), "bfloat16"),
        (np.array([[1, 2], [3, 4]], np.int64).T, "float32"),
        (np.array([True, False]), "uint8"),
        (np.array([0, 255.0]), "uint8"),
        (np.array([0, 2**16 - 1]), "uint16"),
        (np.array([0, 2**32 - 1]), "uint32"),
        (np.array([-(2**31), 2**31 - 1]), "int32"),
        (np.zeros((0, 3), np.int8), "uint32"),
    ],
)
def test_arrays_of_all_widths(utils: ModuleType, tmp_path: Path, array: Any, dtype: str) -> None:
    np.save(tmp_path / "x.npy", array)
    found = utils.read_npy(tmp_path / "x.npy", "x", dtype)
    assert found.dtype.name == ("float32" if "float" in dtype else dtype) and found.flags.c_contiguous
    np.testing.assert_array_equal(found, array)


def test_files_that_hold_no_array(utils: ModuleType, tmp_path: Path) -> None:
    assert ended(utils.read_npy, tmp_path, "x", "float32") == f"run: input x: {tmp_path} is no file"
    for content in (b"", b"1.0 2.0\n", pickle.dumps([1.0])):
        (tmp_path / "x.npy").write_bytes(content)
        assert ended(utils.read_npy, tmp_path / "x.npy", "x", "float32") == (
            f"run: input x: {tmp_path / 'x.npy'} is no .npy file; write it with numpy.save(file, array)"
        )
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    assert ended(utils.read_npy, tmp_path / "x.npy", "x", "float32").startswith(f"run: input x: cannot read {tmp_path / 'x.npy'}: ")


@pytest.mark.parametrize("suffix", ["npy", "tensorbin"])
def test_own_inputs(utils: ModuleType, tmp_path: Path, device: Any, suffix: str) -> None:
    """By the name of the exported file, in the layout of the manifest; without one the exported values."""
    import ttnn

    def put(stem: str, values: Any) -> None:
        if suffix == "npy":
            np.save(tmp_path / f"{stem}.npy", values)
        else:
            ttnn.dump_tensor(tmp_path / f"{stem}.tensorbin", ttnn.Tensor(values, ttnn.uint32 if values.dtype == np.uint32 else ttnn.float32))

    utils.options.inputs = tmp_path
    np.testing.assert_array_equal(utils.to_numpy(utils.load("x", None)), X)
    put("x", X + 1)
    put("given ids", np.arange(4, dtype=np.uint32))
    put("weight", X + 2)  # no input
    x, ids = utils.load("x", None), utils.load("ids", device)
    assert (x.dtype, x.layout) == (ttnn.float32, ttnn.TILE_LAYOUT) and not ttnn.is_tensor_storage_on_device(x)
    assert (ids.dtype, ids.layout) == (ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT) and ttnn.is_tensor_storage_on_device(ids)
    np.testing.assert_array_equal(utils.to_numpy(x), X + 1)
    np.testing.assert_array_equal(utils.to_numpy(ids), np.arange(4))
    np.testing.assert_array_equal(utils.to_numpy(utils.load("layer.weight", None)), X)
    put("x", X.T)
    assert ended(utils.load, "x", None) == "run: input x: expected shape [2, 3], got [3, 2]"


def test_stored_tensors(utils: ModuleType, device: Any) -> None:
    """Block formats are made here: files do not have them. Without a file: ones."""
    import ttnn

    for name, dtype, mean in (
        ("layer.weight", ttnn.bfloat16, 2.5),
        ("layer.block", ttnn.bfloat8_b, 1),
        ("layer.absent", ttnn.bfloat16, 1),
        ("absent", ttnn.bfloat8_b, 1),
    ):
        for place in (device, None):
            tensor = utils.load(name, place)
            assert (tensor.dtype, tensor.layout, list(tensor.shape)) == (dtype, ttnn.TILE_LAYOUT, TENSORS[name]["shape"])
            assert ttnn.is_tensor_storage_on_device(tensor) == (place is not None)
            assert utils.to_numpy(tensor).mean() == mean
    with pytest.raises(KeyError, match=r"no tensor 'layer.wait' in manifest.json \(6 names\); did you mean 'layer.weight'\?"):
        utils.load("layer.wait", device)
    with pytest.raises(KeyError, match=r"no tensor 'q' in manifest.json \(6 names\); the names begin with x, ids, layer.weight, layer.block$"):
        utils.load("q", device)


@pytest.mark.parametrize("keep", [False, True])
def test_stored_weights(utils: ModuleType, device: Any, keep: bool) -> None:
    weights = utils.stored_weights(device, keep)
    assert weights.device is device and weights.names() == list(TENSORS) and len(weights._tensors) == len(TENSORS)
    assert (weights["layer.weight"] is weights["layer.weight"]) is keep


def test_weights_of_a_scope(utils: ModuleType) -> None:
    held = {"layer.weight": 1, "layer.bias": 2, "other": 3}
    weights = utils.Weights(held)
    layer = weights.scope("layer")
    assert layer["weight"] == 1 and "weight" in layer and "other" not in layer and layer.names() == ["weight", "bias"]
    assert weights.scope("").names() == list(held) and weights.scope("layer").scope("").names() == ["weight", "bias"]
    layer["scale"] = 4
    assert layer.pop("bias") == 2 and held == {"layer.weight": 1, "other": 3, "layer.scale": 4}
    with pytest.raises(KeyError, match=r"no tensor 'layer.wait' in prepared weights \(3 names\); did you mean 'layer.weight'\?"):
        layer["wait"]


def test_tensors_of_a_caller(utils: ModuleType, device: Any) -> None:
    import ttnn

    x, own = ttnn.Tensor(X, ttnn.float32), object()
    given = utils.Given([x, own], ["x", "own"], device)
    assert list(given) == ["x", "own"] and len(given) == 2 and given["own"] is own
    placed = given["x"]
    assert ttnn.is_tensor_storage_on_device(placed) and placed.layout == ttnn.TILE_LAYOUT
    assert utils.Given([placed], ["x"], device)["x"].buffer_address() == placed.buffer_address()
    with pytest.raises(ValueError, match=r"expected 2 tensors \(x, own\), got 1"):
        utils.Given([x], ["x", "own"], device)
    with pytest.raises(ValueError, match=r"x: expected shape \[2, 3\], got \[3, 2\]"):
        utils.Given([ttnn.Tensor(X.T.copy(), ttnn.float32)], ["x"], device)["x"]


def test_what_a_program_writes(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    held = {"layer.weight": "moved", "absent": "kept"}
    assert utils.caches(utils.Weights(held)) == {"cache": "moved"}
    assert utils.caches(utils.Weights(held), "step") == {}
    monkeypatch.setitem(utils.MANIFEST["outputs"], "step.cache", {"written": "absent"})
    assert utils.caches(utils.Weights(held), "step") == {"step.cache": "kept"}
    utils.restore(utils.Weights(held), device)
    assert utils.to_numpy(held["layer.weight"]).tolist() == X.tolist() and utils.to_numpy(held["absent"]).mean() == 1


# ------------------------------------------------------------------------------------------------------------- traces


@pytest.mark.parametrize("replays", [True, False])
def test_traces(utils: ModuleType, device: Any, monkeypatch: pytest.MonkeyPatch, replays: bool) -> None:
    """Calls follow their inputs; what is written in place is as before the capture; with --check-ops every op is launched."""
    import ttnn

    utils.options.check_ops = not replays
    calls = []

    def forward(x: Any) -> Any:
        calls.append(x)
        ttnn.add(state, 1.0, output_tensor=state)
        return ttnn.add(x, state)

    state = ttnn.to_device(ttnn.to_layout(ttnn.Tensor(X, ttnn.float32), ttnn.TILE_LAYOUT), device)
    x = ttnn.to_layout(ttnn.Tensor(X, ttnn.float32), ttnn.TILE_LAYOUT)
    with utils.Traced(device, forward, [x], {"state": state}) as step:
        captured = len(calls)
        if replays:  # a warm-up, the capture
            assert captured == 2
            np.testing.assert_array_equal(utils.to_numpy(state), X)
        else:
            assert captured == 0
        for count in (1, 2):
            np.testing.assert_array_equal(utils.to_numpy(step(ttnn.add(ttnn.to_device(x, device), 10.0 * count).cpu())), 2 * X + 11 * count)
        assert len(calls) == captured + (0 if replays else 2)
        with pytest.raises(ValueError, match=r"the trace was captured for \[2, 3\] DataType.FLOAT32, got \[3, 2\] DataType.FLOAT32"):
            step(ttnn.to_layout(ttnn.Tensor(X.T.copy(), ttnn.float32), ttnn.TILE_LAYOUT))
        with pytest.raises(ValueError, match=r"captured for \[2, 3\] DataType.FLOAT32, got \[2, 3\] DataType.BFLOAT16"):
            step(ttnn.to_layout(ttnn.Tensor(X, ttnn.bfloat16), ttnn.TILE_LAYOUT))
        with pytest.raises(ValueError, match="zip"):
            step(x, x)


def test_wall_times(utils: ModuleType, device: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Modelled on the simulator, measured on a card (a stand-in for the time: 3 ms pass at each look)."""
    import ttnn

    x = ttnn.to_layout(ttnn.Tensor(X, ttnn.float32), ttnn.TILE_LAYOUT)
    calls = []

    def forward(x: Any) -> Any:
        calls.append(x)
        return ttnn.relu(x)

    monkeypatch.setattr(utils, "SIMULATOR", SimpleNamespace(settings=SimpleNamespace(profile_dir=None), wall_times=lambda call: (call(), (2e6, 5e6))[1]))
    utils.Traced(device, forward, [x]).compare(SimpleNamespace(loops=2), x)
    assert (
        capsys.readouterr().out == "wall time of a call: traced 2.000 ms, eager 5.000 ms (modelled: the device alone, and a host that launches each program)\n"
    )
    assert len(calls) == 3
    now = iter(range(100))
    monkeypatch.setattr(utils, "SIMULATOR", None)
    monkeypatch.setattr(utils, "time", SimpleNamespace(perf_counter=lambda: next(now) * 3e-3))
    utils.Traced(device, forward, [x]).compare(SimpleNamespace(loops=2), x)
    assert capsys.readouterr().out == "wall time of a call: traced 1.500 ms, eager 1.500 ms (mean of 2 calls)\n"
    assert len(calls) == 3 + 2 + 2


# ------------------------------------------------------------------------------------------------------------- report


def reported(utils: ModuleType, values: dict[str, Any], **options: Any) -> int:
    import ttnn

    args = utils.options
    for name, value in {"outputs": None, "json": None, **options}.items():
        setattr(args, name, value)
    return utils.report(args, **{name: ttnn.Tensor(np.asarray(array, np.float32), ttnn.float32) for name, array in values.items()})


class Clock:
    """In the place of the simulator's session. answer: of --check-ops."""

    def __init__(self, answer: int = 0) -> None:
        self.answer, self.agree = answer, None

    def card(self) -> str:
        return "n150"

    def check_ops(self, root: Path, read: Any, compare: Any, agree: bool) -> int:
        assert (root / "manifest.json").exists()
        self.agree = agree
        return self.answer

    def op_errors(self, root: Path, read: Any, compare: Any) -> dict[int, Any]:
        return {7: {"rel_l2": 0.5}}


GOOD = "y                        [2, 3]             pcc 1.000000  relative error 0.00e+00  max error 0  ok"
BAD = "y                        [2, 3]             pcc 1.000000  relative error 1.00e+00  max error 5  FAILED: relative error 1.0e+00, above 0.05"
CACHE = "cache                    [2, 3]            "
DEVICE = "small on wormhole_b0 (simulated n150): device 1.500 ms, 3 device programs, host 0.250 s"


@pytest.mark.parametrize(
    ("factor", "options", "answer", "code", "lines", "agree"),
    [
        (1, {}, 0, 0, [GOOD, DEVICE], None),
        (2, {}, 0, 0, [BAD, DEVICE], None),
        (1, {"check": True}, 0, 0, [GOOD, DEVICE, "check: passed, 1 output"], None),
        (2, {"check": True}, 0, 1, [BAD, DEVICE, "check: FAILED: y"], None),
        (1, {"check_ops": True}, 0, 0, [GOOD, DEVICE], True),
        (1, {"check_ops": True}, 1, 1, [GOOD, DEVICE], True),
        (2, {"check_ops": True}, 0, 0, [BAD, DEVICE], False),
        (2, {"check": True, "check_ops": True}, 0, 1, [BAD, DEVICE, "check: FAILED: y"], False),
        (1, {"check": True, "inputs": Path()}, 0, 1, ["y                        [2, 3]            ", DEVICE, "check: FAILED: y (nothing to compare with)"], None),
        (1, {"check_ops": True, "inputs": Path()}, 0, 0, ["y                        [2, 3]            ", DEVICE], False),
        (1, {"estimate": True}, 0, 0, ["y                        [2, 3]            ", DEVICE], None),
    ],
)  # fmt: skip
def test_verdicts(
    utils: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], factor: int, options: dict[str, Any], answer: int, code: int, lines: list[str], agree: bool | None
) -> None:  # fmt: skip
    clock = Clock(answer)
    monkeypatch.setattr(utils, "SIMULATOR", clock)
    utils.measured.update(device_ns=1.5e6, cycles=1500, ops=3, host_s=0.25)
    assert reported(utils, {"y": X * factor}, **options) == code
    assert capsys.readouterr().out.splitlines() == lines
    assert clock.agree is agree


def test_several_outputs(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(utils, "SIMULATOR", None)
    utils.measured.update(host_s=0.25)
    monkeypatch.setitem(utils.MANIFEST["outputs"], "z", OUTPUTS["y"])
    card = "small on wormhole_b0 (device): host 0.250 s"
    assert reported(utils, {"y": X, "z": X}, check=True) == 0
    assert capsys.readouterr().out.splitlines() == [GOOD, GOOD.replace("y", "z", 1), card, "check: passed, 2 outputs"]
    assert reported(utils, {"y": 2 * X, "cache": X}, check=True) == 1
    assert capsys.readouterr().out.splitlines() == [BAD, CACHE, card, "check: FAILED: y, cache (nothing to compare with)"]
    assert ended(lambda: reported(utils, {"y": X}, check_ops=True)) == "run: --check-ops needs the simulator"


@pytest.mark.parametrize("check_ops", [False, True])
def test_written_reports(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check_ops: bool) -> None:
    """Entry points are summed up. On a card there is no simulated one."""
    monkeypatch.setattr(utils, "SIMULATOR", Clock() if check_ops else None)
    for entry, ns in (("a", 100.0), ("b", 25.0)):
        utils.by_entry[entry] = {"device_ns": ns, "cycles": int(ns), "ops": 2, "host_s": None}
    utils.measured.update(utils.by_entry["b"])
    reported(utils, {"y": 2 * X, "cache": X}, outputs=tmp_path / "deep" / "out", json=tmp_path / "r.json", check_ops=check_ops)
    found = json.loads((tmp_path / "r.json").read_text())
    same = {"pcc": None, "rel_l2": None, "max_abs_err": None, "passed": None, "why": "", "unedited_rel_l2": None}
    wrong = {"pcc": 1.0, "rel_l2": 1.0, "max_abs_err": 5.0, "passed": False, "why": "relative error 1.0e+00, above 0.05"}
    assert found.pop("outputs") == [{"name": "y", "shape": [2, 3], **same, **wrong}, {"name": "cache", "shape": [2, 3], **same}]
    assert found.pop("instructions") == utils.check.instructions()
    assert found == {
        **{"device_ns": 125.0, "cycles": 125, "ops": 4, "host_s": None, "entries": utils.by_entry, "arch": "wormhole_b0"},
        **({"card": "n150", "op_errors": {"7": {"rel_l2": 0.5}}} if check_ops else {"card": None}),
    }
    assert {path.name: np.load(path).tolist() for path in (tmp_path / "deep" / "out").iterdir()} == {"y.npy": (2 * X).tolist(), "the cache.npy": X.tolist()}


def test_places_that_cannot_be_written_in_the_end(utils: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for option, path in (("outputs", tmp_path / "file"), ("json", tmp_path / "missing" / "x")):
        said = ended(lambda option=option, path=path: reported(utils, {"y": X}, **{option: path}))
        assert said == f"run: cannot write {path}: " + ("File exists" if option == "outputs" else "No such file or directory")


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        ({"device_ns": 1234567.0, "ops": 3, "host_s": 0.25}, "device 1.235 ms, 3 device programs, host 0.250 s"),
        ({"device_ns": 0.0, "ops": 3, "host_s": None}, "device 0.000 ms, 3 device programs"),
        ({"device_ns": None, "ops": None, "host_s": 0.0}, "host 0.000 s"),
    ],
)
def test_shown_times(utils: ModuleType, measured: dict[str, Any], text: str) -> None:
    assert utils.timing(measured) == text


def test_the_last_of_several_calls_is_measured(utils: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now, begun, watched = iter((0, 1, 2, 6)), [], []
    monkeypatch.setattr(utils, "time", SimpleNamespace(perf_counter=lambda: next(now)))
    monkeypatch.setattr(
        utils,
        "SIMULATOR",
        SimpleNamespace(begin_forward=lambda: begun.append(True), end_forward=lambda: {"ops": len(begun)}, watch_ops=lambda *args: watched.append(args)),
    )
    utils.options.check_ops = True
    assert list(utils.loops(SimpleNamespace(**{**vars(utils.options), "loops": 2}), "step")) == [0, 1]
    assert utils.measured["ops"] == 2 and utils.measured["host_s"] == 4 and watched == [(utils.HERE, utils.to_numpy)] * 2
    assert utils.by_entry == {"step": utils.measured}


@pytest.mark.parametrize(
    ("options", "simulated", "stored", "wanted"),
    [
        ({}, True, True, False),
        ({"check": True}, True, True, True),
        ({"check": True}, True, False, False),
        ({"check": True}, False, True, False),
        ({"check": True, "inputs": Path()}, True, True, False),
        ({"check": True, "estimate": True}, True, True, False),
        ({"check_ops": True, "inputs": Path()}, True, False, True),
    ],
)
def test_when_ops_are_compared(
    utils: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: dict[str, Any], simulated: bool, stored: bool, wanted: bool
) -> None:
    monkeypatch.setattr(utils, "HERE", tmp_path)
    monkeypatch.setattr(utils, "SIMULATOR", Clock() if simulated else None)
    if stored:
        (tmp_path / "golden").mkdir()
        (tmp_path / "golden" / "ops.json").write_text("")
    assert utils.checks_ops(SimpleNamespace(**{**vars(utils.options), **options})) is wanted


@pytest.mark.parametrize("count", [0, 1, 12, 13])
def test_what_is_said_about_edits(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], count: int) -> None:
    monkeypatch.setattr(utils.check, "changed_functions", lambda here: [f"f{number}" for number in range(count)])
    monkeypatch.setitem(utils.MANIFEST, "unedited", {"unknown": "too little memory"})
    utils.explain(True)
    changed = f"changed since export: {', '.join(f'f{number}' for number in range(min(count, 12)))}{' ...' if count > 12 else ''}\n" if count else ""
    assert capsys.readouterr().out == changed
    utils.explain(False)
    assert capsys.readouterr().out == changed + "check: the unedited program's own error is unknown (too little memory): wide bounds alone\n"


@pytest.mark.parametrize(
    ("changed", "values_only", "there", "same"),
    [(["f"], True, "here", True), ([], True, "here", False), (["f"], False, "here", False), (["f"], True, "elsewhere", False)],
)
def test_edits_that_round_as_before(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, changed: list[str], values_only: bool, there: str, same: bool) -> None:
    monkeypatch.setitem(utils.MANIFEST, "unedited", {"instructions": there})
    for name, value in (("changed_functions", changed), ("only_values_changed", values_only)):
        monkeypatch.setattr(utils.check, name, lambda here, value=value: value)
    monkeypatch.setattr(utils.check, "instructions", lambda: "here")
    assert utils.same_ops() is same


def test_functions_that_are_gone(utils: ModuleType, tmp_path: Path) -> None:
    kept = tmp_path / "golden" / "unedited"
    kept.mkdir(parents=True)
    for name in ("main.py", "consteval.py"):
        (kept / name).write_text('"""Top."""\n\nA = 1\n\n\ndef f(x):\n    """Says it."""\n    return x\n\n\ndef g(x):\n    return f(x)\n')
    (tmp_path / "main.py").write_text("A = 1  # one\n\n\ndef h(x):\n    return x\n\n\ndef f(x):\n    return (x)\n")
    assert utils.check.changed_functions(tmp_path) == ["consteval.py (missing)", "h in main.py (new)", "g in main.py (removed)"]
    (tmp_path / "consteval.py").write_text("A = 2\n\n\ndef f(x):\n    return x\n\n\ndef g(x):\n    return f(f(x))\n")
    assert utils.check.changed_functions(tmp_path)[:2] == ["top level in consteval.py", "g in consteval.py"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("processor : 0\nflags\t: fpu avx fma avx2 avx amx_tile\nflags : sse\n", "amx_tile avx avx2 fma"),
        ("Features : neon\n", ""),
        (None, ""),
    ],
)
def test_instruction_sets(utils: ModuleType, monkeypatch: pytest.MonkeyPatch, text: str | None, found: str) -> None:
    def read(path: Path) -> str:
        if text is None or path != Path("/proc/cpuinfo"):
            raise FileNotFoundError
        return text

    monkeypatch.setattr(Path, "read_text", read)
    assert utils.check.instructions() == found


def test_functions_that_make_configs(utils: ModuleType) -> None:
    import ttnn

    grid, strategies = ttnn.CoreGrid(x=8, y=4), {"block": ttnn.ShardStrategy.BLOCK, "height": ttnn.ShardStrategy.HEIGHT, "width": ttnn.ShardStrategy.WIDTH}
    for name, strategy in strategies.items():
        wanted = ttnn.create_sharded_memory_config((32, 64), grid, strategy, use_height_and_width_as_shard_shape=True)
        assert getattr(utils, f"{name}_shards")((32, 64), grid) == wanted
    relu = ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)
    for made, end in (
        (utils.matmul_1d((8, 7), 3, (1, 2), (4, 6), mcast_in0=False, fused_activation=relu), {"fuse_batch": True, "mcast_in0": False}),
        (utils.matmul_2d((8, 7), 3, (1, 2), (4, 6), fused_activation=relu), {"transpose_mcast": False}),
    ):
        fields = {"in0_block_w": 3, "out_subblock_h": 1, "out_subblock_w": 2, "per_core_M": 4, "per_core_N": 6, **end}
        assert {name: getattr(made, name) for name in fields} == fields
        assert (made.compute_with_storage_grid_size.x, made.compute_with_storage_grid_size.y) == (8, 7)
        assert made.fused_activation.op_type == ttnn.UnaryOpType.RELU
    made = utils.sharded_conv(ttnn.bfloat16, relu, weights_double_buffer=True, act_block_h_override=64)
    switches = {"enable_weights_double_buffer": True, "enable_act_double_buffer": False, "full_inner_dim": False, "act_block_h_override": 64}
    fields = {"weights_dtype": ttnn.bfloat16, "deallocate_activation": True, "reallocate_halo_output": False, **switches}
    assert {name: getattr(made, name) for name in fields} == fields
    assert made.activation.op_type == ttnn.UnaryOpType.RELU
