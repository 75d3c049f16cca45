"""API keys of programs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasPath, Field

from heartbit_site.base.scopes import USUAL_DAYS, USUAL_SCOPES
from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Moment, Page, Word
from heartbit_site.contract.operation import MANAGE, Noun

#: As ``base.scopes.SCOPES`` has them.
ScopeName = Literal[
    "runs:read",
    "runs:write",
    "approvals:decide",
    "agents:read",
    "agents:write",
    "workspace:manage",
    "audit:read",
    "fleet:manage",
]
KeyName = Annotated[Word, Field(min_length=1, max_length=100)]
MOST_DAYS = 3650


class KeyOut(View):
    """A key, without its secret."""

    prefix: str = Field(validation_alias="beginning")
    name: str
    scopes: list[str]
    state: Literal["active", "expired", "revoked"]
    created_by: str | None = Field(
        None, validation_alias=AliasPath("user", "username"), description="Null: a command."
    )
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None


class NewKeyOut(KeyOut):
    """A new key."""

    key: str = Field(description="The whole key, returned only once.")


class KeysOut(Page):
    """The workspace's keys, the newest first."""

    keys: list[KeyOut]


class KeyIn(Body):
    """A key for a program; it never has more rights than its creator."""

    name: KeyName = Field(description="Purpose of the key, such as nightly import.")
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=20)] = Field(
        [*USUAL_SCOPES], description="Scopes of the key; by default those to start and see runs."
    )
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] | None = Field(
        USUAL_DAYS, description="Days until the key expires; null: never."
    )
    expires_at: Moment | None = Field(
        None, description="Time at which the key expires; overrides `days`."
    )


NOUN = Noun("keys", read=MANAGE, write=MANAGE)

LIST_KEYS = NOUN.get("list_keys", "/keys", KeysOut, command="`heartbit keys list`")
CREATE_KEY = NOUN.post("create_key", "/keys", NewKeyOut, body=KeyIn, status=201)
REVOKE_KEY = NOUN.post("revoke_key", "/keys/{prefix}/revoke", KeyOut)
