"""Device, tensor files, options and the report: the same file in every emitted program."""

import argparse
import contextlib
import difflib
import functools
import json
import os
import sys
import time
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path

import check
import numpy as np
import ttnn

HERE = Path(__file__).resolve().parent


def read_manifest(file: Path) -> dict:
    """What the export wrote about its tensors and outputs; a damaged file ends the program with what is wrong."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        sys.exit(f"run: cannot read {file}: {error.strerror}")
    except (ValueError, RecursionError) as error:
        sys.exit(f"run: manifest.json is damaged: {str(error)[:200]}")
    entries = {"tensors": ("kind", "dtype", "layout"), "outputs": ("stem",), "device": ()}
    if not isinstance(found, dict) or not isinstance(found.get("model"), str):
        sys.exit("run: manifest.json is damaged: it has no 'model'")
    for group, words in entries.items():
        if not isinstance(found.get(group), dict):
            sys.exit(f"run: manifest.json is damaged: it has no {group!r}")
        for name, entry in found[group].items() if words else ():
            shape = entry.get("shape") if isinstance(entry, dict) else None
            known = isinstance(shape, list) and all(type(extent) is int and 0 <= extent < 2**32 for extent in shape)
            files = [entry[key] for key in ("file", "golden", "unedited") if key in entry] if known else []
            if not known or not all(isinstance(text, str) for text in [*files, *(entry.get(word) for word in words)]):
                sys.exit(f"run: manifest.json is damaged: {group}: bad entry {name[:200]!r}")
            if group == "tensors" and not all(hasattr(ttnn, str(entry[key])) for key in ("dtype", "device_dtype", "layout") if key in entry):
                sys.exit(f"run: manifest.json is damaged: {group}: unknown dtype or layout of {name[:200]!r}")
    mesh = found["device"].setdefault("mesh_shape", [1, 1])
    if not isinstance(mesh, list) or len(mesh) != 2 or not all(type(chips) is int and 0 < chips <= 64 for chips in mesh):
        sys.exit("run: manifest.json is damaged: device: bad 'mesh_shape'")
    if type(found["device"].get("l1_small_size")) is not int or not 0 <= found["device"]["l1_small_size"] < 2**31:
        sys.exit("run: manifest.json is damaged: device: bad 'l1_small_size'")
    return found


MANIFEST = read_manifest(HERE / "manifest.json")
MESH = MANIFEST["device"]["mesh_shape"]  # rows and columns of chips

# The simulator's clock and op recorder; absent on a Tenstorrent card. The simulator's ttnn has loaded it.
SIMULATOR = sys.modules.get("ttnn_shim.session")

# Whether the numbers are to be those of the export: on the simulator, in its default numerics.
SAME_NUMBERS = SIMULATOR is not None and os.environ.get("TTNN_SHIM_NUMERICS", "fast") in ("", "fast")

# Options of this run and what the last forward call took.
options = argparse.Namespace(inputs=None, partial_inputs=False, estimate=False, loops=1, trace=False, check=False, check_ops=False, entry=None)
measured: dict[str, float | int | str | None] = {"device_ns": None, "cycles": None, "ops": None, "host_s": None}
by_entry: dict[str, dict] = {}  # the same of each entry point, in a program with several


class UnknownTensor(KeyError):
    """A name that is not among the program's tensors. hint: the nearest there is, or ""."""

    def __init__(self, name: str, place: str, known: Iterable[str]):
        super().__init__(name)
        names = list(known)
        near = difflib.get_close_matches(name, names, 1, 0.6)
        self.text = f"no tensor {name!r} in {place} ({len(names)} names)"
        self.hint = f"did you mean {near[0]!r}?" if near else f"the names begin with {', '.join(names[:4])}"

    def __str__(self) -> str:
        return f"{self.text}; {self.hint}"


