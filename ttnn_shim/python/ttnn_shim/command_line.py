"""What the command lines of the simulator and of alchemist share."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from typing import Any, NoReturn

from ttnn_shim.errors import bounded, printable

_MOST_CHARACTERS = 1500


def can_be_passed(argument: str) -> bool:
    """Whether the operating system takes the text as an argument or a path: a caller within Python may have given what a shell cannot."""
    try:
        return b"\0" not in os.fsencode(argument)
    except UnicodeEncodeError:
        return False


class CommandParser(argparse.ArgumentParser):
    """argparse repeats arguments that it does not know in full; here what it says stays short, and names switches that are near."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        parsed, unknown = self.parse_known_args(words, namespace)
        if unknown:
            commands = {name: parser for action in self._actions if isinstance(action.choices, dict) for name, parser in action.choices.items()}
            command = next((commands[word] for word in words if word in commands), self)
            switches = [option for action in command._actions for option in action.option_strings]
            near = [close for word in unknown if word.startswith("-") for close in difflib.get_close_matches(word.partition("=")[0], switches, n=1)]
            command.error(f"unrecognized arguments: {' '.join(unknown)}" + (f" (did you mean {', '.join(near)}?)" if near else ""))
        return parsed

    def error(self, message: str) -> NoReturn:
        super().error(bounded(message, _MOST_CHARACTERS))


def complain(command: str, message: object) -> None:
    """A line on stderr about what a command cannot do; an error of the system repeats paths as long as they are."""
    print(f"{command}: {bounded(printable(str(message)), _MOST_CHARACTERS)}", file=sys.stderr)
