"""One model on several chips."""

from alchemist.mesh.local import partition

__all__ = ["partition"]
