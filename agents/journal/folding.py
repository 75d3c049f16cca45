"""Fold of a journal by methods, each declared for its types of events. Pure.

Usage::

    class EchoState(RunState):
        @folds(EchoSaid)
        def _said(self, said: EchoSaid) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

Method = TypeVar("Method", bound=Callable[[Any, Any], None])
_TYPES = "folded_types"


def folds(*types: type) -> Callable[[Method], Method]:
    """Declare that a method folds events of these types."""

    def declare(method: Method) -> Method:
        setattr(method, _TYPES, types)
        return method

    return declare


class Fold:
    """Base of folded states: a class adds its methods to those of its bases, which run first."""

    __slots__ = ()
    _methods: ClassVar[dict[type, tuple[Callable[[Any, Any], None], ...]]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the methods of the class and its bases by type of event."""
        super().__init_subclass__()
        methods: dict[type, tuple[Callable[[Any, Any], None], ...]] = {}
        for base in reversed(cls.__mro__):
            for method in vars(base).values():
                for kind in getattr(method, _TYPES, ()):
                    methods[kind] = (*methods.get(kind, ()), method)
        cls._methods = methods

    def apply(self, event: object) -> None:
        """Fold an event; an event without a method changes nothing."""
        for method in self._methods.get(type(event), ()):
            method(self, event)
