"""Who asks, and the workspaces that they belong to."""

from __future__ import annotations

from heartbit_site.base.access import Access, username_of
from heartbit_site.contract.identity import MeOut, WorkspaceOut


def show_me(access: Access) -> MeOut:
    """Whoever the key or session is, and what they may do in the workspace; takes no scope."""
    return MeOut.of(access, username=username_of(access), workspace=workspace_of(access))


def workspace_of(access: Access) -> WorkspaceOut:
    """Return somebody's workspace, and what they may do there."""
    return WorkspaceOut.of(access.workspace, scopes=sorted(access.scopes))
