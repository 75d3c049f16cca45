"""Rights of actors: a verb that changes something checks them itself, whichever door called it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.access import Access, NoWorkspaceError
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.refusals import describe_refusal

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor


def require(by: Actor, *scopes: str, workspace_id: int | None) -> None:
    """Raise unless an actor may change something.

    An actor without an access passes: Heartbit itself, or a program that owns the database.

    Args:
        by: The actor.
        scopes: Scopes of which one is enough.
        workspace_id: The workspace; None: the installation.

    Raises:
        ForbiddenError: The actor has none of the scopes.
        NoWorkspaceError: The actor's rights are those of another workspace.
    """
    access = by.access
    if access is None:
        return
    if not any(map(access.allows, scopes)):
        raise forbidden(access, scopes[0])
    if workspace_id not in (None, access.workspace.pk):
        raise NoWorkspaceError("It belongs to another workspace: use an access to that one.")


def forbidden(access: Access, scope: str) -> ForbiddenError:
    """Return the refusal: a program reads the scope, a person their role and who can help."""
    if access.via == "api":
        return ForbiddenError(f"The API key does not have the scope {scope}.", scope)
    return ForbiddenError(describe_refusal(access, scope), scope)
