"""The command `ttrt`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

from ttnn_shim.command_line import CommandParser, can_be_passed

from alchemist.errors import AlchemistError, OptionError
from alchemist.toolchain import NO_NATIVE
from alchemist.ttrt import switches
from alchemist.ttrt.api import API

STOPPED = 130
_NOT_HERE = {
    "emitc": "shared objects of tt-mlir hold a card's calls; `alchemist generate-cpp FILE.ttnn` writes the C++ and its ./run",
    "--native": NO_NATIVE,
    "--gdb": "a debugger of the card's runtime; debug the generated program: `alchemist generate-cpp`, or `python -m pdb main.py`",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0; 42 where outputs differ; 1 after any other error; 2 for a command line that cannot be read."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print("usage: ttrt COMMAND [switches] [FILE or DIR]\n")
        print("\n".join(f"  {name:8}{text}" for name, text in switches.COMMANDS.items()))
        print("\n`ttrt COMMAND --help` lists the switches. Everything runs on the simulator: no card is needed.")
        return 0 if words else 2
    try:
        if not all(map(can_be_passed, words)):
            raise OptionError("no switch or path can contain this text")
        return _run(words[0], words[1:])
    except AlchemistError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return STOPPED


def _run(command: str, words: list[str]) -> int:
    absent = next((word for word in (command, *(word for word in words if word.startswith("--"))) if word in _NOT_HERE), None)
    if absent is not None:
        raise OptionError(f"ttrt {absent} is not supported", hint=_NOT_HERE[absent])
    if command not in switches.COMMANDS:
        near = difflib.get_close_matches(command, switches.COMMANDS, n=1)
        raise OptionError(f"no command {command[:40]!r}", expected=", ".join(switches.COMMANDS), hint=f"did you mean {near[0]}?" if near else "")
    parser = CommandParser(prog=f"ttrt {command}", description=switches.COMMANDS[command], allow_abbrev=False)
    if command != "query":
        parser.add_argument("binary", metavar="FILE or DIR")
    for name, switch in switches.of(command).items():
        text = (switch.help or switch.lacks).replace("%", "%%")
        if isinstance(switch.default, bool):
            parser.add_argument(f"--{name}", action="store_true", dest=name, help=text)
        else:
            choices = "{" + ",".join(switch.choices) + "}" if switch.choices else name.upper().replace("-", "_")
            parser.add_argument(f"--{name}", *(["-o"] if name == "output" else []), dest=name, default=switch.default, metavar=choices, help=text)
    instance = getattr(API, command.capitalize())(args=vars(parser.parse_args(words)))
    code, _ = instance()
    sys.stdout.flush()
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
