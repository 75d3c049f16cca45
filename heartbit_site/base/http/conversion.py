"""Conversion of httpcore's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpcore
import httpx


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
