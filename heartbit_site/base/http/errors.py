"""Errors of the guarded client."""

from __future__ import annotations

from heartbit_site.base.errors import HeartbitError


class BlockedAddressError(HeartbitError):
    """The request would leave the public internet, or use a port or scheme closed to tools."""


class InvalidURLError(BlockedAddressError):
    """The URL cannot be read."""


class OutboundLimitError(HeartbitError):
    """The request took too long, was redirected too often, or its response is too large."""


def too_large(max_bytes: int) -> OutboundLimitError:
    """Return the error for a response above its size limit."""
    return OutboundLimitError(f"The response is larger than {max_bytes} bytes.")


def too_late() -> OutboundLimitError:
    """Return the error for a request past its deadline."""
    return OutboundLimitError("The request took longer than its total time limit.")
