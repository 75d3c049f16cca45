"""Implementation of the contract: a function for each operation of ``heartbit_site.contract``.

The first parameter is the caller, in the workspace that everything belongs to; the others are those
of the request. The REST API and the command line both call these functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from heartbit_site.contract.operation import Operation


def function_of(operation: Operation[Any]) -> Callable[..., Any]:
    """Return the function that implements an operation; its module is imported on demand."""
    module = importlib.import_module(f"{__name__}.{operation.module or operation.noun}")
    found: Callable[..., Any] = getattr(module, operation.name)
    return found