class Weights:
    """Tensors by parameter name. `scope("encoder.layer.0")` is the same collection seen from that module."""

    def __init__(self, tensors: MutableMapping[str, ttnn.Tensor] | Mapping[str, ttnn.Tensor], prefix: str = ""):
        self._tensors = tensors
        self._prefix = prefix

    def __getitem__(self, name: str) -> ttnn.Tensor:
        try:
            return self._tensors[self._prefix + name]
        except KeyError:
            raise UnknownTensor(self._prefix + name, "prepared weights", self._tensors) from None

    def __setitem__(self, name: str, tensor: ttnn.Tensor) -> None:
        self._tensors[self._prefix + name] = tensor

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._tensors

    def names(self) -> list[str]:
        """In the order in which they were set."""
        return [name.removeprefix(self._prefix) for name in self._tensors if name.startswith(self._prefix)]

    def pop(self, name: str) -> ttnn.Tensor:
        """The tensor, which leaves the collection: its device memory is free when the caller drops it."""
        tensor = self[name]
        del self._tensors[self._prefix + name]
        return tensor

    def scope(self, name: str) -> "Weights":
        return Weights(self._tensors, f"{self._prefix}{name}." if name else self._prefix)

    @property
    def device(self) -> ttnn.MeshDevice:
        """Where stored tensors are loaded to."""
        return self._tensors.device


class StoredTensors(Mapping):
    """tensors/<name>.tensorbin; each look-up reads the file, so the host never holds all of them. keep: only the first does."""

    def __init__(self, device: ttnn.MeshDevice, keep: bool = False):
        self.device = device
        self._kept: dict[str, ttnn.Tensor] | None = {} if keep else None

    def __getitem__(self, name: str) -> ttnn.Tensor:
        if self._kept is None:
            return load(name, self.device)
        if name not in self._kept:
            self._kept[name] = load(name, self.device)
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MANIFEST["tensors"])

    def __len__(self) -> int:
        return len(MANIFEST["tensors"])


class Given(Mapping):
    """A caller's tensors by argument name, in the layout of manifest.json and on the device."""

    def __init__(self, tensors: list[ttnn.Tensor], names: list[str], device: ttnn.MeshDevice):
        if len(tensors) != len(names):
            raise ValueError(f"expected {len(names)} tensors ({', '.join(names)}), got {len(tensors)}")
        self._tensors = dict(zip(names, tensors, strict=True))
        self.device = device

    def __getitem__(self, name: str) -> ttnn.Tensor:
        tensor, entry = self._tensors[name], MANIFEST["tensors"].get(name)
        if entry is None:
            return tensor
        if list(tensor.shape) != entry["shape"]:
            raise ValueError(f"{name}: expected shape {entry['shape']}, got {list(tensor.shape)}")
        tensor = ttnn.to_layout(tensor, getattr(ttnn, entry["layout"]))
        return tensor if ttnn.is_tensor_storage_on_device(tensor) else ttnn.to_device(tensor, self.device)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def caches(weights: Weights, entry: str = "") -> dict[str, ttnn.Tensor]:
    """The outputs that the program writes in place, by name. entry: those of one entry point of several."""
    own = f"{entry}." if entry else ""
    return {name: weights[output["written"]] for name, output in MANIFEST["outputs"].items() if "written" in output and name.startswith(own)}


def restore(weights: Weights, device: ttnn.MeshDevice) -> None:
    """Puts what an entry point wrote in place back to what the export has."""
    for name in {output["written"] for output in MANIFEST["outputs"].values() if "written" in output}:
        weights[name] = load(name, device)


def l1_shards(strategy: ttnn.ShardStrategy, shape: tuple[int, int], cores: ttnn.CoreGrid | ttnn.CoreRangeSet) -> ttnn.MemoryConfig:
    """Shards of `shape` in L1, one on each of the cores, row by row."""
    return ttnn.create_sharded_memory_config(shape, cores, strategy, use_height_and_width_as_shard_shape=True)


