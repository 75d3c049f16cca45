"""Who asks, and the workspaces that they belong to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heartbit_site.contract.model import Next, View
from heartbit_site.contract.operation import MEMBER, Operation


class WorkspaceOut(View):
    """A workspace, and what whoever asks may do there."""

    slug: str
    name: str
    scopes: list[str]


class WorkspacesOut(View):
    """Those that whoever asks belongs to, by short name."""

    workspaces: list[WorkspaceOut]
    next_cursor: Next


class MeOut(View):
    """Whoever asks, in their workspace."""

    name: str = Field(description="As decisions, journals and the audit name them.")
    username: str | None = Field(description="Null: a key that a command made.")
    via: Literal["web", "api", "terminal"]
    workspace: WorkspaceOut


SHOW_ME = Operation("identity.show_me", "GET /me", MeOut, "Show the caller", MEMBER)
