"""TTNN text as its own tests write it: tensors without layouts, conversions in one op, collectives of one chip, constants of the host."""

from __future__ import annotations

import pytest

from alchemist.errors import LoweringError, VerifyError
from alchemist.frontends.mlir.read import parse_module, read_module
from alchemist.frontends.mlir.ttnn_text import complete
from alchemist.ir.edit import functions
from alchemist.ir.layout import layout_of
from tests.tables import table


def completed(arguments: str, results: str, body: str) -> list[str]:
    """Name of each op, and data type, page and buffer of what it makes: of arguments first."""
    module, _ = parse_module(f"func.func @f({arguments}) -> ({results}) {{\n{body}\n}}")
    complete(module)
    found = []
    for func in functions(module):
        for name, values in [("argument", [value]) for value in func.body.block.args] + [(op.name, op.results) for op in func.body.block.ops]:
            layouts = [layout_of(value.type) for value in values]
            found += [f"{name} {one.dtype} {one.page} {one.buffer}" if one is not None else name for one in layouts]
    return found


def unary(of: str, name: str = "ttnn.abs", attributes: str = "") -> list[str]:
    return completed(
        f"%a: tensor<64x32x{of}>",
        f"tensor<64x32x{of}>",
        f'%0 = "{name}"(%a) {attributes} : (tensor<64x32x{of}>) -> tensor<64x32x{of}>\nreturn %0 : tensor<64x32x{of}>',
    )


@table(
    ("of", "dtype"),
    [("f32", "f32"), ("f64", "f32"), ("f16", "bf16"), ("bf16", "bf16"), ("i1", "bf16"), ("i8", "si32"), ("i32", "si32"), ("si64", "si32"), ("ui8", "u8"), ("ui16", "u16"), ("ui64", "u32")],
)  # fmt: skip
def test_data_types(of: str, dtype: str) -> None:
    assert unary(of) == [f"argument {dtype} tile dram", f"ttnn.abs {dtype} tile dram"]


def test_a_type_that_the_device_lacks() -> None:
    with pytest.raises(LoweringError, match="the device does not support this tensor") as caught:
        unary("i4")
    assert (caught.value.op, caught.value.got) == ("func.func", "i4")


def test_quantised_numbers_are_integers() -> None:
    of = "!quant.uniform<i32:f32, 0.1>"
    made = completed("%a: tensor<64x32xf32>", f"tensor<64x32x{of}>", f'%0 = "ttnn.quantize"(%a, %a, %a) : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32x{of}>\nreturn %0 : tensor<64x32x{of}>')  # fmt: skip
    assert made[-1] == "ttnn.quantize si32 tile dram"


def test_operands_in_rows() -> None:
    """Indices are read in rows of their own data type; what is upsampled leaves in rows too."""
    made = completed("%i: tensor<2x32xbf16>, %w: tensor<128x64xbf16>", "tensor<2x32x64xbf16>", '%0 = "ttnn.embedding"(%i, %w) : (tensor<2x32xbf16>, tensor<128x64xbf16>) -> tensor<2x32x64xbf16>\nreturn %0 : tensor<2x32x64xbf16>')  # fmt: skip
    assert made == ["argument u32 row_major dram", "argument bf16 tile dram", "ttnn.embedding bf16 tile dram"]
    made = completed("%a: tensor<1x4x4x32xbf16>", "tensor<1x8x8x32xbf16>", '%0 = "ttnn.upsample"(%a) <{scale_factor = 2 : si32, mode = "nearest"}> : (tensor<1x4x4x32xbf16>) -> tensor<1x8x8x32xbf16>\nreturn %0 : tensor<1x8x8x32xbf16>')  # fmt: skip
    assert made == ["argument bf16 row_major dram", "ttnn.upsample bf16 row_major dram"]


def test_moves_keep_pages() -> None:
    made = completed(
        "%i: tensor<32x32xi32>, %w: tensor<128x64xbf16>", "tensor<32x32xi32>",
        """%0 = "ttnn.from_device"(%i) : (tensor<32x32xi32>) -> tensor<32x32xi32>
%1 = "ttnn.embedding"(%i, %w) : (tensor<32x32xi32>, tensor<128x64xbf16>) -> tensor<32x32x64xbf16>
return %0 : tensor<32x32xi32>""",
    )  # fmt: skip
    assert made[2] == "ttnn.from_device si32 row_major system_memory"


