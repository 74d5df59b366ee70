"""Makes and runs fuzzed calls of the simulator's ttnn. Run as a child process: `python cases.py COUNT SEED JOURNAL`.

Kinds of cases: creation with wild shapes; calls of CALLS, whose arguments mostly fit; calls of every op that the core has, by the types of the
real signatures; the conformance suite's probes with some numbers, shapes, dtypes, layouts and memory configs changed, which get past the first
checks of every op; the C door with damaged attribute blobs and buffers of the wrong size; damaged tensor files.

Each case is written to JOURNAL before it runs, so that the last line names the case in which a process died or hung.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import re
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import ttnn_shim

ttnn_shim.activate(explicit=True)

import ttnn  # noqa: E402  (only after activation)
from ttnn import _convert, _core, _facts  # noqa: E402

CASE_TIMEOUT_S = 30
MOST_BYTES = 4 << 30  # of host memory for a case: what a card could hold and this process may not is answered as out of memory
FILES = sorted((Path(__file__).parents[2] / "tests" / "data" / "tensorbin").glob("*.tensorbin"))
MAX_VALUES = 1 << 16  # a tensor with data; larger ones are only asked for, not filled

SMALL = st.sampled_from([0, 1, 2, 3, 5, 31, 32, 33, 64])
HUGE = st.sampled_from([2**15, 2**31 - 1, 2**32 - 1, 2**40, -1])
SHAPE = st.lists(SMALL, min_size=0, max_size=6)
WILD_SHAPE = st.lists(st.one_of(SMALL, HUGE), min_size=0, max_size=9)
DTYPE = st.sampled_from(["bfloat16", "float32", "int32", "uint32", "uint16", "uint8", "int8", "fp8_e4m3", "bfloat8_b", "bfloat4_b"])
LAYOUT = st.sampled_from(["TILE_LAYOUT", "ROW_MAJOR_LAYOUT"])
INTEGER = st.one_of(st.integers(-4, 5), st.sampled_from([31, 32, 2**31 - 1, -(2**31), 2**32, 2**63]))
INT64 = st.one_of(st.integers(-4, 5), st.integers(-(2**63), 2**63 - 1))
REAL = st.one_of(st.floats(-4, 4), st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e-45, 1e-39, 3.4e38, 0.0, -0.0]))
NUMBER = st.one_of(INTEGER, REAL)
INTEGERS = st.one_of(SHAPE, st.lists(INTEGER, max_size=7))
SPECIAL = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e-45, 1e-39, 3.4e38, 65504.0]
MEMORY = st.one_of(
    st.sampled_from(["DRAM_MEMORY_CONFIG", "L1_MEMORY_CONFIG", "L1_HEIGHT_SHARDED_MEMORY_CONFIG"]),
    st.tuples(st.sampled_from(["HEIGHT_SHARDED", "WIDTH_SHARDED", "BLOCK_SHARDED", "INTERLEAVED"]), st.integers(0, 9), st.integers(0, 9), SMALL, SMALL),
)  # fmt: skip

# T a tensor, t a list of tensors, n a number, i an integer, l a list of integers, d a dtype, y a layout, m a memory config,
# b a boolean, p a list of pairs; a letter after / is by keyword
CALLS: dict[str, str] = {
    **{name: "T/memory_config=m" for name in ("abs", "exp", "relu", "sqrt", "neg", "gelu", "tanh", "sigmoid", "silu", "logical_not", "isnan", "reciprocal", "erf", "floor")},
    **{name: "TT/memory_config=m" for name in ("add", "subtract", "multiply", "div", "eq", "lt", "maximum", "pow", "logical_and", "remainder", "atan2")},
    **{name: "Tn" for name in ("add", "multiply", "rsub", "leaky_relu", "pow", "ge", "clamp", "bitwise_and", "div")},
    **{name: "T/dim=l,keepdim=b" for name in ("sum", "mean", "max", "min", "std", "var")},
    "where": "TTT", "matmul": "TT/transpose_a=b,transpose_b=b,memory_config=m,dtype=d", "linear": "TT/bias=T,memory_config=m",
    "softmax": "T/dim=i", "layer_norm": "T/epsilon=n,weight=T,bias=T", "rms_norm": "T/epsilon=n,weight=T", "argmax": "T/dim=i,keepdim=b",
    "topk": "Ti/dim=i", "sort": "T/dim=i", "cumsum": "T/dim=i", "prod": "T/dim=i", "embedding": "TT/layout=y",
    "reshape": "Tl", "permute": "Tl", "transpose": "Tii", "concat": "t/dim=i", "slice": "Tlll", "pad": "Tpn", "repeat": "Tl",
    "repeat_interleave": "Ti/dim=i", "gather": "Ti/index=T", "scatter": "TiTT", "squeeze": "Ti", "unsqueeze": "Ti", "split": "Ti/dim=i",
    "to_layout": "Ty/dtype=d", "typecast": "Td", "to_memory_config": "Tm", "from_device": "T", "clone": "T/dtype=d", "tilize": "T",
    "untilize": "T", "upsample": "Ti", "max_pool2d": "Tiiii/kernel_size=l,stride=l,padding=l,dilation=l", "expand": "Tl", "tril": "T", "fill_cache": "TTi",
    "update_cache": "TTi", "quantize": "Tnn", "group_norm": "T/num_groups=i,epsilon=n", "deallocate": "T", "zeros": "l/dtype=d,layout=y",
    "transformer.scaled_dot_product_attention": "TTT/is_causal=b", "transformer.concatenate_heads": "T",
    "transformer.split_query_key_value_and_split_heads": "T/num_heads=i", "experimental.rotary_embedding": "TTT",
}  # fmt: skip
# What a parameter's type in the real signature is made of -> letter; the first that is found. Others are left out.
TYPES = (
    (r"Sequence\[Tensor", "t"), (r"\bTensor\b", "T"), (r"Sequence\[EltwiseUnary|UnaryWithParam", "u"), (r"MemoryConfig", "m"), (r"DataType", "d"),
    (r"\bLayout\b", "y"), (r"MeshDevice", "v"), (r"Sequence\[Sequence", "p"), (r"Sequence\[float", "f"), (r"Sequence\[int\]|Shape", "l"),
    (r"CoreRangeSet", "r"), (r"CoreGrid", "g"), (r"ComputeKernelConfig", "c"), (r"Conv2dConfig", "k"), (r"MatmulMultiCore", "w"), (r"\bfloat\b", "n"),
    (r"\bbool\b", "b"), (r"\bint\b", "i"), (r"\bstr\b", "s"),
)  # fmt: skip


def signatures() -> list[tuple[str, tuple[tuple[str, str, bool], ...]]]:
    """(callee, its parameters: name, letter, required) for each overload of each op that the core has."""
    functions = _facts.facts()["functions"]
    found = []
    for name in sorted(_core.op_names()):
        real = next((one for one in (_facts.resolve_alias(name), name) if one in functions), None)
        for overload in _facts.wrapped_overloads(real) if real else ():
            letters = [
                (one, next((letter for pattern, letter in TYPES if re.search(pattern, one.type)), "")) for one in overload.params if one.kind not in ("*", "**")
            ]
            if all(letter or not one.required for one, letter in letters):
                found.append((name.removeprefix("ttnn."), tuple((one.name, letter, one.required) for one, letter in letters if letter)))
    return found


SIGNATURES = signatures()


def probes_by_op() -> list[list[dict[str, Any]]]:
    """The calls that the conformance suite compares with the real package, without those that it draws at random."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))
    import probes

    found: dict[str, list[dict[str, Any]]] = {}
    for probe in probes.all_probes():
        if "/z" not in probe.id:
            found.setdefault(probe.op, []).append({"inputs": [list(row) for row in probe.inputs], "call": probe.call})
    return [found[op] for op in sorted(found)]


