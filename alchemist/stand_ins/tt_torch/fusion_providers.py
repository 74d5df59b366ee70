"""`tt_torch.fusion_providers`: the base class of a user's own fusions. Those that tt-xla brings are passes here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar


class FusionProvider(ABC):
    """A rewrite of a graph: `pattern` and `replacement` are straight-line functions of the same tensors. Subclasses register themselves."""

    _registered_providers: ClassVar[list[type[FusionProvider]]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        FusionProvider._registered_providers.append(cls)

    @classmethod
    def get_registered_providers(cls) -> list[type[FusionProvider]]:
        return list(cls._registered_providers)

    @property
    @abstractmethod
    def name(self) -> str:
        """What a person calls the rewrite."""

    @staticmethod
    @abstractmethod
    def pattern(*args: Any, **kwargs: Any) -> Any: ...

    @staticmethod
    @abstractmethod
    def replacement(*args: Any, **kwargs: Any) -> Any: ...

    @staticmethod
    def match_filter(*args: Any, **kwargs: Any) -> bool:
        """Takes (match, graph, pattern); False leaves the match alone."""
        return True

    def get_match_filters(self) -> list[Callable[..., bool]]:
        return [self.match_filter]

    def get_patterns(self) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
        return [(self.pattern, self.replacement)]
