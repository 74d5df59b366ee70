"""`python -m tools.faults.run`: exports under kills, full disks and in odd places; prints what is at the target afterwards.

Each trial is a process of its own that exports a small model (codegen_mlir, 3 MB of tensors) over an export of another one. "old", "new" and
"none" are good ends: a complete, unedited export, or no target where there was none before. Everything else is "broken".
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import alchemist.export.unedited as unedited
import alchemist.export.workspace as workspace
from alchemist.codegen import codegen_mlir
from alchemist.errors import AlchemistError
from alchemist.export.directory import edited_files, exporting, read_manifest

SOURCE = """func.func @{name}(%x: tensor<1024x768xf32>) -> tensor<1024x768xf32> {{
  %0 = "ttir.{name}"(%x) : (tensor<1024x768xf32>) -> tensor<1024x768xf32>
  return %0 : tensor<1024x768xf32>
}}
"""
OLD, NEW = "relu", "neg"
CLEANUP_S = 60.0  # most that the simulator's process of a killed export may take to end, on a busy machine


@dataclass
class Row:
    """One line of the table. ends: how often the target was old, new, none, broken; left: trials with something left behind."""

    fault: str
    ends: Counter[str] = field(default_factory=Counter)
    left: int = 0
    note: str = ""

    @property
    def good(self) -> bool:
        return not self.ends["broken"] and not self.left

    def __str__(self) -> str:
        counts = [str(self.ends[end]) for end in ("old", "new", "none", "broken")]
        return f"| {self.fault} | {sum(self.ends.values())} | {' | '.join(counts)} | {self.left} | {self.note} |"


HEADER = "| fault | trials | old | new | none | broken | left behind | |\n|---|---|---|---|---|---|---|---|"


class Bench:
    """A folder with the two models and trials in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "tmp"
        self.scratch.mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(self.scratch)  # what exports leave there counts, too
        unedited.shutdown_worker()
        for name in (OLD, NEW):
            (folder / f"{name}.mlir").write_text(SOURCE.format(name=name))
        codegen_mlir(folder / f"{OLD}.mlir", export_path=folder / "warm")  # imports and caches are in the parent, children are forks
        start = time.perf_counter()
        codegen_mlir(folder / f"{OLD}.mlir", export_path=folder / "warm")
        self.export_s = time.perf_counter() - start
        self.count = 0

    def place(self) -> Path:
        self.count += 1
        place = self.folder / f"trial{self.count}"
        place.mkdir()
        return place

    def close(self) -> None:
        unedited.shutdown_worker()
        tempfile.tempdir = None
        del os.environ["TMPDIR"]

    def remains(self) -> int:
        """Folders of killed exports among the temporary files, once the processes that clean up had their time."""
        known = Path(unedited._WORKERS._folder).name
        deadline = time.monotonic() + CLEANUP_S
        while (found := {name for name in os.listdir(self.scratch) if name != known}) and time.monotonic() < deadline:
            time.sleep(0.1)
        for name in found:
            shutil.rmtree(self.scratch / name, ignore_errors=True)
        return len(found)

    def export(self, name: str, target: Path) -> None:
        codegen_mlir(self.folder / f"{name}.mlir", export_path=target)

    def child(self, name: str, target: Path, prepare: Callable[[], None] = lambda: None) -> int:
        """Forks a process that exports `name` to `target`; exit code 0: done, 1: refused, 130: interrupted, 9: anything else."""
        pid = os.fork()
        if pid:
            return pid
        code = 9
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            prepare()
            self.export(name, target)
            code = 0
        except AlchemistError:
            code = 1
        except KeyboardInterrupt:
            code = 130
        finally:
            os._exit(code)


def state(target: Path) -> str:
    """old, new, none or broken."""
    if not os.path.lexists(target) or (target.is_dir() and not [name for name in os.listdir(target) if not workspace.is_workspace(name)]):
        return "none"
    manifest = read_manifest(target)
    if manifest is None or edited_files(target, manifest):
        return "broken"
    return "old" if f"ttnn.{OLD}(" in (target / "main.py").read_text() else "new"


