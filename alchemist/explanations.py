"""What every error code means: `alchemist explain CODE`, and docs/errors.md (`alchemist explain --markdown`)."""

from __future__ import annotations

import difflib
import textwrap
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True, slots=True)
class Explanation:
    """title: in a few words. cause: when it is raised. example: a message as it is printed. remedy: what to do."""

    title: str
    cause: str
    example: str
    remedy: str


EXPLANATIONS: dict[str, Explanation] = {
    "ALC-0000": Explanation(
        "an error of alchemist without a code of its own",
        "The base of all errors; nothing is raised with it.",
        "error[ALC-0000] ...",
        "Seeing it is a bug in alchemist: please report it with its text.",
    ),
    "ALC-0100": Explanation(
        "the input cannot be handled",
        "The input is not a model, an export or a program of alchemist.",
        "error[ALC-0100] no main.py in out\n  at out\n  hint: pass the directory that codegen_py wrote",
        "The hint says what was expected. For a directory: the one that codegen_py or generate-python made.",
    ),
    "ALC-0101": Explanation(
        "a bad option",
        "An unknown compiler option or argument, a value it does not take, or two that contradict each other.",
        "error[ALC-0101] unknown compiler option 'math_fidelty'\n  expected one of arch, disable, ..., wide_sum_terms\n"
        "  hint: did you mean 'math_fidelity' or 'math_approx_mode'?",
        "`alchemist options` lists all options with their values (docs/options.md).",
    ),
    "ALC-0102": Explanation(
        "arguments of the wrong kind, shape or dtype",
        "The model's arguments, or those of `load_codegen_py`, are not what the model or the export takes.",
        "error[ALC-0102] argument x differs from the argument at export\n  expected float32 [32, 64]\n  got float32 [16, 64]\n"
        "  hint: export again for these arguments",
        "Shapes and dtypes are fixed at export: give such arguments, or export again with the new ones.",
    ),
    "ALC-0103": Explanation(
        "a file is not there",
        "A path on the command line or in a call names nothing.",
        "error[ALC-0103] no such file\n  at model.mlir\n  hint: check the path",
        "Check the path; relative ones count from the current directory.",
    ),
    "ALC-0104": Explanation(
        "a file cannot be read or written",
        "A directory in a file's place, missing permissions, a full disk, a name that is too long.",
        "error[ALC-0104] --json: no directory results\n  at results/out.json\n  hint: create the directory first",
        "The hint describes the remedy. alchemist checks output paths before it starts, so no work is lost.",
    ),
    "ALC-0105": Explanation(
        "not enough memory",
        "The host's memory does not hold the tensors of this step.",
        "error[ALC-0105] the input needs more memory than the host has\n  hint: make the input smaller",
        "A smaller batch, fewer layers, bfloat16 weights; `./run --estimate` needs no tensors at all.",
    ),
    "ALC-0110": Explanation(
        "the model cannot be captured",
        "A branch or a shape depends on values, or a framework feature has no static form.",
        "error[ALC-0110] the model branches on tensor values\n  at model.py:12\n  got Could not guard on data-dependent expression ...\n"
        "  hint: every shape and branch must be known at export: use torch.cond, torch.where, fixed loop counts and Python numbers",
        "Put the branch into `torch.cond`, `torch.where` or `jax.lax.cond`, or move it out of the model; call the model's inner part (docs/bring_a_model.md).",
    ),
    "ALC-0111": Explanation(
        "ops without a rule",
        "Some ops of the framework, or of TTIR text, have no form here. All of them are listed at once, with their source lines.",
        "error[ALC-0111] 1 ATen op has no rule\n  hint: replace these ops in the model, or add a rule in alchemist/frontends/torch/rules\n"
        "  aten.geqrf.default  x1  at model.py:12: no rule and no decomposition",
        "Write the line with other ops, or split the model there and compute that part on the host. `alchemist ops` lists what is supported.",
    ),
    "ALC-0200": Explanation(
        "the module is not valid",
        "MLIR text that parses, but whose types, operands or attributes do not fit the op.",
        "error[ALC-0200] ttir.add: operands cannot be broadcast: [[64, 128], [63, 128]]\n  at model.mlir:2:8",
        "Mend the line; `alchemist opt FILE` checks a file and lists all errors.",
    ),
    "ALC-0300": Explanation(
        "no TTNN form",
        "MLIR text holds what a step cannot turn into the other dialect: TTIR in a binary, a TTNN op without a TTIR op, a cut that no placement makes.",
        "error[ALC-0300] ttir.exp: a binary contains only TTNN\n  at model.mlir:2:8\n  hint: run ttmlir-opt --ttir-to-ttnn-backend-pipeline first",
        "Do what the hint says, or replace the op at that line. (Ops without any TTNN form are listed together, under ALC-0111.)",
    ),
    "ALC-0400": Explanation(
        "the module cannot be written as source",
        "TTNN text without layouts, with an op that has no call, or that reads a tensor it has freed.",
        "error[ALC-0400] ttnn.neg: an op reads a tensor after its ttnn.deallocate\n  got argument input_tensor\n  hint: move the deallocate after the last use",
        "Mend the line, or give TTIR text and let alchemist lower it.",
    ),
    "ALC-0500": Explanation(
        "the export directory cannot be made or replaced",
        "It holds other files or an edited export, is in use, or may not be written.",
        "error[ALC-0500] /home/me/out has edited files: main.py\n  at /home/me/out\n"
        "  hint: choose another export_path to keep your edits, or pass overwrite=True to discard them",
        "Another `export_path`; `overwrite=True` (`--overwrite`) when what is there may go.",
    ),
    "ALC-0510": Explanation(
        "a damaged tensor file",
        "A `.npy` file, or a `.tensorbin` that alchemist itself reads, is truncated, garbled, or holds no numbers. (One that a program loads: SHIM-0004.)",
        "error[ALC-0510] not a .npy file, or a damaged one\n  at inputs/x.npy\n  got EOF: ...\n"
        "  hint: save it again: np.save(file, np.ascontiguousarray(values, dtype=np.float32))",
        "Write it again (`numpy.save(file, array, allow_pickle=False)`), or export again.",
    ),
    "ALC-0511": Explanation(
        "no binary of tt-mlir, or a damaged one",
        "A `.ttnn` or `.ttsys` file is truncated, contains an offset beyond its end, or is another kind of file: text, JSON, a `.ttm`.",
        "error[ALC-0511] this is JSON\n  at model.ttnn: byte 0\n  expected a TTNN binary (.ttnn)\n"
        "  hint: `ttrt query --save-artifacts` writes a .ttsys, `ttmlir-translate --ttnn-to-flatbuffer` a .ttnn",
        "Copy or write the file again; the hint says which command writes such a file.",
    ),
    "ALC-0600": Explanation(
        "a program or package is missing",
        "This step needs something that is not installed: the simulator, a framework, a Python for the real ttnn.",
        "error[ALC-0600] the simulator is not installed\n  hint: install the wheel, or run `make` in a clone",
        "Install what the hint names; `alchemist doctor` lists everything with its state.",
    ),
    "ALC-0601": Explanation(
        "a program ended with an error",
        "An emitted, perhaps edited, program stopped: an op or keyword that TT-NN does not have, a weight's name that is not there, an error of its own.",
        "error[ALC-0601] ttnn.linear: no parameter 'activatoin'\n  at main.py:95 in block: up = ttnn.linear(\n"
        "  called from main.py:115 in gpt (i = 0), main.py:131 in main\n  hint: did you mean activation?",
        "The first place is the line to mend, what follows is how the program came there. `ALCHEMIST_TRACEBACK=1 ./run` prints Python's own traceback as well.",
    ),
    "ALC-0700": Explanation(
        "malformed text",
        "MLIR text that does not parse, or that is nested too deeply.",
        "error[ALC-0700] expected a type\n  at model.mlir:1:18\n  got tensr<2x2xf32>) -> tensor<2x2xf32> {",
        "Mend the text at file:line:column.",
    ),
    "ALC-0900": Explanation(
        "a bug in alchemist",
        "A state that should not be possible.",
        "error[ALC-0900] KeyError: 'x'\n  hint: a bug in alchemist, please report it; ALCHEMIST_TRACEBACK=1 on the command line shows where",
        "Please report it with its text. Leaving passes out (`enable_fusing=false`) often goes around it.",
    ),
    "SHIM-0001": Explanation(
        "TT-NN refuses a call",
        "Shapes, dtypes, layouts or values that the op does not take; the real library refuses them too (TT_FATAL).",
        "error[SHIM-0001] ttnn.permute: dim: expected -5 to 4 for rank 5, got 9\n  at main.py:42 in attention",
        "Mend the call at that line.",
    ),
    "SHIM-0002": Explanation(
        "the simulator does not have it",
        "Legal TT-NN that the simulator does not implement, or an argument without a kernel.",
        "error[SHIM-0002] ttnn.conv3d: groups > 1\n  at main.py:60 in stem",
        "Another form of the call, or a run on a card (`./run --device`).",
    ),
    "SHIM-0003": Explanation(
        "the chip's memory is full",
        "Tensors and circular buffers need more L1 or DRAM than the card has.",
        "error[SHIM-0003] ttnn.zeros: Out of Memory: Not enough space to allocate 536870912 B L1 buffer across 64 banks, ...\n  at main.py:88 in mlp\n"
        "  hint: move the tensor to DRAM (ttnn.DRAM_MEMORY_CONFIG) or deallocate others first",
        "Keep large tensors in DRAM (`memory_config`), delete what is not needed any more (`del`), smaller blocks in a program config.",
    ),
    "SHIM-0004": Explanation(
        "a tensor file of the program is missing or damaged",
        "A file in `tensors/` does not have the size or content that its header says.",
        "error[SHIM-0004] ttnn.load_tensor: '/home/me/out/tensors/weight.tensorbin' is not a tensor file or is truncated: header of 376 bytes in 100\n"
        "  at consteval.py:16 in prepare: ...",
        "Export again, or restore the file.",
    ),
    "SHIM-0005": Explanation(
        "a bug in the simulator",
        "A state that should not be possible.",
        "error[SHIM-0005] ttnn.add: ...",
        "Please report it with its text and the line of the program.",
    ),
}


