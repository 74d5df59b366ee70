"""How many uses of `ttnn` names in the models of a tree the simulator knows.

    python -m tools.experts.names TREE [--missing]

TREE is a checkout of tt-metal; every `ttnn.a.b` in a Python file below `models` counts once. A name counts as known where `ttnn.a.b` is there,
whatever a call of it says then.
"""

from __future__ import annotations

import argparse
import ast
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any


def uses_of(source: str) -> Counter[str]:
    """Dotted names behind `ttnn.` in a file, each as long as it is written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    found: Counter[str] = Counter()
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):  # outer attributes come first
        if not isinstance(node, ast.Attribute) or node in inner:
            continue
        parts, value = [node.attr], node.value
        while isinstance(value, ast.Attribute):
            inner.add(value)
            parts.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id == "ttnn":
            found[".".join(reversed(parts))] += 1
    return found


def missing_part(ttnn: Any, name: str) -> str | None:
    """The first part of `name` that is not there; None where all is."""
    value: Any = ttnn
    parts = name.split(".")
    for index, part in enumerate(parts):
        try:
            value = getattr(value, part)
        except AttributeError:
            return ".".join(parts[: index + 1])
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.experts.names", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, metavar="TREE")
    parser.add_argument("--missing", action="store_true", help="print the names that are missing, most used first")
    options = parser.parse_args()
    if not (options.tree / "models").is_dir():
        parser.error(f"{options.tree} has no folder models")
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    import ttnn

    uses: Counter[str] = Counter()
    for path in sorted((options.tree / "models").rglob("*.py")):
        if path.is_file():
            try:
                uses += uses_of(path.read_text(encoding="utf-8", errors="replace"))
            except SyntaxError as error:
                print(f"{path}: {error}", file=sys.stderr)
    missing: Counter[str] = Counter()
    for name, count in uses.items():
        part = missing_part(ttnn, name)
        if part is not None:
            missing[part] += count
    known = uses.total() - missing.total()
    print(f"{known} of {uses.total()} uses of {len(uses)} names known: {100 * known / max(1, uses.total()):.2f} %; {len(missing)} names missing")
    for name, count in missing.most_common() if options.missing else ():
        print(f"{count:6} ttnn.{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
