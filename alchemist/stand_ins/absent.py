"""What the stand-ins do not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from alchemist.errors import UserError

SEVERAL_CHIPS = "give the plain model, and codegen_py its mesh and shardings"
_NO_CACHE = "there is no cache of torch_xla; codegen_py writes irs/, and `alchemist translate --ttnn-to-flatbuffer` a .ttnn"
_REASONS = {
    "mark_sharding": SEVERAL_CHIPS, "use_spmd": SEVERAL_CHIPS, "Mesh": SEVERAL_CHIPS, "sharding_constraint_hook": SEVERAL_CHIPS,
    "get_tt_moe_shard_specs": SEVERAL_CHIPS,
    "tt_lang_operation": "kernels need a card",
    "parse_compiled_artifacts_from_cache": _NO_CACHE, "parse_compiled_artifacts_from_cache_to_disk": _NO_CACHE,
}  # fmt: skip


def refuse(module: str, name: str) -> NoReturn:
    """Raises UserError for a name of tt-xla that is not here."""
    raise UserError(
        f"{module}.{name} is not supported", got=name, hint=_REASONS.get(name, "alchemist supports only the functions that compile and run a model")
    )


def getattr_of(module: str) -> Callable[[str], Any]:
    """A `__getattr__` for a stand-in: names that Python asks for are missing as usual, those of tt-xla are functions that refuse."""

    def missing(name: str) -> Any:
        if name.startswith("__") or name not in _REASONS:
            raise AttributeError(f"module {module!r} has no attribute {name!r} (a stand-in of alchemist's)")
        return lambda *args, **kwargs: refuse(module, name)

    return missing
