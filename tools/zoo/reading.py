"""How emitted programs read: lines, loops, names, and what level 2 makes of level 0's program.

    python -m tools.zoo.reading [--texts DIR] [NAME[@LEVEL] ...]

One row per model and level. loops: loops, of these and of runs of three or more calls of one function that stand written out. numbers: variables and
parameters that end in a number or begin with an ordinal which the source does not have, and functions and constants that are counted. ops: variables
called after an op. results: calls with several results whose names are those that the function returns, or those that the source assigns, or the former
with a word more (`cross_attention_key_states`, `cell_l0_reverse`), where a function is called for two. longer: lines beside those of level 0. Models are small in width; flags, caches and depths are the library's defaults, but at most four layers.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program, model
from alchemist.program.names import ORDINALS
from alchemist.program.walk import bound_by
from tools.zoo.names import names_of, words_of

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]
_NUMBERED = re.compile(r"_\d+$")
WRITTEN_OUT = 3
"""Calls of one function side by side that should be a loop."""


def _transformer(name: str, sizes: dict[str, Any], *, mask: bool = False, image: int = 0, decoder: bool = False) -> Callable[[], Built]:
    """A class of transformers with its default flags."""

    def build() -> Built:
        import torch
        import transformers

        kind: Any = getattr(transformers, name)
        module = kind(kind.config_class(**sizes)).eval()
        if image:
            return module, (torch.randn(1, 3, image, image),), {}
        ids = torch.randint(0, 256, (1, 32))
        if decoder:
            return module, (), {"input_ids": ids, "decoder_input_ids": ids[:, :16]}
        return module, (ids,), {"attention_mask": torch.ones_like(ids)} if mask else {}

    return build


def _zoo(name: str) -> Callable[[], Built]:
    def build() -> Built:
        from models.tables import table

        return table()[name][1]()

    return build


_TEXT = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 256, "max_position_embeddings": 128}
_GROUPED = {**_TEXT, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_GPT2 = {"n_embd": 128, "n_layer": 4, "n_head": 4, "vocab_size": 256, "n_positions": 128, "bos_token_id": 1, "eos_token_id": 2}
_T5 = {"d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 4, "num_heads": 4, "vocab_size": 256, "decoder_start_token_id": 0}
_VIT = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "image_size": 64}
MODELS: dict[str, Callable[[], Built]] = {
    "llama": _transformer("LlamaForCausalLM", _GROUPED),
    "qwen3": _transformer("Qwen3ForCausalLM", {**_GROUPED, "head_dim": 32}),
    "gpt2": _transformer("GPT2LMHeadModel", _GPT2),
    "bert": _transformer("BertModel", _TEXT, mask=True),
    "bert_states": _transformer("BertModel", {**_TEXT, "output_hidden_states": True, "output_attentions": True, "attn_implementation": "eager"}),
    "t5": _transformer("T5ForConditionalGeneration", _T5, decoder=True),
    "vit": _transformer("ViTModel", _VIT, image=64),
    **{
        name: _zoo(name)
        for name in (
            "lstm bilstm gru_bf16 kv_cache_step resnet convnext unet detr whisper mixtral swin nnx_gpt_bf16 nnx_vit linen_moe jax_sgd_step "
            "torch_transformer_training_step jax_transformer_training_step"
        ).split()
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    """What is counted of one program. framework: of the model."""

    lines: int
    loops: int
    written_out: int
    numbers: tuple[str, ...]
    variables: int
    ops: tuple[str, ...]
    results: int
    equal_results: int
    unequal: tuple[str, ...]


def measured(build: Callable[[], Built], levels: Sequence[int] = (0, 2), texts: Path | None = None, name: str = "") -> dict[int, Row]:
    """The model's program at each level."""
    import emit_py
    from alchemist.pipeline import detect_framework

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, args, kwargs = build()
        result = capture(module, args, kwargs, detect_framework(module, args, kwargs))
        rows = {}
        for level in levels:
            options = CompilerOptions(optimization_level=level)
            program = build_program(lower_to_ttnn(result.module.clone(), options).module, result, options)
            text = emit_py.emit(program)["main.py"]
            if texts is not None:
                texts.mkdir(parents=True, exist_ok=True)
                (texts / f"{name}{level}.py").write_text(text)
            names = names_of(program, result)
            loops, written_out = _loops(program)
            rows[level] = Row(
                lines=text.count("\n"),
                loops=loops,
                written_out=written_out,
                numbers=tuple(_numbered(program, words_of(result))),
                variables=names.variables,
                ops=tuple(names.after_ops.elements()),
                **_results(program, words_of(result)),
            )
    return rows


