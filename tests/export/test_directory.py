"""The export directory appears whole or not at all, and edits are never lost silently."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from alchemist.errors import ExportDirectoryError, OptionError
from alchemist.export import workspace
from alchemist.export.directory import MANIFEST, edited_files, export_target, exporting, file_sha256, read_manifest
from alchemist.export.filesystem import clone, exchange, is_mount_point


def make_export(path: Path, text: str = "x = 1\n", *, overwrite: bool = False) -> None:
    with exporting(path, overwrite=overwrite) as staging:
        (staging / "main.py").write_text(text)
        (staging / "tensors").mkdir()
        (staging / "tensors" / "w.tensorbin").write_bytes(b"weights")
        files = {name: {"size_bytes": (staging / name).stat().st_size, "sha256": file_sha256(staging / name)} for name in ("main.py", "tensors/w.tensorbin")}
        (staging / MANIFEST).write_text(json.dumps({"files": files}))


def test_unedited_export_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    make_export(target)
    make_export(target, "x = 2\n")
    assert (target / "main.py").read_text() == "x = 2\n"
    assert sorted(path.name for path in target.parent.iterdir()) == ["out"]


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda d: (d / "main.py").write_text("x = 3\n"), "main.py"),
        (lambda d: (d / "tensors/w.tensorbin").write_bytes(b"weighty"), "tensors/w.tensorbin"),
        (lambda d: (d / "main.py").unlink(), "main.py"),
        (lambda d: (d / "notes.txt").write_text("mine"), "notes.txt"),
        (lambda d: (d / "build/simulator").mkdir(parents=True) or (d / "build/notes.txt").write_text("mine"), "build/notes.txt"),
        (
            lambda d: (d / "build/simulator").mkdir(parents=True) or (d / "build/simulator/my.cpp").write_text("mine"),
            "build/simulator/my.cpp",
        ),
        (lambda d: os.mkfifo(d / "pipe"), "pipe"),
        (lambda d: os.mkfifo(d / "main.pyc"), "main.pyc"),
        (lambda d: (d / "plans" / "empty").mkdir(parents=True), "plans/empty/"),
        (lambda d: (d / "mine").symlink_to("main.py"), "mine"),
        (lambda d: (d / "sub").mkdir() or (d / "sub" / MANIFEST).write_text("mine"), f"sub/{MANIFEST}"),
        (lambda d: (d / ".results").write_text("../*\n/etc/*\nnotes.txt/\n") and (d / "notes.txt").write_text("mine"), "notes.txt"),
    ],
    ids=["edited", "same-size", "deleted", "added", "in-build", "in-simulator", "pipe", "pipe-2", "empty", "link", "manifest", "outside"],
)
def test_edited_export_is_kept(tmp_path: Path, edit, named: str) -> None:
    target = tmp_path / "out"
    make_export(target)
    edit(target)
    with pytest.raises(ExportDirectoryError, match=named):
        make_export(target, "x = 2\n")
    manifest = read_manifest(target)
    assert manifest is not None
    assert edited_files(target, manifest) == [named]
    make_export(target, "x = 2\n", overwrite=True)
    assert (target / "main.py").read_text() == "x = 2\n"


def test_pycache_and_build_are_not_edits(tmp_path: Path) -> None:
    target = tmp_path / "out"
    make_export(target)
    for name in (
        "__pycache__/x",
        "build/simulator/CMakeCache.txt",
        "build/simulator/CMakeFiles/deep/x.o",
        "build/device/main",
        "build/simulator/place.cpp",
        "build/simulator/libmodel_place.a",
        "build/Makefile",
    ):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text("")
    (target / "build" / "simulator" / "CMakeFiles" / "empty").mkdir()
    make_export(target)


def test_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with exporting(tmp_path / "out", overwrite=False) as staging:
            (staging / "main.py").write_text("")
            raise KeyError("model")

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_failure_keeps_the_old_export(tmp_path: Path) -> None:
    make_export(tmp_path / "out")
    with pytest.raises(KeyError), exporting(tmp_path / "out", overwrite=False):
        raise KeyError("model")
    assert (tmp_path / "out" / "main.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("shape", ["file", "inside-file", "foreign-directory"])
def test_bad_paths(tmp_path: Path, shape: str) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "precious").write_text("precious")
    target = {"file": "file", "inside-file": "file/deep/out", "foreign-directory": "foreign"}[shape]
    with pytest.raises(ExportDirectoryError) as caught:
        make_export(tmp_path / target)
    assert caught.value.hint
    assert (tmp_path / "file").read_text() == "precious"
    assert (tmp_path / "foreign" / "precious").read_text() == "precious"


# ------------------------------------------------------------------------------------------------- places of many kinds


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_an_empty_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from alchemist.cli import main

    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="empty"):
        export_target("")
    (tmp_path / "add.mlir").write_text("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }")
    assert main(["generate-python", "add.mlir", "-o", ""]) != 0
    assert names(tmp_path) == ["add.mlir"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_current_directory_keeps_its_inode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    inode = here.stat().st_ino
    for text in ("x = 1\n", "x = 2\n"):
        make_export(Path("."), text, overwrite=overwrite)
        assert (here / "main.py").read_text() == text
        assert names(here) == ["main.py", MANIFEST, "tensors"]
    assert here.stat().st_ino == inode
    assert names(tmp_path) == ["here"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_current_directory_with_other_things_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "precious").write_text("")
    monkeypatch.chdir(inner)
    for path in ("..", str(tmp_path)):
        with pytest.raises(ExportDirectoryError):
            make_export(Path(path), overwrite=overwrite)
    assert names(tmp_path) == ["inner", "precious"]


def test_a_link_stays_and_its_directory_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data")
    for text in ("x = 1\n", "x = 2\n"):
        make_export(tmp_path / "link", text)
        assert (tmp_path / "data" / "main.py").read_text() == text
    assert os.readlink(tmp_path / "link") == "data"
    assert names(tmp_path) == ["data", "link"]
    (tmp_path / "nowhere").symlink_to("missing")
    with pytest.raises(ExportDirectoryError, match="broken symbolic link"):
        make_export(tmp_path / "nowhere")


def test_a_mount_point_gets_new_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for a mount (tools/faults mounts a real one): such a directory cannot be renamed."""
    target = tmp_path / "mounted"
    (target / "lost+found").mkdir(parents=True)
    for module in ("directory", "workspace"):
        monkeypatch.setattr(f"alchemist.export.{module}.is_mount_point", lambda path: path == target)
    for text in ("x = 1\n", "x = 2\n"):
        make_export(target, text)
        assert (target / "main.py").read_text() == text
    assert names(target) == ["lost+found", "main.py", MANIFEST, "tensors"]


