"""Compiler options: every spelling, every refusal."""

from __future__ import annotations

import pytest

from alchemist.errors import OptionError
from alchemist.options import CompilerOptions, parse_option_text


@pytest.mark.parametrize("value", [True, "true", "on", "yes", "1", 1, "True"])
def test_true(value: object) -> None:
    assert CompilerOptions.parse({"fp32_dest_acc_en": value}).fp32_dest_acc_en is True


@pytest.mark.parametrize("value", [False, "false", "off", "no", "0", 0])
def test_false(value: object) -> None:
    assert CompilerOptions.parse({"recover_structure": value}).recover_structure is False


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"fidelity": "hifi4"}, "unknown compiler option"),
        ({"math_fidelty": "hifi4"}, "did you mean 'math_fidelity'"),
        ({"math_fidelity": "hifi5"}, "expected one of lofi"),
        ({"enable_const_eval": "maybe"}, "expected true or false"),
        ({"optimization_level": 2}, "not implemented yet"),
        ({"enable_trace": True}, "not implemented yet"),
        ({"arch": "grayskull"}, "wormhole_b0"),
        ({"experimental_weight_dtype": "int4"}, "bfp_bf8"),
    ],
)
def test_refusals(given: dict, match: str) -> None:
    with pytest.raises(OptionError) as caught:
        CompilerOptions.parse(given)
    assert match in str(caught.value)


def test_upstream_keys_warn() -> None:
    with pytest.warns(UserWarning, match="no effect"):
        assert CompilerOptions.parse({"backend": "codegen_py"}) == CompilerOptions()


def test_alias_and_text() -> None:
    options = CompilerOptions.parse(parse_option_text("codegen_try_recover_structure=off arch=p150 math-fidelity=hifi2"))
    assert (options.recover_structure, options.card, options.math_fidelity) == (False, "p150", "hifi2")
    assert options.changed() == {"recover_structure": False, "arch": "p150", "math_fidelity": "hifi2"}
