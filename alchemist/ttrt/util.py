"""Log, artifacts and results of `ttrt`."""

from __future__ import annotations

import html
import json
import logging
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from alchemist.errors import OptionError, check_writable, file_error, printable, quoted

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_MARK = ".ttrt"  # a file in every folder that ttrt made: only such folders are cleaned


class Logger:
    """The log of a command: on stderr (level of TTRT_LOGGER_LEVEL or TTMLIR_RUNTIME_LOGGER_LEVEL, default info), and in a file.

    Raises:
        OptionError: an unknown level. FileError: a file that cannot be written.
    """

    def __init__(self, file_name: str = "", *, quiet: bool = False) -> None:
        level = (os.environ.get("TTRT_LOGGER_LEVEL") or os.environ.get("TTMLIR_RUNTIME_LOGGER_LEVEL") or "info").lower()
        if level not in _LEVELS:
            raise OptionError("bad TTRT_LOGGER_LEVEL", expected=", ".join(_LEVELS), got=quoted(level))
        self.file_name = file_name
        self.logging = logging.Logger("ttrt", _LEVELS[level])
        if not quiet:
            self.logging.addHandler(logging.StreamHandler(sys.stderr))
        if file_name:
            check_writable(file_name, "--log-file")
            file = logging.FileHandler(file_name, mode="w", encoding="utf-8", errors="backslashreplace")
            file.setFormatter(logging.Formatter("%(asctime)s - %(levelname)s - %(message)s"))
            self.logging.addHandler(file)
        for handler in self.logging.handlers:
            handler.addFilter(_printable)

    def get_logger(self) -> logging.Logger:
        return self.logging


def _printable(record: logging.LogRecord) -> bool:
    """Names and texts of binaries are not ours: control characters become escapes."""
    record.msg, record.args = printable(record.getMessage()), ()
    return True


class Artifacts:
    """The folder for what commands make: `ttrt-artifacts` below TT_MLIR_HOME, else in the current directory."""

    def __init__(self, logging: Logger | None = None, artifacts_folder_path: str | Path = "") -> None:
        self.logger = logging
        self.root = Path(artifacts_folder_path or Path(os.environ.get("TT_MLIR_HOME", ".")) / "ttrt-artifacts")

    def folder(self, *parts: str) -> Path:
        """A folder below the root, made where it is missing. Raises: FileError."""
        place = self.root.joinpath(*parts)
        try:
            place.mkdir(parents=True, exist_ok=True)
            (self.root / _MARK).touch()
        except OSError as error:
            raise file_error(error, place, "write") from None
        return place

    def clean(self) -> None:
        """Removes the artifacts of earlier commands; a folder that ttrt did not make stays. Raises: FileError, OptionError."""
        if not self.root.is_dir():
            return
        if not (self.root / _MARK).is_file():
            raise OptionError(
                "--clean-artifacts: ttrt did not create this directory",
                got=str(self.root),
                hint="remove the directory yourself, or choose another --artifact-dir",
            )
        try:
            shutil.rmtree(self.root)
        except OSError as error:
            raise file_error(error, self.root, "write") from None


def exit_code(results: Sequence[Mapping[str, Any]]) -> int:
    """0; 42 where nothing is worse than outputs that differ; 1 after an error or a skipped file."""
    kinds = {row["result"] for row in results}
    return 0 if kinds <= {"pass"} else 42 if kinds <= {"pass", "test_error"} else 1


def write_results(command: str, results: Sequence[Mapping[str, Any]], file: str = "") -> None:
    """`<command>_results.json` and `ttrt_report.xml` in the current directory. Raises: FileError."""
    target = Path(file or f"{command}_results.json")
    cases = ""
    for row in results:
        failure = "" if row["result"] == "pass" else f"<failure message={_quoted(row.get('exception', ''))}/>"
        cases += f"  <testcase classname={_quoted(command)} name={_quoted(row['file_path'])}>{failure}</testcase>\n"
    failures = sum(row["result"] != "pass" for row in results)
    report = f'<?xml version="1.0" encoding="utf-8"?>\n<testsuite name="ttrt" tests="{len(results)}" failures="{failures}">\n{cases}</testsuite>\n'
    for place, text in ((target, json.dumps(list(results), indent=2) + "\n"), (target.parent / "ttrt_report.xml", report)):
        try:
            place.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise file_error(error, place, "write") from None


def _quoted(text: object) -> str:
    """An attribute of XML."""
    return f'"{html.escape(printable(str(text)))}"'