block_shards = functools.partial(l1_shards, ttnn.ShardStrategy.BLOCK)
height_shards = functools.partial(l1_shards, ttnn.ShardStrategy.HEIGHT)
width_shards = functools.partial(l1_shards, ttnn.ShardStrategy.WIDTH)


def matmul_1d(
    grid: tuple[int, int],
    in0_block_w: int,
    out_subblock: tuple[int, int],
    per_core: tuple[int, int],
    mcast_in0: bool,
    fused_activation: ttnn.UnaryWithParam | None = None,
) -> ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig:
    """A product whose result is cut by rows (mcast_in0=False) or by columns. grid: columns and rows of cores; all else in tiles: height, width."""
    return ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=ttnn.CoreCoord(*grid),
        in0_block_w=in0_block_w,
        out_subblock_h=out_subblock[0],
        out_subblock_w=out_subblock[1],
        per_core_M=per_core[0],
        per_core_N=per_core[1],
        fuse_batch=True,
        fused_activation=fused_activation,
        mcast_in0=mcast_in0,
    )


def matmul_2d(
    grid: tuple[int, int],
    in0_block_w: int,
    out_subblock: tuple[int, int],
    per_core: tuple[int, int],
    fused_activation: ttnn.UnaryWithParam | None = None,
) -> ttnn.MatmulMultiCoreReuseMultiCastProgramConfig:
    """A product whose result is cut by rows and by columns. grid: columns and rows of cores; all else in tiles: height, width."""
    return ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=ttnn.CoreCoord(*grid),
        in0_block_w=in0_block_w,
        out_subblock_h=out_subblock[0],
        out_subblock_w=out_subblock[1],
        per_core_M=per_core[0],
        per_core_N=per_core[1],
        transpose_mcast=False,
        fused_activation=fused_activation,
    )


def sharded_conv(
    weights_dtype: ttnn.DataType,
    activation: ttnn.UnaryWithParam | None = None,
    weights_double_buffer: bool = False,
    act_double_buffer: bool = False,
    full_inner_dim: bool = False,
    act_block_h_override: int = 0,
) -> ttnn.Conv2dConfig:
    """A convolution of shards: it frees its input, and rows of neighbouring shards stay where the convolution copies them."""
    return ttnn.Conv2dConfig(
        weights_dtype=weights_dtype,
        activation=activation,
        deallocate_activation=True,
        reallocate_halo_output=False,
        enable_act_double_buffer=act_double_buffer,
        enable_weights_double_buffer=weights_double_buffer,
        full_inner_dim=full_inner_dim,
        act_block_h_override=act_block_h_override,
    )


def chosen(args: argparse.Namespace, entry: str) -> bool:
    """Whether an entry point of several is to run."""
    return args.entry in (None, entry)


def stored_weights(device: ttnn.MeshDevice, keep: bool = False) -> Weights:
    """The tensor files. keep: what was read stays on the device, for programs whose forward pass reads them itself."""
    return Weights(StoredTensors(device, keep))


def load(name: str, device: ttnn.MeshDevice | None) -> ttnn.Tensor:
    """The tensor `name` on the device (on the host if device is None): own input of --inputs, or the exported file."""
    if name not in MANIFEST["tensors"]:
        raise UnknownTensor(name, "manifest.json", MANIFEST["tensors"])
    entry = MANIFEST["tensors"][name]
    own = own_input(name, entry) if entry["kind"] == "input" else None
    block = entry.get("device_dtype")  # a block format, which files do not have
    if own is None and "file" not in entry:  # exported with export_tensors=False
        dtype, layout = getattr(ttnn, block or entry["dtype"]), getattr(ttnn, entry["layout"])
        return ttnn.ones(entry["shape"], dtype=dtype, layout=layout, device=device)
    if own is None and block is None:
        return ttnn.load_tensor(str(HERE / entry["file"]), device=device)
    host = ttnn.load_tensor(str(HERE / entry["file"])) if own is None else own
    if block is not None:
        host = ttnn.to_dtype(host, getattr(ttnn, block))
    if own is not None and MESH != [1, 1]:  # the exported files say which part goes to which chip
        dims = entry.get("placement", [None, None])
        placements = [ttnn.PlacementReplicate() if dim is None else ttnn.PlacementShard(dim) for dim in dims]
        host = ttnn.distribute_tensor(host, ttnn.create_mesh_mapper(device, ttnn.MeshMapperConfig(placements)))
    return host if device is None else ttnn.to_device(host, device)


