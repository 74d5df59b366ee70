"""Settings of the simulator's core for this process.

    from ttnn_shim import settings
    settings.set_numerics("tensix")            # or TTNN_SHIM_NUMERICS=tensix, which C++ programs read too
    with settings.numerics("tensix"): ...

`fast` (the default) cuts operands to what the multipliers take and gives sums one error of the size of the chip's roundings. `tensix` makes
matmul, linear, conv, sums and attention by the FPU's bit model (docs/numerics.md): slow, exact to that model, not verified against silicon.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ttnn_shim.errors import BY_CODE, InternalError
from ttnn_shim.native import load

NUMERICS = ("fast", "tensix")


def set_numerics(name: str) -> None:
    """Raises InvalidArgument for a name that is not in NUMERICS."""
    ffi, lib, _ = load()
    if lib.shim_set_numerics(name.encode()):
        kind = BY_CODE.get(lib.shim_error_code(), InternalError)
        raise kind(ffi.string(lib.shim_error_message()).decode(), op="ttnn_shim.settings.set_numerics")


def current_numerics() -> str:
    ffi, lib, _ = load()
    text = ffi.string(lib.shim_numerics())
    return text.decode() if isinstance(text, bytes) else str(text)


@contextmanager
def numerics(name: str) -> Iterator[None]:
    """The mode inside the `with` block."""
    before = current_numerics()
    set_numerics(name)
    try:
        yield
    finally:
        set_numerics(before)
