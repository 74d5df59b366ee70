"""`API.Read`, `Query`, `Run`, `Perf`, `Check`, `Emitpy`: what the command line calls, and scripts (`from ttrt.common.api import API`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from alchemist.errors import AlchemistError, InternalError, as_our_error
from alchemist.ttrt import switches
from alchemist.ttrt.files import binaries
from alchemist.ttrt.util import Artifacts, Logger, exit_code, write_results

_SUFFIXES = {"read": (".ttnn", ".ttsys"), "emitpy": (".py",)}


class _Registered:
    """A new dictionary of defaults at each access: a script changes it without changing those of others."""

    def __get__(self, instance: object, owner: type[Command]) -> dict[str, Any]:
        return switches.defaults(owner.command)


class Command:
    """One command with its arguments: a call runs it and returns (exit code, results).

    args: values by name (`registered_args` has all with their defaults), or an argparse namespace. logging, logger: a `Logger`;
    artifacts: an `Artifacts`.

    Raises:
        OptionError: an unknown argument, or a value that it does not take.
    """

    command: ClassVar[str] = ""
    registered_args = _Registered()

    def __init__(self, args: Any = None, logging: Logger | None = None, artifacts: Artifacts | None = None, *, logger: Logger | None = None) -> None:
        given: Mapping[str, Any] = args if isinstance(args, Mapping) else vars(args) if args is not None else {}
        self.values = switches.checked(self.command, given)
        self.logger = logging or logger or Logger(self.values["log-file"], quiet=self.values["quiet"])
        self.artifacts = artifacts or Artifacts(self.logger, self.values["artifact-dir"])

    def __call__(self) -> tuple[int, list[dict[str, Any]]]:
        if self.values["clean-artifacts"]:
            self.artifacts.clean()
        for line in switches.lacking(self.command, self.values):
            self.logger.logging.warning(line)
        if self.command == "query":
            results = [self._one("", lambda: _inspect().query(self.values, self.artifacts))]
        else:
            suffixes = _SUFFIXES.get(self.command, (".ttnn",))
            results = [self._one(str(path), partial(self._run, path)) for path in binaries(self.values["binary"], suffixes)]
        write_results(self.command, results, self.values["result-file"])
        return exit_code(results), results

    def _run(self, path: Path) -> dict[str, Any]:
        if self.command in ("read", "check"):
            return dict(getattr(_inspect(), self.command)(path, self.values, self.artifacts))
        from alchemist.ttrt import perf, run

        call: Callable[..., dict[str, Any]] = perf.perf if self.command == "perf" else getattr(run, self.command)
        return call(path, self.values, self.artifacts, self.logger.logging)

    def _one(self, path: str, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        row: dict[str, Any] = {
            "file_path": path, "result": "pass", "exception": "", "log_file": self.logger.file_name, "artifacts": str(self.artifacts.root),
        }  # fmt: skip
        try:
            return row | call()
        except (AlchemistError, ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
            known_error = as_our_error(error) if not type(error).__module__.startswith("ttnn_shim") else error
            if isinstance(known_error, InternalError):
                self.logger.logging.debug("internal", exc_info=error)
            self.logger.logging.error(str(known_error))
            return row | {"result": "test_error" if type(known_error).__name__ == "Differs" else "error", "exception": str(known_error)}


def _inspect() -> Any:
    from alchemist.ttrt import inspect

    return inspect


class API:
    """The commands as classes."""

    @staticmethod
    def initialize_apis() -> None:
        """Nothing to do: arguments are registered by the table of switches. Scripts call it."""

    class Read(Command):
        """`ttrt read`."""

        command = "read"

    class Query(Command):
        """`ttrt query`."""

        command = "query"

    class Run(Command):
        """`ttrt run`."""

        command = "run"

    class Perf(Command):
        """`ttrt perf`."""

        command = "perf"

    class Check(Command):
        """`ttrt check`."""

        command = "check"

    class Emitpy(Command):
        """`ttrt emitpy`."""

        command = "emitpy"
