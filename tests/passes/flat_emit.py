"""The plainest Python program of a lowered module: one call per op, nothing kept. Input for the referee's probes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ops.spec import INLINE, REQUIRED, TTNN_OPS, Arg, EnumRef, Kind, inline_scalar

DTYPES = {
    "f32": "ttnn.float32",
    "bf16": "ttnn.bfloat16",
    "si32": "ttnn.int32",
    "u32": "ttnn.uint32",
    "u16": "ttnn.uint16",
    "u8": "ttnn.uint8",
    "bfp_bf8": "ttnn.bfloat8_b",
    "bfp_bf4": "ttnn.bfloat4_b",
}
LAYOUTS = {"tile": "ttnn.TILE_LAYOUT", "row_major": "ttnn.ROW_MAJOR_LAYOUT"}
FIDELITIES = {"lofi": "LoFi", "hifi2": "HiFi2", "hifi3": "HiFi3", "hifi4": "HiFi4"}


def _memory(layout: TTNNLayout) -> str:
    if layout.is_sharded:
        ranges = ", ".join(f"ttnn.CoreRange(ttnn.CoreCoord{a}, ttnn.CoreCoord{b})" for a, b in layout.data.ranges or ())
        spec = f"ttnn.ShardSpec(ttnn.CoreRangeSet([{ranges}]), {list(layout.shard_shape())}, ttnn.ShardOrientation.ROW_MAJOR)"
        return f"ttnn.MemoryConfig(ttnn.TensorMemoryLayout.{layout.memory.upper()}, ttnn.BufferType.L1, {spec})"
    return "ttnn.L1_MEMORY_CONFIG" if layout.buffer == "l1" else "ttnn.DRAM_MEMORY_CONFIG"


def _number(value: Any) -> str:
    text = repr(value)
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else text


def _unary(value: Any) -> str:
    name = value if isinstance(value, str) else value["op_type"]
    return f"ttnn.UnaryWithParam(ttnn.UnaryOpType.{name.upper()})"


def _config(value: Mapping[str, Any], name: str) -> str:
    parts = []
    for key, field in value.items():
        if key == "weights_dtype":
            parts.append(f"{key}={DTYPES[field]}")
        elif key == "activation":
            parts.append(f"{key}={_unary(field)}")
        elif key == "math_fidelity":
            parts.append(f"{key}=ttnn.MathFidelity.{FIDELITIES[field]}")
        elif key == "compute_with_storage_grid_size":
            parts.append(f"{key}=ttnn.CoreCoord{tuple(field)}")
        else:
            parts.append(f"{key}={field!r}")
    return f"ttnn.{name}({', '.join(parts)})"


def _attribute(value: Any, arg: Arg) -> str:
    match arg.kind:
        case Kind.COMPUTE_CONFIG:
            return _config(value, "WormholeComputeKernelConfig")
        case Kind.PROGRAM_CONFIG:  # level 0 writes attention's alone
            return _config(value, "SDPAProgramConfig")
        case Kind.CONV2D_CONFIG:
            return _config(value, "Conv2dConfig")
        case Kind.DTYPE:
            return DTYPES[value]
        case Kind.LAYOUT:
            return LAYOUTS[value]
        case Kind.MEMORY_CONFIG:
            return "ttnn.DRAM_MEMORY_CONFIG"
        case Kind.ENUM:
            assert isinstance(arg.default, EnumRef)
            return f"{arg.default.enum}.{value}"
        case Kind.UNARY_LIST:
            return f"[{', '.join(map(_unary, value))}]"
        case Kind.CORE_GRID:
            return f"ttnn.CoreGrid(x={value[0]}, y={value[1]})"
        case Kind.PAIR_LIST:
            return repr([list(value[i : i + 2]) for i in range(0, len(value), 2)])
        case Kind.FLOAT_LIST:
            return f"[{', '.join(_number(v) for v in value.reshape(-1).tolist())}]"
        case _:
            return _number(list(value) if isinstance(value, tuple) else value)


class FlatProgram:
    def __init__(self, module: ModuleOp, l1_small_bytes: int = 0) -> None:
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self.names: dict[SSAValue, str] = {}
        self.lines = ["import ttnn", f"device = ttnn.open_device(device_id=0, l1_small_size={l1_small_bytes})"]
        self.checks = 0

    def text(self) -> str:
        forward = self.functions["forward"]
        for argument in forward.args:
            self._argument(argument)
        self._body(forward)
        return "\n".join([*self.lines, "ttnn.close_device(device)", ""])

    def _name(self, value: SSAValue) -> str:
        return self.names.setdefault(value, f"v{len(self.names)}")

    def _argument(self, argument: SSAValue) -> None:
        layout = layout_of(argument.type)
        assert layout is not None
        made = f"ttnn.zeros({list(access.shape(argument))}, {DTYPES[layout.dtype]}, {LAYOUTS[layout.page]}, device, ttnn.DRAM_MEMORY_CONFIG)"
        self.lines.append(f"{self._name(argument)} = {f'ttnn.from_device({made})' if layout.on_host else made}")

    def _body(self, func: FuncOp) -> list[str]:
        for op in func.body.block.ops:
            if isinstance(op, ReturnOp):
                return [self._name(value) for value in op.operands]
            if op.name in ("ttnn.get_device", "ttnn.deallocate") or INLINE in op.attributes:
                continue
            if op.name == "ttcore.load_cached":
                callee = self.functions[str(access.attr(op, "callee"))]
                for argument, value in zip(callee.args, op.operands, strict=True):
                    self.names[argument] = self._name(value)
                for result, name in zip(op.results, self._body(callee), strict=True):
                    self.names[result] = name
            else:
                self.lines.append(self.call(op))
                self._check(op)
        raise AssertionError("no return")

    def _check(self, op: Operation) -> None:
        """The real result must have the spec that the IR says."""
        for result in op.results:
            layout = layout_of(result.type)
            if layout is None or "prepare_" in op.name:
                continue
            name = self._name(result)
            self.checks += 1
            want = (list(access.shape(result)), DTYPES[layout.dtype].removeprefix("ttnn."), layout.page)
            self.lines.append(
                f"print('SPEC', {op.name!r}, {want!r}, list({name}.shape), str({name}.dtype), str({name}.layout)) "
                f"if list({name}.shape) != {want[0]} or {name}.dtype != {DTYPES[layout.dtype]} "
                f"or {name}.layout != {LAYOUTS[layout.page]} else None"
            )

    def call(self, op: Operation) -> str:
        spec = TTNN_OPS[op.name]
        results = ", ".join(self._name(result) for result in op.results)
        parts = []
        for arg in spec.args:
            text = self._argument_text(op, arg)
            if text is not None:
                parts.append(f"{arg.name}={text}" if arg.keyword else text)
        return f"{results} = {spec.target}({', '.join(parts)})" if results else f"{spec.target}({', '.join(parts)})"

    def _argument_text(self, op: Operation, arg: Arg) -> str | None:
        source, _, name = arg.source.partition(":")
        layout = layout_of(op.results[0].type) if op.results else None
        if source == "operand":
            values = [self._operand(value) for value in access.operands(op, name)]
            if arg.kind is Kind.TENSOR_LIST:
                return f"[{', '.join(values)}]"
            return values[0] if values else None
        if source == "attr":
            value = access.attr(op, name)
            if value is None or (value == arg.default if not hasattr(value, "shape") else False):
                assert value is not None or arg.default is not REQUIRED, f"{op.name} {arg.name}"
                return None
            return _attribute(value, arg)
        if source == "const":
            return name
        if source == "device":
            return "device"
        assert layout is not None
        derived = {"dtype": DTYPES[layout.dtype], "layout": LAYOUTS[layout.page], "memory_config": _memory(layout)}
        if source == "shape":
            return repr(list(access.shape(op.results[0])))
        if source == "changed_dtype":
            first = layout_of(op.operands[0].type)
            return derived["dtype"] if first is not None and first.dtype != layout.dtype else None
        if source == "changed_memory_config":
            first = layout_of(op.operands[0].type)
            return derived["memory_config"] if first is not None and _memory(first) != derived["memory_config"] else None
        return derived[source]

    def _operand(self, value: SSAValue) -> str:
        scalar = inline_scalar(value)
        return self._name(value) if scalar is None else _number(scalar)


def write(module: ModuleOp, directory: Path, l1_small_bytes: int = 0) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "main.py").write_text(FlatProgram(module, l1_small_bytes).text())