def test_collectives_of_one_chip_are_gone() -> None:
    attributes = "<{cluster_axis = 0 : ui32, all_gather_dim = 0 : si32}>"
    assert completed("%a: tensor<64x32xbf16>", "tensor<64x32xbf16>", f'%0 = "ttnn.all_gather"(%a) {attributes} : (tensor<64x32xbf16>) -> tensor<64x32xbf16>\nreturn %0 : tensor<64x32xbf16>') == ["argument bf16 tile dram"]  # fmt: skip
    gathered = completed("%a: tensor<64x32xbf16>", "tensor<128x32xbf16>", f'%0 = "ttnn.all_gather"(%a) {attributes} : (tensor<64x32xbf16>) -> tensor<128x32xbf16>\nreturn %0 : tensor<128x32xbf16>')  # fmt: skip
    assert gathered[1] == "ttnn.all_gather bf16 tile dram"
    maximum = attributes.replace("all_gather_dim = 0 : si32", "reduce_type = #ttcore.reduce_type<max>")
    with pytest.raises(LoweringError, match="a collective of several chips") as caught:
        completed("%a: tensor<64x32xbf16>", "tensor<64x32xbf16>", f'%0 = "ttnn.all_reduce"(%a) {maximum} : (tensor<64x32xbf16>) -> tensor<64x32xbf16>\nreturn %0 : tensor<64x32xbf16>')  # fmt: skip
    assert caught.value.op == "ttnn.all_reduce"


def test_attention_whose_heads_come_out_joined() -> None:
    """The text of an export whose program calls the library with `output_concat_heads`."""
    heads, joined = "tensor<2x4x32x64xbf16>", "tensor<2x1x32x256xbf16>"
    call = f'"ttnn.scaled_dot_product_attention"(%a, %a, %a) {{alchemist.output_concat_heads = true}} : ({heads}, {heads}, {heads})'

    def text(result: str) -> str:
        return f"func.func @f(%a: {heads}) -> {result} {{\n%0 = {call} -> {result}\nreturn %0 : {result}\n}}"

    read_module(text(joined))
    with pytest.raises(VerifyError, match="expected result shape"):
        read_module(text(heads))


LAYOUTS = {
    "bf16 tile dram": "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>",
    "f32 tile dram": "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>",
    "bf16 tile l1": "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <interleaved>>",
    "bf16 rows dram": "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x32xbf16, #ttnn.buffer_type<dram>>, <interleaved>>",
    "f32 rows dram": "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x32xf32, #ttnn.buffer_type<dram>>, <interleaved>>",
    "bf16 rows host": "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x32xbf16, #ttnn.buffer_type<system_memory>>>",
    "f32 tile host": "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<system_memory>>>",
}
STEPS = {
    ("bf16 tile dram", "bf16 tile dram"): [],
    ("bf16 tile dram", "f32 tile dram"): ["typecast f32 tile dram"],
    ("bf16 tile dram", "bf16 rows dram"): ["to_layout bf16 row_major dram"],
    ("bf16 tile dram", "bf16 tile l1"): ["to_memory_config bf16 tile l1"],
    ("bf16 rows dram", "f32 tile dram"): ["to_layout bf16 tile dram", "typecast f32 tile dram"],
    ("bf16 rows dram", "f32 rows dram"): ["to_layout bf16 tile dram", "typecast f32 tile dram", "to_layout f32 row_major dram"],
    ("bf16 rows host", "f32 tile dram"): ["get_device", "to_device bf16 row_major dram", "to_layout bf16 tile dram", "typecast f32 tile dram"],
    ("bf16 tile dram", "bf16 rows host"): ["to_layout bf16 row_major dram", "from_device bf16 row_major system_memory"],
    ("bf16 rows host", "bf16 tile l1"): ["get_device", "to_device bf16 row_major dram", "to_layout bf16 tile dram", "to_memory_config bf16 tile l1"],
    ("bf16 tile l1", "f32 tile host"): ["typecast f32 tile l1", "from_device f32 tile system_memory"],
    ("bf16 rows host", "f32 tile host"): ["to_layout bf16 tile system_memory", "typecast f32 tile system_memory"],
}


@table(("have", "want"), STEPS)
def test_conversions_are_steps(have: str, want: str) -> None:
    given, wanted = (f"tensor<64x32x{key.split()[0]}, {LAYOUTS[key]}>" for key in (have, want))
    made = completed(f"%a: {given}", wanted, f'%0 = "ttnn.to_tensor_spec"(%a) : ({given}) -> {wanted}\nreturn %0 : {wanted}')
    assert [step.removeprefix("ttnn.") for step in made[1:]] == STEPS[have, want]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_level_2_makes_of_an_image_verifies(dtype: str) -> None:
    """Its weights are padded in const-eval where rows of the image become channels."""
    import torch

    from alchemist.ir.verify import verify_module
    from alchemist.options import CompilerOptions
    from alchemist.passes import lower_to_ttnn
    from alchemist.pipeline import capture

    model = torch.nn.Conv2d(3, 16, 7, 2, 3).eval().to(getattr(torch, dtype))
    captured = capture(model, (torch.ones(1, 3, 64, 64, dtype=getattr(torch, dtype)),), {}, "torch")
    module = lower_to_ttnn(captured.module, CompilerOptions(optimization_level=2)).module
    assert any(op.name == "ttnn.pad" for op in module.walk())
    verify_module(module)
