"""The plan of a sign-in, kept while its person is at the authorization server. Pure."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client as an authorization server knows it.

    Attributes:
        secret: Empty if it has none.
        method: How it authenticates: none, client_secret_basic or client_secret_post.
    """

    id: str
    secret: str
    method: str


class SignInPlan(BaseModel):
    """A sign-in that has begun; stored encrypted.

    Attributes:
        names_itself: True if the answer must name the issuer.
        method: How the client authenticates, as in ``OAuthClient``.
        verifier: Secret of PKCE.
        state: Secret that the answer must repeat.
    """

    model_config = ConfigDict(frozen=True)

    issuer: str
    authorization_url: str
    token_url: str
    revocation_url: str = ""
    resource: str
    scope: str
    names_itself: bool
    client_id: str
    client_secret: str = Field(repr=False)
    method: str
    redirect_uri: str
    verifier: str = Field(repr=False)
    state: str = Field(repr=False)

    @property
    def client(self) -> OAuthClient:
        """The client that the person signs in with."""
        return OAuthClient(self.client_id, self.client_secret, self.method)

    @property
    def challenge(self) -> str:
        """The code challenge: SHA-256 of the verifier (RFC 7636, S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def client_metadata(redirect_uri: str) -> dict[str, Any]:
    """Return Heartbit's metadata as a client without a secret."""
    return {
        "client_name": "Heartbit",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "web",
    }
