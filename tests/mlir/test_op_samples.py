"""TTNN text of the samples of every described op: emitted, then run on the simulator and compared with the references."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from alchemist.codegen import codegen_mlir
from alchemist.ir.attributes import DeviceType, tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import op_info
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.printer import print_module
from alchemist.ir.text import parse
from alchemist.ops import TTNN_OPS
from alchemist.ops.spec import OpSpec, Sample

ELEMENTS = {"float32": "f32", "bfloat16": "bf16", "int32": "si32", "uint32": "ui32", "uint16": "ui16", "uint8": "ui8", "bfloat8_b": "bf16"}
DEVICE_DTYPES = {"ui32": "u32", "ui16": "u16", "ui8": "u8"}
ON_HOST = {"ttnn.conv2d"}  # weights that the op wants on the host: prepared ones come from other ops
RUNNER = """
import contextlib, io, pathlib, sys, ttnn_shim
sys.path.insert(0, str(ttnn_shim.python_path()))
bad = []
for directory in sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir()):
    for name in ("main", "utils", "consteval"):
        sys.modules.pop(name, None)
    sys.path.insert(0, str(directory))
    golden = (directory / "golden").is_dir()
    sys.argv[2:] = ["--check"] if golden else []
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        import main
        status = main.main()
    if status:
        bad.append(directory.name + ": " + text.getvalue())
    sys.path.pop(0)
sys.exit("\\n".join(bad) or 0)
"""


def _type(dims: tuple[int, ...], dtype: str, page: str) -> object:
    """A tensor in DRAM, its layout spelled as text when it is tiled."""
    of = ELEMENTS.get(dtype, dtype)
    if page == "row_major":
        return TTNNLayout.make(dims, DEVICE_DTYPES.get(of, of), page).type_for(dims)
    rows = 1
    for dim in dims[:-2]:
        rows *= dim
    tiles = (rows * -(-dims[-2] // 32) if len(dims) > 1 else 1, -(-dims[-1] // 32) if dims else 1)
    names = ", ".join(f"d{i}" for i in range(len(dims)))
    linear = f"({names}) -> ({'d0' if len(dims) > 1 else '0'}, {f'd{len(dims) - 1}' if dims else '0'})"
    layout = f"#ttnn.ttnn_layout<{linear}, <1x1>, memref<{tiles[0]}x{tiles[1]}x!ttcore.tile<32x32, {DEVICE_DTYPES.get(of, of)}>, #ttnn.buffer_type<dram>>, <interleaved>>"
    attribute = parse(f"module attributes {{a = {layout}}} {{}}").attributes["a"]
    assert isinstance(attribute, TTNNLayout)
    made = tensor(dims, of, attribute)
    assert layout_of(made) is not None
    return made


def _text(spec: OpSpec, sample: Sample) -> str:
    inputs = [(f"x{i}", _type(tuple(dims), dtype, sample.layout), "input", None) for i, (dims, dtype) in enumerate(sample.inputs)]
    b = Builder.module("forward", inputs)  # type: ignore[arg-type]
    left = list(b.args)
    operands: list[object] = []
    for group in op_info(spec.name).operands:
        if "evice" in group.type:
            operands.append(b.op("ttnn.get_device", [], {}, [DeviceType()]))
        elif group.variadic:
            operands.append(left)
            left = []
        else:
            operands.append(left.pop(0) if left else None)
    given = [of for _, of in sample.inputs]
    dtype = next((of for of in given if of != "uint32"), given[0]) if given else "bf16"  # uint32: ids of rows
    kinds = [dtype, "ui16"] if spec.name == "ttnn.sort" else [dtype] * len(sample.outputs)
    types = [_type(tuple(dims), of, sample.layout) for dims, of in zip(sample.outputs, kinds, strict=True)]
    b.ret(list(b.make(spec.name, operands, sample.attributes, types).results))  # type: ignore[arg-type]
    return print_module(b.module_op)


def test_every_sample_runs(tmp_path: Path) -> None:
    made = 0
    for spec in TTNN_OPS.values():
        for sample in spec.samples[:1] if spec.name not in ON_HOST else ():
            file = tmp_path / f"{spec.name}.mlir"
            file.write_text(_text(spec, sample))
            codegen_mlir(file, export_path=tmp_path / "programs" / spec.name, compiler_options={"dump_irs": False})
            made += 1
    assert made > 100
    environment = os.environ | {"TTNN_SHIM_NAN": "ieee"}  # random values are outside the domain of acos and asin
    done = subprocess.run([sys.executable, "-c", RUNNER, tmp_path / "programs"], capture_output=True, text=True, timeout=900, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
