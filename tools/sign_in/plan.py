"""The plan of a sign-in, kept while its person is at the authorization server. Pure."""

from __future__ import annotations

import base64
import hashlib

from pydantic import BaseModel, ConfigDict, Field


class SignInPlan(BaseModel):
    """A sign-in that has begun; stored encrypted.

    Attributes:
        names_itself: True if the answer has to name the issuer.
        method: How the client authenticates, as in ``OAuthClient``.
        verifier: Secret of PKCE.
        state: Secret that the answer has to repeat.
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
    def challenge(self) -> str:
        """The verifier as the authorization server is shown it (RFC 7636, S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")