def own_input(name: str, entry: dict) -> ttnn.Tensor | None:
    """`name`.tensorbin or `name`.npy of the directory given with --inputs, on the host; None if it has neither."""
    if options.inputs is None:
        return None
    stem = file_stem(name, entry)
    stored = options.inputs / f"{stem}.tensorbin"
    if stored.exists():
        tensor = ttnn.load_tensor(str(stored))
    elif (options.inputs / f"{stem}.npy").exists():
        tensor = ttnn.Tensor(read_npy(options.inputs / f"{stem}.npy", name, entry["dtype"]), getattr(ttnn, entry["dtype"]))
    else:
        return None
    if list(tensor.shape) != (shape := whole_shape(entry)):
        sys.exit(f"run: input {name}: expected shape {shape}, got {list(tensor.shape)}")
    return ttnn.to_layout(tensor, getattr(ttnn, entry["layout"]))


def whole_shape(entry: dict) -> list[int]:
    """Of a tensor whose entry has the shape of a chip's part."""
    cut = list(zip(entry.get("placement", ()), MESH, strict=False))
    return [extent * int(np.prod([chips for dim, chips in cut if dim == place])) for place, extent in enumerate(entry["shape"])]


def file_stem(name: str, entry: dict) -> str:
    """The file name of input `name` without its suffix."""
    return Path(entry.get("file", f"{name}.tensorbin")).stem


# What numpy's reader ends with on damaged files.
_DAMAGED = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RecursionError, SyntaxError, TypeError, ValueError, tokenize.TokenError,
)  # fmt: skip


def read_npy(file: Path, name: str, dtype: str) -> np.ndarray:
    """The array in the host form of `dtype`, whatever its byte order, memory order and width."""
    if not file.is_file():  # a pipe without a writer would block for ever
        sys.exit(f"run: input {name}: {file} is no file")
    with file.open("rb") as stream:
        is_npy = stream.read(6) == b"\x93NUMPY"  # numpy takes anything else for a pickle and advises to trust it
    if not is_npy:
        sys.exit(f"run: input {name}: {file} is no .npy file; write it with numpy.save(file, array)")
    try:
        array = np.load(file, allow_pickle=False)
    except _DAMAGED as error:
        sys.exit(f"run: input {name}: cannot read {file}: {str(error)[:500]}")
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        sys.exit(f"run: input {name}: {file} holds {array.dtype}, expected numbers for {dtype}")
    if dtype not in ("uint8", "uint16", "uint32", "int32"):
        if array.dtype.name not in ("float32", "float16", "bfloat16"):
            print(f"run: input {name}: {array.dtype} of {file.name} becomes {dtype}", file=sys.stderr)
        return np.ascontiguousarray(array.astype(np.float32))
    limits = np.iinfo(dtype)
    if array.size and not (limits.min <= array.min() and array.max() <= limits.max):
        sys.exit(f"run: input {name}: values do not fit {dtype}")
    if array.dtype.kind == "f" and not (array == np.trunc(array)).all():
        sys.exit(f"run: input {name}: values are no whole numbers, expected {dtype}")
    return np.ascontiguousarray(array.astype(dtype))


@contextlib.contextmanager
def open_device(args: argparse.Namespace) -> Iterator[ttnn.MeshDevice]:
    l1_small_size = MANIFEST["device"]["l1_small_size"]
    if MESH == [1, 1]:
        device = ttnn.open_device(device_id=0, l1_small_size=l1_small_size)
        try:
            yield device
        finally:
            ttnn.close_device(device)
        return
    # Before the mesh: opening it starts the routers of the links between chips.
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(*MESH), l1_small_size=l1_small_size)
    try:
        yield mesh
    finally:
        ttnn.close_mesh_device(mesh)
        ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)


