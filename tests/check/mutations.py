"""The mutation table: does `./run --check` catch edits that change what a program computes, and only those?

    python -m tests.check.mutations [--models bert,gru] [--languages py,cpp] [--wrong 40] [--harmless 20] [--rows FILE] [--write]

Each edit is made on a fresh copy of the emitted source and checked on the simulator. Whether it changes the mathematics is judged apart from the
check: by the distance of its outputs to those of the unedited program, both as `--outputs` writes them, against the unedited program's error.
`--write` puts the table into docs/lab/check.md. `--rows FILE` keeps what was measured: a run that was broken off goes on there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.check import edits
from tests.check.edited_models import MODELS, build

DOCS = Path(__file__).resolve().parents[2] / "docs" / "lab" / "check.md"
_MARK = "<!-- written by python -m tests.check.mutations --write -->\n"
# An effect below what the model's data type resolves is noise, whatever the unedited error.
_RESOLUTION = {"bfloat16": 2.0**-9, "float32": 1e-6}


@dataclass(frozen=True, slots=True)
class Outcome:
    """effect: relative distance of an output to the unedited program's, in errors of the unedited program, of the output with
    the largest; None if the edited program does not run. noise: that error. flagged: `--check` failed."""

    model: str
    language: str
    edit: edits.Edit
    effect: float | None
    noise: float
    flagged: bool

    @property
    def changes(self) -> bool:
        return self.effect is not None and self.effect > 1.0

    @property
    def missed(self) -> bool:
        return self.edit.wrong and self.changes and not self.flagged

    @property
    def false_alarm(self) -> bool:
        return not self.edit.wrong and self.effect is not None and self.flagged


def run_model(name: str, languages: Sequence[str], wrong: int, harmless: int, root: Path) -> Iterator[Outcome]:
    from alchemist import codegen_cpp, codegen_py

    model, args, kwargs = build(name)
    python = codegen_py(model, *args, export_path=root / name / "py", overwrite=True, **kwargs).path
    text = (python / "main.py").read_text()
    chosen = edits.chosen(text, MODELS[name][0], wrong * 8 // 5, harmless * 8 // 5)
    for language in languages:
        if language == "py":
            runs = in_python(name, python, text, chosen, root / name)
        else:
            cpp = codegen_cpp(model, *args, export_path=root / name / "cpp", overwrite=True, **kwargs).path
            runs = in_cpp(name, cpp, chosen, root / name)
        # Some edits do not apply or do not run: of those that do, the first `wrong` and `harmless` count.
        left = {True: wrong, False: harmless}
        noise = max(noise_of(entry, name) for entry in manifest(python)["outputs"].values())
        for edit, effect, flagged in runs:
            if effect is not None and left[edit.wrong]:
                left[edit.wrong] -= 1
                yield Outcome(name, language, edit, effect, noise, flagged)


def manifest(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "manifest.json").read_text())
    return found


def noise_of(entry: dict[str, Any], model: str) -> float:
    """The unedited program's error, or what the data type resolves."""
    return max(_RESOLUTION[MODELS[model][0]], entry["unedited_rel_l2"] or 0.0)


def distance(model: str, directory: Path, values: Path, unedited: Path) -> float | None:
    """The largest relative L2 distance of an output in its noise, infinity for NaN where there was none; None without outputs."""
    found = []
    for entry in manifest(directory)["outputs"].values():
        file = f"{entry['stem']}.npy"
        if not (values / file).exists():
            return None
        a, u = np.load(values / file).astype(np.float64), np.load(unedited / file).astype(np.float64)
        if a.shape != u.shape or not np.isfinite(a).all():
            return float("inf")
        size = float(np.linalg.norm(u))
        moved = float(np.linalg.norm(a - u)) / size if size else float(np.abs(a).max(initial=0.0) > 0)
        found.append(moved / noise_of(entry, model))
    return max(found)


# --------------------------------------------------------------------------------------------------------------- Python


