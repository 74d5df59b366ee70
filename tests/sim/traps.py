"""Prices that were wrong and traps that experts know: what the clock said at an earlier commit, what it says now, and published figures.

python -m tests.sim.traps [ROW ...]    # prints the rows, or those of the calls named
python -m tests.sim.traps --write      # the table of docs/lab/accuracy.md
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "lab" / "accuracy.md"
BEFORE = ROOT / "tests" / "data" / "prices_30a4846.json"
"""Prices of the same calls at commit 30a4846: `trap_calls.py` run by that checkout's Python."""
START, END = "<!-- traps: start -->", "<!-- traps: end -->"
CALLS = Path(__file__).with_name("trap_calls.py")
FARTHEST = 1.5
"""How far a price may be from its published figure without a reason in the row."""
Prices = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One line. call: its name in trap_calls.py; over: the time of `call` as a multiple of this one's; fact: another fact than the time.

    published: in microseconds, bytes, or as a multiple; inferred: it was worked out, not measured; note: where it comes from, and what is open.
    """

    what: str
    call: str
    published: float | str | None
    note: str
    over: str = ""
    fact: str = "us"
    inferred: bool = False

    def value(self, prices: Prices) -> float | str | None:
        """None where the call, or the one it is compared with, was refused."""
        mine, other = prices.get(self.call, {}), prices.get(self.over, {})
        if self.fact not in mine or (self.over and "us" not in other):
            return None
        found: float | str = mine[self.fact]
        return float(found) / float(other["us"]) if self.over else found

    def ratio(self, prices: Prices) -> float | None:
        now = self.value(prices)
        return float(now) / self.published if isinstance(self.published, (int, float)) and isinstance(now, (int, float)) else None


ROWS: tuple[Row, ...] = (
    # Fused activations
    Row("exact GELU fused into ViT's fc1 (block-sharded, n150), us", "fc1_gelu", 347, "108 us and 2,848 cycles for each of 84 tiles", inferred=True),
    Row("the same over the product without it", "fc1_gelu", 3.2, "as above", over="fc1", inferred=True),
    Row("512 x 768 x 2048 with the exact GELU (p300), us", "encoder_product_gelu", 48.5, "published pair"),
    Row("the same over the product without it", "encoder_product_gelu", 48.5 / 24.6, "published pair", over="encoder_product"),
    Row("circular buffers of ViT's fc1, bytes", "fc1", 258048, "the real package over a mock device", fact="l1_bytes"),
    # Norms, softmax
    Row("layer norm, 7 x 3 tiles on each of 64 cores, us", "layer_norm_block", 24, "from whole models", inferred=True),
    Row("RMS norm, a tile on each of 16 cores, us", "rms_norm_16", 6.68, "CI target of DeepSeek-V3"),
    Row("the same, 64 cores over 16", "rms_norm_64", None, "two stages of 8 instead of 64 in turn; not measured", over="rms_norm_16"),
    Row("softmax of BERT's scores with a mask, us", "softmax_bert", 192.71, "tt-metal issue 51145"),
    Row(
        "softmax of ViT's scores, us",
        "softmax_vit",
        45,
        "from whole models of the table exponential in place; per tile BERT's published time gives 66: `softmax` takes the exact exponential",
        inferred=True,
    ),
    # Decode attention
    Row("decode attention at position 127 of 1,024, chunks of 128 (32 users), us", "decode_127", 54.9, "then's price of a cache of 128", inferred=True),
    Row("the same at position 1,023 over 127", "decode_1023", None, "by whole chunks: 8 to 1, start and fill aside", over="decode_127"),
    Row(
        "the same at 127 without a chunk size over chunks of 128",
        "decode_127_default",
        None,
        "the library takes the largest power of two of the cache, 512 positions, which the kernel reads whole",
        over="decode_127",
    ),
    Row("the same at 1,023, chunks of 32 over 128", "decode_chunk_32", None, "more steps; not measured", over="decode_1023"),
    Row("the same on 4 x 8 cores over 8 x 8", "decode_grid_4x8", None, "bound by DRAM; not measured", over="decode_1023"),
    Row("paged decode, eight users at position 127 (galaxy), us", "paged_127", 9.09, "CI target; 8.83 and 8.97 in two models"),
    Row("the same, chunks of 256 over the kernel's own", "paged_127_chunk_256", 19 / 13, "published pair", over="paged_127"),
    Row("latent decode, one core for a group of heads (p100a), us", "latent_1", 112.1, "tt-metal issue 56785"),
    Row("the same, three cores, us", "latent_3", 71.2, "tt-metal issue 56785"),
    Row("the same, six cores: more cores are slower, us", "latent_6", 91.8, "tt-metal issue 56785"),
    # Products of decoders
    Row("32 x 2048 x 8192, bfloat8_b weights in the banks (n150), us", "from_banks", 74.3, "its bytes at the published 240 GB/s", inferred=True),
    Row("the same, K blocks of one tile over two", "from_banks_1", None, "configurations matter; not measured", over="from_banks"),
    Row("the same, HiFi4 over LoFi", "from_banks_hifi4", None, "as above", over="from_banks"),
    Row("the same with 256 rows", "from_banks_256", "refused", "as the real package: one row of tiles", fact="refused"),
    Row("ring of 24 cores, 32 x 2048 x 3584 (bfloat4_b, LoFi), us", "ring_ff13", 9.9, "CI target"),
    Row("ring of 24 cores, 32 x 3584 x 2048 (bfloat8_b, HiFi2), us", "ring_ff2", 14.8, "CI target"),
    # What the library chooses
    Row("fidelity of a bfloat16 product without a config", "lofi_default", "HiFi2", "tt-metal issue 55889", fact="fidelity"),
    Row("the same with `core_grid` and no compute config", "lofi_grid", "LoFi", "tt-metal issue 55889", fact="fidelity"),
    Row("1024 x 5376 x 5376, A in L1 and no grid (p150), us", "l1_operand", 1205, "tt-metal issue 56976"),
    Row("the same over all in DRAM", "l1_operand", 1205 / 308, "tt-metal issue 56976", over="l1_operand_dram"),
    Row("the same with a grid over all in DRAM", "l1_operand_grid", None, "the way out; not measured", over="l1_operand_dram"),
    Row("1024 x 640 x 5120, operand and result in L1, HiFi4 (n150), us", "l1_result", 2027, "tt-mlir issue 7702"),
    Row("the same over DRAM, HiFi2", "l1_result", 2027 / 264, "tt-mlir issue 7702", over="l1_result_dram"),
    Row("the program of the same", "l1_result", "MatmulMultiCoreProgramFactory", "tt-mlir issue 7702", fact="factory"),
    Row("384 products of 256 x 256 x 64, no grid (p150), us", "batched_auto", 2178.3, "tt-metal issue 35396"),
    Row("the same on 64 cores, us", "batched_8x8", 214.2, "tt-metal issue 35396"),
    Row("the same, 120 cores over 64: a grid that does not divide", "batched_12x10", 255.6 / 214.2, "tt-metal issue 35396", over="batched_8x8"),
    Row(
        "causal attention of 4,096 positions, chunks of 32 over 128 (p150)",
        "prefill_32",
        81.2 / 29.6,
        "published sum of 28 layers with a window and 7 without; the better chunk is not named",
        over="prefill_128",
    ),
    # Heads
    Row("decode heads, 32 + 2 x 8 of 64, us", "heads_decode", None, "each head's read is waited for (tt-mlir issue 8757: 7 us for about 14 heads)"),
    Row("decode heads, 8 + 2 x 1 of 128, width-sharded (T3000), us", "heads_decode_galaxy", 5.146, "tt-metal issue 8071; kernels of 2024-05"),
    Row("ViT's heads, block-sharded over interleaved in L1", "heads_sharded", None, "copies within cores; not measured", over="heads_interleaved"),
    Row("rotary embedding of queries and keys in one launch, us", "rotary_fused", 3.58, "CI target; 2.49 and 2.61 in two models; 10.9 then, in two launches"),
    # Convolutions and sticks
    Row("ResNet-50's 3 x 3 of 256 channels (b16), both operands held twice over once", "convolution_doubled", None, "not measured", over="convolution"),
    Row("convert_to_hwc of ResNet-50's planes, us", "convert_to_hwc", None, "by its kernels: transposed blocks of 32 pixels; not measured"),
    Row("sharding of 802,816 sticks of 6 bytes, us", "short_sticks", None, "a stick, its barrier and its write at a time, on 64 cores; not measured"),
)


def priced() -> dict[str, dict[str, Any]]:
    """The clock's prices now, of a process of their own."""
    done = subprocess.run([sys.executable, str(CALLS)], capture_output=True, text=True, check=True)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def before() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(BEFORE.read_text())
    return found


