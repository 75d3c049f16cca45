"""The caller and their workspaces."""

from __future__ import annotations

from heartbit_site.base.access import Access, username_of
from heartbit_site.contract.identity import MeOut, WorkspaceOut


def show_me(access: Access) -> MeOut:
    """Return the caller and their rights in the workspace; no scope is needed."""
    return MeOut.of(access, username=username_of(access), workspace=workspace_of(access))


def workspace_of(access: Access) -> WorkspaceOut:
    """Return the caller's workspace and their rights there."""
    return WorkspaceOut.of(access.workspace, scopes=sorted(access.scopes))
