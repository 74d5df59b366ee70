"""Candidates of chunk sizes for scaled dot-product attention."""

from __future__ import annotations

from collections.abc import Iterator

from ttnn_shim.queries import Memory
from xdsl.ir import Operation

from alchemist.ir import access
from alchemist.ir.access import struct
from alchemist.optimizer import compute
from alchemist.optimizer.candidate import Candidate
from alchemist.optimizer.machine import Machine

CONFIG = "alchemist.program_config"
COMPUTE = compute.ATTENTION_FIELD


def _chunks(length: int) -> list[int]:
    """Multiples of a tile up to the padded length: powers of two, and even fractions of the length."""
    tiles = -(-length // 32)
    sizes = {2**power for power in range(5) if 2**power <= tiles} | {-(-tiles // parts) for parts in (1, 2, 3, 4)}
    return sorted((32 * count for count in sizes if count <= 16), reverse=True)


def attention(op: Operation, machine: Machine, operands: dict[int, Memory], result: Memory | None) -> Iterator[Candidate]:
    """Candidates with query and key chunks that are multiples of 32."""
    queries, keys = access.shape(op.operands[0])[-2], access.shape(op.operands[1])[-2]
    for q_chunk in _chunks(queries):
        for k_chunk in _chunks(keys):
            config = struct(
                "ttnn.sdpa_program_config",
                {"compute_with_storage_grid_size": machine.grid, "q_chunk_size": q_chunk, "k_chunk_size": k_chunk},
            )
            changed = {CONFIG: config}
            if not compute.given(op, COMPUTE):
                changed[COMPUTE] = compute.of_attention()
            yield Candidate(f"chunks of {q_chunk} queries, {k_chunk} keys", changed, operands, result)
