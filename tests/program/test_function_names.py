"""Functions of one class are told apart by where their modules stand and what these have."""

from __future__ import annotations

import pytest

from alchemist.program import model
from alchemist.program.function_names import tell_apart

CASES: dict[str, tuple[dict[str, tuple[str, str]], dict[str, str]]] = {  # function -> (paths, weights read) -> new names
    "stages, and a block with a shortcut": (
        {
            "block": ("encoder.stages.0.layers.0", "shortcut.weight layer.0.weight"),
            "block_2": ("encoder.stages.0.layers.1 encoder.stages.0.layers.2", "layer.0.weight"),
            "block_3": ("encoder.stages.1.layers.0", "shortcut.weight layer.0.weight"),
            "block_4": ("encoder.stages.1.layers.1", "layer.0.weight"),
        },
        {"block": "block_stage_0_shortcut", "block_2": "block_stage_0", "block_3": "block_stage_1_shortcut", "block_4": "block_stage_1"},
    ),
    "one word of several is enough": (
        {"conv": ("embedder.embedder", ""), "conv_2": ("encoder.stages.0.layer.0", ""), "conv_3": ("encoder.stages.2.layer.1", "")},
        {"conv": "conv_embedder", "conv_2": "conv_stage_0", "conv_3": "conv_stage_2"},
    ),
    "the first of a list": ({"layer": ("layers.0", ""), "layer_2": ("layers.1 layers.2", "")}, {"layer": "layer_first", "layer_2": "layer"}),
    "two lists, and the first of one": (
        {"twice": ("down.0", ""), "twice_2": ("down.1 down.2", ""), "twice_3": ("up.0 up.1", "")},
        {"twice": "twice_down_0", "twice_2": "twice_down_1_and_2", "twice_3": "twice_up"},
    ),
    "several elements of one list": (
        {
            "block": ("stages.0.layers.0", "shortcut.weight"),
            "block_2": ("stages.0.layers.1 stages.3.layers.1", ""),
            "block_3": ("stages.1.layers.0 stages.2.layers.0", "shortcut.weight"),
            "block_4": ("stages.1.layers.1 stages.2.layers.2", ""),
        },
        {
            "block": "block_shortcut_stage_0",
            "block_2": "block_stage_0_and_3",
            "block_3": "block_shortcut",
            "block_4": "block_stage_1_and_2",
        },
    ),
    "attributes": ({"layer": ("encoder.layers.0", ""), "layer_2": ("decoder.layers.0", "")}, {"layer": "layer_encoder", "layer_2": "layer_decoder"}),
    "elements of one list that alternate": (
        {"layer": ("layers.0 layers.2", ""), "layer_2": ("layers.1 layers.3", "")},
        {"layer": "layer_0_and_2", "layer_2": "layer_1_and_3"},
    ),
    "nothing tells them apart": ({"layer": ("layers.0 layers.1", ""), "layer_2": ("layers.0 layers.1", "")}, {}),
    "a function with another name": ({"layer": ("a.0", ""), "other": ("b.0", "")}, {}),
    "a name that is a variable's": ({"layer": ("a", ""), "layer_2": ("b", "")}, {}),
}


def function(name: str, weights: str) -> model.Function:
    calls = tuple(model.CallFunction("f", (model.WeightRef((key,)),), ("x",)) for key in weights.split())
    return model.Function(name, (), calls, 1)


@pytest.mark.parametrize("case", CASES)
def test_names(case: str) -> None:
    rows, wanted = CASES[case]
    functions = [function(name, weights) for name, (_, weights) in rows.items()]
    bases = {name: name.removesuffix("_2").removesuffix("_3").removesuffix("_4") for name in rows}
    taken = {"layer_a"} if "variable" in case else set()
    assert tell_apart(functions, {name: paths.split() for name, (paths, _) in rows.items()}, bases, taken) == wanted
