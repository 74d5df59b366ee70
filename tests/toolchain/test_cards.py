"""Which card a program is for: descriptor files, environment, the module's own descriptor and the option `arch`, alone and against each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from alchemist.errors import AlchemistError, OptionError
from alchemist.options import CompilerOptions
from alchemist.toolchain.cards import VARIABLES, card_of_text
from alchemist.toolchain.descriptors import descriptor

_CHIP = "arch = <{}>, grid = 8x8, l1_size = 1499136, num_dram_channels = {}, dram_channel_size = 1073741824"
_MODULE = (
    'module attributes {{ttcore.system_desc = #ttcore.system_desc<[{{role = host, target_triple = "x86_64-pc-linux"}}], [{{' + _CHIP + "}}], [{}], [1 : i32], "
    "[ 0x0x0x0]>}} {{}}"
)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def p150(tmp_path: Path) -> str:
    path = tmp_path / "p150.ttsys"
    path.write_bytes(descriptor("p150"))
    return str(path)


@pytest.mark.parametrize("card", ["n150", "n300", "p100", "p150"])
def test_a_file_chooses_the_card(tmp_path: Path, card: str) -> None:
    path = tmp_path / "x.ttsys"
    path.write_bytes(descriptor(card))
    assert CompilerOptions.from_text(f"system-desc-path={path}").card == card
    assert "system_desc_path" not in CompilerOptions.from_text(f"system-desc-path={path}").changed()


@pytest.mark.parametrize("variable", VARIABLES)
def test_the_environment_chooses_it(monkeypatch: pytest.MonkeyPatch, p150: str, variable: str) -> None:
    monkeypatch.setenv(variable, p150)
    assert CompilerOptions.parse({}).card == "p150"
    assert CompilerOptions.parse({"arch": "blackhole"}).card == "p150"
    with pytest.raises(OptionError, match=rf"{variable}.*\n.*expected n150\n.*got p150"):
        CompilerOptions.parse({"arch": "n150"})


def test_the_option_counts_before_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, p150: str) -> None:
    path = tmp_path / "n300.ttsys"
    path.write_bytes(descriptor("n300"))
    monkeypatch.setenv(VARIABLES[0], p150)
    assert CompilerOptions.from_text(f"system-desc-path={path}").card == "n300"


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AlchemistError, match="no such file"):
        CompilerOptions.from_text("system-desc-path=/nonexistent.ttsys")


@pytest.mark.parametrize(
    ("arch", "channels", "chips", "card"),
    [("wormhole_b0", 12, "0", "n150"), ("wormhole_b0", 12, "0, 1", "n300"), ("blackhole", 8, "0", "p150"), ("blackhole", 7, "0", "p100")],
)
def test_the_modules_own_descriptor_chooses_it(arch: str, channels: int, chips: str, card: str) -> None:
    assert CompilerOptions.for_module({}, _MODULE.format(arch, channels, chips)).card == card


def test_descriptors_of_2024() -> None:
    old = "module attributes {tt.system_desc = #tt.system_desc<[<#tt.arch<blackhole>, #tt.grid<8x8>>], [0], [<pcie|host_mmio>], [<0, 0, 0, 0>]>} {}"
    assert card_of_text(old) == "p150"
    assert card_of_text("// CHECK: #tt.system_desc<[<#tt.arch<blackhole>>]>\nmodule {}") == ""


def test_a_module_that_contradicts_the_options(p150: str) -> None:
    wormhole = _MODULE.format("wormhole_b0", 12, "0")
    for given in ({"arch": "p150"}, {"system_desc_path": p150}):
        with pytest.raises(OptionError, match=r"the module describes another card(.|\n)*expected p150\n.*got n150"):
            CompilerOptions.for_module(given, wormhole)


def test_a_chip_without_a_model_is_refused() -> None:
    with pytest.raises(AlchemistError, match=r"no model of the chip(.|\n)*quasar"):
        CompilerOptions.for_module({}, _MODULE.format("quasar", 4, "0"))