PROBES = probes_by_op()
INTEGER_TEXT = re.compile(r"(?<!a\[)(?<!e-)(?<![\w.])-?\d+(?![\w.])")  # not of a[0] or 1e-5
PROBE_NUMBER = st.sampled_from([0, 1, 2, -1, -2, 3, 7, 8, 31, 32, 33, 64, 127, 1024, 4095, 65536, 2**31 - 1, -(2**31), 2**32 - 1, 2**32, 2**40])
CHANGE = st.one_of(
    st.tuples(st.just("number"), st.integers(0, 60), PROBE_NUMBER),
    st.tuples(st.just("number"), st.integers(0, 60), st.integers(0, 9)),
    st.tuples(st.just("extent"), st.integers(0, 30), SMALL),
    st.tuples(st.just("rank"), st.integers(0, 9), st.integers(0, 6)),
    st.tuples(st.just("dtype"), st.integers(0, 9), DTYPE),
    st.tuples(st.just("layout"), st.integers(0, 9), st.sampled_from(["tile", "row_major"])),
    st.tuples(st.just("memory"), st.integers(0, 9), st.sampled_from(["host", "ttnn.DRAM_MEMORY_CONFIG", "ttnn.L1_MEMORY_CONFIG"])),
)


def changed(probe: dict[str, Any], changes: Any) -> dict[str, Any]:
    """A probe with the given changes; one that does not apply changes nothing."""
    inputs, call = [[list(row[0]), *row[1:]] for row in probe["inputs"]], str(probe["call"])
    for kind, at, value in changes:
        if kind == "number":
            places = list(INTEGER_TEXT.finditer(call))
            if places:
                place = places[at % len(places)]
                call = f"{call[: place.start()]}{value}{call[place.end() :]}"
            continue
        if not inputs:
            continue
        row = inputs[at % len(inputs)]
        if kind == "extent" and row[0]:
            row[0][at // len(inputs) % len(row[0])] = value
        elif kind == "rank":
            row[0] = row[0][:value] if value < len(row[0]) else [1] * (value - len(row[0])) + row[0]
        elif kind in ("dtype", "layout", "memory"):
            row[("dtype", "layout", "memory").index(kind) + 1] = value
    return {"inputs": inputs, "call": call}


PARTS: dict[str, st.SearchStrategy[Any]] = {
    "n": NUMBER, "i": INTEGER, "l": INTEGERS, "d": DTYPE, "y": LAYOUT, "m": MEMORY, "b": st.booleans(), "p": st.lists(st.tuples(SMALL, SMALL), max_size=6),
    "v": st.none(), "f": st.lists(REAL, max_size=5), "s": st.sampled_from(["relu", "gelu", "nearest", "bilinear", "sum", "", "none", "\u00e9\x00\U0001f600", "x" * 5000]),
    "u": st.lists(st.tuples(st.sampled_from(["RELU", "EXP", "POWER", "LEAKY_RELU", "ADD_UNARY_SFPU"]), REAL), max_size=2),
    "r": st.tuples(st.integers(0, 12), st.integers(0, 12)), "g": st.tuples(st.integers(0, 12), st.integers(0, 12)),
    "c": st.tuples(st.sampled_from(["LoFi", "HiFi2", "HiFi3", "HiFi4"]), st.booleans(), st.booleans()), "k": st.tuples(DTYPE, st.integers(0, 3), st.booleans()),
    "w": st.tuples(*[st.integers(0, 5)] * 5),
}  # fmt: skip


@st.composite
def tensors(draw: Any) -> dict[str, Any]:
    return {
        "shape": draw(SHAPE), "dtype": draw(DTYPE), "layout": draw(LAYOUT), "memory": draw(st.one_of(st.none(), MEMORY)),
        "place": draw(st.sampled_from(["device", "device", "device", "host"])), "seed": draw(st.integers(0, 7)),
    }  # fmt: skip


@st.composite
def ordinary(draw: Any) -> dict[str, Any]:
    """A tensor that most ops take."""
    shape = draw(st.lists(st.sampled_from([1, 2, 31, 32, 33, 64]), min_size=2, max_size=4))
    dtype = draw(st.sampled_from(["bfloat16", "bfloat16", "bfloat16", "float32", "int32", "bfloat8_b"]))
    return {"shape": shape, "dtype": dtype, "layout": "TILE_LAYOUT", "memory": None, "place": "device", "seed": draw(st.integers(0, 7))}


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    kind = draw(st.integers(0, 29))
    if kind >= 20:
        op = draw(st.integers(0, len(PROBES) - 1))
        probe = PROBES[op][draw(st.integers(0, len(PROBES[op]) - 1))]
        return {"probe": changed(probe, draw(st.lists(CHANGE, min_size=0, max_size=3))), "seed": draw(st.integers(0, 7))}
    if kind == 0:
        return {
            "file": draw(st.integers(0, len(FILES) - 1)),
            "cut": draw(st.one_of(st.none(), st.integers(0, 400))),
            "bytes": draw(st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 255)), min_size=1, max_size=6)),
        }
    if kind in (1, 2):
        given = {"dim": draw(INT64), "shape": draw(st.lists(INT64, max_size=7)), "alpha": draw(REAL), "mode": draw(PARTS["s"])}
        return {
            "abi": draw(st.integers(0, len(ABI_OPS) - 1)),
            "given": given,
            "tensors": draw(st.lists(tensors(), max_size=3)),
            "inputs": draw(
                st.lists(st.sampled_from(["input_tensor", "input_tensor_a", "input_tensor_b", "input", "a", "b", "weight", "bias"]), max_size=4, unique=True)
            ),
            "damage": draw(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 255)), max_size=4)),
            "bytes": draw(st.integers(-64, 64)),
        }
    if kind in (3, 4):
        name = draw(st.sampled_from(["zeros", "ones", "full", "empty", "rand", "arange"]))
        return {"make": name, "shape": draw(WILD_SHAPE), "dtype": draw(DTYPE), "layout": draw(LAYOUT), "value": draw(NUMBER), "memory": draw(MEMORY)}
    if kind < 12:
        name, parameters = draw(st.sampled_from(SIGNATURES))
        positional = "".join(letter for _, letter, required in parameters if required)
        keywords = ",".join(f"{word}={letter}" for word, letter, required in parameters if not required)
        names = [word for word, _, required in parameters if required and word != "arg"]
    else:
        name = draw(st.sampled_from(sorted(CALLS)))
        positional, _, keywords = CALLS[name].partition("/")
        names = []
    shared = draw(st.one_of(ordinary(), ordinary(), ordinary(), tensors()))  # mostly one shape, so that calls get past their first check

    def value(letter: str) -> Any:
        if letter == "T":
            return draw(st.one_of(st.just(shared), st.just(shared), st.just(shared), st.just(shared), tensors()))
        if letter == "t":
            return [draw(st.one_of(st.just(shared), st.just(shared), st.just(shared), st.just(shared), tensors())) for _ in range(draw(st.integers(0, 3)))]
        return draw(PARTS[letter if draw(st.integers(0, 40)) else draw(st.sampled_from("nilbs"))])

    chosen = {
        key: value(letter)
        for key, letter in (part.split("=") for part in keywords.split(",") if part)
        if draw(st.integers(0, 9)) < (5 if len(keywords) < 50 else 1)
    }
    return {"call": name, "letters": positional, "positional": [value(letter) for letter in positional], "keywords": chosen, "types": keywords, "names": names}


