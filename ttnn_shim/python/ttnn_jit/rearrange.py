"""`rearrange`, which TT-NN lacks: einops' patterns of whole axes and merged ones, as permute and reshape."""

from __future__ import annotations

import math
import re
from typing import Any


def rearrange(ops: Any, tensor: Any, pattern: str) -> Any:
    """ "b h w -> w (b h)": axes are named on the left; the right has each once, merged where they stand in parentheses.

    ops: has `permute` and `reshape`. Raises: ValueError for any other pattern.
    """
    left, arrow, right = pattern.partition("->")
    names = left.split()
    groups = [match.strip("()").split() for match in re.findall(r"\([^()]*\)|[^\s()]+", right)]
    order = [name for group in groups for name in group]
    if not arrow or sorted(order) != sorted(names) or len(set(names)) != len(names) or len(names) != len(tensor.shape) or "(" in left:
        raise ValueError(f"rearrange: expected a pattern like 'a b c -> c (a b)' with {len(tensor.shape)} axes, got {pattern!r}")
    sizes = dict(zip(names, tensor.shape, strict=True))
    places = [names.index(name) for name in order]
    if places != sorted(places):
        tensor = ops.permute(tensor, tuple(places))
    if any(len(group) != 1 for group in groups):
        tensor = ops.reshape(tensor, tuple(math.prod(sizes[name] for name in group) for group in groups))
    return tensor
