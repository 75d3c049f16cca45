"""What requests about members and keys hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from heartbit_site.api.inputs import Body
from heartbit_site.base.models.api_key import USUAL_SCOPES
from heartbit_site.contract.model import Word

#: As ``base.models.Role`` has them.
RoleName = Literal["viewer", "operator", "editor", "admin"]
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


class MemberIn(Body):
    """Somebody who is to belong to the workspace."""

    username: Annotated[Word, Field(min_length=1, max_length=150)]
    role: RoleName = "viewer"


class RoleIn(Body):
    """What a member may do from now on."""

    role: RoleName


class KeyIn(Body):
    """A key for a program; it may never do more than whoever makes it."""

    name: KeyName = Field(description="What it is for, such as nightly import.")
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=20)] = Field(
        [*USUAL_SCOPES], description="What it may do; by default start runs and see them."
    )
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] | None = Field(
        90, description="It ends after so many; null: never."
    )