def test_created_parents_go_with_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyError), exporting(tmp_path / "a" / "b" / "out", overwrite=False):
        raise KeyError("model")
    assert names(tmp_path) == []


def make_foreign(path: Path) -> None:
    path.mkdir()
    (path / "precious").write_text("")


def test_what_appears_meanwhile_is_not_lost(tmp_path: Path) -> None:
    make_export(tmp_path / "out")
    with pytest.raises(ExportDirectoryError, match=r"edited files: main\.py"), exporting(tmp_path / "out", overwrite=False):
        (tmp_path / "out" / "main.py").write_text("precious")
    with pytest.raises(ExportDirectoryError, match="not an export"), exporting(tmp_path / "new", overwrite=False):
        make_foreign(tmp_path / "new")
    assert (tmp_path / "out" / "main.py").read_text() == "precious"
    assert names(tmp_path) == ["new", "out"]


def test_results_and_the_environment_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "out"
    make_export(target)
    for name in ("report/report.html", "values/y.npy", "result.json", ".venv/pyvenv.cfg", ".venv/bin/python"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(name)
    (target / ".results").write_text("report/report.html\nvalues/*.npy\nresult.json\nmain.py\n")
    make_export(target, "x = 2\n")
    assert (target / "main.py").read_text() == "x = 2\n"
    assert (target / "report" / "report.html").read_text() == "report/report.html"
    assert (target / ".venv" / "bin" / "python").stat().st_nlink == 1
    make_export(target)
    assert {"report", "values", "result.json", ".venv", ".results"} <= set(names(target))
    (target / "report" / "notes.txt").write_text("mine")
    with pytest.raises(ExportDirectoryError, match=r"report/notes\.txt"):
        make_export(target)


def test_a_current_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is there, for the directory to be compared with."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for text in ("x = 1\n", "x = 2\n"):
        make_export(tmp_path / "out", text)
    assert (tmp_path / "out" / "main.py").read_text() == "x = 2\n"
    make_foreign(tmp_path / "foreign")
    make_export(tmp_path / "foreign", overwrite=True)
    assert names(tmp_path) == ["foreign", "out"]


# -------------------------------------------------------------------------------------------------- errors of the system


@pytest.mark.parametrize(
    ("number", "message", "hint"),
    [
        (errno.ENOSPC, "cannot write out: No space left on device", "free some space; what was there is unchanged"),
        (errno.EDQUOT, "cannot write out: Disk quota exceeded", "free some space; what was there is unchanged"),
        (errno.EFBIG, "cannot write out: File too large", "free some space; what was there is unchanged"),
        (errno.EIO, "cannot write out: Input/output error", ""),
        (errno.EROFS, "no permission to write in ", "choose an export_path in a directory that you may write to"),
        (errno.EACCES, None, ""),  # of a file that the model reads
    ],
)
def test_errors_while_an_export_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, message: str | None, hint: str) -> None:
    monkeypatch.chdir(tmp_path)
    error = OSError(number, os.strerror(number), "elsewhere")
    with pytest.raises(OSError if message is None else ExportDirectoryError) as caught, exporting(Path("out"), overwrite=False):
        raise error
    if message is None:
        assert caught.value is error
    else:
        assert isinstance(caught.value, ExportDirectoryError)
        assert caught.value.message.startswith(message) and caught.value.hint == hint and caught.value.location == str(tmp_path / "out")
    assert names(tmp_path) == []


