"""Lookup of an operation's implementation."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartbit_site.contract.operation import Operation


def function_of(operation: Operation[Any]) -> Callable[..., Any]:
    """Return the function that implements an operation; its module is imported on demand."""
    name = operation.module or operation.noun
    module = importlib.import_module(f"heartbit_site.operations.{name}")
    found: Callable[..., Any] = getattr(module, operation.name)
    return found