def memory_config(text: Any) -> Any:
    if isinstance(text, str):
        return getattr(ttnn, text)
    kind, x, y, height, width = text
    if kind == "INTERLEAVED":
        return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.L1)
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(x, y))])
    spec = ttnn.ShardSpec(grid, [height, width], ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, kind), ttnn.BufferType.L1, spec)


def tensor(facts: dict[str, Any], device: Any) -> Any:
    if int(np.prod(facts["shape"], dtype=np.int64)) > MAX_VALUES:
        facts = facts | {"shape": facts["shape"][:2]}
    rng = np.random.default_rng(facts["seed"])
    if facts["dtype"].startswith(("bfloat", "float")):
        values = rng.choice(np.array(SPECIAL, np.float32), facts["shape"])
    else:
        values = rng.choice(np.array([0, 1, 2, 7, 255], np.int32), facts["shape"]).astype(np.uint32)
    memory = memory_config(facts["memory"]) if facts["memory"] and facts["place"] == "device" else None
    place = device if facts["place"] == "device" else None
    layout = getattr(ttnn, facts["layout"])
    return ttnn.Tensor(values, getattr(ttnn, facts["dtype"]), layout=layout, device=place, mem_config=memory) if place is None or memory is None else ttnn.to_device(ttnn.Tensor(values, getattr(ttnn, facts["dtype"]), layout=layout), place, memory_config=memory)  # fmt: skip


