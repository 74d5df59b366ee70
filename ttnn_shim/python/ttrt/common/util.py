"""`from ttrt.common.util import Logger, Artifacts`."""

from alchemist.ttrt.util import Artifacts, Logger

__all__ = ["Artifacts", "Logger"]
