"""Heartbit's metadata as an OAuth client (RFC 7591). Pure."""

from __future__ import annotations

from typing import Any


def client_metadata(redirect_uri: str) -> dict[str, Any]:
    """Return what Heartbit says about itself as a client without a secret."""
    return {
        "client_name": "Heartbit",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "web",
    }