def argument(letter: str, value: Any, device: Any) -> Any:
    if letter == "T":
        return tensor(value, device)
    if letter == "t":
        return [tensor(facts, device) for facts in value]
    if letter == "v":
        return device
    try:
        return CONVERTED[letter](value) if letter in CONVERTED else value
    except (TypeError, ValueError, AttributeError):  # a value of another kind: it goes as it is
        return value


def core_ranges(end: Any) -> Any:
    return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(*end))])


CONVERTED: dict[str, Any] = {
    "d": lambda value: getattr(ttnn, value), "y": lambda value: getattr(ttnn, value), "m": lambda value: memory_config(value), "r": core_ranges,
    "u": lambda value: [ttnn.UnaryWithParam(getattr(ttnn.UnaryOpType, name), number) for name, number in value],
    "g": lambda value: ttnn.CoreGrid(x=value[0], y=value[1]),
    "c": lambda value: ttnn.WormholeComputeKernelConfig(math_fidelity=getattr(ttnn.MathFidelity, value[0]), fp32_dest_acc_en=value[1], packer_l1_acc=value[2]),
    "k": lambda value: ttnn.Conv2dConfig(weights_dtype=getattr(ttnn, value[0]), act_block_h_override=value[1] * 32, deallocate_activation=value[2]),
    "w": lambda value: ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(value[0], value[1]), in0_block_w=value[2], out_subblock_h=value[3], out_subblock_w=1, per_core_M=value[3], per_core_N=value[4], transpose_mcast=False, fused_activation=None),
}  # fmt: skip