def test_errors_of_files_in_the_making_are_of_the_export(tmp_path: Path) -> None:
    with pytest.raises(ExportDirectoryError, match=r"cannot write .*out: No such file or directory"), exporting(tmp_path / "out", overwrite=False) as staging:
        (staging / "missing" / "main.py").write_text("")


@pytest.mark.parametrize(("number", "times"), [(errno.EEXIST, 1), (errno.ENOTEMPTY, 1), (errno.ENOTDIR, 1), (errno.EACCES, 1), (errno.EEXIST, 1000)])
def test_what_takes_the_targets_name_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, times: int) -> None:
    """Another process creates the target right before the rename, and removes it again: once is tried again, for ever is refused."""
    rename, failed = os.rename, []

    def failing(*names: Path) -> None:
        if len(failed) < times:
            failed.append(names)
            raise OSError(number, os.strerror(number), str(names[0]), None, str(names[1]))
        rename(*names)

    monkeypatch.setattr(os, "rename", failing)
    if number == errno.EACCES or times > 1:
        with pytest.raises(ExportDirectoryError, match="no permission" if times == 1 else "cannot create") as caught:
            make_export(tmp_path / "out")
        assert (caught.value.got == "Permission denied") == (times == 1)
        assert names(tmp_path) == []
    else:
        make_export(tmp_path / "out")
        assert names(tmp_path / "out") == ["main.py", MANIFEST, "tensors"]


def test_a_workspace_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(ExportDirectoryError, match="No space left"):
            make_export(tmp_path / "deep" / "out")
    assert names(tmp_path) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports work; folders of other processes stay, for nobody knows whether they live."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    (tmp_path / ".alchemist-work-aaaaaaaa").mkdir()
    monkeypatch.setattr(fcntl, "flock", refused)
    for text in ("x = 1\n", "x = 2\n"):
        make_export(tmp_path / "out", text)
    assert (tmp_path / "out" / "main.py").read_text() == "x = 2\n"
    assert names(tmp_path) == [".alchemist-work-aaaaaaaa", "out"]


