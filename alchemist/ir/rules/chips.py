"""Collectives, experts over several chips."""

from __future__ import annotations

from xdsl.ir import Operation

from alchemist.ir.op_class import short_names
from alchemist.ir.rules.table import Inferred, Shape, attribute, axis_of, infers, integer, need, rank_is, rule


@rule("all_gather")
def _all_gather(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis_of(op, "all_gather_dim", len(inputs[0]))


@rule("reduce_scatter")
def _reduce_scatter(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    axis_of(op, "scatter_dim", len(inputs[0]))
    _summed(op)
    kind = attribute(op, "reduce_type")
    need(op.name.startswith("ttir.") or kind in (None, "sum"), f"the library scatters sums only, not {kind}")


@rule("all_reduce")
def _all_reduce(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    _summed(op)


@infers("ttir.all_reduce", "ttnn.all_reduce")
def _same_dims(op: Operation, inputs: list[Shape]) -> Inferred:
    return list(inputs[0])


def _summed(op: Operation) -> None:
    kind = attribute(op, "reduce_type")
    need(kind in (None, "sum", *short_names("ttir", "extreme")), f"a collective cannot reduce by {kind}")


@infers("ttir.all_to_all")
def _all_to_all(op: Operation, inputs: list[Shape]) -> Inferred:
    split, join, count = (integer(op, name) for name in ("split_dim", "concat_dim", "split_count"))
    rank = len(inputs[0])
    if split is None or join is None or count is None:
        return None
    need(0 <= split < rank, f"split_dim must be in [0, {rank}), got {split}")
    need(0 <= join < rank, f"concat_dim must be in [0, {rank}), got {join}")
    need(count > 0, f"split_count must be positive, got {count}")
    need(inputs[0][split] % count == 0, f"dimension {split} of size {inputs[0][split]} is not divisible by {count}")
    expected = [size // count if i == split else size for i, size in enumerate(inputs[0])]
    expected[join] *= count
    return expected


@rule("ttir.collective_broadcast")
def _collective_broadcast(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    need(op.operands[0].type == op.results[0].type, "input and result must have the same type")
    _chips(op, "replica_groups")


@rule("ttir.collective_permute")
def _collective_permute(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    pairs = getattr(op.properties.get("source_target_pairs"), "array", None)
    if pairs is not None:
        need(pairs.ndim == 2 and pairs.shape[1] == 2, f"source_target_pairs must be a list of pairs, got shape {list(pairs.shape)}")
        for column in pairs.T:
            need(len(set(column.tolist())) == len(column), "a chip is named twice as source or target")


def _chips(op: Operation, name: str) -> None:
    groups = getattr(op.properties.get(name), "array", None)
    if groups is not None:
        need(groups.ndim == 2, f"{name} must be a 2D array, got rank {groups.ndim}")
        flat = groups.reshape(-1).tolist()
        need(all(0 <= chip < len(flat) for chip in flat), f"{name} must name the chips 0 to {len(flat) - 1}")
        need(len(set(flat)) == len(flat), f"{name} names a chip twice")


@rule("all_to_all_dispatch", "all_to_all_combine", "all_to_all_dispatch_metadata", "moe_expert_token_remap")
def _experts(op: Operation, inputs: list[Shape], outputs: list[Shape]) -> None:
    metadata = op.name.endswith("metadata")
    for number, shape in enumerate(inputs[:3] if metadata else inputs):
        rank_is(shape, 4, f"operand {number}")
    if metadata:
        need(op.name.startswith("ttir.") or len(inputs[3]) == 2, f"expert_mapping must be a 2D tensor, got rank {len(inputs[3])}")
        for shape in outputs:
            rank_is(shape, 3, "every result")
    for name in ("num_devices", "num_experts_per_tok"):
        value = integer(op, name)
        need(value is None or value > 0, f"{name} must be positive, got {value}")
    axis = integer(op, "cluster_axis")
    need(axis in (None, 0, 1), f"cluster_axis must be 0 or 1, got {axis}")
    shard = integer(op, "output_shard_dim")
    need(shard in (None, 1, 2), f"output_shard_dim must be 1 or 2, got {shard}")
