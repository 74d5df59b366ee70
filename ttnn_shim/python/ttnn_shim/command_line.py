"""What the command lines of the simulator and of alchemist share."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from ttnn_shim.errors import bounded, printable

_MOST_CHARACTERS = 1500


def can_be_passed(argument: str) -> bool:
    """Whether the operating system takes the text as an argument or a path: a caller within Python may have given what a shell cannot."""
    try:
        return b"\0" not in os.fsencode(argument)
    except UnicodeEncodeError:
        return False


class CommandParser(argparse.ArgumentParser):
    """argparse repeats arguments that it does not know in full; here what it says stays short."""

    def error(self, message: str) -> NoReturn:
        super().error(bounded(message, _MOST_CHARACTERS))


def complain(command: str, message: object) -> None:
    """A line on stderr about what a command cannot do; an error of the system repeats paths as long as they are."""
    print(f"{command}: {bounded(printable(str(message)), _MOST_CHARACTERS)}", file=sys.stderr)