def test_what_cannot_be_put_back_lies_in_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    make_export(target)
    monkeypatch.chdir(target)
    rename, done = os.rename, []

    def failing(*names: Path) -> None:
        if done:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(*names)
        done.append(names)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", failing)
        with pytest.raises(ExportDirectoryError, match=f"cannot put back {target}: Input/output error") as caught:
            make_export(target, "x = 2\n")
    assert caught.value.hint == "no file is lost: they are in this directory, and the next export to the same path restores them"
    assert Path(caught.value.location, "old", "main.py").read_text() == "x = 1\n"
    with pytest.raises(KeyError), exporting(target, overwrite=False):
        raise KeyError("model")
    assert names(target) == ["main.py", MANIFEST, "tensors"]


def test_two_paths_change_places(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").write_text("b")
    assert exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").read_text() == "b" and (tmp_path / "b").is_dir()
    (tmp_path / "b" / "inner").mkdir()
    assert not exchange(tmp_path / "b", tmp_path / "b" / "inner")  # what the kernel cannot do
    with pytest.raises(OSError, match="No such file") as caught:
        exchange(tmp_path / "a", tmp_path / "missing")
    assert (caught.value.filename, caught.value.filename2) == (str(tmp_path / "a"), str(tmp_path / "missing"))


@pytest.mark.parametrize("shares", [False, True])
def test_clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: bool) -> None:
    """A stand-in for the file system's call, which Btrfs and XFS have."""

    def ioctl(target: int, request: int, source: int) -> None:
        assert request == 0x40049409  # FICLONE of linux/fs.h
        if not shares:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        os.write(target, os.read(source, 100))

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    (tmp_path / "a").write_text("a")
    assert clone(tmp_path / "a", tmp_path / "b") is shares
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "a", **({"b": "a"} if shares else {})}
    (tmp_path / "c").write_text("c")
    assert clone(tmp_path / "a", tmp_path / "c") is False
    assert (tmp_path / "c").read_text() == "c"


def test_mount_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bind mounts of the same file system stand in the kernel's list alone, where blanks and backslashes have octal digits."""
    assert is_mount_point(Path("/proc")) and not is_mount_point(tmp_path)
    mounted = tmp_path / "a b\\c"
    mounted.mkdir()
    written = os.fsencode(tmp_path) + rb"/a\040b\134c"
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"22 1 0:1 / " + written + b" rw - ext4 /dev/x rw\n1 2 3 4\nshort\n")
    assert is_mount_point(mounted) and not is_mount_point(tmp_path)

    def hidden(path: Path) -> bytes:
        raise PermissionError

    monkeypatch.setattr(Path, "read_bytes", hidden)
    assert is_mount_point(Path("/proc")) and not is_mount_point(mounted)


# ------------------------------------------------------------------------------------------------------ interrupted steps


@pytest.fixture
def without_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "exchange", lambda first, second: False)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.EIO, "broken")])
@pytest.mark.parametrize("step", range(1, 9))
def test_an_error_between_two_renames_restores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_exchange: None, step: int, error: BaseException, in_place: bool
) -> None:
    target = tmp_path / "out"
    make_export(target)
    monkeypatch.chdir(target if in_place else tmp_path)
    rename, done = os.rename, []

    def failing(*names: Path) -> None:
        rename(*names)
        done.append(names)
        if len(done) == step:
            raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", failing)
        try:
            make_export(target, "x = 2\n")
        except (KeyboardInterrupt, ExportDirectoryError):
            moved_whole = not in_place and step == 2  # behind the last rename: the new one is complete
            assert (target / "main.py").read_text() == ("x = 2\n" if moved_whole else "x = 1\n")
        else:
            assert len(done) < step
    assert names(target) == ["main.py", MANIFEST, "tensors"]
    assert names(tmp_path) == ["out"]


