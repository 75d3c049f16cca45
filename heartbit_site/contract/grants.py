"""Grants: standing permissions for a tool of an agent, which a decision has given."""

from __future__ import annotations

from pydantic import AliasPath, Field

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, Needs, Noun

#: People who decide end their own; managers end all.
REVOKE = Needs(("workspace:manage", "approvals:decide"), either=True)


class GrantOut(View):
    """A standing permission that is valid."""

    id: int = Field(validation_alias="pk")
    tool: str
    agent: str = Field(validation_alias=AliasPath("agent", "name"))
    run_id: Id | None = Field(
        validation_alias="root_id", description="Run that it is limited to; null: all runs."
    )
    granted_by: str
    created_at: Time
    expires_at: Time | None = Field(description="Null: until its run ends or it is revoked.")


class GrantsOut(Page):
    """The workspace's valid grants, the newest first."""

    grants: list[GrantOut]


NOUN = Noun("grants", read=READ_RUNS, write=REVOKE)

LIST_GRANTS = NOUN.get("list_grants", "/grants", GrantsOut, command="`heartbit grants list`")
REVOKE_GRANT = NOUN.post("revoke_grant", "/grants/{grant_id}/revoke", GrantOut)
