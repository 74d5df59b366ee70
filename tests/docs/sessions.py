"""Pages that are sessions in a terminal: `console` blocks hold commands behind `$ ` and what they print. All run, in their order, in one folder.

python -m tests.docs.sessions --write      writes what the commands print now into the pages (`make docs`)
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests import running

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / name for name in ("first_program.md", "edit_and_check.md", "several_chips.md")]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\w+\.py)\n")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?(?![\w]*\.?\w*\()")


def differences(shown: str, now: str) -> list[str]:
    """Lines of `shown` that `now` contradicts: other words, or a number that is more than 2 % away.

    Times of the machine that ran (`host ... s`) are left out. Errors, which the processor's order of additions moves, may be half as large or twice.
    """
    wrong = []
    before, after = ([re.sub(r"host [\d.]+ s", "host # s", " ".join(line.split())) for line in text.strip().splitlines()] for text in (shown, now))
    for old, new in zip(before, after, strict=False):
        numbers = list(zip(NUMBER.finditer(old), NUMBER.finditer(new), strict=False))
        if NUMBER.sub("#", old) != NUMBER.sub("#", new) or not all(_near(old, first, second) for first, second in numbers):
            wrong.append(f"- {old}\n+ {new}")
    if len(before) != len(after):
        wrong.append(f"{len(before)} lines are shown, {len(after)} are printed")
    return wrong


def _near(line: str, first: re.Match[str], second: re.Match[str]) -> bool:
    have, want = float(first[0]), float(second[0])
    last_digit = 10.0 ** -len(first[0].partition("e")[0].partition(".")[2]) if "e" not in first[0] else 0.0
    if re.search(r"error( was| now)?|now |\($", line[max(0, first.start() - 12) : first.start()]):
        return abs(want) / 2 <= abs(have) <= abs(want) * 2
    return abs(have - want) <= max(0.02 * abs(want), 1.01 * last_digit if "." in first[0] else 0.0)


def ended(command: str, folder: Path) -> tuple[int, str]:
    """The exit code of a command and what it prints, standard error last. Exports run in this process, which has loaded torch; `./DIR/run` as in other tests."""
    words = shlex.split(command, comments=True)
    if words[0] == "python" and words[1] != "-c":
        before, path, there = sys.argv, list(sys.path), Path.cwd()
        sys.argv = words[1:]
        said = io.StringIO()
        try:
            os.chdir(folder)
            sys.path.insert(0, str(folder))
            with contextlib.redirect_stdout(said):
                runpy.run_path(words[1], run_name="__main__")
        finally:
            os.chdir(there)
            sys.argv, sys.path[:] = before, path
        return 0, said.getvalue()
    if words[0].startswith("./") and words[0].endswith("/run"):
        options = [str(folder / word) if (folder / word).exists() or before in ("--profile", "--outputs") else word for before, word in pairwise(words)]
        done = running.run(folder / words[0].removesuffix("/run"), *options)
    else:
        with_python = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=with_python, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).replace(f"{folder}/", "")


def replayed(text: str, folder: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Each console block of a page, and the block as it is now. Python blocks that name a file are written to it."""
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            if name := FILE.match(block[2]):
                (folder / name[1]).write_text(block[2])
            continue
        now = ""
        for command in re.findall(r"^\$ (.*)$", block[2], re.MULTILINE):
            now += f"$ {command}\n" + "".join(f"{line.rstrip()}\n" for line in ended(command, folder)[1].splitlines())
        yield block, now


def write() -> None:
    for page in PAGES:
        text = page.read_text()
        with tempfile.TemporaryDirectory() as folder:
            for block, now in reversed(list(replayed(text, Path(folder)))):
                text = f"{text[: block.start(2)]}{now}{text[block.end(2) :]}"
        page.write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