def parse_args() -> argparse.Namespace:
    """Options of ./run that the program itself handles; ./run --help lists all of them."""
    parser = argparse.ArgumentParser(prog="./run", description=f"Run {MANIFEST['model']}.")
    parser.add_argument("--check", action="store_true", help="compare every output with golden/; exit code 1 if one fails")
    parser.add_argument("--check-ops", action="store_true", help="compare every op with golden/ops/ and print the first op that fails")
    parser.add_argument("--tolerance", type=float, metavar="X", help="multiply the limits of --check by X / 4")
    parser.add_argument("--inputs", type=Path, metavar="DIR", help="read every input from DIR/<input>.tensorbin or .npy")
    parser.add_argument("--partial-inputs", action="store_true", help="use the example input for each input that DIR does not contain")
    parser.add_argument("--outputs", type=Path, metavar="DIR", help="write the outputs to DIR/<output>.npy")
    parser.add_argument("--loops", type=int, default=1, metavar="N", help="run the forward function N times")
    parser.add_argument("--trace", action="store_true", help="also print the wall time of a call, replayed and launched op by op")
    parser.add_argument("--generate", type=int, default=0, metavar="N", help="generate N tokens for a prompt, greedily")
    parser.add_argument("--prompt-ids", default="", metavar="A,B,C", help="token ids of the prompt; prompts of several users are separated by semicolons")
    parser.add_argument("--entry", metavar="NAME", help="run only this entry point")
    parser.add_argument("--estimate", action="store_true", help="predict only the device time: load no tensor and compute no value")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    # A host of main.py (a notebook, a test runner) may have options of its own; ./run checks them itself.
    parser.parse_known_args(namespace=options)
    if options.loops < 1:
        sys.exit("run: --loops needs a whole number from 1")
    if options.trace and not MANIFEST.get("options", {}).get("enable_trace"):
        sys.exit("run: --trace needs an export with the option enable_trace")
    for option, path in (("--json", options.json), ("--outputs", options.outputs)):
        if path is not None and (why := unwritable(path, directory=option == "--outputs")):
            sys.exit(f"run: {option}: {why}")
    if options.generate and not MANIFEST.get("generation"):
        sys.exit("run: --generate needs an export with a decode step over static caches; this export has none")
    if options.generate < 0:
        sys.exit("run: --generate needs a whole number from 1")
    if options.entry is not None and options.entry not in MANIFEST.get("entries", {}):
        names = ", ".join(MANIFEST.get("entries", {})) or "only one, without a name"
        sys.exit(f"run: --entry: no entry point {options.entry!r}; there is {names}")
    if options.generate and options.estimate:
        sys.exit("run: --generate needs values: remove --estimate")
    if bool(options.generate) != bool(options.prompt_ids):
        sys.exit("run: pass --generate N together with --prompt-ids A,B,C")
    if options.tolerance is None:
        options.tolerance = check.TOLERANCE
    if not 1.0 <= options.tolerance < float("inf"):
        sys.exit("run: --tolerance needs a number from 1")
    if options.inputs is not None:
        if not os.path.isdir(options.inputs):
            sys.exit(f"run: --inputs: no directory {options.inputs}")
        stems = [file_stem(name, entry) for name, entry in MANIFEST["tensors"].items() if entry["kind"] == "input"]
        if wrong := check.missing_inputs(options.inputs, stems, options.partial_inputs):
            sys.exit(f"run: {wrong}")
    return options


