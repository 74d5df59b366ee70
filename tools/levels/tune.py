"""Writes what `tune` says of three whole models into docs/lab/optimizer.md.

usage: python -m tools.levels.tune [--model NAME ...] [--card n150 ...] [--write]
Random weights and inputs; the fastest choice that loses at most 0.005 of the PCC is picked.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from alchemist import tune
from tools.levels.checks import with_inputs
from tools.levels.models import with_values
from tools.levels.table import write

NAMES = ("Whisper-base encoder b1", "MobileNetV2 b10", "ViT-B/16 b8")
MOST_LOST = 0.005


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", nargs="+", default=list(NAMES))
    parser.add_argument("--card", nargs="+", default=["n150"])
    parser.add_argument("--write", action="store_true", help="into docs/lab/optimizer.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[str] = []
    for name in options.model:
        whole = with_inputs(with_values(name))
        found = tune(whole.model, *whole.args, cards=options.card, max_pcc_loss=MOST_LOST, compiler_options=dict(whole.options) or None, **whole.kwargs)
        lines += [f"{name}:", "", "```text", *str(found).splitlines(), "```", ""]
        print("\n".join(lines[-len(str(found).splitlines()) - 5 :]), flush=True)
    if options.write:
        write("tune", lines[:-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