def next_start(target: Path) -> None:
    """An export to the same place that comes to nothing."""
    with contextlib.suppress(KeyError), exporting(target, overwrite=False):
        raise KeyError("comes to nothing")


def judge(row: Row, target: Path, expected: set[str], *, names: set[str], before_start: bool = False) -> None:
    """Counts a trial. before_start: a killed process may leave its workspace until the next export."""
    end = state(target)
    if before_start:
        next_start(target)
        end = state(target) if end in ("none", "broken") or state(target) != end else end
    row.ends[end if end in expected else "broken"] += 1
    left = {name for name in os.listdir(target.parent) if name not in names}
    left |= {name for name in (os.listdir(target) if target.is_dir() else ()) if workspace.is_workspace(name)}
    row.left += bool(left)


def kills(bench: Bench, count: int, number: signal.Signals, *, first: bool, seed: int) -> Row:
    """Kills at random moments of the whole export."""
    row = Row(f"{number.name} at a random moment, {'first export' if first else 're-export'}")
    draw = random.Random(seed)
    place = bench.place()
    target = place / "out"
    ended = 0
    for _ in range(count):
        if first:
            subprocess.run(["rm", "-rf", str(target)], check=True)
        elif state(target) != "old":
            bench.export(OLD, target)
        pid = bench.child(NEW, target)
        time.sleep(draw.uniform(0.0, 1.2) * bench.export_s)
        os.kill(pid, number)
        done = wait(pid) == 0
        ended += done
        bench.export_s *= 0.95 if done else 1.05  # the machine may be busier now than at the start
        judge(row, target, {"none" if first else "old", "new"}, names={"out"}, before_start=number == signal.SIGKILL)
    row.left += bench.remains()
    row.note = f"{ended} ended before the signal"
    return row


def windows(bench: Bench, way: str, number: signal.Signals) -> Row:
    """The signal right before and right behind each step that moves something."""
    row = Row(f"{number.name} around each step, {way}")
    for step in range(1, 60):
        place = bench.place()
        target = place / "out"
        bench.export(OLD, target)
        reached, writes = os.pipe()

        def prepare(step: int = step, writes: int = writes, target: Path = target) -> None:
            if way == "in place":
                os.chdir(target)
            unedited._obstacle = lambda _: "left out: no step of it moves anything"  # a second in each of a hundred trials
            count = 0

            def around(function: Callable[..., object]) -> Callable[..., object]:
                def stepped(*arguments: object) -> object:
                    nonlocal count
                    for moment in ("before", "behind"):
                        result = function(*arguments) if moment == "behind" else None
                        count += 1
                        if count == step:
                            os.write(writes, b"x")
                            os.kill(os.getpid(), number)
                    return result

                return stepped

            os.rename = around(os.rename)  # type: ignore[assignment]
            workspace.exchange = around(workspace.exchange if way == "exchange" else lambda *_: False)  # type: ignore[assignment]
            workspace._remove = around(workspace._remove)  # type: ignore[assignment]

        pid = bench.child(NEW, target, prepare)
        os.close(writes)
        os.waitpid(pid, 0)
        happened = bool(os.read(reached, 1))
        os.close(reached)
        if not happened:
            break
        judge(row, target, {"old", "new"}, names={"out"}, before_start=number == signal.SIGKILL)
    row.left += bench.remains()
    return row


@contextlib.contextmanager
def mounted(target: Path, *options: str) -> Iterator[bool]:
    """A tmpfs at `target`, as far as this user may."""
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(target)], capture_output=True, check=False)
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(target)], check=False)


def wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def full_disk(bench: Bench, trials: int) -> list[Row]:
    limit = Row("file size limit reached while writing")
    place = bench.place()
    bench.export(OLD, place / "out")
    for trial in range(trials):
        bytes_ = 1000 + trial * 3_200_000 // trials
        pid = bench.child(NEW, place / "out", lambda bytes_=bytes_: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_)))
        refused = wait(pid) == 1
        judge(limit, place / "out", {"old"} if refused else {"new"}, names={"out"})
        bench.export(OLD, place / "out")
    full = Row("full disk (tmpfs)")
    for trial in range(trials):
        place = bench.place()
        with mounted(place, "-o", "size=64m") as permitted:
            if not permitted:
                full.note = "mount not permitted: not tried"
                break
            bench.export(OLD, place / "out")
            free = os.statvfs(place)
            (place / "filler").write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - trial * 7_000_000 // trials)))
            refused = wait(bench.child(NEW, place / "out")) == 1
            judge(full, place / "out", {"old"} if refused else {"new"}, names={"out", "filler"})
    return [limit, full]


