"""Arguments of the public functions: models, options and paths of wrong kinds, of alchemist and of the shim."""

from __future__ import annotations

import contextlib
import io
import random
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from alchemist.errors import AlchemistError
from tools.fuzz.areas import JUNK, MODEL, WORDS, Bad, export, refusal


class Hostile:
    """An object whose every special method fails."""

    def __repr__(self) -> str:
        raise ValueError("no text for you")

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    def __bool__(self) -> bool:
        raise ValueError("neither")

    __hash__ = None  # type: ignore[assignment]


def _itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


ARRAYS = ("bool", "int8", "int64", "uint64", "float16", "float64", "complex64", "U3", "object", "datetime64[s]", "S2", "V3")


def value(rng: random.Random) -> Any:
    """An argument that a model may or may not take."""
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(JUNK)
    if kind == 1:
        return rng.choice(WORDS)
    if kind == 2:
        return np.zeros([rng.choice((0, 1, 2, 3)) for _ in range(rng.randrange(4))], rng.choice(ARRAYS))
    if kind == 3:
        return rng.choice(
            (
                Hostile,
                Hostile(),
                _itself(),
                print,
                lambda x: x,
                type,
                Path(),
                b"x",
                1j,
                {1, 2},
                range(3),
                (i for i in range(2)),
                float("nan"),
                np.float32(2),
                slice(1),
                ...,
            )
        )
    return tensor(rng)


def tensor(rng: random.Random) -> Any:
    import torch

    shape = [rng.choice((2, 2, 2, 3, 1, 0)) for _ in range(rng.choice((2, 2, 2, 0, 1, 5)))]
    dtypes = (
        torch.float32,
        torch.float32,
        torch.float32,
        torch.bfloat16,
        torch.float64,
        torch.int64,
        torch.bool,
        torch.complex64,
        torch.float16,
        torch.uint8,
        torch.float8_e4m3fn,
    )
    made = torch.zeros(shape, dtype=rng.choice(dtypes))
    kind = rng.randrange(12)
    if kind == 0:
        return made.to("meta")
    if kind == 1:
        return made.to_sparse() if made.dtype == torch.float32 else made
    if kind == 2 and made.dtype == torch.float32:
        return made.requires_grad_()
    if kind == 3 and made.dtype == torch.float32:
        return torch.nn.Parameter(made)
    return made


