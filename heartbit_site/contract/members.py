"""The caller, the members of the workspace with their roles, and the API keys of programs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasPath, Field

from heartbit_site.base.scopes import USUAL_DAYS, USUAL_SCOPES
from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Moment, Page, Word
from heartbit_site.contract.operation import MANAGE, MEMBER, Noun


class WorkspaceOut(View):
    """A workspace, and the caller's rights there."""

    slug: str
    name: str
    scopes: list[str]


class WorkspacesOut(Page):
    """The caller's workspaces, by slug."""

    workspaces: list[WorkspaceOut]


class MeOut(View):
    """The caller, in their workspace."""

    name: str = Field(description="Name in decisions, journals and the audit.")
    username: str | None = Field(description="Null for a key that a command created.")
    via: Literal["web", "api", "terminal"]
    workspace: WorkspaceOut


CALLER = Noun("identity", module="members", read=MEMBER)

SHOW_ME = CALLER.get("show_me", "/me", MeOut, "Show the caller")


#: As ``base.models.Role`` has them.
RoleName = Literal["viewer", "operator", "editor", "admin"]
Username = Annotated[Word, Field(description="User name.")]


class MemberOut(View):
    """A member."""

    username: str = Field(validation_alias=AliasPath("user", "username"))
    name: str = Field(description="The person's full name, if they gave one.")
    role: RoleName
    active: bool = Field(
        validation_alias=AliasPath("user", "is_active"),
        description="True if the account is active.",
    )
    since: Time = Field(validation_alias="created_at")


class MembersOut(Page):
    """The workspace's members; superusers belong to it without being listed."""

    members: list[MemberOut]


class MemberIn(Body):
    """A person to add to the workspace."""

    username: Annotated[Word, Field(min_length=1, max_length=150)]
    role: RoleName = "viewer"


class RoleIn(Body):
    """New role of a member."""

    role: RoleName


NOUN = Noun("members", read=MANAGE, write=MANAGE)

LIST_MEMBERS = NOUN.get("list_members", "/members", MembersOut, command="`heartbit members list`")
ADD_MEMBER = NOUN.post(
    "add_member", "/members", MemberOut, body=MemberIn, status=201, errors=(409,)
)
CHANGE_MEMBER = NOUN.patch(
    "change_member", "/members/{username}", MemberOut, "Change a member's role", body=RoleIn,
    errors=(409,),
)  # fmt: skip
REMOVE_MEMBER = NOUN.delete(
    "remove_member", "/members/{username}", "Remove a member", errors=(409,)
)


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


OWN_KEYS = Noun("own_keys", module="members", read=MEMBER, write=MEMBER)

# Fails with 409 if the caller is no person.
LIST_OWN_KEYS = OWN_KEYS.get(
    "list_own_keys", "/me/keys", KeysOut, "List your own keys", errors=(409,)
)
CREATE_OWN_KEY = OWN_KEYS.post(
    "create_own_key", "/me/keys", NewKeyOut,
    "Create a key of your own", body=KeyIn, status=201, errors=(409,),
)  # fmt: skip
REVOKE_OWN_KEY = OWN_KEYS.post(
    "revoke_own_key", "/me/keys/{prefix}/revoke", KeyOut,
    "Revoke a key of your own", errors=(409,),
)  # fmt: skip

KEYS = Noun("keys", module="members", read=MANAGE, write=MANAGE)

LIST_KEYS = KEYS.get("list_keys", "/keys", KeysOut, command="`heartbit keys list`")
CREATE_KEY = KEYS.post("create_key", "/keys", NewKeyOut, body=KeyIn, status=201, errors=(409,))
REVOKE_KEY = KEYS.post("revoke_key", "/keys/{prefix}/revoke", KeyOut)
