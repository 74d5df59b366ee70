"""Attributes that an op does not have. tt-mlir reads over them without a word; here a wrong name is an error, and another in `<{...}>` a warning."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.errors import VerifyError
from alchemist.ir.attributes import to_python
from alchemist.ir.dialects import SEGMENTS, TTOp
from alchemist.ir.printer import attribute_text

_FOLLOWED: dict[str, dict[str, tuple[object, ...]]] = {
    "ttir.conv2d": {
        "channel_last": (1,),
        "is_convtranspose2d": (0,),
        "stride_transpose": (0,),
        "output_height_transpose": (0,),
        "output_width_transpose": (0,),
    },
    "ttir.max_pool2d": {"channel_last": (1,)},
    "ttir.upsample2d": {"channel_last": (1,)},
    "ttir.gelu": {"approximate": ("none", "tanh")},
}
"""Op -> attributes that texts of tt-forge and tt-xla have of it beyond its table, and the values that are what the op does here."""
_SIZES = (SEGMENTS, "resultSegmentSizes")
_NEAR = 0.85
"""Names as like as this are one name spelled wrongly, by difflib's ratio."""


def unknown_attributes(module: ModuleOp, locate: Callable[[Operation], str]) -> Iterator[VerifyError]:
    """Errors for names that are almost those of attributes which the op lacks, and for values that it does not follow; warnings for all others."""
    reported: set[tuple[str, str]] = set()
    for op in module.walk():
        if not isinstance(op, TTOp):
            continue
        declared, expected = op.info.attributes, _FOLLOWED.get(op.name, {})
        for name in [name for name in (*op.properties, *op.attributes) if name not in declared and name not in _SIZES and "." not in name]:
            near = difflib.get_close_matches(name, declared, n=2, cutoff=0.6)
            hint = f"did you mean {' or '.join(near)}?" if near else ""
            if name in expected:
                if to_python(value := {**op.attributes, **op.properties}[name]) not in expected[name]:
                    allowed = " or ".join(map(str, expected[name]))
                    yield VerifyError(f"unsupported value of {name}", op=op.name, location=locate(op), expected=allowed, got=attribute_text(value))
            elif difflib.get_close_matches(name, [key for key in declared if key not in op.properties], n=1, cutoff=_NEAR):
                yield VerifyError(f"no attribute {name}", op=op.name, location=locate(op), expected=", ".join(declared), hint=hint)
            elif name in op.properties and (op.name, name) not in reported:
                reported.add((op.name, name))
                warnings.warn(f"{op.name} has no attribute {name}, which is ignored, at {locate(op)}{'; ' if hint else ''}{hint}", stacklevel=2)
