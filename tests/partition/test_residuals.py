"""The residual stream cut over chips: values in lock step and of the program, and what is left as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from alchemist import codegen_py
from alchemist.frontends.base import FrontendResult, Mesh
from alchemist.frontends.torch import capture
from alchemist.ir.edit import all_ops
from alchemist.mesh import lockstep
from alchemist.mesh.plan import mesh_of, on_mesh
from alchemist.options import CompilerOptions
from alchemist.passes.stages import TTIR_STAGES
from tests import running


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.up, self.down = nn.Linear(width, 128, bias=False), nn.Linear(128, width, bias=False)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Stream(nn.Module):
    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.layers = nn.Sequential(Block(width), Block(width))
        self.last, self.head = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, 64, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.last(self.layers(x)))


def _captured(width: int = 128) -> tuple[nn.Module, FrontendResult, torch.Tensor]:
    torch.manual_seed(0)
    model, x = Stream(width).eval().bfloat16(), torch.randn(2, 32, width).bfloat16()
    return model, capture(model, (x,), {}), x


def _cut(captured: FrontendResult, model: nn.Module, mesh: Mesh, plan: str) -> FrontendResult:
    """As the fusing passes leave it."""
    made = on_mesh(captured, model, mesh, plan, say=None)
    for stage in TTIR_STAGES[: 1 + next(number for number, stage in enumerate(TTIR_STAGES) if stage.name == "fuse")]:
        stage.run(made.module, CompilerOptions())
    return made


def _counts(made: FrontendResult) -> dict[str, int]:
    names = [op.name.removeprefix("ttir.") for op in all_ops(made.module)]
    return {name: names.count(name) for name in ("all_reduce", "reduce_scatter", "all_gather", "distributed_rms_norm", "rms_norm")}


@pytest.mark.parametrize(("extents", "plan"), [((1, 2), "tensor-cut"), ((2, 2), "auto-cut"), ((1, 4), "tensor-cut")], ids=str)
def test_sums_are_scattered_and_norms_see_parts(extents: tuple[int, int], plan: str) -> None:
    model, captured, _ = _captured()
    made = _cut(captured, model, mesh_of(extents, CompilerOptions()), plan)
    # the first norm reads the input, which is whole; the head's own sum stays
    assert _counts(made) == {"all_reduce": 0, "reduce_scatter": 2, "all_gather": 2, "distributed_rms_norm": 2, "rms_norm": 1}
    assert captured.golden is not None
    for want, got in zip(captured.golden(), lockstep.run(made), strict=True):
        np.testing.assert_allclose(got, want, rtol=0.05, atol=0.02)


def test_a_stream_that_the_chips_do_not_divide_into_tiles_stays_whole() -> None:
    model, captured, _ = _captured(96)
    counts = _counts(_cut(captured, model, mesh_of((1, 2), CompilerOptions()), "tensor-cut"))
    assert (counts["all_reduce"], counts["reduce_scatter"], counts["distributed_rms_norm"]) == (2, 0, 0)


def test_the_program_agrees_with_the_model(tmp_path) -> None:
    model, _, x = _captured()
    made = codegen_py(model, x, mesh=(1, 2), shardings="tensor-cut", export_path=tmp_path / "made")
    text = (made.path / "main.py").read_text()
    assert "ttnn.rms_norm_post_all_gather(" in text and "ttnn.reduce_scatter(" in text
    done = running.run(made.path, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PlacementWarning" not in done.stderr
