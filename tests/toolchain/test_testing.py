"""`alchemist.testing.check`: what it returns, and what its failure says."""

from __future__ import annotations

import numpy as np
import pytest

from alchemist.errors import OptionError
from alchemist.testing import check, correlation


def test_a_model_passes_and_fails() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32)).eval()
    (output,) = check(model, (torch.randn(32, 64),), pcc=0.999)
    assert (output.name, output.shape) == ("output", (32, 32))
    with pytest.raises(AssertionError, match=r"output 'output' \[32, 32\]: PCC 0\.9\d+ < 1"):
        check(model, (torch.randn(32, 64),), pcc=1, compiler_options={"experimental_weight_dtype": "bfp_bf8"})


@pytest.mark.parametrize("pcc", [2, -0.1, True, "high"])
def test_a_bad_limit_is_refused(pcc: object) -> None:
    with pytest.raises(OptionError, match="bad pcc"):
        check(None, (), pcc=pcc)  # type: ignore[arg-type]


def test_correlation() -> None:
    x = np.arange(8.0)
    assert correlation(x, 2 * x + 1) == pytest.approx(1)
    assert correlation(x, -x) == pytest.approx(-1)
    assert correlation(np.ones(4), np.ones(4)) == 1
    assert correlation(np.ones(8), x) == 0
    assert np.isnan(correlation(np.array([1, np.nan]), np.array([1.0, 2.0])))
    assert correlation(np.array([1, 2, np.inf]), np.array([1, 2, np.inf])) == 1