def unwritable(path: Path, directory: bool) -> str:
    """Why the file (or directory, which need not exist) could not be written at the end of the run; "" if it can."""
    place = Path(os.path.abspath(path))
    try:
        if not directory and place.is_dir():
            return f"{path} is a directory"
        if directory:
            while not place.exists() and place != place.parent:
                place = place.parent
        elif not place.exists():
            place, directory = place.parent, True
        if directory and not place.is_dir():
            return f"no directory {place}"
    except (OSError, ValueError) as error:
        return f"{str(path)[:200]}: {getattr(error, 'strerror', None) or error}"
    return "" if os.access(place, os.W_OK) else f"no permission to write {place}"


def loops(args: argparse.Namespace, entry: str = "") -> Iterator[int]:
    """Counts the forward calls and measures the last one. entry: which entry point of several runs."""
    for loop in range(args.loops):
        if SIMULATOR and checks_ops(args):
            SIMULATOR.watch_ops(HERE, to_numpy)
        if SIMULATOR:
            SIMULATOR.begin_forward()
        start = time.perf_counter()
        yield loop
        measured["host_s"] = round(time.perf_counter() - start, 6)
        if SIMULATOR:
            measured.update(SIMULATOR.end_forward())
    if entry:
        by_entry[entry] = dict(measured)


class Traced:
    """`forward` captured as a trace. A call copies its inputs to the tensors that the trace reads, and replays it.

    inputs: host tensors of the calls' shapes; the capture itself sees zeros. state: what `forward` writes in place; it is as it was after the capture.
    The outputs are the same tensors at each call: read them before the next one. With --check-ops or --profile calls are not replayed.
    """

    def __init__(self, device: ttnn.MeshDevice, forward: Callable, inputs: list[ttnn.Tensor], state: Mapping[str, ttnn.Tensor] | None = None):
        self._device = device
        self._forward = forward
        self._trace = None
        self._slots = [ttnn.zeros(x.shape, dtype=x.dtype, layout=x.layout, device=device) for x in inputs]
        if SIMULATOR and (checks_ops(options) or SIMULATOR.settings.profile_dir):
            return
        before = [(tensor, ttnn.from_device(tensor)) for tensor in (state or {}).values()]
        forward(*self._slots)  # warm-up: a capture takes its programs from the cache
        for tensor, values in before:
            ttnn.copy_host_to_device_tensor(values, tensor)
        self._trace = ttnn.begin_trace_capture(device, cq_id=0)
        try:
            self._outputs = forward(*self._slots)
        finally:
            ttnn.end_trace_capture(device, self._trace, cq_id=0)

    def __call__(self, *inputs: ttnn.Tensor) -> ttnn.Tensor | tuple[ttnn.Tensor, ...]:
        self._write(inputs)
        if self._trace is None:
            return self._forward(*self._slots)
        ttnn.execute_trace(self._device, self._trace, cq_id=0, blocking=False)
        return self._outputs

    def _write(self, inputs: tuple[ttnn.Tensor, ...]) -> None:
        for slot, tensor in zip(self._slots, inputs, strict=True):
            if tuple(tensor.shape) != tuple(slot.shape) or tensor.dtype != slot.dtype:
                raise ValueError(f"the trace was captured for {list(slot.shape)} {slot.dtype}, got {list(tensor.shape)} {tensor.dtype}")
            ttnn.copy_host_to_device_tensor(tensor, slot)

    def compare(self, args: argparse.Namespace, *inputs: ttnn.Tensor) -> None:
        """Prints the wall time of a call, replayed and launched op by op. On the simulator both are modelled. What `forward` writes in place moves on."""
        if SIMULATOR:
            self.release()  # what is allocated beside a living trace may be overwritten
            traced_ns, eager_ns = SIMULATOR.wall_times(lambda: self._forward(*self._slots))
            note = "modelled: the device alone, and a host that launches each program"
        else:
            traced_ns = self._timed(args, self, inputs)
            self.release()
            eager_ns = self._timed(args, self._eager, inputs)
            note = f"mean of {args.loops} calls"
        print(f"wall time of a call: traced {traced_ns / 1e6:.3f} ms, eager {eager_ns / 1e6:.3f} ms ({note})")

    def _eager(self, *inputs: ttnn.Tensor) -> object:
        self._write(inputs)
        return self._forward(*self._slots)

    def _timed(self, args: argparse.Namespace, call: Callable, inputs: tuple[ttnn.Tensor, ...]) -> float:
        start = time.perf_counter()
        for _ in range(args.loops):
            call(*inputs)
        ttnn.synchronize_device(self._device)
        return (time.perf_counter() - start) / args.loops * 1e9

    def release(self) -> None:
        if self._trace is not None:
            ttnn.release_trace(self._device, self._trace)
            self._trace = None

    def __enter__(self) -> "Traced":
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


