"""Partial sums that a program takes for whole tensors, sums too many and parts that are lost: each named at its line; right programs are silent."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.mesh.test_values import cut


def layer(mesh: Any, reduce: Callable[[Any], Any]) -> Any:
    """A residual layer: columns, relu, rows; `reduce` is what makes its partial sums whole."""
    import ttnn

    ones = np.ones((2, 1, 32, 64), np.float32)
    x = cut(ones, mesh, [0, None])
    up, down = cut(np.ones((64, 128), np.float32), mesh, [None, 1]), cut(np.ones((128, 64), np.float32), mesh, [None, 0])
    hidden = ttnn.relu(ttnn.matmul(x, up))
    return ttnn.add(x, reduce(ttnn.to_memory_config(ttnn.matmul(hidden, down), ttnn.L1_MEMORY_CONFIG)))


def warned(run: Callable[[], Any]) -> list[tuple[str, int]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [(str(one.message), one.lineno) for one in caught if one.category.__name__ == "PlacementWarning"]


def test_right_programs_are_silent(t3000: Any) -> None:
    import ttnn

    def halves(partial: Any) -> Any:
        return ttnn.all_gather(ttnn.reduce_scatter(partial, 3, cluster_axis=1), 3, cluster_axis=1)

    assert warned(lambda: layer(t3000, lambda partial: ttnn.all_reduce(partial, cluster_axis=1))) == []
    assert warned(lambda: layer(t3000, halves)) == []


def test_a_forgotten_sum_is_named_at_the_line_that_uses_it(t3000: Any) -> None:
    ((text, line),) = warned(lambda: layer(t3000, lambda partial: partial))
    lines, first = inspect.getsourcelines(layer)
    assert "ttnn.add" in text and "partial sums along axis 1 used as whole: an all_reduce or reduce_scatter is missing?" in text
    assert lines[line - first].lstrip().startswith("return ttnn.add(")


def test_what_is_computed_from_a_warned_tensor_is_not_warned_about_again(t3000: Any) -> None:
    import ttnn

    def two_layers() -> Any:
        """The second layer's sum is there; its input is what the first layer left partial."""
        x = layer(t3000, lambda partial: partial)
        up, down = cut(np.ones((64, 128), np.float32), t3000, [None, 1]), cut(np.ones((128, 64), np.float32), t3000, [None, 0])
        hidden = ttnn.softmax(ttnn.matmul(ttnn.rms_norm(x), up), -1)
        return ttnn.relu(ttnn.add(x, ttnn.all_reduce(ttnn.matmul(hidden, down), cluster_axis=1)))

    assert len(warned(two_layers)) == 1


@pytest.mark.parametrize("place", ["", "input_tensor_a_activations", "input_tensor_b_activations", "activations"])
def test_partial_sums_may_be_added_but_not_behind_a_function(place: str, t3000: Any) -> None:
    """relu of partial sums, summed over the chips, is not relu of the sum."""
    import ttnn

    x, weight = cut(np.ones((1, 1, 32, 128), np.float32), t3000, [None, 3]), cut(np.ones((128, 64), np.float32), t3000, [None, 0])
    function = {place: [ttnn.UnaryOpType.RELU]} if place else {}

    def whole() -> Any:
        partial = ttnn.matmul(x, weight)
        return ttnn.all_reduce(ttnn.add(partial, partial, **function), cluster_axis=1)

    assert ["partial sums along axis 1 used as whole" in text for text, _ in warned(whole)][:1] == ([True] if place else [])


def test_a_tensor_that_the_host_gives_to_all_chips_may_be_added(t3000: Any) -> None:
    import ttnn

    x = cut(np.ones((1, 1, 32, 128), np.float32), t3000, [None, None])
    assert warned(lambda: ttnn.all_reduce(x, cluster_axis=1)) == []
    assert len(warned(lambda: ttnn.all_reduce(ttnn.relu(x), cluster_axis=1))) == 1


@pytest.mark.parametrize("axes", [(1, 1), (0, 1)])
def test_a_sum_too_many_or_along_the_wrong_axis(axes: tuple[int, int], t3000: Any) -> None:
    import ttnn

    def twice(partial: Any) -> Any:
        return ttnn.all_reduce(ttnn.all_reduce(partial, cluster_axis=axes[0]), cluster_axis=axes[1])

    (found,) = (text for text, _ in warned(lambda: layer(t3000, twice)))
    assert ("all chips of axis 1 have the same" if axes == (1, 1) else "partial sums along axis 1 are added along axis 0") in found


def test_parts_that_a_composer_loses_or_takes_for_whole(t3000: Any) -> None:
    import ttnn

    columns = cut(np.ones((32, 64), np.float32), t3000, [None, 1])
    rows = cut(np.ones((64, 32), np.float32), t3000, [None, 0])
    first = ttnn.create_mesh_composer(t3000, ttnn.MeshComposerConfig([0, 1], ttnn.MeshShape(1, 1)))
    ((lost, _),) = warned(lambda: ttnn.to_torch(columns, mesh_composer=first))
    assert "takes the first of 4 different parts along axis 1" in lost
    both = ttnn.create_mesh_composer(t3000, ttnn.MeshComposerConfig([0, 1]))
    ((joined, _),) = warned(lambda: ttnn.to_torch(ttnn.matmul(columns, rows), mesh_composer=both))
    assert "partial sums along axis 1 joined as parts" in joined
    assert warned(lambda: ttnn.to_torch(columns, mesh_composer=both)) == []


def test_a_whole_bias_in_partial_sums(t3000: Any) -> None:
    import ttnn

    x, weight = cut(np.ones((32, 64), np.float32), t3000, [None, 1]), cut(np.ones((64, 32), np.float32), t3000, [None, 0])
    bias = cut(np.ones((1, 32), np.float32), t3000, [None, None])
    ((text, _),) = warned(lambda: ttnn.linear(x, weight, bias=bias))
    assert "bias" in text
