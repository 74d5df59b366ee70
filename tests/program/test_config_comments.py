"""What stands above a compute config: what the library takes by itself, or the option that asks for it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from alchemist.frontends.torch import capture
from alchemist.ops.spec import Kind
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program, model
from alchemist.program.constants import Ranges, name_constants, shared_cores

LIBRARY = "What the library takes by itself"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": "bfloat16"}, {"HIFI2": LIBRARY}),
        ({"precision": "bfp8_lofi"}, {"LOFI": "The fidelity that precision=bfp8_lofi asks for."}),
        ({"precision": "bfp8"}, {"HIFI2": "The fidelity that precision=bfp8 asks for."}),
        ({"math_fidelity": "hifi3"}, {"HIFI3": "The fidelity that math_fidelity=hifi3 asks for."}),
        ({"precision": "bfp8_lofi", "math_fidelity": "hifi4"}, {"HIFI4": "The fidelity that math_fidelity=hifi4 asks for."}),
    ],
)
def test_of_products(options: dict[str, str], said: dict[str, str]) -> None:
    net = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512)).eval()
    result = capture(net, (torch.rand(1, 256, 512),), {})
    chosen = CompilerOptions(optimization_level=1, **options)  # type: ignore[arg-type]
    program = build_program(lower_to_ttnn(result.module, chosen).module, result, chosen)
    comments = {one.name: one.comment for one in program.constants if isinstance(one.value, model.Record) and "ComputeKernelConfig" in one.value.class_name}
    assert {name.partition("_")[0]: comment for name, comment in comments.items() if comment}.items() >= {
        name: next(text for text in comments.values() if text.startswith(begin)) for name, begin in said.items()
    }.items()


def test_without_configs() -> None:
    assert name_constants([], [], set(), ("lofi", "precision=bfp8_lofi")) == ((), (), (), ())


def test_cores_that_several_configs_have_are_named_once() -> None:
    """Those that are no rectangle; a rectangle is as short as a name."""
    uneven, square = (((0, 0), (7, 6)), ((0, 7), (5, 7))), (((0, 0), (7, 7)),)

    def config(name: str, ranges: Ranges) -> model.Constant:
        return model.Constant(name, model.MemoryConfig("l1", "height_sharded", ((32, 64), ranges, "row_major")), Kind.MEMORY_CONFIG)

    assert shared_cores([config("A", uneven), config("B", uneven), config("C", square), config("D", square)]) == {uneven: "CORES_62"}
    assert shared_cores([config("A", uneven), config("B", square)]) == {}
    assert shared_cores([config("CORES_62", uneven), config("B", uneven)]) == {uneven: "CORES_62_2"}
