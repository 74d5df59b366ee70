"""Which folder of src/ may include which: abi -> ops -> {tensor, strategy -> {sim, codec}}, and the public headers include none of them.

python ttnn_shim/python/check_layers.py    # exit 1 and a line per include that crosses the layers
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAY_INCLUDE: Mapping[str, frozenset[str]] = {
    "sim": frozenset({"sim"}),
    "codec": frozenset({"codec"}),
    "strategy": frozenset({"strategy", "sim", "codec"}),
    "tensor": frozenset({"tensor"}),
    "ops": frozenset({"ops", "tensor", "strategy", "sim", "codec"}),
    "abi": frozenset({"abi", "ops", "tensor", "strategy", "sim", "codec"}),
    "include": frozenset(),
}
# The simulator is built without ops and tensors (src/sim/CMakeLists.txt), so its door must do without them.
# One table says what a machine is; what the allocator needs of it is read there.
NARROWER: Mapping[str, frozenset[str]] = {"abi/sim_abi.cpp": frozenset({"strategy", "sim", "codec"}), "tensor/machine.cpp": frozenset({"tensor", "sim"}),
                                           "tensor/mesh.cpp": frozenset({"tensor", "sim"})}  # fmt: skip
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](sim|strategy|codec|tensor|ops|abi)/')


def crossings(path: str, lines: Iterable[str]) -> list[str]:
    """Includes of one file that its layer may not have. `path`: "ops/launch.cpp", or "include/..." for public headers."""
    layer = path.split("/", 1)[0]
    allowed = NARROWER.get(path, MAY_INCLUDE[layer])
    found = []
    for number, line in enumerate(lines, 1):
        match = _INCLUDE.match(line)
        if match and match.group(1) not in allowed:
            found.append(f"{path}:{number}: {layer} may not include {match.group(1)}: {line.strip()}")
    return found


def main() -> int:
    found = []
    for top, name in ((ROOT / "src", ""), (ROOT / "include", "include/")):
        for path in sorted(top.rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".h", ".inl", ".def"):
                found += crossings(name + path.relative_to(top).as_posix(), path.read_text(encoding="utf-8").splitlines())
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
