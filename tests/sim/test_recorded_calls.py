"""Every change of what calls answer, take and compute is seen: see recorded_calls.py."""

from __future__ import annotations

import pytest

from tests.sim.recorded_calls import answers, difference, priced_otherwise, recorded, same


def _moved(card: str, *columns: str) -> str:
    return difference({key: answer for key, answer in recorded().items() if key[1].startswith(columns)}, answers(card))


# A function each: `tests.mutation` takes one case of every function before others.
def test_calls_on_n150_are_as_recorded() -> None:
    assert _moved("n150", "n150", "values") == ""


def test_calls_on_p150_are_as_recorded() -> None:
    assert _moved("p150", "p150") == ""


def test_programs_have_the_price_of_what_is_written_down_of_them() -> None:
    assert priced_otherwise(9) == []


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        ("64:0:21978", "64:0:21978", True),
        ("64:0:21978", "64:0:21979", False),
        ("refused 0a", "refused 0b", False),
        ("[4, 100] 400 12.5 1000", "[4, 100] 400 12.58 1000.08", True),
        ("[4, 100] 400 12.5 1000", "[4, 100] 400 12.6 1000", False),
        ("[4, 100] 400 12.5 1000", "[4, 100] 400 12.5 1000.1", False),
        ("[4, 100] 400 12.5 1000", "[4, 100] 399 12.5 1000", False),
        ("[4, 100] 400 12.5 1000", "[400] 400 12.5 1000", False),
        ("[1] 1 12.5 1000; [7, 7]", "[1] 1 12.5 1001; [7, 7]", True),
        ("[1] 1 12.5 1000; [7, 7]", "[1] 1 12.5 1001; [7, 8]", False),
        ("[1] 1 12.5 1000; [1] 1 2 2", "[1] 1 12.5 1000", False),
    ],
)
def test_sums_are_compared_by_their_size(old: str, new: str, equal: bool) -> None:
    assert same(old, new) == equal
    assert (difference({("call", "way"): old}, {("call", "way"): new}) == "") == equal
