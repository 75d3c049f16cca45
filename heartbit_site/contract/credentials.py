"""Credentials that tools use; their secrets are never returned."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasPath, Field, JsonValue

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Name, Page, changes
from heartbit_site.contract.operation import MANAGE_OR_OWN, READ_AGENTS, READ_RUNS, Noun

Fields = Annotated[
    dict[str, JsonValue],
    Field(description="Fields of the type, as `GET /credential-types` lists them."),
]


class CredentialTypeOut(View):
    """A type of credentials."""

    kind: str
    label: str
    fields: dict[str, Any] = Field(description="JSON Schema of its fields.")
    secrets: list[str] = Field(description="Names of the secret fields, which are never returned.")


class CredentialTypesOut(Page):
    """The types of credentials of this installation."""

    types: list[CredentialTypeOut]


class CredentialOut(View):
    """A credential, without its secrets."""

    id: int = Field(validation_alias="pk")
    name: str
    kind: str
    settings: dict[str, JsonValue] = Field(description="Fields that are not secret.")
    person: str | None = Field(
        None,
        validation_alias=AliasPath("user", "username"),
        description="Its person, only whose runs use it; null: all runs of the workspace.",
    )
    enabled: bool
    healthy: bool | None = Field(description="Result of the last check; null: none yet.")
    health_message: str
    checked_at: Time | None
    created_at: Time


class CredentialsOut(Page):
    """The workspace's credentials and the caller's own, the newest first."""

    credentials: list[CredentialOut]


class CredentialIn(Body):
    """A credential to add."""

    name: Name = Field(min_length=1, description="Such as support mailbox.")
    kind: Name = Field(description="Kind of its type, such as smtp.")
    fields: Fields
    personal: bool = Field(
        default=False,
        description="True: only your own runs use it; false: all runs of the workspace.",
    )
    enabled: bool = True


@changes("kind", "personal")
class CredentialChangeIn(CredentialIn):
    """Settings to change; a setting that is left out stays."""


NOUN = Noun("credentials", read=READ_AGENTS, write=MANAGE_OR_OWN)

LIST_CREDENTIAL_TYPES = NOUN.get(
    "list_credential_types", "/credential-types", CredentialTypesOut, "List types of credentials",
    command="`heartbit credentials types`",
)  # fmt: skip
LIST_CREDENTIALS = NOUN.get(
    "list_credentials", "/credentials", CredentialsOut, needs=READ_RUNS,
    command="`heartbit credentials`",
)  # fmt: skip
CREATE_CREDENTIAL = NOUN.post(
    "create_credential", "/credentials", CredentialOut, "Add a credential", body=CredentialIn,
    status=201, errors=(409,),
)  # fmt: skip
CHANGE_CREDENTIAL = NOUN.patch(
    "change_credential", "/credentials/{credential_id}", CredentialOut, body=CredentialChangeIn,
    errors=(409,),
)  # fmt: skip
REMOVE_CREDENTIAL = NOUN.delete("remove_credential", "/credentials/{credential_id}")
CHECK_CREDENTIAL = NOUN.post(
    "check_credential", "/credentials/{credential_id}/check", CredentialOut
)
