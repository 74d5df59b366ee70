"""What an op of a TTNN program is asked as: the call that the emitted program makes."""

from __future__ import annotations

import sys
from pathlib import Path

from alchemist.ir.edit import functions
from alchemist.optimizer.calls import ask, spec_of
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests.tables import table

sys.path.append(str(Path(__file__).parents[1] / "passes"))
from ttir_cases import NAMED, Case

NOT_ASKABLE = {
    "ttnn.get_device": "makes no tensor",
    "ttnn.deallocate": "makes no tensor",
    "ttnn.prepare_conv2d_weights": "the convolution prepares them itself",
    "ttnn.prepare_conv2d_bias": "the convolution prepares them itself",
    "ttnn.prepare_conv_transpose2d_weights": "the convolution prepares them itself",
    "ttnn.prepare_conv_transpose2d_bias": "the convolution prepares them itself",
    "ttnn.constant": "values in the program's text",
}


@table("case", NAMED.items(), ids=lambda case: case[0])
def test_every_lowered_op_is_accepted_with_its_own_result(case: tuple[str, Case]) -> None:
    module = lower_to_ttnn(case[1].module(), CompilerOptions.parse({})).module
    for func in functions(module):
        for op in func.body.block.ops:
            if op.name in NOT_ASKABLE or not op.name.startswith("ttnn."):
                continue
            answer = ask(op, "n150", l1_small_bytes=1 << 15)
            assert answer.accepted, f"{op.name}: {answer.error}"
            for result, made in zip(op.results, answer.outputs, strict=True):
                wanted = spec_of(result)
                assert made is not None
                assert (made.shape, made.dtype, made.layout, made.memory) == (wanted.shape, wanted.dtype, wanted.layout, wanted.memory), op.name
