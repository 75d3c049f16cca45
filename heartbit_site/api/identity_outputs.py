"""What responses about people and keys hold."""

from __future__ import annotations

from typing import Literal

from ninja import Schema
from pydantic import Field

from heartbit_site.api.identity_inputs import (  # noqa: TC001  pydantic evaluates the annotations
    RoleName,
)
from heartbit_site.contract.model import Next  # noqa: TC001


class WorkspaceOut(Schema):
    """A workspace, and what whoever asks may do there."""

    slug: str
    name: str
    scopes: list[str]


class WorkspacesOut(Schema):
    """Those that whoever asks belongs to, by short name."""

    workspaces: list[WorkspaceOut]
    next: Next


class MeOut(Schema):
    """Whoever asks, in their workspace."""

    name: str = Field(description="As decisions, journals and the audit name them.")
    username: str | None = Field(description="Null: a key that a command made.")
    via: Literal["web", "api"]
    workspace: WorkspaceOut


class MemberOut(Schema):
    """A member."""

    username: str
    name: str = Field(description="The person's full name, if they gave one.")
    role: RoleName
    active: bool = Field(description="Whether the account is open.")
    since: str


class MembersOut(Schema):
    """The workspace's members; superusers belong to it without being listed."""

    members: list[MemberOut]
    next: Next


class KeyOut(Schema):
    """A key, without what is secret of it."""

    prefix: str
    name: str
    scopes: list[str]
    state: Literal["active", "expired", "revoked"]
    made_by: str | None = Field(description="Null: a command.")
    created_at: str
    expires_at: str | None
    last_used_at: str | None


class NewKeyOut(KeyOut):
    """A key that was made just now."""

    key: str = Field(description="Shown only this once.")


class KeysOut(Schema):
    """The workspace's keys, the newest first."""

    keys: list[KeyOut]
    next: Next
