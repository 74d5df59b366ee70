"""Collectives between the chips of a mesh. Their values depend on all chips: `alchemist/mesh/lockstep.py` defines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alchemist.ops.axes import Dims, Groups, Regrouped, pointwise
from alchemist.ops.describe import op, ttir


def _in_any_dims(inputs: Sequence[Dims], attributes: Mapping[str, Any], dims: Dims, groups: Groups) -> Regrouped | None:
    """A sum over chips is one of each element, but no op of this chip's elements alone."""
    return pointwise(inputs, attributes, dims, groups)


for _name, _words, _noun in (
    ("all_reduce", "input_tensor * cluster_axis memory_config", "total"),
    ("all_gather", "input_tensor dim=all_gather_dim * cluster_axis memory_config", "gathered"),
    ("reduce_scatter", "input_tensor dim=scatter_dim * cluster_axis memory_config", "scattered"),
    ("mesh_partition", "input_tensor dim * cluster_axis memory_config", "part"),
):
    op(_name, _words, f"ccl/{_name}/{_name}.hpp", noun=_noun, doc="several chips: its values are tested on meshes")
    ttir(_name, None, target=_name, axes=_in_any_dims if _name == "all_reduce" else None)
