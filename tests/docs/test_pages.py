"""README and docs: what they show is what runs, links lead somewhere, Markdown is valid, and (slow) every command works in a fresh environment."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from alchemist import explanations
from tests.docs.picture import picture
from tests.docs.sessions import differences
from tests.docs.shown import MARK, PAGES, PICTURE, ROOT, masked, shown
from tests.tables import table

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
TASKS = (
    "README.md",
    "docs/first_program.md",
    "docs/bring_a_model.md",
    "docs/edit_and_check.md",
    "docs/make_it_faster.md",
    "docs/embed_in_cpp.md",
    "docs/mlir_in_and_out.md",
)
MARKDOWN = [
    page for page in [*PAGES, *sorted((ROOT / "docs").glob("*/*.md")), *sorted(ROOT.glob("examples/*/README.md")), *sorted(ROOT.glob("tests/docs/*.md"))]
]
# Not asked for: line length, indented beside fenced code, bold lines above tables that programs write.
NOT_LINTED = "md013,md036,md046"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return shown(tmp_path_factory.mktemp("shown"), with_wheel=False)


def test_pages_show_what_runs(parts: dict[str, str]) -> None:
    """`make docs` (python -m tests.docs.shown --write) renews them. Numbers may differ by 2 %, errors by a factor of two, host times by any."""
    names = set()
    for page in PAGES:
        for found in MARK.finditer(page.read_text()):
            name = found["name"]
            names.add(name)
            assert found["body"].strip(), f"{page.name}: {name} is empty: make docs"
            if name == "profile":  # its rows are in the order of their times
                assert sorted(masked(parts[name]).splitlines())[:3] == sorted(masked(found["body"]).splitlines())[1:4]
            elif name in parts:
                wrong = differences(found["body"], parts[name])
                assert not wrong, f"{page.name}: {name} is old: make docs\n" + "\n".join(wrong)
    assert names == set(parts) - {"report.svg"} | {"verify"}


def test_picture_is_well_formed(parts: dict[str, str]) -> None:
    from xml.dom import minidom

    for text in (parts["report.svg"], PICTURE.read_text()):
        minidom.parseString(text)
        assert "Slowest calls" in text
    with pytest.raises(AssertionError):
        picture("<html></html>")


@table("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    for target in LINK.findall(text):
        assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"


def linted(*files: Path) -> str:
    command = [sys.executable, "-m", "pymarkdown", "-d", NOT_LINTED, "scan", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["pages of users", pytest.param("measurements and folders", marks=pytest.mark.slow)])
def test_markdown_is_valid(kind: str) -> None:
    large = ("ops.md", "models.md", "conformance.md", "accuracy.md")  # tables that programs write; seconds each
    pages = [page for page in MARKDOWN if page.name not in large and (page in PAGES) == (kind == "pages of users")]
    assert linted(*pages) == ""


def test_no_section_stands_twice() -> None:
    """Commands that write a section look for it by its heading or marks: a lost mark makes a second one."""
    for page in (ROOT / "docs").glob("*.md"):
        headings = re.findall(r"^## .*$", page.read_text(), re.MULTILINE)
        assert len(headings) == len(set(headings)), page.name


def test_readmes_of_exports_are_valid_markdown(tmp_path: Path) -> None:
    from alchemist.resources import render

    inputs = [{"name": "x|y`", "shape": (1, 2), "dtype": "float32"}]
    pages = []
    for language, const_eval in itertools.product(("python", "cpp"), (True, False)):
        sources = {"consteval.py": "", "consteval.cpp": ""} if const_eval else {}
        values = {"versions": "torch 2.13.0", "options": {"arch": "p150"}, "arch": "p150", "weights": 3, "version": "1", "generation": not const_eval}
        text = render("project/README.md.j2", model="a <b> model", language=language, inputs=inputs, outputs={"o": inputs[0]}, sources=sources, **values)
        pages.append(tmp_path / f"{language}_{const_eval}.md")
        pages[-1].write_text(text)
        assert all(line == line.rstrip() for line in text.splitlines())
        assert ".- " not in text
    assert linted(*pages) == ""


def test_every_error_code_has_an_entry() -> None:
    """Of the classes, of what is raised with a code of its own, and of emitted programs; and docs/errors.md has all entries."""
    used = set()
    for pattern in ("alchemist/**/*.py", "emit_*/**/*.py", "templates/**/*", "ttnn_shim/python/**/*.py"):
        for file in ROOT.glob(pattern):
            if file.is_file() and file.name != "explanations.py":
                used |= set(re.findall(r"(?:ALC|SHIM)-\d{4}", file.read_text()))
    used.discard("ALC-0203")  # the shape of a message, in the doc of errors.py
    assert used == set(explanations.EXPLANATIONS)
    for code, entry in explanations.EXPLANATIONS.items():
        assert entry.example.startswith(f"error[{code}] ")
        assert all((entry.title, entry.cause, entry.remedy))
    assert (ROOT / "docs/errors.md").read_text() == explanations.markdown() + "\n", "make docs"


# --- commands, in an environment made by README's own install line ---------------------------------------------------------


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in FENCE.finditer(MARK.sub("", page.read_text()))]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree in which the first `sh` block of README was run, except for the clone."""
    root = tmp_path_factory.mktemp("install") / "alchemist"
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    clone, *lines = next(text for language, text in blocks(ROOT / "README.md") if language == "sh").splitlines()
    assert clone.startswith("git clone")
    script = "\n".join(lines).replace("'.[torch]'", "'.[torch,jax,onnx]' transformers")
    run_script(script, root, {"PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin", "HOME": str(root.parent)})
    return root


def run_script(script: str, folder: Path, variables: dict[str, str]) -> None:
    inherited = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "CMAKE_", "CCACHE_", "SSL_"))}
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=inherited | variables, capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, f"{script}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_commands_of_pages_in_a_fresh_environment(name: str, installed: Path, tmp_path: Path) -> None:
    """Blocks that begin with a file's name in a comment are written to it; `sh` blocks run in their order."""
    (tmp_path / "examples").symlink_to(installed / "examples")
    variables = {"PATH": f"{installed / '.venv/bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    for language, text in blocks(ROOT / name):
        file = re.match(r"(?:#|//) (\w+\.\w+)\n", text)
        if file:
            (tmp_path / file[1]).write_text(text)
        elif language == "sh" and not text.startswith("git clone"):
            run_script(text, tmp_path, variables)
        elif language == "console" and "<!-- shown" not in text:
            for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
                run_script(f"{command} || [ $? = 1 ]", tmp_path, variables)  # a check that fails is shown too
