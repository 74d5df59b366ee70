"""What the demo compares: sentence similarities and digit classes on the chip with those of the framework."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SIMILARITY_LIMIT = 0.01
"""Largest accepted difference of a cosine similarity. The chip's bfloat16 products move the similarities of MiniLM by up to 0.004."""

IMAGE_LIMIT = 1
"""How many more or fewer images the chip may classify correctly."""


@dataclass(frozen=True)
class Comparison:
    """A measured difference, the limit for it, and whether it is accepted."""

    text: str
    accepted: bool


def similarities(embeddings: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Cosine similarities [n, n] of embeddings [n, width] that have length 1."""
    exact = embeddings.astype(np.float64)
    return exact @ exact.T


def nearest(similarity: npt.NDArray[np.float64]) -> list[int]:
    """For each of n sentences the index of the most similar other one."""
    others = similarity.copy()
    np.fill_diagonal(others, -np.inf)
    return [int(index) for index in others.argmax(axis=1)]


def compare_sentences(chip: npt.NDArray[np.float32], framework: npt.NDArray[np.float32]) -> list[Comparison]:
    """Nearest neighbours must be equal and every similarity within `SIMILARITY_LIMIT`. Values that are not finite are never accepted.

    The order of unrelated sentences is not compared: their similarities differ by less than the chip's error.
    """
    ours, theirs = similarities(chip), similarities(framework)
    different = [index for index, (a, b) in enumerate(zip(nearest(ours), nearest(theirs), strict=True)) if a != b]
    distance = float(np.abs(ours - theirs).max())
    count = len(theirs)
    return [
        Comparison(f"nearest neighbours equal to torch's: {count - len(different)} of {count}", not different and bool(np.isfinite(ours).all())),
        Comparison(f"largest difference of {count * count} similarities: {distance:.4f} (limit {SIMILARITY_LIMIT})", distance <= SIMILARITY_LIMIT),
    ]


def compare_digits(chip: npt.NDArray[np.float32], framework: npt.NDArray[np.float32], labels: npt.NDArray[np.int64]) -> Comparison:
    """The numbers of correctly classified images, from logits [n, classes], may differ by `IMAGE_LIMIT`."""
    ours, theirs = (int((logits.argmax(axis=1) == labels).sum()) for logits in (chip, framework))
    text = f"correct on {len(labels)} unseen digits: JAX {theirs}, simulated chip {ours} (limit: {IMAGE_LIMIT} image apart)"
    return Comparison(text, abs(ours - theirs) <= IMAGE_LIMIT and bool(np.isfinite(chip).all()))
