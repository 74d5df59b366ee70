"""The real driver's pipeline options (`key=value`, dashes) in terms of `CompilerOptions`."""

from __future__ import annotations

import difflib
import shlex
from typing import Any

from alchemist.errors import OptionError
from alchemist.options import CompilerOptions

# Option -> (our option, translation of values); values not listed go through as they are.
MAPPED: dict[str, tuple[str, dict[str, str]]] = {
    "optimization-level": ("optimization_level", {}),
    "enable-const-eval": ("enable_const_eval", {}),
    "enable-trace": ("enable_trace", {}),
    "experimental-weight-dtype": ("experimental_weight_dtype", {}),
    "compute-cfg-math-fidelity": ("math_fidelity", {}),
    "compute-cfg-fp32-dest-acc-en": ("fp32_dest_acc_en", {}),
    "compute-cfg-math-approx-mode": ("math_approx_mode", {}),
    "compute-cfg-packer-l1-acc": ("packer_l1_acc", {}),
    "mock-system-desc-arch": ("arch", {}),
    "try-recover-structure": ("recover_structure", {}),
    "split-files": ("split_consteval", {}),
    "enable-dealloc": ("enable_dealloc", {}),
    "target-module": ("target_module", {}),
    "target-dylib": ("target_dylib", {}),
    "load-input-tensors-from-disk": ("load_input_tensors_from_disk", {}),
    "tensor-load-directory": ("tensor_load_directory", {}),
    "tensor-load-file-prefix": ("tensor_load_file_prefix", {}),
}
# Options without a counterpart: accepted at the value that changes nothing, or whatever it is when that is None.
NEUTRAL: dict[str, str | None] = {
    "system-desc-path": None,
    "mesh-shape": "1,1",
    "mesh-topology": "disabled",
    "enable-optimizer": "false",
    "memory-layout-analysis-enabled": "false",
    "check-unique-locs": None,
    "insert-memreconfig": "",
    "override-output-layout": "",
    "override-conv2d-config": "",
    "override-conv3d-config": "",
    "max-legal-layouts": None,
    "row-major-enabled": "false",
    "tensor-l1-usage-cap": None,
    "disable-workarounds": None,
    "enable-layout-workaround-pass": None,
    "enable-decomposition-workaround-pass": None,
    "enable-ttnn-decomposition-pass": None,
    "composite-resolution": None,
    "enable-implicit-broadcast-folding-pass": "true",
    "enable-dram-space-saving-optimization-pass": None,
    "enable-erase-inverse-ops-pass": "true",
    "enable-quant-dequant-conversion-pass": None,
    "enable-fusing-conv2d-with-multiply-pattern": None,
    "enable-permute-matmul-fusion": None,
    "enable-permute-slice-after-matmul-fusion": None,
    "enable-create-d2m-subgraphs": "false",
    "enable-d2m-elementwise-fusion": "false",
    "argument-types": "",
    "enable-remove-dead-values": None,
    "enable-cpu-hoisted-const-eval": None,
    "enable-const-eval-inputs-to-system-memory": None,
    "target-bit-width": "32",
    "experimental-kv-cache-dtype": "none",
    "enable-activation-dtype-lowering": "false",
    "compute-cfg-dst-full-sync-en": "unset",
    "ttnn-perf-metrics-enabled": "false",
    "ttnn-perf-metrics-output-file": None,
    "ttnn-perf-metrics-verbose-output-enabled": None,
    "max-fallback-attempts": None,
    "enable-decision-trace": "false",
    "decision-trace-dir": None,
    "use-mock-allocator-state": None,
    "enable-compile-time-stats": None,
    "tuplify-input-if-empty": None,
    "force": None,
    "enable-commute-upwards": None,
    "enable-commute-downwards": None,
}
FUSING = "enable-fusing-pass"


def pipeline_options(text: str) -> CompilerOptions:
    """`"k=v k=v"`, with or without braces, keys of the real driver or ours.

    Raises:
        OptionError: an unknown key (near names are listed), a malformed pair, or a value that is not supported.
    """
    given: dict[str, Any] = {}
    for key, value in pairs(text).items():
        dashed = key.replace("_", "-")
        if dashed in MAPPED:
            ours, values = MAPPED[dashed]
            given[ours] = None if value in ("unset", "undefined") else values.get(value, value)
        elif dashed == FUSING:
            if value.lower() in ("false", "0"):
                from alchemist.passes import PASSES

                given["disable"] = tuple(name for name, entry in PASSES.items() if entry.fusing)
        elif dashed in NEUTRAL:
            wanted = NEUTRAL[dashed]
            if wanted is not None and value.lower() != wanted:
                raise OptionError(
                    f"{dashed}={value} is not supported", expected=f"{dashed}={wanted}" if wanted else f"no {dashed}"
                )
        elif key.replace("-", "_") in CompilerOptions.__slots__:
            given[key.replace("-", "_")] = value
        else:
            known = {*MAPPED, *NEUTRAL, FUSING, *(name.replace("_", "-") for name in CompilerOptions.__slots__)}
            near = difflib.get_close_matches(dashed, known, n=3, cutoff=0.5)
            raise OptionError(
                f"unknown option {key!r}",
                expected="an option of the pipeline",
                hint=f"did you mean {', '.join(near)}?" if near else "`alchemist opt --list` shows them",
            )
    return CompilerOptions.parse(given)


def pairs(text: str) -> dict[str, str]:
    """`k=v` words of an option text; quotes group words, braces and quotes around the whole are dropped."""
    body = text.strip()
    if len(body) > 1 and body[0] + body[-1] in ("{}", '""', "''"):
        body = body[1:-1]
    try:
        words = shlex.split(body)
    except ValueError as error:
        raise OptionError(f"malformed options: {error}", got=text) from None
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key:
            raise OptionError(f"malformed option {word!r}", expected="key=value")
        found[key] = value if equals else "true"
    return found
