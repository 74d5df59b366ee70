"""What README.md and the pages of docs/ show is what runs: source, emitted code and output between `<!-- shown: NAME -->` and `<!-- /shown -->`.

python -m tests.docs.shown --write    writes these parts and the report's picture anew (`make docs`)
"""

from __future__ import annotations

import contextlib
import difflib
import io
import re
import runpy
import shlex
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from alchemist import verify
from alchemist.options import table, without_effect_table
from alchemist.verify.environment import is_ready
from tests.docs.picture import picture
from tests.docs.sessions import ended

ROOT = Path(__file__).parents[2]
LAB = ROOT / "docs" / "lab"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PICTURE = ROOT / "docs/pictures/report.svg"
EXAMPLE = ROOT / "examples/gpt/gpt.py"
MARK = re.compile(r"(<!-- shown: (?P<name>[a-z0-9-]+) -->\n)(?P<body>.*?)(<!-- /shown -->\n)", re.DOTALL)

# The edit of docs/make_it_faster.md: a grid, and with it the fidelity, for the linears of the attention.
CONSTANT = "DRAM = ttnn.DRAM_MEMORY_CONFIG\n"
ALL_CORES = """ALL_CORES = {
    "core_grid": ttnn.CoreGrid(y=8, x=8),
    "compute_kernel_config": ttnn.WormholeComputeKernelConfig(
        math_fidelity=ttnn.MathFidelity.HiFi2, math_approx_mode=False, fp32_dest_acc_en=False, packer_l1_acc=True
    ),
}
"""
LINEARS = re.compile(r'(bias=weights\["(?:qkv|out)\.bias"\], memory_config=DRAM)')


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text.strip(chr(10))}\n```\n"


def _definition(source: str, head: str) -> str:
    """The top-level function or class that begins with `head`, with what belongs to it."""
    lines = source[source.index(f"\n{head}") + 1 :].splitlines()
    body = [line for line in _until_dedent(lines)]
    return "\n".join([lines[0], *body]).rstrip()


def _until_dedent(lines: list[str]) -> Iterator[str]:
    for line in lines[1:]:
        if line and not line.startswith(" "):
            return
        yield line


def _export(*arguments: str) -> None:
    """`python gpt.py ARGUMENTS`, in this process, which has loaded torch."""
    before, sys.argv = sys.argv, [str(EXAMPLE), *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(EXAMPLE), run_name="__main__")
    finally:
        sys.argv = before


def _run(program: Path, *options: str) -> str:
    """A command and what it prints."""
    command = shlex.join([f"./{program.name}/run", *options])
    code, said = ended(command, program.parent)
    if code:
        raise RuntimeError(said)
    return f"$ {command}\n{re.sub(r' +$', '', said, flags=re.MULTILINE)}"


def _profile(program: Path, report: Path) -> str:
    """The first rows of both tables."""
    text = _run(program, "--profile", report.name)
    tables = text[text.index("device time") :].split("\n\n")
    rows = ["\n".join(each.splitlines()[:6]) for each in tables[1:3]]
    return "\n\n".join([f"$ ./{program.name}/run --profile {report.name}", tables[0], *rows])


def _explain(program: Path) -> str:
    """The parts of the first device program of the linear with the GELU."""
    line = (program / "main.py").read_text().splitlines().index("    up_gelu = ttnn.linear(") + 1
    return _run(program, "--explain", str(line)).rpartition("\n\n")[0]


def accuracy() -> str:
    """The sentence on the clock's errors, from docs/lab/accuracy.md."""
    text = (ROOT / "docs/lab/accuracy.md").read_text()

    def cells(row: str) -> list[str]:
        found = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", text, re.MULTILINE)
        assert found is not None, f"docs/lab/accuracy.md has no row {row}"
        return [cell.strip() for cell in found[1].split("|")]

    every, wormhole, blackhole = cells("ops3 (never fitted)"), cells("ops3, wormhole_b0"), cells("ops3, blackhole")
    seen = cells("ops (kernel time)")
    column = 2 + cells("rows | n | sources").index("within band %")
    within = [f"{found[column]} % of {found[0]} rows" for found in (cells("all, wormhole_b0"), cells("all, blackhole"))]
    return (
        f"On {every[0]} published measurements from sources that were not used to fit the clock, the median error is {every[1]} % and "
        f"nine of ten rows are within {every[2]} %\n(Wormhole, the default chip: {wormhole[0]} rows, {wormhole[1]} and {wormhole[2]} %; "
        f"Blackhole: {blackhole[0]} rows, {blackhole[1]} and {blackhole[2]} %).\nError bands should contain 80 %: they contain {every[4]} % of these rows; "
        f"of all rows of the sources left out, {within[0]} on Wormhole and {within[1]} on Blackhole.\n"
        f"On the {seen[0]} measurements used for the fit, the median error is {seen[1]} %, and nine of ten are within {seen[2]} %.\n"
    )


def _found(page: str, pattern: str) -> tuple[str, ...]:
    """The groups of a pattern in a page of docs/lab, which has it once."""
    found = re.findall(pattern, (ROOT / page).read_text(), re.MULTILINE)
    assert found, f"{page} has no {pattern}"
    return found[-1] if isinstance(found[-1], tuple) else (found[-1],)


def six_numbers() -> str:
    """The table of docs/how_good_is_it.md, from the pages that the commands write."""
    passed, runs = _found("docs/lab/models.md", r"^(\d+) of (\d+) runs of the zoo pass")
    accepted, programs = _found("docs/lab/models.md", r"(\d+) of (\d+) programs on wormhole")
    ops, probes, agree = _found("docs/lab/conformance.md", r"^- wormhole_b0: (\d+) ops, (\d+) probes .*?, (\d+) agree")
    rows, median, tenth = _found("docs/lab/accuracy.md", r"^\| ops3 \(never fitted\) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|")
    wrong, caught, harmless, alarms = _found("docs/lab/check.md", r"^\| all \|.*?\| \d+ \| (\d+) \| (\d+) \([\d.]+ %\) \| (\d+) \| (\d+) \|")
    levels = (LAB / "optimizer.md").read_text().partition("<!-- levels -->")[2].partition("<!-- end of levels -->")[0]
    times = [[cell.strip() for cell in line.split("|")] for line in levels.splitlines() if re.match(r"\| .* \| n150 \|", line)]
    gains = [float(cells[6].split(", ")[-1].strip("*x")) for cells in times]
    table = [
        ("exported models whose outputs agree with the framework's outputs", f"{passed} of {runs}", "make test-all", "lab/models.md"),
        (
            "exported programs of which the real TT-NN package accepts every call",
            f"{accepted} of {programs}",
            "python -m tools.zoo.run --referee both --json ROWS",
            "lab/models.md",
        ),
        (
            f"calls of {ops} ops that the simulator and the real package both accept or both reject (Wormhole)",
            f"{int(agree):,} of {int(probes):,}",
            "make conformance",
            "lab/conformance.md",
        ),
        (
            f"error of the predicted time on {rows} measurements not used for the fit: median, 90th percentile",
            f"{median} %, {tenth} %",
            "python -m tools.calibration.unseen --docs docs/lab/accuracy.md",
            "lab/accuracy.md",
        ),
        (
            f"wrong edits that move an output by more than its unedited error: found by `--check`; false alarms in {harmless} harmless edits",
            f"{caught} of {wrong}; {alarms}",
            "python -m tests.check.mutations --write",
            "lab/check.md",
        ),
        (
            f"speed-up of `optimization_level` 2 over 0, {len(gains)} models on an n150: least, median, greatest",
            f"{min(gains):.2f}x, {statistics.median(gains):.2f}x, {max(gains):.2f}x",
            "python -m tools.levels.table --write",
            "lab/optimizer.md",
        ),
    ]
    rows_of_page = [f"| {what} | {number} | `{command}` | [{page}]({page}) |" for what, number, command, page in table]
    return "\n".join(["| measured | result | command | details |", "|---|---|---|---|", *rows_of_page]) + "\n"


def edit(program: Path) -> str:
    """Makes the edit of docs/make_it_faster.md; the difference."""
    main = program / "main.py"
    before = main.read_text()
    after, count = LINEARS.subn(r"\1, **ALL_CORES", before.replace(CONSTANT, CONSTANT + ALL_CORES))
    assert count == 2 and ALL_CORES in after
    main.write_text(after)
    rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "main.py", "main.py, edited", lineterm="", n=1))
    return "\n".join(rows)


def levels(folder: Path) -> str:
    """The example exported at each optimization level, and its price. folder: has it at level 0."""
    rows = []
    for level in (0, 1, 2):
        program = folder / f"gpt-{level}"
        if level:
            _export(str(program), str(level))
        else:
            shutil.copytree(folder / "gpt", program)
        command, *_, price = _run(program, "--estimate").splitlines()
        rows += [f"$ python examples/gpt/gpt.py gpt-{level} {level}", command, price]
    return "\n".join(rows)


def shown(folder: Path, *, with_wheel: bool) -> dict[str, str]:
    """Name of a part -> its Markdown, and "report.svg" -> the picture. with_wheel: also what `alchemist verify` prints."""
    program = folder / "gpt"
    _export(str(program))
    source, emitted = EXAMPLE.read_text(), (program / "main.py").read_text()
    parts = {
        "torch": _fence("python", _definition(source, "class Attention")),
        "emitted": _fence("python", _definition(emitted, "def attention")),
        "emitted-caller": _fence("python", _definition(emitted, "def gpt")),
        "check": _fence("console", _run(program, "--check")),
        "levels": _fence("console", levels(folder)),
        "estimate": _fence("console", _run(program, "--estimate", "--arch", "p150")),
        "profile": _fence("console", _profile(program, folder / "report")),
        "explain": _fence("console", _explain(program)),
        "options": table(markdown=True) + "\n",
        "options-without-effect": without_effect_table() + "\n",
        "accuracy": accuracy(),
        "six-numbers": six_numbers(),
    }
    if with_wheel:
        with verify.RealTtnn() as real:
            lines = real.run(program).lines("gpt")
        parts["verify"] = _fence("console", "\n".join(["$ alchemist verify gpt", *lines]))
    parts["report.svg"] = picture((folder / "report/report.html").read_text())
    parts["edit"] = _fence("diff", edit(program))
    parts["edit-check"] = _fence("console", _run(program, "--check"))
    return parts


def masked(text: str) -> str:
    """The text without what another clock or machine changes: numbers in output and in the picture, and the order of rows by time."""
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?", "#", re.sub(r" +", " ", text))


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        parts = shown(Path(folder), with_wheel=is_ready())
    PICTURE.write_text(parts["report.svg"])
    for page in PAGES:
        before = page.read_text()
        page.write_text(MARK.sub(lambda found: found[1] + (f"\n{parts[found['name']]}\n" if found["name"] in parts else found["body"]) + found[4], before))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
