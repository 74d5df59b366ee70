"""Overrides: a user's own layout or config for single ops."""

from __future__ import annotations

from typing import Any

import pytest
from modules import convolutions, decisions, lowered, mlp
from xdsl.ir import Operation

from alchemist.errors import OptionError
from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.optimizer import overrides


def named(text: str, *names: str) -> str:
    """The module with locations on its ops, in order."""
    for name, part in zip(names, [f"%{number} = " for number in range(len(names))], strict=True):
        at = text.index(part)
        end = text.index("\n", at)
        text = text[:end] + f' loc("{name}")' + text[end:]
    return text


MLP = named(mlp(512, 256, 1024), "up", "act", "down")
CONVOLUTIONS = named(convolutions(2, 64), "stem", "point", "act", "window")
_ROWS, _VECTOR = "tensor<1024x512xbf16>", "tensor<512xbf16>"
_OF = '{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "'
NORM = f"""module {{
  func.func @forward(%x: {_ROWS} {_OF}x"}}, %y: {_ROWS} {_OF}y"}}, %scale: {_VECTOR} {_OF}scale"}}, %shift: {_VECTOR} {_OF}shift"}}) -> {_ROWS} {{
    %0 = "ttir.layer_norm"(%x, %scale, %shift) <{{normalized_shape = array<i64: 512>, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}}> : ({_ROWS}, {_VECTOR}, {_VECTOR}) -> {_ROWS} loc("norm")
    %1 = "ttir.add"(%0, %y) : ({_ROWS}, {_ROWS}) -> {_ROWS} loc("sum")
    return %1 : {_ROWS}
  }}
}}
"""


def op_of(text: str, kind: str, place: int = 0, **options: Any) -> Operation:
    module = lowered(text, optimization_level=2, **options)
    return [op for func in functions(module) if not is_const_eval(func) for op in func.body.block.ops if op.name == kind][place]


@pytest.mark.parametrize(
    ("layout", "buffer", "memory"),
    [("dram:interleaved", "dram", "interleaved"), ("l1:interleaved", "l1", "interleaved"), ("8x8:l1:block_sharded:tile:bf16", "l1", "block_sharded")],
)
def test_output_layout(layout: str, buffer: str, memory: str) -> None:
    found = layout_of(op_of(MLP, "ttnn.matmul", override_output_layout=f"up={layout}").results[0].type)
    assert found is not None and (found.buffer, found.memory) == (buffer, memory)


@pytest.mark.parametrize(
    ("text", "kind", "layout", "spelled"),
    [
        (MLP, "ttnn.matmul", "up=4x8:l1:width_sharded", "4x8:l1:width_sharded"),
        (MLP, "ttnn.matmul", "up=1x8:l1:width_sharded:tile", "1x8:l1:width_sharded"),
        (MLP, "ttnn.matmul", "up=2x4:l1:block_sharded", "2x4:l1:block_sharded"),
        (MLP, "ttnn.matmul", "up=4x4", "4x4:l1:block_sharded"),
        (MLP, "ttnn.matmul", "up=4x4:l1", "4x4:l1:block_sharded"),
        (MLP, "ttnn.matmul", "up=4x4:dram", "dram:interleaved"),
        (MLP, "ttnn.matmul", "up=4x4:l1:interleaved", "l1:interleaved"),
        (CONVOLUTIONS, "ttnn.matmul", "point=8x8:l1:height_sharded", "8x8:l1:height_sharded"),
        (NORM, "ttnn.layer_norm", "norm=4x8:l1:block_sharded", "4x8:l1:block_sharded"),
        (NORM, "ttnn.add", "sum=4x8:l1:height_sharded", "4x8:l1:height_sharded"),
        (NORM, "ttnn.add", "sum=1x8:l1:width_sharded", "1x8:l1:width_sharded"),
    ],
)
def test_output_layout_that_the_optimizer_would_not_try(text: str, kind: str, layout: str, spelled: str) -> None:
    """Whatever the library takes is taken; where a grid says nothing of shards they are blocks."""
    found = dict(overrides.written(op_of(text, kind, override_output_layout=layout)))
    assert found["override_output_layout"].partition("=")[2] == spelled


def test_conv2d_config_and_its_weights() -> None:
    module = lowered(CONVOLUTIONS, optimization_level=2, override_conv2d_config="window=act_block_h_override#64:enable_act_double_buffer#true")
    found = [access.attr(op, "conv2d_config") for op in module.walk() if op.name in ("ttnn.conv2d", "ttnn.prepare_conv2d_weights")]
    changed = [config for config in found if config.get("act_block_h_override") == 64 and config.get("enable_act_double_buffer")]
    assert len(found) == 4 and len(changed) == 2, "the call and the weights of one convolution of two"


