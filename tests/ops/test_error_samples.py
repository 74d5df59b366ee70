"""Every error sample is refused by the simulator, with the words that the record promises."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ttnn_shim
from tests.tables import table

sys.path[:0] = [str(Path(__file__).parents[2] / "tools" / "conformance"), str(ttnn_shim.python_path())]
import probes  # noqa: E402
import runner  # noqa: E402
import ttnn  # noqa: E402

from alchemist.ops.spec import TTNN_OPS, ErrorSample, OpSpec  # noqa: E402
from tests.device import simulated_device  # noqa: E402

WRONG = [(spec, sample) for spec in TTNN_OPS.values() for sample in spec.error_samples]


@pytest.fixture(scope="module")
def device() -> Iterator[Any]:
    with simulated_device() as opened:
        yield opened


@table(("spec", "sample"), WRONG, ids=[f"{spec.name}-{sample.match}" for spec, sample in WRONG])
def test_error_sample(spec: OpSpec, sample: ErrorSample, device: Any) -> None:
    call = {"id": spec.name, "inputs": probes.base_inputs(spec, sample), "call": probes.call_text(spec, sample)}
    verdict = runner.one(ttnn, device, call)
    assert verdict["verdict"] == "refused", verdict
    assert verdict["stage"] == "call", verdict
    assert sample.match, "the record says no words"
    assert sample.match in verdict["error"], verdict["error"]
