"""What tt-xla's packages write beside programs."""

from __future__ import annotations

from pathlib import Path

from alchemist.errors import UserError


def save_system_descriptor_to_disk(output_prefix: str, as_json: bool = False) -> None:
    """Writes the descriptor of the simulated card to `{output_prefix}_system_desc.ttsys`. Raises: UserError for JSON."""
    from alchemist.toolchain.descriptors import descriptor
    from ttnn_shim import session

    if as_json:
        raise UserError("JSON descriptors are not supported", hint=f"ttrt read --section system_desc {output_prefix}_system_desc.ttsys")
    path = Path(f"{output_prefix}_system_desc.ttsys")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(descriptor(session.settings.card))
