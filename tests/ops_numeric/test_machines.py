"""Values depend neither on the number of threads nor, by more than the bound of docs/lab/numerics.md, on the processor's instruction set."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.ops_numeric.machine_values import Floats, sampled

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/data/machine_values.npz"
CAPS = ("AVX", "AVX2", "AVX512_CORE", "AVX512_CORE_BF16")
"""AVX is no set that the simulator needs, but every machine has its kernels, and they add in another order than those of AVX2."""
LEAST_PCC = 0.99999
ROW = re.compile(r"^\| (?P<op>[^|]+) \| (?P<difference>[\d.e-]+) \| (?P<relative>[\d.e-]+) \|$", re.MULTILINE)


def bounds() -> dict[str, tuple[float, float]]:
    """Op -> largest difference over largest magnitude, relative L2 error: the table of docs/lab/numerics.md."""
    _, _, section = (ROOT / "docs/lab/numerics.md").read_text().partition("\n## Bounds for one op\n")
    return {found["op"]: (float(found["difference"]), float(found["relative"])) for found in ROW.finditer(section.partition("\n## ")[0])}


def values(folder: Path, cap: str, threads: int, *kinds: str) -> dict[str, dict[str, Floats]]:
    """Kind -> op -> values. One process for all kinds."""
    file = folder / "values.npz"
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": cap, "OMP_NUM_THREADS": str(threads)}
    subprocess.run([sys.executable, "-m", "tests.ops_numeric.machine_values", str(file), *kinds], cwd=ROOT, env=environment, check=True)
    with np.load(file) as loaded:
        return {kind: {name.removeprefix(f"{kind}: "): loaded[name] for name in loaded.files if name.startswith(f"{kind}: ")} for kind in kinds}


def effective(cap: str) -> str:
    script = "from ttnn_shim import build_info; print(build_info()['instruction_set'])"
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": cap}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True).stdout.strip()


def outside(got: dict[str, Floats], wanted: dict[str, Floats]) -> list[str]:
    """The ops whose values are further from `wanted` than their bound."""
    found = []
    assert got.keys() == wanted.keys() == bounds().keys()
    for name, (most, relative) in bounds().items():
        exact = wanted[name].astype(np.float64)
        difference = np.abs(got[name] - exact)
        measured = difference.max() / np.abs(exact).max(), np.linalg.norm(difference) / np.linalg.norm(exact)
        pcc = np.corrcoef(got[name].ravel(), exact.ravel())[0, 1]
        if not (measured[0] <= most and measured[1] <= relative and pcc >= LEAST_PCC):
            found.append(f"{name}: {measured[0]:.2e}, {measured[1]:.2e}")
    return found


@pytest.fixture(scope="module")
def all_here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Floats]]:
    return values(tmp_path_factory.mktemp("here"), "DEFAULT", 1, "plain", "small", "permuted")


@pytest.fixture(scope="module")
def here(all_here: dict[str, dict[str, Floats]]) -> dict[str, Floats]:
    return all_here["plain"]


def test_threads_change_no_bit(all_here: dict[str, dict[str, Floats]], tmp_path: Path) -> None:
    """Of small products and attentions oneDNN would divide the rows between threads; a row's place decides how it is summed."""
    two = values(tmp_path, "DEFAULT", 2, "plain", "small")
    assert len(two["plain"]) > 10 and len(two["small"]) > 10
    for kind, made in two.items():
        assert made.keys() == all_here[kind].keys()
        assert [name for name, array in made.items() if not np.array_equal(all_here[kind][name].view(np.uint32), array.view(np.uint32))] == []


@pytest.mark.parametrize("cap", CAPS)
def test_instruction_sets_stay_within_the_bound(cap: str, here: dict[str, Floats], tmp_path: Path) -> None:
    if cap != "AVX" and effective(cap) != cap:
        pytest.skip(f"{cap}: not available")
    with np.load(STORED) as stored:
        got = here if effective("DEFAULT") == cap else values(tmp_path, cap, 1, "plain")["plain"]
        assert outside(sampled(got), {name: stored[name] for name in stored.files}) == []


def test_another_order_of_terms_stays_within_the_bound(all_here: dict[str, dict[str, Floats]], here: dict[str, Floats]) -> None:
    """What any other kernel may do. Results that are wrong by 3 % are outside of each bound."""
    assert outside(all_here["permuted"], here) == []
    assert len(outside({name: array * np.float32(1.03) for name, array in here.items()}, here)) == len(here)