def damaged(data: bytes, changes: Any) -> bytes:
    changed = bytearray(data)
    for at, value in changes:
        if changed:
            changed[at % len(changed)] = value
    return bytes(changed)


def load_damaged(case: dict[str, Any], device: Any) -> None:
    """A tensor file with some bytes changed, whole or cut: read, or refused."""
    data = damaged(FILES[case["file"]].read_bytes(), case["bytes"])
    with tempfile.NamedTemporaryFile(suffix=".tensorbin") as file:
        file.write(data if case["cut"] is None else data[: case["cut"]])
        file.flush()
        touch(ttnn.load_tensor(file.name))


def call_probe(probe: dict[str, Any], rng: int, device: Any) -> None:
    """A probe on tensors with values."""
    made = []
    for index, (shape, dtype, layout, memory) in enumerate(probe["inputs"]):
        facts = {"shape": shape, "dtype": dtype, "layout": "TILE_LAYOUT" if layout == "tile" else "ROW_MAJOR_LAYOUT", "memory": None, "place": "host"}
        one = tensor(facts | {"seed": rng + index}, device)
        made.append(one if memory == "host" else ttnn.to_device(one, device, memory_config=eval(memory, {"ttnn": ttnn})))
    touch(eval(probe["call"], {"ttnn": ttnn, "device": device, "a": made}))


ABI_OPS = sorted(_core.op_names())


def call_abi(case: dict[str, Any], device: Any) -> None:
    """An op by its C entry: attributes with damaged bytes, then a tensor made from a buffer of the wrong size."""
    ffi, lib = _core.ffi, _core.lib
    fields = [(_convert.name_prefix(name), _convert.encode(value, None)) for name, value in case["given"].items()]
    fields += [(_convert.name_prefix(name), b"t" + index.to_bytes(4, "little")) for index, name in enumerate(case["inputs"])]
    blob = damaged(_convert.encode_fields(fields), case["damage"])
    out = ffi.new("shim_attrs **")
    status = lib.shim_attrs_new(blob, len(blob), out)
    if status == 0:
        attributes = ffi.gc(out[0], lib.shim_attrs_free)
        handles = [tensor(facts, device)._handle for facts in case["tensors"]]
        op = ffi.new("int *")
        _core.check(lib.shim_op_find(ABI_OPS[case["abi"]].encode(), op))
        result = ffi.new("shim_result *")
        inputs = ffi.new("shim_tensor *[]", handles) if handles else ffi.NULL
        status = lib.shim_invoke(op[0], inputs, len(handles), device._handle, attributes, result)
        for i in range(result.n_tensors if status == 0 else 0):
            if result.tensors[i] != ffi.NULL:
                lib.shim_tensor_free(result.tensors[i])
    if status == 0 and case["tensors"]:
        shape = case["tensors"][0]["shape"]
        size = max(int(np.prod(shape, dtype=np.int64)) * 4 + case["bytes"], 0)
        made = ffi.new("shim_tensor **")
        status = lib.shim_tensor_new(ffi.NULL, 1, 0, len(shape), shape or ffi.NULL, ffi.NULL, bytes(size), size, 1, made)
        if status == 0:
            lib.shim_tensor_free(made[0])
    if status:
        raise _core.last_error()