def checks_ops(args: argparse.Namespace) -> bool:
    """Whether every op is compared: with --check too where golden/ops is there."""
    own = args.inputs is not None or args.estimate
    return args.check_ops or (args.check and not own and SIMULATOR is not None and (HERE / "golden" / "ops.json").exists())


def joined(tensor: ttnn.Tensor, placement: list) -> ttnn.Tensor:
    """The whole on the host; along an axis of the mesh that cuts no dimension (None), the first chip speaks for all."""
    spare = iter(dim for dim in range(len(tensor.shape)) if dim not in placement)  # a composer wants a dimension for each axis
    dims = [next(spare) if dim is None else dim for dim in placement]
    chips = [1 if dim is None else count for dim, count in zip(placement, MESH, strict=True)]
    config = ttnn.MeshComposerConfig(dims, ttnn.MeshShape(*chips))
    return ttnn.aggregate_tensor(ttnn.from_device(tensor), ttnn.create_mesh_composer(tensor.device(), config))


def to_numpy(tensor: ttnn.Tensor, placement: list | None = None) -> np.ndarray:
    """Values on the host: float32 for float dtypes, the integer type otherwise. placement: the dimension that each axis of the mesh cuts."""
    host = ttnn.from_device(tensor) if placement is None else joined(tensor, placement)
    if tensor.dtype in (ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat4_b):
        host = ttnn.to_dtype(host, ttnn.float32)
    return np.asarray(host.to_numpy()).reshape(tuple(host.shape))


def named(tensors: Iterable[ttnn.Tensor]) -> dict[str, ttnn.Tensor]:
    """What the program returned, by the names of its outputs."""
    return dict(zip(MANIFEST["outputs"], tensors, strict=True))


def report(args: argparse.Namespace, /, **outputs: ttnn.Tensor) -> int:
    """Prints one line per output, next to the framework's own in golden/. Returns the exit code."""
    rows = []
    custom = args.inputs is not None  # golden/ belongs to the exported inputs
    for name, tensor in outputs.items():
        entry = MANIFEST["outputs"][name]
        row = {"name": name, "shape": list(tensor.shape), "pcc": None, "rel_l2": None, "max_abs_err": None, "passed": None, "why": ""}
        if not args.estimate:
            actual = to_numpy(tensor, entry.get("placement"))
            row["shape"] = list(actual.shape)
            if args.outputs is not None:
                with written(args.outputs):
                    args.outputs.mkdir(parents=True, exist_ok=True)
                    np.save(args.outputs / f"{entry['stem']}.npy", actual)
            if "golden" in entry and not custom:
                row.update(compare(actual, read_golden(entry["golden"]), entry))
        row["unedited_rel_l2"] = entry.get("unedited_rel_l2")
        rows.append(row)
        print(describe(row))

    for entry, numbers in by_entry.items():
        print(f"{entry}: {timing(numbers)}")
    measured.update({key: sum(numbers[key] for numbers in by_entry.values()) for key, value in measured.items() if by_entry and isinstance(value, int | float)})
    simulator = f"simulated {SIMULATOR.card()}" if SIMULATOR else "device"
    print(f"{MANIFEST['model']} on {ttnn.get_arch_name()} ({simulator}): {timing(measured)}")
    failed = [row["name"] for row in rows if row["passed"] is False]
    unchecked = [row["name"] for row in rows if row["passed"] is None]
    code = 0
    if args.check and (failed or unchecked):
        print(f"check: FAILED: {', '.join(failed + unchecked)}" + (" (nothing to compare with)" if unchecked else ""))
        code = 1
    elif args.check:
        print(f"check: passed, {len(rows)} output{'s' if len(rows) != 1 else ''}")
    if args.check:
        explain(custom)
    if checks_ops(args):
        if SIMULATOR is None:
            sys.exit("run: --check-ops needs the simulator")
        agree = not failed and not unchecked
        code = max(code, SIMULATOR.check_ops(HERE, read_golden, compare, agree))
    if args.json is not None:
        result = {"outputs": rows, **measured, **({"entries": by_entry} if by_entry else {}), "arch": ttnn.get_arch_name()}
        result["card"] = SIMULATOR.card() if SIMULATOR else None
        result["instructions"] = check.instructions()
        if args.check_ops:
            result["op_errors"] = SIMULATOR.op_errors(HERE, read_golden, compare)
        with written(args.json):
            args.json.write_text(json.dumps(result, indent=2) + "\n")
    return code


