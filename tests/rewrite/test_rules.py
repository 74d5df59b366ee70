"""Each spelling of each rule becomes what the rule says, with the same values; a wrong rule is an error with its name and line."""

from __future__ import annotations

import pytest

from alchemist.errors import InternalError
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Num, Op, V
from alchemist.rules.activations import ACTIVATIONS
from alchemist.rules.norms import NORMS
from tests.rewrite.samples import check, spellings

RULES = {rule.name: rule for rule in (*ACTIVATIONS.rules, *NORMS.rules) if rule.samples is not None and isinstance(rule.after, Op)}
x = V("x")


@pytest.mark.parametrize("name", RULES)
def test_every_spelling_keeps_its_values(name: str) -> None:
    assert check(RULES[name]) >= 1


def test_a_norm_has_all_spellings_of_its_variance_mean_and_root() -> None:
    assert check(RULES["layer_norm"]) >= 10


def test_a_product_matches_in_any_order_and_nesting() -> None:
    square, cube = 0.5 * x * Op("tanh", x), x * 0.25 * x * x
    for before, after in ((square, Op("tanh", x)), (cube, Op("exp", x))):
        for module in spellings(Rule("nested", before, after)):
            Rules("ttir", Rule("nested", before, after)).apply(module)
            assert [op.name for op in module.walk() if op.name.startswith("ttir.")] == [f"ttir.{after.first}"]


def test_an_unbound_name_is_refused_with_the_rules_line() -> None:
    with pytest.raises(InternalError, match="does not bind: y") as error:
        Rule("broken", Op("exp", x), Op("add", x, V("y")))
    assert "test_rules.py:" in str(error.value)


def test_a_pattern_that_matches_anything_is_refused() -> None:
    with pytest.raises(InternalError, match="matches any value"):
        Rule("anything", x, Op("exp", x))


def test_a_rule_that_does_not_end_is_an_error() -> None:
    with pytest.raises(InternalError, match="'endless' does not end"):
        check(Rule("endless", Op("exp", x), Op("exp", x)))


def test_a_rule_that_changes_values_is_an_error() -> None:
    with pytest.raises(InternalError, match="'wrong' changes values"):
        check(Rule("wrong", x * Op("sigmoid", x), Op("tanh", x)))


def test_a_rule_whose_guard_refuses_its_own_samples_is_an_error() -> None:
    with pytest.raises(InternalError, match="does not match a spelling"):
        check(Rule("never", x * Num("a") * Op("tanh", x), Op("tanh", x), guard=lambda at: at["a"] > 2, samples={"a": 1.5}))
