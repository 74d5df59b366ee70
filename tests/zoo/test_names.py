"""What the variables of emitted programs are called: after the source or a role, with small numbers."""

from __future__ import annotations

import os
from argparse import Namespace
from collections import Counter

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
pytestmark = pytest.mark.filterwarnings("ignore")

from alchemist.errors import UserError  # noqa: E402
from tools.zoo.names import main, measured  # noqa: E402
from tools.zoo.run import asked_runs, part  # noqa: E402
from tools.zoo.run import main as run_models  # noqa: E402

BAR = 0.95


@pytest.mark.parametrize("name", ["lstm", "kv_cache_step", "jax_sgd_step"])
def test_a_few_models(name: str) -> None:
    names = measured(name)
    assert names.share >= BAR, names.after_ops
    assert not names.numbered


@pytest.mark.parametrize(("name", "said"), [("segfomer", "segformer"), ("zzzz", "without names runs all")])
def test_a_name_that_no_model_has(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_models(["lenet", name])
    assert stopped.value.code == 2
    assert main([name]) == 2
    assert all(f"no model '{name}'" in text and said in text for text in capsys.readouterr().err.split("error: ")[1:])


def test_parts_share_the_exports(capsys: pytest.CaptureFixture[str]) -> None:
    asked = Namespace(dtype="both", all_torch=True, resume=False, json=None)
    asked.part = part("1/1")
    whole = asked_runs(asked)
    shares = []
    for text in ("1/2", "2/2"):
        asked.part = part(text)
        shares.append(asked_runs(asked))
    assert sorted(shares[0] + shares[1], key=repr) == sorted(whole, key=repr)
    with pytest.raises(SystemExit):
        run_models(["--part", "3/2", "lenet"])
    assert "invalid part value: '3/2'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_zoo() -> None:
    from models.tables import table

    variables, after_ops, numbered = 0, Counter[str](), []
    for name in table():
        try:
            names = measured(name)
        except UserError:  # test_zoo's to report
            continue
        variables += names.variables
        after_ops += names.after_ops
        numbered += [f"{name}: {one}" for one in names.numbered]
    assert 1 - after_ops.total() / variables >= BAR, after_ops.most_common(20)
    assert not numbered
