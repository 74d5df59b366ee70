"""The demo's comparison accepts the chip's rounding and nothing worse. `.ci/run` runs the demo itself."""

from __future__ import annotations

import numpy as np
import pytest

from examples.demo.comparison import IMAGE_LIMIT, compare_digits, compare_sentences, nearest, similarities

WIDTH = 384


def embeddings(noise: float = 0.0) -> np.ndarray:
    """Eight sentences in four pairs, as the demo's: pairs are similar, other sentences nearly orthogonal."""
    random = np.random.default_rng(0)
    topics = random.normal(size=(4, WIDTH)).repeat(2, axis=0)
    values = topics + 0.5 * random.normal(size=(8, WIDTH)) + noise * random.normal(size=(8, WIDTH))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def accepted(chip: np.ndarray) -> list[bool]:
    return [comparison.accepted for comparison in compare_sentences(chip, embeddings())]


def test_rounding_is_accepted_although_it_changes_the_order_of_unrelated_sentences() -> None:
    chip = embeddings(noise=0.02)
    orders = [similarities(values).argsort(axis=1).tolist() for values in (chip, embeddings())]
    assert orders[0] != orders[1]
    assert accepted(chip) == [True, True]


def test_outputs_off_by_two_hundredths_are_refused() -> None:
    similarity_moved = embeddings()
    similarity_moved[0] *= 1.01  # its similarity to itself becomes 1.02, whatever the demo's limit is
    assert accepted(similarity_moved) == [True, False]


def test_another_nearest_neighbour_is_refused() -> None:
    exchanged = embeddings()[[0, 2, 1, 3, 4, 5, 6, 7]]
    assert nearest(similarities(exchanged)) != nearest(similarities(embeddings()))
    assert accepted(exchanged) == [False, False]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    damaged = embeddings()
    damaged[3, 5] = value
    with np.errstate(invalid="ignore"):
        assert False in accepted(damaged)


def test_digits_may_differ_by_one_image() -> None:
    labels = np.arange(20) % 10
    framework = np.eye(10, dtype=np.float32)[labels]
    for wrong in range(4):
        chip = framework.copy()
        chip[:wrong] = np.roll(chip[:wrong], 1, axis=1)
        assert compare_digits(chip, framework, labels).accepted == (wrong <= IMAGE_LIMIT)
