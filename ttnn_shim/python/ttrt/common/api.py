"""`from ttrt.common.api import API`."""

from alchemist.ttrt.api import API

__all__ = ["API"]
