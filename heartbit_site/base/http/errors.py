"""Errors of the guarded client: its own, and httpx's in place of httpcore's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpcore
import httpx

from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from collections.abc import Iterator


class BlockedAddressError(HeartbitError):
    """The request would leave the public internet, or use a port or scheme closed to tools."""


class InvalidURLError(BlockedAddressError):
    """The URL cannot be read."""


class OutboundLimitError(HeartbitError):
    """The request took too long, was redirected too often, or its answer is too large."""


def too_large(max_bytes: int) -> OutboundLimitError:
    """Return the error for a response above its size limit."""
    return OutboundLimitError(f"The answer is larger than {max_bytes} bytes.")


def too_late() -> OutboundLimitError:
    """Return the error for a request past its deadline."""
    return OutboundLimitError("The request took longer than its total time limit.")


@contextmanager
def httpx_errors(host: str = "the host") -> Iterator[None]:
    """Turn httpcore's errors into httpx's of the same name, which callers expect."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        name = type(error).__name__
        kind: type[httpx.TransportError] = getattr(httpx, name)
        raise kind(f"Talking to {host} failed: {str(error) or name}") from error