@pytest.mark.parametrize("level", [1, 2])
def test_matmul_config(level: int) -> None:
    options = {"override_matmul_config": "d*n=in0_block_w#2:out_subblock_h#1:out_subblock_w#1"}
    module = lowered(MLP, optimization_level=level, **options)
    configs = [access.attr(op, "matmul_program_config") for op in module.walk() if op.name == "ttnn.matmul" and access.attr(op, "matmul_program_config")]
    found = [config for config in configs if (config["in0_block_w"], config["out_subblock_h"], config["out_subblock_w"]) == (2, 1, 1)]
    assert len(found) == 1
    assert all(access.attr(op, "compute_config") for op in module.walk() if op.name == "ttnn.matmul")


@pytest.mark.parametrize("level", [1, 2])
def test_an_operand_is_moved_where_that_is_asked_for(level: int) -> None:
    moves = [
        [op for op in lowered(MLP, optimization_level=level, **options).walk() if op.name == "ttnn.to_memory_config"]
        for options in ({}, {"insert_memreconfig": "down=0"})
    ]
    assert not moves[0] and len(moves[1]) == 1
    (move,) = moves[1]
    before, after = layout_of(move.operands[0].type), layout_of(move.results[0].type)
    assert before != after and [use.operation.name for use in move.results[0].uses if use.operation.name != "ttnn.deallocate"] == ["ttnn.matmul"]


@pytest.mark.parametrize(
    ("option", "text", "parts"),
    [
        ("override_output_layout", "upp=l1", ("names no op", "up")),
        ("override_output_layout", "up", ("malformed", "NAME=GRID:BUFFER:MEMORY")),
        ("override_output_layout", "up=9x9:l1:block_sharded", ("bad grid", "8x8")),
        ("override_output_layout", "up=dram:height_sharded", ("no such result", "dram:interleaved")),
        ("override_output_layout", "up=l3", ("bad part", "block_sharded")),
        ("override_output_layout", "up=f32", ("dtype", "precision")),
        ("override_matmul_config", "up=block_w#4", ("bad field", "in0_block_w")),
        ("override_matmul_config", "up=in0_block_w#3", ("refused", "in0_block_w")),
        ("override_matmul_config", "acts=in0_block_w#2", ("names no op",)),
        ("override_output_layout", "up=3x3:l1:block_sharded", ("no such result", "8x8:l1:block_sharded", "no such shards")),
        ("override_output_layout", "up=2x8:l1:height_sharded", ("no such result", "WIDTH_SHARDED")),
        ("override_output_layout", "up=8x8:interleaved:l2", ("bad part", "l1")),
        ("override_matmul_config", "up=in0_block_w#x", ("bad value", "in0_block_w of up", "a whole number")),
        ("override_matmul_config", "up=in0_block_w#65537", ("bad value", "a whole number")),
        ("override_matmul_config", "up=compute_with_storage_grid_size#8by8", ("bad value", "rows x columns")),
        ("override_matmul_config", "up=compute_with_storage_grid_size#0x8", ("bad value", "rows x columns")),
        ("override_matmul_config", "up=compute_with_storage_grid_size#8x256", ("bad value", "rows x columns")),
        ("override_matmul_config", "up=mcast_in0#maybe", ("bad value", "mcast_in0 of up", "true or false")),
        ("override_matmul_config", "up=mcast_in0#true:transpose_mcast#true", ("no program of this op has all the fields", "mcast_in0, transpose_mcast")),
        ("override_conv2d_config", "up=act_block_h_override#64", ("names no op",)),
        ("override_conv2d_config", "up=weights_dtype#f9", ("bad value", "bfp_bf8")),
        ("override_conv2d_config", "up:act_block_h_override#64", ("malformed",)),
        ("insert_memreconfig", "down", ("malformed", "NAME=OPERAND")),
        ("insert_memreconfig", "down=first", ("malformed", "NAME=OPERAND")),
        ("insert_memreconfig", "down=1", ("operand 1 of down cannot be moved", "expected 0", "weights")),
        ("insert_memreconfig", "up=0", ("operand 0 of up cannot be moved", "another op")),
        ("insert_memreconfig", "dwn=0", ("names no op", "down")),
    ],
)
def test_bad_overrides_say_what_is_legal(option: str, text: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(OptionError) as caught:
        lowered(MLP, optimization_level=2, **{option: text})
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(("text", "kind"), [(MLP, "ttnn.matmul"), (CONVOLUTIONS, "ttnn.conv2d")])
def test_what_is_written_of_an_op_asks_for_it_as_it_is(text: str, kind: str) -> None:
    """A layout or config of level 2, given back as an override."""
    before = overrides.written(op_of(text, kind))
    assert {option for option, _ in before} == {"override_output_layout", "override_matmul_config" if kind == "ttnn.matmul" else "override_conv2d_config"}
    for option, line in before:
        assert (option, line) in overrides.written(op_of(text, kind, **{option: line}))


def test_overrides_need_a_level() -> None:
    with pytest.raises(OptionError, match="optimization_level"):
        lowered(MLP, override_output_layout="up=l1")


def test_decisions_list_the_names() -> None:
    text = decisions(MLP, optimization_level=2)
    assert "(up" in text and "down)" in text