@cache
def models() -> tuple[Any, ...]:
    import torch

    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(2, 3)

        def forward(self, x: Any, scale: Any = 1.0) -> Any:
            return {"y": torch.relu(self.linear(x)) * scale}

    def branch(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x - 1

    def fails(x: Any) -> Any:
        raise RuntimeError("boom" * 100_000)

    def names(x: Any) -> Any:
        raise KeyError("\ud800")

    return (
        torch.nn.Linear(2, 3), Two(), torch.nn.ReLU(), torch.relu, branch, fails, names, lambda *a: a, lambda x: None, lambda x: "text", lambda x: x.numpy(), lambda x: x.tolist(),
        lambda x: x.reshape(-1, 7), lambda x: x @ x, lambda x: x.T, lambda x: x.sort(), lambda x: torch.linalg.svd(x), lambda x: x.nonzero(), lambda x: x.to(torch.complex64), lambda: None,
    )  # fmt: skip


def keywords(rng: random.Random, place: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"export_path": place / "out"}
    for name in ("export_path", "export_tensors", "export_golden", "overwrite", "compiler_options"):
        if rng.random() < 0.12:
            found[name] = rng.choice(
                (rng.choice(JUNK), rng.choice(WORDS), Hostile(), {rng.choice(WORDS): rng.choice(WORDS)}, {"arch": rng.choice(WORDS)}, [("a", 1)], 3)
            )
    path = found["export_path"]
    if isinstance(path, str) and path and "\0" not in path and not path.startswith("/nonexistent"):
        found["export_path"] = place / "named" / path if not path.startswith("/") else place / "m.mlir"
    return found


def codegen(rng: random.Random, place: Path) -> None:
    from alchemist import codegen_cpp, codegen_py

    call = rng.choice((codegen_py, codegen_py, codegen_cpp))
    model = rng.choice(models()) if rng.random() < 0.9 else value(rng)
    args = [tensor(rng) if rng.random() < 0.8 else value(rng) for _ in range(rng.choice((1, 1, 1, 1, 0, 2)))]
    extra = {rng.choice(("scale", "x", "no_such")): value(rng)} if rng.random() < 0.1 else {}
    call(model, *args, **extra, **keywords(rng, place))


def codegen_jax(rng: random.Random, place: Path) -> None:
    import jax
    import jax.numpy as jnp

    from alchemist import codegen_py

    functions = (
        jnp.tanh, lambda x: x @ x, lambda x: jnp.where(x > 0, x, 1) if x.sum() > 0 else x, lambda x: x.reshape(7, -1), lambda x: None, lambda x: {"a": x, "b": [x]}, jax.jit(jnp.sin), lambda x: "text",
        lambda x: jnp.fft.fft(x), lambda x: jnp.linalg.svd(x), lambda x: 1 / 0, lambda x: jnp.sort(x)[::-1], lambda x, y: x + y,
    )  # fmt: skip
    kinds = (jnp.float32, jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_, jnp.complex64, jnp.float16, jnp.uint8)
    array = jnp.zeros([rng.choice((2, 2, 3, 0)) for _ in range(rng.choice((2, 2, 1, 0, 3)))], rng.choice(kinds))
    args = [rng.choice((array, array, array, jax.random.key(0), {"p": array}, value(rng))) for _ in range(rng.choice((1, 1, 2, 0)))]
    codegen_py(rng.choice(functions), *args, **keywords(rng, place))


def codegen_text(rng: random.Random, place: Path) -> None:
    from alchemist.codegen import codegen_mlir, mlir_sources

    (place / "m.mlir").write_text(MODEL)
    (place / "directory").mkdir()
    options: dict[str, Any] = {}
    for name in ("language", "init", "seed", "inputs", "entry", "compiler_options"):
        if rng.random() < 0.2:
            options[name] = rng.choice((rng.choice(JUNK), rng.choice(WORDS), Hostile(), place / "directory", place / "m.mlir"))
    source = rng.choice((place / "m.mlir", place / "m.mlir", place / "m.mlir", place / "directory", rng.choice(WORDS), rng.choice(JUNK)))
    if rng.random() < 0.5:
        mlir_sources(source, **options)
    else:
        more = keywords(rng, place)
        codegen_mlir(source, **{"export_path": more["export_path"], "overwrite": more.get("overwrite", False), "standalone": False} | options)


def load(rng: random.Random, place: Path) -> None:
    from alchemist import load_codegen_py

    args = [tensor(rng) if rng.random() < 0.7 else value(rng) for _ in range(rng.choice((1, 1, 1, 0, 2)))]
    path = rng.choice((export(), export(), export(), place, rng.choice(WORDS), rng.choice(JUNK)))
    load_codegen_py(rng.choice(models()), *args, load_path=path)


def simulator(rng: random.Random, place: Path) -> None:
    """The shim's own Python functions and commands."""
    from ttnn_shim.__main__ import main

    from ttnn_shim import profiles, program_query

    (place / "events.json").write_text(rng.choice(("", "[]", "{}", "[1]", "[{}]", '{"events": 3}', "[" * 100_000, '{"card": "n150", "events": [{}]}')))
    (place / "x.py").write_text("import ttnn\n")
    (place / "m.csv").write_bytes(
        rng.choice((b"", b"id\n1\n", b"\xff\xfe", b"id,M,K,N,num_cores,m_tiles_per_core\na,1,2,3,4,x\n", b"\x00" * 50, b"a,b\n1,2,3\n", b'"' + b"x" * 200_000))
    )
    kind = rng.randrange(4)
    if kind == 0:
        words = [rng.choice((word, word, rng.choice(WORDS))) for word in rng.choice((["report", "{p}/events.json", "{p}", "{p}/out"], ["report", "--arch", "n150", "{p}/events.json", "{p}", "{p}/out"],
                 ["run", "--arch", "{w}", "{p}/x.py"], ["run", "{p}"], ["run", "{w}"], ["run", "--profile", "{p}/x.py", "{p}/x.py"], ["run", "--profile", "/proc/nowhere", "{p}/x.py"], ["{w}"], []))]  # fmt: skip
        words = [word.replace("{p}", str(place)).replace("{w}", rng.choice(WORDS)) for word in words]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(words)
        text = err.getvalue()
        if "Traceback" in text or "SHIM-0005" in text or len(text) > 4000:
            raise Bad(f"{[word[:60] for word in words]}: {len(text)} characters: {text[:300]}")
    elif kind == 1:
        shape = rng.choice(([32, 32], [1, 1, 64, 64], [], [0], [-1], [2**40], "x", None, [1.5]))
        spec = {
            "logical": shape,
            "padded": shape,
            "dtype": rng.choice(("bfloat16", "x", None, 3)),
            "layout": rng.choice(("tile", "x")),
            "buffer": "dram",
            "memory": "interleaved",
        }
        if rng.random() < 0.3:
            spec.pop(rng.choice(sorted(spec)))
        op = rng.choice(("matmul", "relu", rng.choice(WORDS), "softmax"))
        program_query.query_program(
            op,
            rng.choice(([spec], [spec, spec], [], [{}], rng.choice(JUNK))),
            rng.choice(([spec], [])),
            rng.choice((None, {}, {"x": "y" * 9000}, rng.choice(JUNK))),
            arch=rng.choice(("n150", "n150", "p150", rng.choice(WORDS))),
        )
    elif kind == 2:
        from ttnn_shim.estimate import estimate_csv

        estimate_csv(rng.choice((place / "m.csv", place, place / "none")), rng.choice((place / "out.csv", place, place / "none" / "x")))
    else:
        try:
            profiles.card_info(rng.choice(WORDS).replace("\0", ""))
        except ValueError as error:
            refusal(error)


CALLS: tuple[tuple[int, Callable[[random.Random, Path], None]], ...] = ((4, codegen), (2, codegen_jax), (6, codegen_text), (4, load), (6, simulator))


def run(rng: random.Random) -> str:
    from ttnn_shim.errors import ShimError

    call = rng.choices([each for _, each in CALLS], [weight for weight, _ in CALLS])[0]
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            call(rng, Path(scratch))
        except (AlchemistError, ShimError) as error:
            return f"{call.__name__}: {refusal(error)}"
        except Bad:
            raise
        except Exception as error:
            raise Bad(f"{call.__name__}: {type(error).__name__}: {str(error)[:300]}") from error
    return f"{call.__name__}: accepted"