def _bodies(program: model.Program) -> list[tuple[model.Statement, ...]]:
    bodies = [function.body for function in program.functions]
    for body in bodies:
        bodies += [one.body for one in body if isinstance(one, model.Loop | model.NameLoop | model.RowLoop | model.If)]
    return bodies


def _loops(program: model.Program) -> tuple[int, int]:
    """Loops, and runs of calls of one function that stand written out."""
    loops = written_out = 0
    for body in _bodies(program):
        loops += sum(isinstance(one, model.Loop | model.NameLoop | model.RowLoop) for one in body)
        calls = [one.function for one in body if isinstance(one, model.CallFunction)]
        run = 0
        for index, name in enumerate(calls):
            run = run + 1 if index and calls[index - 1] == name else 1
            written_out += run == WRITTEN_OUT
    return loops, written_out


def _numbered(program: model.Program, known: set[str]) -> list[str]:
    """Of variables and parameters, functions and constants."""
    found = [constant.name for constant in program.constants if _NUMBERED.search(constant.name)]
    for function in program.functions:
        made = {parameter.name for parameter in function.parameters} | {name for one in model.statements(function.body) for name in bound_by(one)}
        found += [f"{function.name}: {name}" for name in sorted(made - known) if _NUMBERED.search(name) or name.partition("_")[0] in ORDINALS]
        if _NUMBERED.search(function.name) and _NUMBERED.sub("", function.name) in {
            other.name for other in program.functions
        }:  # `lstm_cell_2` beside `lstm_cell`; `layer_2` is a place
            found.append(f"{function.name}()")
    return found


def _results(program: model.Program, known: set[str]) -> dict[str, Any]:
    """Calls of functions with several results: on how many both sides have the same names; "_" is a result that is not used. known: words of the source."""
    returned: dict[str, list[str]] = {}
    for function in program.functions:
        final = function.body[-1] if function.body else None
        if isinstance(final, model.Return):
            returned[function.name] = [value.name if isinstance(value, model.TensorRef) else "" for value in final.values]
    calls = [one for function in program.functions for one in model.statements(function.body) if isinstance(one, model.CallFunction)]
    seen, unequal = 0, []
    for call in calls:
        names = returned.get(call.function, [])
        if len(call.results) < 2 or len(names) != len(call.results):
            continue
        seen += 1
        if any(here not in {"_", *known} and not _says(str(here), there) for here, there in zip(call.results, names, strict=True)):
            unequal.append(f"{call.function}: {', '.join(map(str, call.results))} of {', '.join(names)}")
    return {"results": seen, "equal_results": seen - len(unequal), "unequal": tuple(unequal)}


def _says(here: str, there: str) -> bool:
    return there in ("", here) or here.startswith(f"{there}_") or here.endswith(f"_{there}")


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.zoo.reading", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME[@LEVEL]", help=", ".join(MODELS))
    parser.add_argument("--texts", type=Path, metavar="DIR", help="keep the programs there")
    options = parser.parse_args(words)
    chosen: dict[str, list[int]] = {}
    for word in options.names or MODELS:
        name, _, level = word.partition("@")
        if name not in MODELS:
            parser.error(f"no model {name!r}; there are {', '.join(MODELS)}")
        chosen.setdefault(name, []).extend([int(level)] if level else [0, 2])
    print(f"{'model':16}{'lines':>6}{'longer':>8}{'loops':>8}{'numbers':>9}{'ops':>10}{'results':>9}")
    for name, levels in chosen.items():
        rows = measured(MODELS[name], levels, options.texts, name)
        for level, row in rows.items():
            longer = f"{row.lines / rows[0].lines:.2f}x" if level and 0 in rows else ""
            ops, loops, results = f"{len(row.ops)}/{row.variables}", f"{row.loops}/{row.loops + row.written_out}", f"{row.equal_results}/{row.results}"
            print(f"{f'{name}@{level}':16}{row.lines:6}{longer:>8}{loops:>8}{len(row.numbers):9}{ops:>10}{results:>9}", flush=True)
            for what in (*row.numbers[:6], *row.unequal[:3]):
                print(f"    {what}")
            if row.ops:
                print(f"    ops: {', '.join(sorted(set(row.ops))[:12])}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
