"""Puts a function around one of the product's; loudly, when the product has it no longer."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: Called with the wrapped function and its arguments.
Around = "Callable[..., Awaitable[Any]]"


def wrap(owner: Any, name: str, around: Callable[..., Awaitable[Any]]) -> None:
    """Replace the coroutine function ``name`` of a class or module by ``around`` it.

    Raises:
        AttributeError: The product changed: so must the wrapping.
    """
    inner = getattr(owner, name)

    @functools.wraps(inner)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return await around(inner, *args, **kwargs)

    setattr(owner, name, wrapped)


def wrap_plain(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """The same for a plain function."""
    inner = getattr(owner, name)

    @functools.wraps(inner)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(inner, *args, **kwargs)

    setattr(owner, name, wrapped)
