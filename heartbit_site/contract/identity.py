"""The caller and their workspaces."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heartbit_site.base.view import View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import MEMBER, Noun


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


NOUN = Noun("identity", read=MEMBER)

SHOW_ME = NOUN.get("show_me", "/me", MeOut, "Show the caller")