def shown(value: float | str | None, fact: str) -> str:
    if value is None or fact == "refused":
        return "refused" if value else "accepted" if fact == "refused" else "-"
    if isinstance(value, str):
        return value or "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def lines(now: Prices, then: Prices, names: Sequence[str] = ()) -> list[str]:
    """The table as Markdown."""
    out = ["| price or trap | call | then | now | published | now / published | source, what is open |", "|---|---|---|---|---|---|---|"]
    for row in ROWS:
        if names and row.call not in names:
            continue
        ratio = row.ratio(now)
        figure = "-" if row.published is None else shown(row.published, "" if row.fact == "refused" else row.fact)
        cells = (
            row.what,
            f"`{row.call}`" + (f" / `{row.over}`" if row.over else ""),
            shown(row.value(then), row.fact),
            shown(row.value(now), row.fact),
            figure + (" (inferred)" if row.inferred else ""),
            "-" if ratio is None else f"{ratio:.2f}",
            row.note,
        )
        out.append(f"| {' | '.join(cells)} |")
    return out


def section(now: Prices) -> str:
    return "\n".join(
        (
            START,
            "## Wrong prices and traps, then and now",
            "",
            "What optimizing two models by hand found wrong at commit 30a4846, and configurations that are slower than they look: calls of `tests/sim/trap_calls.py`,",
            "priced by that commit and today (`python -m tests.sim.traps --write`; one row: `python -m tests.sim.traps CALL`). Two calls: the first's time as a multiple of",
            "the second's. *Inferred*: the figure was worked out from others, nobody measured this call. Which program, cores and fidelity the real package chooses is compared",
            "with it in [conformance.md](conformance.md).",
            "",
            *lines(now, before()),
            END,
        )
    )


def main(arguments: Sequence[str]) -> int:
    now = priced()
    if "--write" not in arguments:
        print("\n".join(lines(now, before(), arguments)))
        return 0
    page = PAGE.read_text()
    head, found, rest = page.partition(START)
    tail = rest.partition(END)[2] if found else "\n"
    PAGE.write_text((head if found else head.rstrip("\n") + "\n\n") + section(now) + tail)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
