"""Fields that channels and webhooks share: both are endpoints that sign with a secret."""

from __future__ import annotations

from pydantic import AliasPath, Field

from heartbit_site.base.view import Time, View

SECRET = Field(description="whsec_...; shown only this once.")


class EndpointOut(View):
    """An endpoint for signed messages, without its secret."""

    id: int = Field(validation_alias="pk")
    name: str
    url: str
    enabled: bool
    created_by: str | None = Field(
        None,
        validation_alias=AliasPath("created_by", "username"),
        description="Null: a key that a command made.",
    )
    created_at: Time
    previous_secret_expires_at: Time | None = Field(
        description="Until then both secrets are valid."
    )
