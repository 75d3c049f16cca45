"""Parsing of URLs that people enter. Pure."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def split_web_url(url: str) -> SplitResult | None:
    """Return the parts of an http or https URL; None if it has no host or cannot be read."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable and url.isprintable() else None
