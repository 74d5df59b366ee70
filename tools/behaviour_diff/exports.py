"""Forty exports of the zoo by name, `MODEL@LEVEL[:CARD][:cpp]`.

Each side's compiler makes them by its public API; HEAD's simulator prices the programs of both.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

NAMES = (
    *(f"{name}@0" for name in (
        "lenet", "resnext_bf16", "mobilenet_v3", "unet", "lstm", "gat", "conv3d", "torch_transformer_training_step", "deberta_v2", "llama_decode",
        "mixtral", "mamba", "t5", "whisper", "vit", "swin", "convnext", "clip", "nnx_gpt", "jax_scan_lstm",
    )),
    *("gpt2@1", "linen_bert@1", "resnet@1", "swin_bf16@1"),
    *(f"{name}@2" for name in (
        "bert_bf16", "llama_bf16", "llama_decode", "vit_bf16", "convnext_bf16", "resnet", "unet_bf16", "t5_bf16", "nnx_gpt_bf16", "mlp_mixer_bf16",
    )),
    *("bert_bf16@2:p150", "resnet@2:p150"),
    *("lenet@0:cpp", "bert_bf16@0:cpp", "jax_sgd_step@0:cpp", "llama_bf16@2:cpp"),
)  # fmt: skip
"""`--models N` takes N of them, spread over the list."""
_OF_EVERY_PROGRAM = re.compile(r"(check|files|mesh|report|show|utils)\.[ch]pp|gdb_printers\.py")
_SOURCES = (".py", ".cpp", ".hpp")


class Export(NamedTuple):
    model: str
    level: int
    card: str
    language: str


def parsed(name: str) -> Export:
    model, _, rest = name.partition("@")
    level, *words = (rest or "0").split(":")
    return Export(model, int(level), next((word for word in words if word != "cpp"), "n150"), "cpp" if "cpp" in words else "python")


def some(count: int) -> list[str]:
    """That many, spread over the list."""
    count = min(count, len(NAMES))
    return [NAMES[number * len(NAMES) // count] for number in range(count)]


# --- in a process of one side --------------------------------------------------------------------------------------------------------


def export_all(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A row for each name: {folder, files: {file: text}} or {refused: words} as JSON. The programs stay beside the rows' file, to be priced."""
    from alchemist import codegen_cpp, codegen_py
    from models.tables import everything

    table, folder = everything(), Path(sys.argv[2]).parent / "programs"
    for name in names:
        export = parsed(name)
        target = folder / name.replace(":", "_")
        try:
            model, args, kwargs = table[export.model][2]()
            options = {**kwargs.pop("compiler_options", {}), "optimization_level": export.level, "arch": export.card}
            make = codegen_cpp if export.language == "cpp" else codegen_py
            made = make(model, *args, export_path=target, overwrite=True, export_golden="none", compiler_options=options, **kwargs)
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            yield name, json.dumps({"refused": " ".join(f"{type(error).__name__}: {error}".split())[:400]})
            continue
        yield name, json.dumps({"folder": str(made.path), "files": _sources(Path(made.path))})
        if export.language == "cpp":
            shutil.rmtree(target, ignore_errors=True)


def _sources(program: Path) -> dict[str, str]:
    paths = [path for path in sorted(program.rglob("*")) if path.suffix in _SOURCES and not _OF_EVERY_PROGRAM.fullmatch(path.name)]
    return {path.relative_to(program).as_posix(): path.read_text(encoding="utf-8") for path in paths}


# --- in HEAD's process -----------------------------------------------------------------------------------------------------------------


class Time(NamedTuple):
    calls: int
    device_ns: float


def time_of(row: dict[str, object], card: str, kept: Path) -> Time | str:
    """By HEAD's simulator, without values; or why it does not run. kept: JSON of the times of this simulator by the program's text."""
    files = row["files"]
    key = hashlib.sha256(json.dumps([card, files]).encode()).hexdigest()[:20]
    known = json.loads(kept.read_text()) if kept.exists() else {}
    if key not in known:
        known[key] = _run(Path(str(row["folder"])), card)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(known))
    answer = known[key]
    return answer if isinstance(answer, str) else Time(*answer)


def _run(program: Path, card: str) -> tuple[int, float] | str:
    report = program.with_suffix(".json")
    words = [sys.executable, "-m", "ttnn_shim", "run", "--arch", card, "--estimate", "main.py", "--estimate", "--json", str(report)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=program, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"does not run: {(done.stderr.strip() or done.stdout.strip())[-300:]}"
    told = json.loads(report.read_text())
    report.unlink()
    return told["ops"] or 0, told["device_ns"] or 0.0