def touch(result: Any) -> None:
    """Reads every value of a result: memory that is too small shows here under ASan."""
    if isinstance(result, (list, tuple)):
        for item in result:
            touch(item)
    elif isinstance(result, ttnn.Tensor) and result.is_allocated() and result.logical_volume() <= MAX_VALUES:
        host = ttnn.from_device(result) if ttnn.is_tensor_storage_on_device(result) else result
        host._read()  # not to_list(): 2**31 empty rows are a long list


def run_case(case: dict[str, Any], device: Any) -> str:
    """Answer of the call: "accepted" or the name of the exception."""
    try:
        if "file" in case:
            load_damaged(case, device)
            return "accepted"
        if "abi" in case:
            call_abi(case, device)
            return "accepted"
        if "probe" in case:
            call_probe(case["probe"], case["seed"], device)
            return "accepted"
        if "make" in case:
            name, dtype, layout = case["make"], getattr(ttnn, case["dtype"]), getattr(ttnn, case["layout"])
            if name in ("ones", "full", "rand") and 2**26 < math.prod(abs(extent) for extent in case["shape"]) < 2**36:
                name = "zeros"  # a legal tensor of gigabytes: writing it takes its time, and is no hang
            head = [[*case["shape"]], case["value"]] if name == "full" else [case["value"]] if name == "arange" else [[*case["shape"]]]
            if name == "arange" and not (isinstance(case["value"], int) and abs(case["value"]) < MAX_VALUES):
                head = [64]
            touch(getattr(ttnn, name)(*head, dtype=dtype, layout=layout, device=device, memory_config=memory_config(case["memory"])))
            return "accepted"
        types = dict(part.split("=") for part in case["types"].split(",") if part)
        positional = [argument(letter, value, device) for letter, value in zip(case["letters"], case["positional"], strict=True)]
        keywords = {key: argument(types[key], value, device) for key, value in case["keywords"].items()}
        function: Any = ttnn
        for part in case["call"].split("."):
            function = getattr(function, part)
        if case["names"] and len(case["names"]) == len(positional):
            keywords |= dict(zip(case["names"], positional, strict=True))
            positional = []
        touch(function(*positional, **keywords))
    except AttributeError as error:
        if "probe" not in case or not str(error).startswith("module 'ttnn"):  # some probes name what neither package has
            raise
        return type(error).__name__
    except (RuntimeError, TypeError, ValueError, IndexError, OverflowError, MemoryError) as error:
        if "internal error" in str(error):
            raise
        return type(error).__name__
    return "accepted"


def main(count: int, start: int, journal_path: str) -> None:
    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    answers: dict[str, int] = {}
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow memory is huge: its own options limit it
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, resource.RLIM_INFINITY))
    with open(journal_path, "w") as journal:

        @seed(start)
        @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(cases())
        def fuzz(case: dict[str, Any]) -> None:
            journal.write(json.dumps(case) + "\n")
            journal.flush()
            faulthandler.dump_traceback_later(CASE_TIMEOUT_S, exit=True)
            answer = run_case(case, device)
            faulthandler.cancel_dump_traceback_later()
            answers[answer] = answers.get(answer, 0) + 1

        fuzz()
    ttnn.close_device(device)
    print(json.dumps(answers))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