_KILLED = """
import os, sys
from pathlib import Path
from alchemist.export import workspace
sys.path.insert(0, {tests!r})
from test_directory import make_export
workspace.exchange = lambda first, second: False
rename, count = os.rename, 0
def killing(*names):
    global count
    count += 1
    if count == {step}:
        os.kill(os.getpid(), 9)
    rename(*names)
os.rename = killing
make_export(Path({target!r}), "x = 2\\n")
"""


@pytest.mark.parametrize(("in_place", "step"), [(False, 1), (False, 2), (True, 2), (True, 4), (True, 6)])
def test_a_kill_between_two_renames_is_undone_by_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool, step: int) -> None:
    target = tmp_path / "out"
    make_export(target)
    script = _KILLED.format(tests=str(Path(__file__).parent), step=step, target=str(target))
    done = subprocess.run([sys.executable, "-c", script], cwd=target if in_place else tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    monkeypatch.chdir(target if in_place and target.exists() else tmp_path)
    with pytest.raises(KeyError), exporting(target, overwrite=False):  # a start that comes to nothing is enough
        raise KeyError("model")
    assert (target / "main.py").read_text() == "x = 1\n"
    assert names(target) == ["main.py", MANIFEST, "tensors"]
    assert names(tmp_path) == ["out"]


def test_workspaces_of_living_exports_and_strangers_stay(tmp_path: Path) -> None:
    (tmp_path / ".alchemist-work-notes").mkdir()
    (tmp_path / ".alchemist-work-aaaaaaaa").mkdir()
    (tmp_path / ".alchemist-work-aaaaaaaa" / "mine").write_text("")
    (tmp_path / ".alchemist-work-bbbbbbbb").mkdir()
    with exporting(tmp_path / "first", overwrite=False) as staging:
        make_export(tmp_path / "second")
        assert staging.is_dir()
        (staging / MANIFEST).write_text("{}")
    assert names(tmp_path) == [".alchemist-work-aaaaaaaa", ".alchemist-work-notes", "first", "second"]


@pytest.mark.parametrize(
    ("state", "phase", "stays"),
    [
        ('{"target": "out"}', "", False),
        ("", "", False),  # killed before it was written
        ("{", "", False),
        ("[]", "", False),
        ("", "beside", True),  # nobody can say where it belongs
        ("{", "beside", True),
        ('{"target": ".."}', "beside", True),
        ('{"target": "a/b"}', "beside", True),
        ('{"target": "a\\u0000b"}', "beside", True),
        ('{"target": 3}', "beside", True),
        ('{"target": "out"}', "beside", False),
    ],
)
def test_workspaces_of_killed_exports(tmp_path: Path, state: str, phase: str, stays: bool) -> None:
    folder = tmp_path / ".alchemist-work-aaaaaaaa"
    (folder / "old").mkdir(parents=True)
    (folder / "old" / "precious").write_text("")
    (folder / "workspace.json").write_text(state)
    if phase:
        (folder / "phase").write_text(phase)
    make_export(tmp_path / "other")
    back = phase and not stays
    assert names(tmp_path) == [*([folder.name] if stays else []), *(["other", "out"] if back else ["other"])]
    assert (tmp_path / "out" / "precious").exists() == bool(back)
    assert (folder / "old" / "precious").exists() == stays


def test_two_writers_of_one_path(tmp_path: Path) -> None:
    with exporting(tmp_path / "out", overwrite=False) as staging:
        make_export(tmp_path / "out")
        make_export(tmp_path / "out", "x = 2\n")
        (staging / MANIFEST).write_text(json.dumps({"files": {}}))
    assert names(tmp_path / "out") == [MANIFEST]
    assert names(tmp_path) == ["out"]


def test_ctrl_c_waits_for_the_step_to_end() -> None:
    reached = []

    def work() -> None:
        with workspace.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached
