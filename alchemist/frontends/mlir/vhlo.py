"""VHLO, the versioned form of StableHLO that tt-xla writes, as StableHLO: by jaxlib's own pass, in a process of its own.

python -m alchemist.frontends.mlir.vhlo < f.vhlo.mlir > f.shlo.mlir
"""

from __future__ import annotations

import re
import subprocess
import sys

from alchemist.errors import ParseError, printable

_VHLO = re.compile(r"(?m)^\s*(?:%[\w:#, ]+ = )?\"?vhlo\.\w+_v\d")
_NO_JAX = 3
_SECONDS = 120


def is_vhlo(text: str) -> bool:
    """Whether the text has an op of VHLO."""
    return "vhlo." in text and _VHLO.search(text) is not None


def stablehlo_text(text: str, filename: str) -> str:
    """The module in StableHLO.

    Raises:
        ParseError: what jaxlib says of the text; or jax is not installed.
    """
    try:
        done = subprocess.run([sys.executable, "-m", __name__], input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ParseError("jaxlib needs more than two minutes to read this VHLO", location=filename) from None
    if done.returncode == _NO_JAX:
        raise ParseError(
            "reading VHLO needs jaxlib, which is not installed", location=filename, hint="pip install jax, or pass the StableHLO text of the same stage"
        )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise ParseError(printable(lines[0])[:300] if lines and done.returncode == 1 else "jaxlib cannot read this VHLO", location=filename)
    return done.stdout


def _main() -> int:
    try:
        from jax._src.interpreters import mlir as jax_mlir
        from jaxlib.mlir import ir, passmanager
        from jaxlib.mlir.dialects import stablehlo
    except ImportError:
        return _NO_JAX
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    stablehlo.register_stablehlo_passes()
    with context:
        try:
            module = ir.Module.parse(sys.stdin.read())
            passmanager.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)").run(module.operation)
        except ir.MLIRError as error:
            diagnostics = error.error_diagnostics or []
            print(diagnostics[0].message if diagnostics else "not understood", file=sys.stderr)
            return 1
        print(module.operation.get_asm(enable_debug_info=True))
    return 0


if __name__ == "__main__":
    sys.exit(_main())
