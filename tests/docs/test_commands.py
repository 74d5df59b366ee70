"""Every command that a page names exists, with its options; the README's are run (the pages' in a fresh environment: test_pages.py)."""

from __future__ import annotations

import dataclasses
import difflib
import re
import subprocess
from pathlib import Path

from alchemist.options import WITHOUT_EFFECT, CompilerOptions
from tests.docs.commands import FENCE, FILE_OF_BLOCK, ROOT, Command, commands, complaint
from tests.docs.sessions import ended
from tests.tables import table

INVENTED = ('alchemist opt FILE --drop-double-floor="most=2"',)  # the pass that alchemist/passes/README.md adds as an example
LEFT_OUT = ("CHANGELOG.md",)  # older versions' commands
PAGES = [
    name for name in subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split() if name not in LEFT_OUT
]


@table("name", PAGES)
def test_commands_exist_with_their_options(name: str) -> None:
    text = (ROOT / name).read_text()
    files = frozenset(found[1] for _, body in FENCE.findall(text) if (found := FILE_OF_BLOCK.match(body)))
    wrong = [f"{command.text}: {said}" for command in commands(text) if command.text not in INVENTED and (said := complaint(command, files))]
    assert wrong == []


OPTIONS = (*(field.name for field in dataclasses.fields(CompilerOptions)), *WITHOUT_EFFECT)


def misspelt_options(text: str) -> list[str]:
    """Words in backticks that are nearly the name of a compiler option."""
    words = {word for quoted in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"(?<![\w.])[a-z]+(?:_[a-z0-9]+)+(?![\w(.])", quoted)}
    return [f"{word}: {near[0]}?" for word in sorted(words.difference(OPTIONS)) if (near := difflib.get_close_matches(word, OPTIONS, 1, 0.88))]


@table("name", PAGES)
def test_options_are_called_as_they_are(name: str) -> None:
    assert misspelt_options((ROOT / name).read_text()) == []


def test_a_misspelt_option_is_found() -> None:
    assert misspelt_options("`optimization_level` and `tensor_l1_usage_cup` (0.95), `other_name`") == ["tensor_l1_usage_cup: tensor_l1_usage_cap?"]


@table("name", PAGES)
def test_blocks_are_valid_source(name: str) -> None:
    """Python compiles (fragments of a function or a table too), and bash can read its blocks."""
    for language, body in FENCE.findall((ROOT / name).read_text()):
        if language in ("py", "python") and not body.startswith(" "):
            compile(body, name, "exec")
        if language == "sh":
            text = re.sub(r"<[a-z ]+>", "PLACEHOLDER", body)
            done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


@table(
    "text, said",
    [
        ("./mlp/run --chek", "no option --chek"),
        ("python mpl.py", "no file mpl.py"),
        ("alchemist doctr", "invalid choice: 'doctr'"),
        ("alchemist generate-python model.mlir -o out --optimisation-level 2", "unrecognized arguments"),
        ("alchemist opt x.mlir --ttir-to-ttnn-backend-pipline", "--ttir-to-ttnn-backend-pipeline"),
        ("ttrt query --crd n300", "unrecognized arguments"),
        ("python -m ttnn_shim run --archh p150 main.py", "unrecognized arguments"),
        ("python -m tools.zoo.against CHECKOUT", "no module tools.zoo.against"),
        ("python -m tools.zoo.run --levl 2", "no option --levl"),
        ("make dmo", "no target dmo"),
        ("pip install '.[torhc]'", "no extra torhc"),
        ("TTNN_SHIM_NUMERIC=tensix ./run", "no variable TTNN_SHIM_NUMERIC"),
        ("source <(alchemist completion bsh)", "invalid choice: 'bsh'"),
        ("alchemist show a.mlir && alchmist doctor", "no program alchmist"),
    ],
)
def test_a_misspelt_command_is_found(text: str, said: str) -> None:
    assert said in complaint(Command(text, True))


def test_the_readmes_commands_run(tmp_path: Path) -> None:
    """All of "Use it": the file that it shows is written, its commands run (in a shell and a fresh environment: test_pages.py)."""
    text = (ROOT / "README.md").read_text()
    _, _, use_it = text.partition("\n## Use it\n")
    (python, source), (shell, lines) = FENCE.findall(use_it.partition("\n## ")[0])
    assert (python, shell) == ("python", "sh")
    found = FILE_OF_BLOCK.match(source)
    assert found is not None
    (tmp_path / found[1]).write_text(source)
    for line in lines.splitlines():
        code, said = ended(line, tmp_path)
        assert code == 0, f"{line}\n{said}"
    assert (tmp_path / "report" / "report.html").is_file()