class PythonRunner:
    """Runs edited programs one after another in one process (`python -m ttnn_shim worker`)."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, program: Path, arguments: Sequence[str]) -> int:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "ttnn_shim", "worker"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._process.stdout is not None
            self._process.stdout.readline()  # its folder
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"program": str(program), "arguments": list(arguments), "card": "n150"}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        return int(json.loads(answer)["code"]) if answer else -1

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()


def in_python(name: str, export: Path, text: str, chosen: Sequence[edits.Edit], scratch: Path) -> Iterator[tuple[edits.Edit, float | None, bool]]:
    runner = PythonRunner()
    unedited = scratch / "py_unedited"
    assert runner.run(export / "main.py", ["--check", "--outputs", str(unedited)]) == 0, f"{export}: the unedited program fails its check"
    for edit in chosen:
        try:
            (export / "main.py").write_text(edits.apply(text, edit))
        except edits.NotApplicable:
            continue
        values = scratch / "py_values"
        shutil.rmtree(values, ignore_errors=True)
        code = runner.run(export / "main.py", ["--check", "--outputs", str(values)])
        yield edit, distance(name, export, values, unedited), code != 0
    (export / "main.py").write_text(text)
    runner.close()


# ------------------------------------------------------------------------------------------------------------------ C++


def in_cpp(name: str, export: Path, chosen: Sequence[edits.Edit], scratch: Path) -> Iterator[tuple[edits.Edit, float | None, bool]]:
    """All edited programs are compiled as one, each in a namespace of its own: the headers are read once."""
    text = (export / "model.cpp").read_text()
    programs: dict[int, str] = {-1: text}
    for number, edit in enumerate(chosen):
        try:
            programs[number] = edits.apply(text, edit)
        except (edits.NotApplicable, IndexError):
            continue
    binary = compiled(export, programs, scratch)
    unedited = scratch / "cpp_unedited"
    assert run_binary(binary, -1, unedited) == 0, f"{export}: the unedited program fails its check"
    for number, edit in enumerate(chosen):
        if number in programs:
            values = scratch / "cpp_values"
            shutil.rmtree(values, ignore_errors=True)
            code = run_binary(binary, number, values)
            yield edit, distance(name, export, values, unedited), code != 0


def run_binary(binary: Path, number: int, values: Path) -> int:
    environment = os.environ | {"EDIT": str(number), "TTNN_SHIM_CARD": "n150"}
    return subprocess.run([str(binary), "--check", "--outputs", str(values)], env=environment, capture_output=True, check=False).returncode


def compiled(export: Path, programs: dict[int, str], scratch: Path) -> Path:
    """The binary; edits that do not compile are taken out of `programs`."""
    import ttnn_shim

    (scratch / "cpp_build").mkdir(exist_ok=True)
    source, build = export / "model.cpp", scratch / "cpp_build"
    head, _, caller = (export / "main.cpp").read_text().partition("int main(")
    assert head and caller
    (export / "main.cpp").write_text("")
    interface = "".join(line for line in (export / "model.hpp").read_text().splitlines(keepends=True) if not line.startswith("#"))
    run = f"int run({caller}"
    for _ in range(6):
        source.write_text(all_in_one(programs, interface, run))
        project = export / "CMakeLists.txt"
        command = ["cmake", "-S", str(export), "-B", str(build), "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -fmax-errors=0"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path}
        assert project.exists()
        subprocess.run([*command, f"-DTT-NN_DIR={ttnn_shim.cmake_dir()}"], check=True, capture_output=True, env=environment)
        done = subprocess.run(["cmake", "--build", str(build), "--target", "main"], capture_output=True, text=True, check=False, env=environment)
        if done.returncode == 0:
            return build / "main"
        broken = {int(number) for number in re.findall(r"edit_(\d+)\.cpp:\d+:\d+: (?:fatal )?error", done.stdout + done.stderr)}
        assert broken, (done.stdout + done.stderr)[-3000:]
        for number in broken:
            programs.pop(number, None)
    raise RuntimeError(f"{export}: the edited programs do not compile")


def all_in_one(programs: dict[int, str], interface: str, run: str) -> str:
    """One source: the headers of the unedited program, then each program in a namespace, then a main that picks by $EDIT.

    interface, run: model.hpp and main() as text, for each of the namespaces.
    """
    head, _, _ = programs[-1].partition("namespace model {\n")
    head = "\n".join(line for line in head.split("\n") if line != '#include "model.hpp"')
    parts = ["#include <cstdlib>\n#include <string>\n", *(f'#include "{name}"\n' for name in edits.HEADERS), head]
    for number, text in programs.items():
        label = f"edit_{number}" if number >= 0 else "unedited"
        body = "namespace model {\n" + text.partition("namespace model {\n")[2]
        parts.append(f'namespace {label} {{\n#line 1 "{label}.cpp"\n{interface}{body}{run}\n}}  // namespace {label}\n')
    cases = [f'    if (edit == "{number}") return {f"edit_{number}" if number >= 0 else "unedited"}::run(argc, argv);\n' for number in programs]
    parts.append('#line 1 "pick.cpp"\nint main(int argc, char** argv) {\n    const std::string edit = std::getenv("EDIT");\n')
    return "".join([*parts, *cases, "    return 99;\n}\n"])


# ---------------------------------------------------------------------------------------------------------------- table


def table(outcomes: Sequence[Outcome]) -> str:
    out = ["| model | language | unedited error | wrong edits | change more than it | caught | harmless edits | false alarms |\n"]
    out.append("|---|---|---:|---:|---:|---:|---:|---:|\n")
    keys = list(dict.fromkeys((one.model, one.language) for one in outcomes))
    total = [0] * 5
    for model, language in keys:
        rows = [one for one in outcomes if (one.model, one.language) == (model, language)]
        numbers = counts(rows)
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        wrong, changing, caught, harmless, alarms = numbers
        out.append(f"| {model} | {language} | {rows[0].noise:.1e} | {wrong} | {changing} | {caught} | {harmless} | {alarms} |\n")
    wrong, changing, caught, harmless, alarms = total
    out.append(f"| all | | | {wrong} | {changing} | {caught} ({100 * caught / max(changing, 1):.1f} %) | {harmless} | {alarms} |\n\n")
    out.append("| edit | runs | change more than the unedited error | caught |\n|---|---:|---:|---:|\n")
    for kind in sorted({one.edit.kind for one in outcomes if one.edit.wrong}):
        runs, changing, caught, _, _ = counts([one for one in outcomes if one.edit.kind == kind and one.edit.wrong])
        out.append(f"| {kind} | {runs} | {changing} | {caught} |\n")
    harmless_kinds = sorted({one.edit.kind for one in outcomes if not one.edit.wrong})
    out.append(f"\n| harmless edits |\n|---|\n| {', '.join(harmless_kinds)} |\n")
    wrong_verdicts = [one for one in outcomes if one.missed or one.false_alarm]
    if wrong_verdicts:
        out.append("\nNot as they should be:\n\n")
    for one in wrong_verdicts:
        what = "missed" if one.missed else "false alarm"
        out.append(f"- {what}: {one.model} ({one.language}), {one.edit}: moves the output by {one.effect:.2g} times the unedited error\n")
    return "".join(out)


def read_rows(file: Path) -> list[Outcome]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [Outcome(**(row | {"edit": edits.Edit(**row["edit"])})) for row in rows]


def counts(rows: Sequence[Outcome]) -> list[int]:
    """Wrong edits, those that change the output by more than the unedited error, those of them caught; harmless edits, false alarms."""
    wrong, harmless = [one for one in rows if one.edit.wrong], [one for one in rows if not one.edit.wrong]
    changing = [one for one in wrong if one.changes]
    return [len(wrong), len(changing), sum(one.flagged for one in changing), len(harmless), sum(one.false_alarm for one in harmless)]


def write_docs(text: str) -> None:
    before = DOCS.read_text().partition("## Mutation table\n")[0].rstrip("\n")
    intro = (
        "Edits of emitted programs as `tests/check/edits.py` makes them, each on the unedited source, a fixed sample of those that apply and run. An edit counts as one that\n"
        "changes the mathematics when it moves an output, as `--outputs` writes it, by more than the unedited program's own error. Edits below that are within\n"
        "the rounding of the program: an activation on values that are all positive, a constant that hardly matters.\n"
    )
    DOCS.write_text(f"{before}\n\n## Mutation table\n\n{_MARK}\n{intro}\n{text}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.check.mutations", description="The mutation table of `./run --check`.")
    parser.add_argument("--models", default=",".join(MODELS), help=f"of {', '.join(MODELS)}")
    parser.add_argument("--languages", default="py,cpp")
    parser.add_argument("--wrong", type=int, default=40, metavar="N", help="wrong edits a model and language (40)")
    parser.add_argument("--harmless", type=int, default=20, metavar="N", help="harmless edits a model and language (20)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep the outcomes here; what is there is not run again")
    parser.add_argument("--write", action="store_true", help="write the table into docs/lab/check.md")
    parser.add_argument("--verbose", action="store_true", help="a line for each edit")
    options = parser.parse_args()
    models, languages = options.models.split(","), options.languages.split(",")
    outcomes = read_rows(options.rows) if options.rows and options.rows.exists() else []
    done = {(one.model, one.language) for one in outcomes}
    with tempfile.TemporaryDirectory(prefix="mutations-") as root:
        for language, name in ((language, name) for language in languages for name in models):
            if (name, language) in done:
                continue
            (Path(root) / name).mkdir(exist_ok=True)
            for one in run_model(name, [language], options.wrong, options.harmless, Path(root)):
                outcomes.append(one)
                if options.verbose or one.missed or one.false_alarm:
                    state = "missed" if one.missed else "false alarm" if one.false_alarm else "flagged" if one.flagged else "passed"
                    print(f"{one.model} {one.language} {state}: {one.edit}, moves the output by {one.effect:.2g} errors", flush=True)
            if options.rows:
                options.rows.write_text("".join(json.dumps(asdict(one)) + "\n" for one in outcomes))
            print(f"{name} in {language}: done", file=sys.stderr, flush=True)
    outcomes.sort(key=lambda one: (list(MODELS).index(one.model), one.language != "py"))
    text = table(outcomes)
    print(text)
    if options.write:
        write_docs(text)
    _, changing, caught, _, alarms = counts(outcomes)
    return 0 if caught >= 0.95 * changing and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