def places(bench: Bench) -> list[Row]:
    rows = []
    readonly = Row("read-only file system")
    place = bench.place()
    with mounted(place, "-o", "size=64m") as permitted:
        if permitted:
            bench.export(OLD, place / "out")
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
            for target in (place / "out", place / "new"):
                refused = wait(bench.child(NEW, target)) == 1
                judge(readonly, target, {"old" if target.name == "out" else "none"} if refused else set(), names={"out"})
        else:
            readonly.note = "mount not permitted: not tried"
    rows.append(readonly)

    mount = Row("target is a mount point")
    for kill in (None, *range(12)):
        target = bench.place() / "out"
        target.mkdir()
        with mounted(target, "-o", "size=64m") as permitted:
            if not permitted:
                mount.note = "mount not permitted: not tried"
                break
            bench.export(OLD, target)
            pid = bench.child(NEW, target)
            if kill is not None:
                time.sleep(bench.export_s * (0.5 + kill / 20))
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            judge(mount, target, {"new"} if kill is None else {"old", "new"}, names={"out"}, before_start=kill is not None)
    rows.append(mount)

    link = Row("target is a link to a directory")
    place = bench.place()
    (place / "data").mkdir()
    (place / "out").symlink_to("data")
    for name, end in ((OLD, "old"), (NEW, "new")):
        done = wait(bench.child(name, place / "out")) == 0 and (place / "out").is_symlink()
        judge(link, place / "out", {end} if done else set(), names={"out", "data"})
    rows.append(link)
    return rows


def writers(bench: Bench, rounds: int) -> Row:
    row = Row("two writers of one target at once")
    target = bench.place() / "out"
    refused = 0
    for _ in range(rounds):
        codes = [wait(pid) for pid in [bench.child(name, target) for name in (OLD, NEW)]]
        refused += sum(code != 0 for code in codes)
        judge(row, target, {"old", "new"} if not any(codes) else set(), names={"out"})
    row.note = f"{refused} writers refused"
    return row


def table(kill_count: int, folder: Path, seed: int = 0) -> list[Row]:
    """Every row, printed with its time as it comes."""
    bench = Bench(folder)
    rows: list[Row] = []
    start = time.monotonic()

    def add(*new: Row) -> None:
        nonlocal start
        rows.extend(new)
        for row in new:
            print(row, flush=True)
        print(f"    {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        start = time.monotonic()

    try:
        for offset, (number, first) in enumerate([(signal.SIGKILL, False), (signal.SIGINT, False), (signal.SIGKILL, True), (signal.SIGINT, True)]):
            add(kills(bench, kill_count // 4, number, first=first, seed=seed + offset))
        for way in ("exchange", "two renames", "in place"):
            for number in (signal.SIGKILL, signal.SIGINT):
                add(windows(bench, way, number))
        add(*full_disk(bench, max(4, kill_count // 20)))
        add(*places(bench))
        add(writers(bench, max(4, kill_count // 10)))
    finally:
        bench.close()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="kills at random moments (default 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", type=Path, metavar="FILE", help="also write the table there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = table(options.kills, Path(folder), options.seed)
    text = "\n".join([HEADER, *map(str, rows)])
    if options.docs:
        head = (
            "# Exports under faults\n\nWritten by `python -m tools.faults.run --docs docs/lab/faults.md`. Each trial exports one model over the export of another"
            " while something goes wrong.\nold / new: that export is there, complete (every file by its hash, none added); none: no target, as before. Left"
            " behind: anything else in the\nplace, for SIGKILL after the next export there has started.\n\n"
        )
        options.docs.write_text(head + text + "\n")
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
