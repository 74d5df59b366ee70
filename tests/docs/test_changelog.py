"""The changelog stays readable, and its newest release is the version of the package."""

from __future__ import annotations

import re
from pathlib import Path

from alchemist.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
UNRELEASED_LINES = 60
RELEASE_LINES = 60  # of the newest one: 40 lines of notes, headings and blank lines


def test_sections_of_the_changelog() -> None:
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    assert sections[0].startswith("Unreleased\n") and sections[1].startswith(f"{VERSION} (")
    assert len(sections[0].splitlines()) <= UNRELEASED_LINES
    assert len(sections[1].splitlines()) <= RELEASE_LINES


def test_one_version() -> None:
    assert f'version = "{VERSION}"' in (ROOT / "pyproject.toml").read_text()
    assert f"project(ttnn_shim VERSION {VERSION} " in (ROOT / "ttnn_shim" / "CMakeLists.txt").read_text()
