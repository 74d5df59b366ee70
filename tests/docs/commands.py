"""Commands that Markdown pages name, and what is wrong with one: an unknown program, target, option or file. Nothing is run.

Taken from a page: blocks of `sh`, lines of `console` blocks after `$ `, indented lines that begin with a known program, and inline code that does.
Commands of users are read by their own parsers; those of developers' modules must name a module whose source has each option.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from ttnn_shim.command_line import CommandParser

from alchemist import cli
from alchemist.driver import opt
from alchemist.errors import AlchemistError
from alchemist.ttrt import cli as ttrt
from ttnn_shim import __main__ as simulator

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PROGRAM = r"(?:(?:python3?|pip|make|alchemist|tt-alchemist|ttrt|ttmlir-opt|ttmlir-translate|source|pytest)|\./\S*run)(?= |$)"
COMMAND = re.compile(rf"(?:[A-Z][A-Z_]*=\S* )*{PROGRAM}")
ASSIGNMENT = re.compile(r"([A-Z][A-Z_]*)=\S*")
FILE_OF_BLOCK = re.compile(r"(?:#|//) (\w+\.\w+)\n")
BUILTINS = ("cd", "source", "export")


@dataclass(frozen=True)
class Command:
    """Words of one command. whole: from a block of commands; otherwise from running text, which may leave out required arguments."""

    text: str
    whole: bool


class Accepted(BaseException):
    """The parser took all words."""


def commands(text: str) -> Iterator[Command]:
    """All commands of a Markdown text."""
    for language, body in FENCE.findall(text):
        if language == "sh":
            yield from (Command(line, True) for line in body.replace("\\\n", " ").splitlines() if line.strip())
        elif language == "console":
            yield from (Command(line[2:], True) for line in body.splitlines() if line.startswith("$ "))
    prose = FENCE.sub("", text)
    for line in prose.splitlines():
        if line.startswith("    ") and COMMAND.match(line.strip()):
            yield Command(line.strip(), True)
    for code in INLINE.findall(prose):
        if COMMAND.match(code):
            yield Command(code, False)


def complaint(command: Command, files: frozenset[str] = frozenset()) -> str:
    """What is wrong with a command, or "". files: what blocks of the page write, by name."""
    text = re.sub(r"<\((.*?)\)", r"; \1", command.text)  # what the shell runs for `source <(...)` is one more command
    text = re.sub(r"\S*<[a-z ]+>|\[|\]|\.\.\.", " ", text) if "pip install" not in text else text  # placeholders, and marks of optional words
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    simple: list[list[str]] = [[]]
    try:
        words = list(lexer)
    except ValueError as error:
        return str(error)
    redirected = False
    for word in words:
        if set(word) <= set("|&;"):
            simple.append([])
        elif set(word) <= set("<>"):
            redirected = True
        elif redirected:
            redirected = False
        else:
            simple[-1].append(word)
    return next((said for words in simple if (said := _simple(words, command.whole, files))), "")


def _simple(words: list[str], whole: bool, files: frozenset[str]) -> str:
    words = words[words[:1] == ["!"] :]
    while words and (assignment := ASSIGNMENT.fullmatch(words[0])):
        if not re.search(rf"\b{assignment[1]}\b", _product_text()):
            return f"no variable {assignment[1]}"
        words = words[1:]
    if not words:
        return ""
    program, *arguments = words
    if program in ("python", "python3"):
        return _python(arguments, whole, files)
    if program == "make":
        return next((f"no target {word}" for word in arguments if "=" not in word and word not in _targets()), "")
    if program == "pip":
        asked = {extra for word in arguments if (found := re.fullmatch(r"\.\[(.*)\]", word)) for extra in found[1].split(",")}
        return "".join(f"no extra {extra}" for extra in sorted(asked - _extras()))
    if program.endswith("run") and program.startswith("./"):
        return _unknown(arguments, _run_options())
    if program in _scripts():
        return _read_by_parser(program, arguments, whole)
    if program in BUILTINS or shutil.which(program) or program in ("git", "pytest"):
        return ""
    return f"no program {program}"


def _python(arguments: list[str], whole: bool, files: frozenset[str]) -> str:
    if arguments[:1] == ["-c"]:
        return _compiled(arguments[1])
    if arguments[:2] == ["-m", "ttnn_shim"]:
        return _read_by_parser("ttnn_shim", arguments[2:], whole)
    if arguments[:2] == ["-m", "venv"]:
        return ""
    if arguments[:1] == ["-m"]:
        path = ROOT / arguments[1].replace(".", "/")
        sources = [path.with_suffix(".py")] if path.with_suffix(".py").is_file() else sorted(path.glob("__main__.py"))
        sources += sorted((ROOT / "ttnn_shim/python").glob(arguments[1].replace(".", "/") + ".py"))
        options = arguments[2:]
        if arguments[1] == "tools.NAME":
            return ""
        if not sources:
            return f"no module {arguments[1]}"
    else:
        if arguments[0] in files or (not whole and "/" not in arguments[0]):
            return ""
        sources, options = [ROOT / arguments[0]], arguments[1:]
        if not sources[0].is_file():
            return f"no file {arguments[0]}"
    known = set(re.findall(r"""(?<![\w-])--[a-z][a-z-]*""", sources[0].read_text()))
    return _unknown(options, known)


def _compiled(source: str) -> str:
    try:
        compile(source, "page", "exec")
    except SyntaxError as error:
        return str(error)
    return ""


def _unknown(arguments: list[str], known: set[str]) -> str:
    return next((f"no option {word}" for word in arguments if word.startswith("-") and len(word) > 1 and word.partition("=")[0] not in known), "")


def _read_by_parser(program: str, words: list[str], whole: bool) -> str:
    """What the program's own parser says of the words; it is left as soon as it has read them."""
    if not words or (program == "ttnn_shim" and words in (["worker"], ["price-calls"])):  # these read standard input, without a parser
        return ""
    if not whole and len(words) == 1:
        words = [*words, "--help"]
    mains = {"ttnn_shim": simulator.main, "ttrt": ttrt.main, "ttmlir-opt": lambda words: cli.main(["opt", *words])}
    main = mains.get(program, (lambda words: cli.main(["translate", *words])) if program == "ttmlir-translate" else cli.main)
    parse, parse_opt = CommandParser.parse_args, opt.parse_arguments

    def parsed(self: CommandParser, args: list[str] | None = None, namespace: None = None) -> None:
        parse(self, args, namespace)
        raise Accepted

    def parsed_opt(arguments: list[str]) -> None:
        parse_opt(arguments)
        raise Accepted

    said = io.StringIO()
    with mock.patch.object(CommandParser, "parse_args", parsed), mock.patch.object(opt, "parse_arguments", parsed_opt):
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                code = main(words)
            except Accepted:
                return ""
            except (AlchemistError, SystemExit) as ended:
                code = ended.code if isinstance(ended, SystemExit) else str(ended)
    text = said.getvalue()
    if not code or (not whole and re.search("arguments? .*required", text)):
        return ""
    return f"{program}: {(text.strip() or str(code)).splitlines()[-1]}"


@functools.cache
def _targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@functools.cache
def _project() -> dict[str, dict[str, list[str]]]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def _extras() -> set[str]:
    return set(_project()["optional-dependencies"])


def _scripts() -> set[str]:
    return set(_project()["scripts"])


@functools.cache
def _run_options() -> set[str]:
    """Options of `./run` in both languages, from the branches that read them."""
    found: set[str] = set()
    for name in ("run_py.j2", "run_cpp.j2"):
        for branch in re.findall(r"^ {4}(-[^)\n]*)\)", (ROOT / "templates/project" / name).read_text(), re.MULTILINE):
            found |= set(branch.split(" | "))
    return found


@functools.cache
def _product_text() -> str:
    names = subprocess.run(["git", "ls-files", "alchemist", "ttnn_shim", "templates", "Makefile"], cwd=ROOT, capture_output=True, text=True, check=True)
    return "\n".join((ROOT / name).read_text() for name in names.stdout.split() if Path(name).suffix in (".py", ".cpp", ".hpp", ".j2"))