@contextlib.contextmanager
def written(path: Path) -> Iterator[None]:
    """A file that cannot be written ends the program with its name: a full disk, say."""
    try:
        yield
    except OSError as error:
        sys.exit(f"run: cannot write {path}: {error.strerror or error}")


def compare(actual: np.ndarray, expected: np.ndarray, entry: dict) -> dict:
    """The verdict of check.py with what the export measured about the unedited program."""
    unedited = read_golden(entry["unedited"]) if "unedited" in entry and SAME_NUMBERS else None
    tolerance = getattr(options, "tolerance", check.TOLERANCE)
    return check.compare(actual, expected, entry, unedited, tolerance, on_card=not SAME_NUMBERS, same_ops=same_ops())


@functools.cache
def same_ops() -> bool:
    """Whether what was edited are operands and numbers alone, and this processor rounds as that of the export."""
    alike = MANIFEST.get("unedited", {}).get("instructions") == check.instructions()
    return alike and bool(check.changed_functions(HERE)) and check.only_values_changed(HERE)


def explain(custom: bool) -> None:
    """What else a user has to know about the verdict: the functions that were edited, bounds that are missing."""
    changed = check.changed_functions(HERE)
    if changed:
        print(f"changed since export: {', '.join(changed[:12])}{' ...' if len(changed) > 12 else ''}")
    for name, entry in MANIFEST["outputs"].items():
        if "moved_by_rounding" in entry and not custom:
            print(
                f"check: {name}: rounding alone moves the framework's own values by {entry['moved_by_rounding']:.0%}: the unedited program is the only measure"
            )
    if "unknown" in MANIFEST.get("unedited", {}) and not custom:
        print(f"check: the unedited program's own error is unknown ({MANIFEST['unedited']['unknown']}): wide bounds alone")


def read_golden(file: str) -> np.ndarray:
    return to_numpy(ttnn.load_tensor(str(HERE / file)))


def describe(row: dict) -> str:
    text = f"{row['name']:24} {row['shape']!s:18}"
    if row["pcc"] is not None:
        text += f" pcc {row['pcc']:.6f}"
    if row["rel_l2"] is not None:
        text += f"  relative error {row['rel_l2']:.2e}"
    if row["max_abs_err"] is not None:
        text += f"  max error {row['max_abs_err']:.3g}"
    if row["passed"] is not None:
        text += "  ok" if row["passed"] else f"  FAILED: {row['why']}"
    return text


def timing(measured: dict) -> str:
    parts = []
    if measured["device_ns"] is not None:
        parts.append(f"device {measured['device_ns'] / 1e6:.3f} ms, {measured['ops']} device program{'s' if measured['ops'] != 1 else ''}")
    if measured["host_s"] is not None:
        parts.append(f"host {measured['host_s']:.3f} s")
    return ", ".join(parts)
