"""Makes and runs fuzzed calls of the simulator's ttnn. Run as a child process: `python cases.py COUNT SEED JOURNAL`.

Each case is written to JOURNAL before it runs, so that the last line names the case in which a process died or hung.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import ttnn_shim

ttnn_shim.activate(explicit=True)

import ttnn  # noqa: E402  (only after activation)

CASE_TIMEOUT_S = 30
MAX_VALUES = 1 << 16  # a tensor with data; larger ones are only asked for, not filled

SMALL = st.sampled_from([0, 1, 2, 3, 5, 31, 32, 33, 64])
HUGE = st.sampled_from([2**15, 2**31 - 1, 2**32 - 1, 2**40, -1])
SHAPE = st.lists(SMALL, min_size=0, max_size=6)
WILD_SHAPE = st.lists(st.one_of(SMALL, HUGE), min_size=0, max_size=9)
DTYPE = st.sampled_from(["bfloat16", "float32", "int32", "uint32", "uint16", "uint8", "bfloat8_b", "bfloat4_b"])
LAYOUT = st.sampled_from(["TILE_LAYOUT", "ROW_MAJOR_LAYOUT"])
INTEGER = st.one_of(st.integers(-4, 5), st.sampled_from([31, 32, 2**31 - 1, -(2**31), 2**32, 2**63]))
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
PARTS: dict[str, st.SearchStrategy[Any]] = {
    "n": NUMBER, "i": INTEGER, "l": INTEGERS, "d": DTYPE, "y": LAYOUT, "m": MEMORY, "b": st.booleans(), "p": st.lists(st.tuples(SMALL, SMALL), max_size=6),
}  # fmt: skip


@st.composite
def tensors(draw: Any) -> dict[str, Any]:
    return {
        "shape": draw(SHAPE), "dtype": draw(DTYPE), "layout": draw(LAYOUT), "memory": draw(st.one_of(st.none(), MEMORY)),
        "place": draw(st.sampled_from(["device", "device", "device", "host"])), "seed": draw(st.integers(0, 7)),
    }  # fmt: skip


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    if draw(st.integers(0, 9)) == 0:
        name = draw(st.sampled_from(["zeros", "ones", "full", "empty", "rand", "arange"]))
        return {"make": name, "shape": draw(WILD_SHAPE), "dtype": draw(DTYPE), "layout": draw(LAYOUT), "value": draw(NUMBER), "memory": draw(MEMORY)}
    name = draw(st.sampled_from(sorted(CALLS)))
    positional, _, keywords = CALLS[name].partition("/")
    shared = draw(tensors())  # mostly one shape, so that calls get past their first check

    def value(letter: str) -> Any:
        if letter == "T":
            return draw(st.one_of(st.just(shared), tensors()))
        if letter == "t":
            return [draw(st.one_of(st.just(shared), tensors())) for _ in range(draw(st.integers(0, 3)))]
        return draw(PARTS[letter])

    chosen = {key: value(letter) for key, letter in (part.split("=") for part in keywords.split(",") if part) if draw(st.booleans())}
    return {"call": name, "letters": positional, "positional": [value(letter) for letter in positional], "keywords": chosen, "types": keywords}


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
    if letter in "dy":
        return getattr(ttnn, value)
    return memory_config(value) if letter == "m" else value


def touch(result: Any) -> None:
    """Reads every value of a result: memory that is too small shows here under ASan."""
    if isinstance(result, (list, tuple)):
        for item in result:
            touch(item)
    elif isinstance(result, ttnn.Tensor) and result.is_allocated() and result.volume() <= MAX_VALUES:
        host = ttnn.from_device(result) if ttnn.is_tensor_storage_on_device(result) else result
        host.to_list()


def run_case(case: dict[str, Any], device: Any) -> str:
    """Answer of the call: "accepted" or the name of the exception."""
    try:
        if "make" in case:
            name, dtype, layout = case["make"], getattr(ttnn, case["dtype"]), getattr(ttnn, case["layout"])
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
        touch(function(*positional, **keywords))
    except (RuntimeError, TypeError, ValueError, IndexError, OverflowError, MemoryError) as error:
        if "internal error" in str(error):
            raise
        return type(error).__name__
    return "accepted"


def main(count: int, start: int, journal_path: str) -> None:
    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    answers: dict[str, int] = {}
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
