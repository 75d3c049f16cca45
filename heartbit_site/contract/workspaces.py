"""Workspaces: the settings of the caller's, and those of the installation."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AliasPath, Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page, Reference, Word, changes
from heartbit_site.contract.operation import MANAGE, MEMBER, Needs, Noun

#: Whoever makes workspaces and accounts: more than steering the fleet.
ADMINISTER = Needs(("fleet:manage", "workspace:manage"), operator=True)
UnknownPrices = Literal["ask", "refuse"]
_UNKNOWN: Final = (
    "Handling of runs under a limit in US dollars whose model has no known price: ask an owner, or "
    "refuse."
)


class WorkspaceDetailOut(View):
    """A workspace and its settings."""

    slug: str
    name: str
    default_model: str = Field(description="Empty: the installation's default.")
    retention_days: int | None = Field(
        description="Days until finished runs are archived and deleted; null: never."
    )
    unknown_prices: UnknownPrices = Field(description=_UNKNOWN)
    tier: str | None = Field(
        None, validation_alias=AliasPath("tier", "name"), description="Its quotas; null: no limits."
    )
    created_at: Time


class WorkspaceListOut(Page):
    """All workspaces of the installation, by short name."""

    workspaces: list[WorkspaceDetailOut]


class WorkspaceIn(Body):
    """A workspace to create."""

    slug: Annotated[Word, Field(min_length=1, max_length=50)] = Field(
        description="Short name for URLs and commands: letters, digits, - and _."
    )
    name: Annotated[Word, Field(max_length=200)] = Field(
        "", description="Name for people; empty: the short name."
    )
    default_model: Reference = Field(
        "",
        description="provider:model for agents that name none; empty: the installation's default.",
    )
    retention_days: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        90, description="Days until finished runs are archived and deleted; null: never."
    )
    unknown_prices: UnknownPrices = Field("ask", description=_UNKNOWN)
    tier: Annotated[Word, Field(max_length=40)] | None = Field(
        None, description="Name of its tier of quotas, which an operator sets; null: none."
    )


@changes("slug", null=False)
class WorkspaceChangeIn(WorkspaceIn):
    """Settings to change; one that is left out stays."""


NOUN = Noun("workspaces", read=MEMBER, write=MANAGE)

LIST_ALL_WORKSPACES = NOUN.get(
    "list_all_workspaces", "/fleet/workspaces", WorkspaceListOut, "List every workspace",
    needs=ADMINISTER, command="`heartbit workspaces list`",
)  # fmt: skip
CREATE_WORKSPACE = NOUN.post(
    "create_workspace", "/fleet/workspaces", WorkspaceDetailOut, body=WorkspaceIn, status=201,
    needs=ADMINISTER, errors=(409,),
)  # fmt: skip
SHOW_WORKSPACE = NOUN.get("show_workspace", "/workspace", WorkspaceDetailOut)
CHANGE_WORKSPACE = NOUN.patch(
    "change_workspace", "/workspace", WorkspaceDetailOut, body=WorkspaceChangeIn
)
