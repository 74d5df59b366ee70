"""Random programs of integer and look-up ops: equal to the framework's own values, to the last digit."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FRAMEWORKS = ("torch", "jax", "onnx")
Made = tuple[Any, Any, tuple[Any, ...], str]
"""(capture, model, arguments, text)"""

LARGEST = 2**31 - 1
_ROWS = (7, 300, 5000, 200_000)


def _inputs(choose: random.Random, types: Sequence[str]) -> dict[str, Array]:
    """a, b [4, 6] of one integer type, i [5] indices below 4, a table of integers, one of floats, and indices of their rows."""
    rng = np.random.default_rng(choose.randrange(1 << 30))
    kind = np.dtype(choose.choice(types))
    bounds = np.iinfo(kind)
    most = choose.choice((9, 100, 3000, 70_000, LARGEST))
    low, high = max(bounds.min, -most), min(bounds.max, most)
    rows = choose.choice(_ROWS)
    return {
        "a": rng.integers(low, high, (4, 6), endpoint=True).astype(kind),
        "b": rng.integers(low, high, (4, 6), endpoint=True).astype(kind),
        "i": rng.integers(0, 4, 5).astype(np.int64),
        "table": rng.integers(-LARGEST, LARGEST, (rows, choose.choice((1, 3)))).astype(np.int32),
        "floats": rng.standard_normal((rows, 4)).astype(np.float32),
        "at": rng.integers(0, rows, 6).astype(np.int64),
    }


_SUMS = re.compile(r"sum|Sum|prod|@|MatMul")
"""Not of rows of floats, which the device adds with fewer digits than the framework: those are looked up and moved here."""


def _lines(choose: random.Random, ops: Sequence[str], fits: Callable[[list[str], str], bool], count: int) -> tuple[list[str], list[str]]:
    """Lines `v0 = ...` of ops on what is there, as far as `fits` says, and the names that they give."""
    lines: list[str] = []
    names, floats = ["a", "b"], {"floats"}
    tries = 0
    while len(lines) < count and (tries := tries + 1) < 60:
        line = choose.choice(ops).format(x=choose.choice(names), y=choose.choice(names), n=choose.choice((1, 2, 3, 7, 10, 16, 100, 255, 1000, 4097)))
        name = f"v{len(lines)}"
        is_float = not floats.isdisjoint(re.findall(r"\w+", line))
        if is_float and _SUMS.search(line):
            continue
        if fits([*lines, f"{name} = {line}"], name):
            lines.append(f"{name} = {line}")
            names.append(name)
            floats |= {name} if is_float else set()
    return lines, [name for name in names if name.startswith("v")]


# --- PyTorch ----------------------------------------------------------------------------------------------------------------

_TORCH_TYPES = ("int8", "int16", "int32", "int64", "uint8")
_TORCH = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} + {n}", "{x} * {n}", "{x} // {n}", "{x} % {n}", "{x} // ({y}.abs() + 1)", "torch.fmod({x}, {n})", "-{x}", "{x}.abs()",
    "{x}.sign()", "{x} & {y}", "{x} | {n}", "{x} ^ {y}", "~{x}", "{x} << 2", "{x} >> 3", "({x} > {y}).to({x}.dtype)", "({x} == {n}).to({x}.dtype)", "torch.maximum({x}, {y})",
    "torch.where({x} > {y}, {x}, {y})", "{x}.clamp(-{n}, {n})", "{x}.square()", "{x} ** 3", "{x}.round()", "{x}.sum(1)", "{x}.sum()", "{x}.prod(0)", "{x}.cumsum(1)",
    "{x}.amax(1)", "{x}.argmax(1)", "{x}.argmin(0)", "{x}.sort(1).values", "{x}.sort(0, descending=True, stable=True).indices", "{x}.topk(3, 1).values", "{x}.max(0).values",
    "{x}.T @ {y}", "{x} @ {y}.T", "torch.einsum('ij,kj->ik', {x}, {y})", "{x}[i]", "{x}.index_select(0, i)", "{x}.gather(0, ({y}.abs() % 4).long())",
    "torch.take({x}, i)", "{x}.T[i]", "table[at]", "table.index_select(0, at)", "F.embedding(at, table)", "F.embedding(at, floats)", "floats[at] - 1", "floats[at, i[0]]",
    "torch.take(table, at)", "{x}.to(torch.int32)", "{x}.to(torch.int8)", "{x}.to(torch.int64)", "{x}.float().to(torch.int32)", "{x}.any(1)", "{x}.median(1).values",
    "torch.cat([{x}, {y}], 0)", "{x}.roll(1, 1)", "F.pad({x}, (1, 2))", "{x}.bincount(minlength=4) if {x}.dim() == 1 else {x} * 1", "{x}.tril()", "{x}.unsqueeze(0).expand(2, *{x}.shape)",
    "torch.bucketize({x}, torch.tensor([-100, 0, 7, 5000]))", "{x}.repeat_interleave(2, 0)", "{x}.scatter_add(0, ({y}.abs() % 4).long(), {y})",
    "torch.div({x}, {n}, rounding_mode='trunc')", "{x}.flip(0)", "torch.isin({x}, torch.tensor([1, 2, 3]).to({x}.dtype))", "{x}.cummax(1).values",
)  # fmt: skip


def torch_program(seed: int) -> Made:
    import torch

    from alchemist.frontends.torch import capture

    choose = random.Random(seed)
    values = {name: torch.from_numpy(array) for name, array in _inputs(choose, _TORCH_TYPES).items()}

    class Program(torch.nn.Module):
        def __init__(self, lines: list[str], returned: list[str]) -> None:
            super().__init__()
            self.lines, self.returned = lines, returned
            self.register_buffer("table", values["table"])
            self.floats = torch.nn.Parameter(values["floats"], requires_grad=False)

        def forward(self, a: torch.Tensor, b: torch.Tensor, i: torch.Tensor, at: torch.Tensor) -> Any:
            names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "a": a, "b": b, "i": i, "at": at, "table": self.table, "floats": self.floats}
            exec("\n".join(self.lines), names)
            return tuple(names[name] for name in self.returned)

    arguments = tuple(values[name] for name in ("a", "b", "i", "at"))

    def fits(lines: list[str], name: str) -> bool:
        try:
            (out,) = Program(lines, [name])(*arguments)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            return False
        if not isinstance(out, torch.Tensor) or not 0 < out.numel() <= 5000 or out.dtype == torch.float64:
            return False
        if "float()" in lines[-1] and not wide.isdisjoint(re.findall(r"\w+", lines[-1])):  # what a float beyond 32 bits becomes is not defined
            return False
        if out.dtype == torch.int64 and not bool(((out <= LARGEST) & (out >= -LARGEST)).all()):
            wide.add(name)
        return True

    wide: set[str] = set()  # beyond 32 bits: no outputs, which would be refused
    lines, names = _lines(choose, _TORCH, fits, choose.randint(3, 8))
    lines += [f"{name}_low = {name} % 1009" for name in names if name in wide]
    names = [f"{name}_low" if name in wide else name for name in names]
    return capture, Program(lines, names), arguments, "\n".join([f"{name}: {value.dtype} {tuple(value.shape)}" for name, value in values.items()] + lines)


# --- JAX --------------------------------------------------------------------------------------------------------------------

_JAX_TYPES = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
_JAX = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} // {n}", "{x} % {n}", "jax.lax.div({x}, {x} * 0 + 7)", "jnp.fmod({x}, 5)", "-{x}", "jnp.abs({x})", "jnp.sign({x})", "{x} & {y}",
    "{x} | {y}", "{x} ^ {y}", "~{x}", "{x} << 1", "{x} >> 2", "({x} > {y}).astype({x}.dtype)", "jnp.maximum({x}, {y})", "jnp.where({x} > {y}, {x}, {y})", "jnp.clip({x}, 1, 100)",
    "{x} ** 2", "jnp.sum({x}, 1)", "jnp.prod({x}, 0)", "jnp.cumsum({x}, 1)", "jnp.max({x}, 1)", "jnp.min({x})", "jnp.argmax({x}, 1)", "jnp.argmin({x}, 0)", "jnp.sort({x}, 1)",
    "jnp.argsort({x}, 0)", "jax.lax.top_k({x}, 3)[0]", "{x}.T @ {y}", "{x} @ {y}.T", "jnp.einsum('ij,kj->ik', {x}, {y})", "{x}[i]", "jnp.take({x}, i, axis=1)", "{x}[:, i[0]]",
    "table[at]", "table[at, 0]", "floats[at] - 1", "jnp.take(floats, at, axis=0)", "{x}.astype(jnp.int32)", "{x}.astype(jnp.uint8)", "{x}.astype(jnp.float32).astype(jnp.int32)",
    "jnp.any({x}, 1)", "jnp.concatenate([{x}, {y}], 0)", "jnp.roll({x}, 1, 1)", "jnp.pad({x}, 1)", "jnp.flip({x}, 0)", "jnp.tril({x})", "{x}.at[1].set(3)", "{x}.at[i].add(1)",
    "jnp.take_along_axis({x}, (jnp.abs({y}) % 4).astype(jnp.int32), 0)", "jnp.searchsorted(jnp.array([0, 3, 90]), {x}.astype(jnp.int32))", "jax.lax.population_count({x})",
    "jnp.maximum({x}, ({x} * 0 - 7).max())", "({x} > jnp.array(jnp.iinfo({x}.dtype).max // 3 * 2, {x}.dtype)).astype({x}.dtype)", "{x} % jnp.array(jnp.iinfo({x}.dtype).max // 3 * 2, {x}.dtype)",
    "jnp.minimum({x}, jnp.array(jnp.iinfo({x}.dtype).max // 3 * 2, {x}.dtype))",
)  # fmt: skip


def jax_program(seed: int) -> Made:
    import jax
    import jax.numpy as jnp

    from alchemist.frontends.jax import capture

    choose = random.Random(seed)
    values = {name: jnp.asarray(array) for name, array in _inputs(choose, _JAX_TYPES).items()}

    def program(lines: list[str], returned: list[str]) -> Callable[..., Any]:
        def forward(a: Any, b: Any, i: Any, at: Any, table: Any, floats: Any) -> Any:
            names: dict[str, Any] = {"jax": jax, "jnp": jnp, "a": a, "b": b, "i": i, "at": at, "table": table, "floats": floats}
            exec("\n".join(lines), names)
            return tuple(names[name] for name in returned)

        return forward

    arguments = tuple(values[name] for name in ("a", "b", "i", "at", "table", "floats"))

    def fits(lines: list[str], name: str) -> bool:
        try:
            (out,) = program(lines, [name])(*arguments)
        except (TypeError, ValueError, IndexError, jax.errors.JAXTypeError, NotImplementedError):
            return False
        return hasattr(out, "size") and 0 < out.size <= 5000 and indices_fit(lines)

    def indices_fit(lines: list[str]) -> bool:
        """An index outside: JAX clamps it or fills in, a program here needs indices in range."""
        looked_up = re.search(r"(\w+)\[:, i\[0\]\]|along_axis\((\w+),", lines[-1])
        if looked_up is None:
            return True
        name = looked_up[1] or looked_up[2]
        (source,) = program(lines[:-1], [name])(*arguments)
        return bool(source.shape[1 if looked_up[1] else 0] >= 4)

    lines, names = _lines(choose, _JAX, fits, choose.randint(3, 8))
    return capture, program(lines, names), arguments, "\n".join([f"{name}: {value.dtype} {tuple(value.shape)}" for name, value in values.items()] + lines)


# --- ONNX -------------------------------------------------------------------------------------------------------------------

_ONNX_TYPES = ("int8", "int32", "int64", "uint8")
_ONNX = (
    "Add x y", "Sub x y", "Mul x y", "Div x k", "Mod x k", "Mod x k fmod=1", "Neg x", "Abs x", "Sign x", "BitwiseAnd x y", "BitwiseXor x y", "BitwiseNot x", "Max x y", "Min x y",
    "Clip x lo hi", "Where m x y", "ReduceSum x axes", "ReduceMax x axes", "ReduceMin x axes", "CumSum x one", "ArgMax x axis=1", "ArgMin x axis=0", "TopK x three", "MatMul x t",
    "Gather x i axis=0", "Gather x i axis=1", "GatherElements x e axis=0", "Gather table at axis=0", "Gather floats at axis=0", "Transpose x perm=1,0", "Concat x y axis=0",
    "Cast x to=6", "Cast x to=7", "Pow x two", "Trilu x", "Tile x reps", "GatherND x nd",
)  # fmt: skip


def onnx_program(seed: int) -> Made:
    import onnx
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    from alchemist.frontends.onnx import load

    choose = random.Random(seed)
    values = _inputs(choose, _ONNX_TYPES)
    kind = values["a"].dtype
    whole = {name: np.array(value, np.int64) for name, value in {"axes": [1], "one": 1, "three": [3], "reps": [1, 2], "nd": [[0, 1], [3, 2]]}.items()}
    values["at"] = values["at"] % len(values["table"])
    constants = {
        **whole, "k": np.array(choose.choice((1, 3, 7, 100)), kind), "two": np.array(2, kind), "lo": np.array(1, kind), "hi": np.array(90, kind), "t": values["b"].T.copy(),
        "e": np.abs(values["b"].astype(np.int64)) % 4, "m": values["a"] > values["b"], "table": values["table"], "floats": values["floats"],
    }  # fmt: skip
    inputs = {name: values[name] for name in ("a", "b", "i", "at")}
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}

    def node(line: str, name: str) -> Any:
        op, *words = line.split()
        fields = {key: value for key, _, value in (word.partition("=") for word in words if "=" in word)}
        attributes = {key: [int(n) for n in value.split(",")] if "," in value else int(value) for key, value in fields.items()}
        results = [f"{name}_values", name] if op == "TopK" else [name]
        return helper.make_node(op, [word for word in words if "=" not in word], results, **attributes)

    def model(lines: list[str], returned: list[str]) -> Any:
        nodes = [node(line.partition(" = ")[2], line.partition(" = ")[0]) for line in lines]
        given = [helper.make_tensor_value_info(name, types[name], array.shape) for name, array in inputs.items()]
        graph = helper.make_graph(
            nodes, "g", given, [helper.make_empty_tensor_value_info(name) for name in returned], [numpy_helper.from_array(v, k) for k, v in constants.items()]
        )
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), strict_mode=True)

    def fits(lines: list[str], name: str) -> bool:
        try:
            made = model(lines, [name])
            onnx.checker.check_model(made, full_check=True)
            (out,) = ReferenceEvaluator(made).run(None, inputs)
            *before, last = lines
            if "GatherElements" in last:  # an index outside is an error in ONNX, which the reference does not see
                word = last.split()[3]
                source = inputs[word] if word in inputs else ReferenceEvaluator(model(before, [word])).run(None, inputs)[0]
                if len(source) < 4:
                    return False
        except Exception:  # noqa: BLE001 - whatever the reference says
            return False
        small = out.dtype != np.int64 or bool((np.abs(out) <= LARGEST).all())
        return bool(0 < out.size <= 5000 and small)

    ops = [" ".join({"x": "{x}", "y": "{y}"}.get(word, word) for word in line.split()) for line in _ONNX]
    lines, names = _lines(choose, ops, fits, choose.randint(3, 8))

    def capture(made: Any, given: Sequence[Array]) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(made, path)
            return load(path, given)

    return (
        capture,
        model(lines, names),
        tuple(inputs.values()),
        "\n".join([f"{name}: {value.dtype} {value.shape}" for name, value in (inputs | constants).items()] + lines),
    )


def make(framework: str, seed: int) -> Made:
    return {"torch": torch_program, "jax": jax_program, "onnx": onnx_program}[framework](seed)
