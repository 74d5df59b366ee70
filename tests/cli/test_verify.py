"""`alchemist verify` on programs that the real ttnn takes, refuses, or does not survive. Needs the wheel (`make referee` installs it)."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from alchemist.cli import main
from alchemist.verify import MACHINES, machine_of
from alchemist.verify.environment import is_ready
from alchemist.verify.mock_systems import descriptions

ROOT = Path(__file__).parents[2]
needs_wheel = pytest.mark.skipif(not is_ready(), reason="the real ttnn wheel is not installed: run `make referee`")

OPEN = "import os, ttnn\ndevice = ttnn.open_device(device_id=0)\n"
X = "x = ttnn.ones([64, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)\n"
PROGRAMS = {  # name -> (text, accepted, what the command says)
    "good": (OPEN + X + "y = ttnn.add(x, x)\n", True, "3 calls, 1 device programs, 0 rejected"),
    "bad": (OPEN + X + "y = ttnn.matmul(x, x)\nz = ttnn.add(y, x)\n", False, "rejected  main.py:4  ttnn.matmul:"),
    "raises": (OPEN + "raise KeyError('lost')\n", False, "KeyError: 'lost'"),
    "dies": (OPEN + "os.kill(os.getpid(), 9)\n", False, "the ttnn process died with code -9"),
}


@needs_wheel
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_every_program_is_judged_on_its_own(arch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, (text, _, _) in PROGRAMS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.py").write_text(text)
    folders = [str(tmp_path / name) for name in PROGRAMS]
    assert main(["verify", *folders, "--arch", arch, "--json", str(tmp_path / "out.json")]) == 1
    said = capsys.readouterr().out
    verdicts = json.loads((tmp_path / "out.json").read_text())
    for folder, verdict, (_, accepted, words) in zip(folders, verdicts, PROGRAMS.values(), strict=True):
        assert verdict["directory"] == folder
        assert verdict["accepted"] is accepted
        assert words in said
    assert verdicts[1]["calls"][3]["status"] == "dependent"
    assert main(["verify", folders[0], "--arch", arch]) == 0


MANIFESTS = {
    '{"device": {"arch": "blackhole", "card": "p150"}}': "blackhole",
    '{"device": {"arch": "wormhole_b0"}}': "wormhole_b0",
    '{"device": {"arch": "grayskull"}}': "wormhole_b0",
    '{"device": {"arch": "wormhole_b0", "system": "t3000"}}': "t3000",
    '{"device": 3}': "wormhole_b0",
    "[": "wormhole_b0",
    "": "wormhole_b0",
}


@pytest.mark.parametrize(("manifest", "machine"), MANIFESTS.items())
def test_a_program_is_judged_on_the_machine_it_was_emitted_for(manifest: str, machine: str, tmp_path: Path) -> None:
    if manifest:
        (tmp_path / "manifest.json").write_text(manifest)
    assert machine_of(tmp_path) == machine


@needs_wheel
def test_exports_for_both_chips_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chips = ("wormhole_b0", "blackhole")
    for chip in chips:
        (tmp_path / chip).mkdir()
        (tmp_path / chip / "main.py").write_text(PROGRAMS["good"][0])
        (tmp_path / chip / "manifest.json").write_text(json.dumps({"device": {"arch": chip}}))
    assert main(["verify", *(str(tmp_path / chip) for chip in chips)]) == 0
    said = capsys.readouterr().out
    assert all(f"{tmp_path / chip}: 3 calls, 1 device programs, 0 rejected by the real ttnn on {chip}" in said for chip in chips)


MESH_PROGRAM = """import ttnn
ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
device = ttnn.open_mesh_device(ttnn.MeshShape({rows}, {columns}))
x = ttnn.ones([64, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
y = ttnn.all_reduce(x, cluster_axis=1)
"""


@needs_wheel
def test_programs_for_meshes_open_their_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rows, columns in (("n300", 1, 2), ("t3000", 2, 4)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.py").write_text(MESH_PROGRAM.format(rows=rows, columns=columns))
        (tmp_path / name / "manifest.json").write_text(json.dumps({"device": {"arch": "wormhole_b0", "system": name}}))
    assert main(["verify", *(str(tmp_path / name) for name in ("n300", "t3000"))]) == 0
    assert "4 calls, 3 device programs, 0 rejected by the real ttnn on t3000" in capsys.readouterr().out


def test_linked_chips_of_a_system_are_neighbours() -> None:
    """The driver routes by coordinates of chips. A channel of a chip has one link."""
    placed = 0
    for name, text in descriptions().items():
        places = {int(chip): (int(x), int(y)) for chip, x, y in re.findall(r"(\d+): \[(\d+), (\d+), 0, 0\]", text)}
        links = [tuple(map(int, one)) for one in re.findall(r"\[\{chip: (\d+), chan: (\d+)\}, \{chip: (\d+), chan: (\d+)\}\]", text)]
        ends = [end for link in links for end in (link[:2], link[2:])]
        assert len(set(ends)) == len(ends), name
        assert len(set(places.values())) == len(places), name
        for chip, _, other, _ in links if places else ():
            (x, y), (other_x, other_y) = places[chip], places[other]
            assert abs(x - other_x) + abs(y - other_y) == 1, f"{name}: chips {chip} and {other}"
            placed += 1
    assert placed


def test_an_unknown_machine_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--arch", "n301"]) == 1
    said = capsys.readouterr().err
    assert all(machine in said for machine in MACHINES)


@needs_wheel
def test_a_folder_without_a_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 1
    assert "no main.py" in capsys.readouterr().err


@pytest.mark.parametrize(("python_is_there", "installs", "status"), [(True, False, 2), (True, True, 0), (False, False, 0)])
def test_a_failing_referee_fails_test_all(python_is_there: bool, installs: bool, status: int, tmp_path: Path) -> None:
    """Only a machine without a Python for the wheel goes on without it. `make` runs a stand-in for the environment's Python."""
    python = tmp_path / "python"
    python.write_text(
        f"""#!/bin/sh
case "$*" in
  *alchemist.verify.environment*) exit {int(not python_is_there)} ;;
  *"alchemist verify"*) exit {int(not installs)} ;;
esac
"""
    )
    python.chmod(0o755)
    words = ["make", "-C", str(ROOT), "-o", "setup", "-o", "test", "-o", "deep", "test-all", f"VENV={tmp_path}", f"BIN={tmp_path}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # variables of the outer make go along there
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == status, done.stdout + done.stderr