def find(code: str) -> tuple[str, Explanation] | None:
    """Code and entry of `ALC-0601`, `alc-0601`, `0601` or `601`; None where there is none."""
    wanted = code.strip().upper().removeprefix("ERROR").strip("[]")
    number = wanted.rjust(4, "0")
    for name in (wanted, f"ALC-{number}", f"SHIM-{number}"):
        if name in EXPLANATIONS:
            return name, EXPLANATIONS[name]
    return None


def near(code: str) -> list[str]:
    """Codes that look like it."""
    return difflib.get_close_matches(code.upper(), EXPLANATIONS, n=3, cutoff=0.6)


def text(code: str, entry: Explanation) -> str:
    """For a terminal."""
    example = "\n".join(f"    {line}" for line in entry.example.splitlines())
    return f"{code}: {entry.title}\n\n{entry.cause}\n\n{example}\n\nWhat to do: {entry.remedy}"


def listing() -> str:
    """One line per code."""
    return "\n".join(f"{code:10} {entry.title}" for code, entry in EXPLANATIONS.items())


def markdown() -> str:
    """docs/errors.md."""
    wrapped = partial(textwrap.fill, width=100, break_long_words=False, break_on_hyphens=False)
    parts = [
        "# Errors",
        "",
        wrapped(
            "Written by `alchemist explain --markdown` (`make docs`); `alchemist explain CODE` prints one. Every message has the same shape: code, op, what is "
            "wrong, the place, what was expected, what was there, a hint. Codes that begin with ALC are of the compiler and of emitted programs, SHIM of the "
            "simulator, which raises RuntimeError with TT_FATAL in a script of yours, as TT-NN does. Without a code: wrong arguments of a command, and what "
            "`./run` says of its own (`run: ...`)."
        ),
    ]
    for code, entry in EXPLANATIONS.items():
        parts += ["", f"## {code}: {entry.title}", "", wrapped(entry.cause), "", "```text", entry.example, "```", "", wrapped(entry.remedy)]
    return "\n".join(parts)
