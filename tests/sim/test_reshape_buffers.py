"""Where the circular buffers of a reshape of rows that find no room would end: as the real wheel (0.81.1) says on an n150 and a p150."""

from __future__ import annotations

from ttnn_shim.queries import Memory, Spec

import ttnn_shim
from tests.tables import table

WIDE = 1 << 20
# shapes before and behind, bytes on an n150 and a p150
ENDS = [
    ((1, 1, WIDE), (1, 1024, 1024), 8498832, 8504784),
    ((1, 1024, 1024), (1, 1, WIDE), 4308624, 4314576),
    ((1, 2, WIDE), (1 << 14, 128), 8495248, 8501200),
    ((1, 2, WIDE), (1 << 18, 8), 8494864, 8500816),
    ((1, 32, 150000), (64, 1, 75000), 1606288, 1612240),
    ((1, 3, WIDE), (1 << 16, 48), 4300400, 4306320),  # rows that do not divide each other: one kernel does it all
    ((1 << 16, 48), (1, 3, WIDE), 2203376, 2209296),
    ((6, WIDE), (1 << 17, 48), 4300400, 4306320),
]


@table("card", ["n150", "p150"])
@table(("before", "behind", "n150", "p150"), ENDS)
def test_rows_that_find_no_room(before: tuple[int, ...], behind: tuple[int, ...], n150: int, p150: int, card: str) -> None:
    answer = ttnn_shim.query("ttnn.reshape", [Spec(before, "bfloat16", "row_major"), list(behind)], card=card)
    assert not answer.accepted
    assert f"grow to {n150 if card == 'n150' else p150} B" in answer.error, answer.error


def test_rows_that_find_room() -> None:
    """Rows of 128,256 words that move from L1 to DRAM: more scratch than a core has."""
    logits = Spec((1, 32, 128256), "bfloat16", "row_major", Memory("L1"))
    answer = ttnn_shim.query("ttnn.reshape", [logits, [32, 1, 128256]], memory_config=Memory("DRAM"), card="p150")
    assert not answer.accepted and "1651152 B" in answer.error, answer.error
    narrow = ttnn_shim.query("ttnn.reshape", [Spec((1, 32, 1024), "bfloat16", "row_major"), [32, 2, 512]])
    assert narrow.accepted and narrow.cb_bytes == 4 * (2048 + 64) + 2 * (1024 + 16) + 16
