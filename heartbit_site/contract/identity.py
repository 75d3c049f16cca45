"""The caller and their workspaces."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heartbit_site.base.view import View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import MEMBER, Operation


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

    name: str = Field(description="As decisions, journals and the audit name them.")
    username: str | None = Field(description="Null: a key that a command made.")
    via: Literal["web", "api", "terminal"]
    workspace: WorkspaceOut


SHOW_ME = Operation("identity.show_me", "GET /me", MeOut, "Show the caller", MEMBER)
