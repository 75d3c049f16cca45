"""Save, share and delete views: the query of a list under a name."""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet

from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, record
from heartbit_site.base.errors import ConfigurationError, NotFoundError
from heartbit_site.base.models import SavedView
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text

#: Of one person in one workspace.
MOST: Final = 50


def views_for(access: Access) -> QuerySet[SavedView]:
    """Return the views that a person sees: their own, and shared ones of others."""
    rows = SavedView.objects.filter(workspace=access.workspace)
    return rows.filter(Q(user=access.user_id) | Q(is_shared=True)).select_related("user")


@transaction.atomic
def save_view(access: Access, name: str, query: str, *, is_shared: bool) -> SavedView:
    """Save a view of the caller's; one of the same name is replaced.

    Args:
        access: The caller, a person.
        name: At most 60 characters.
        query: Query of the list's address, at most 1,000 characters.
        is_shared: All members see it.

    Raises:
        ConfigurationError: The name or the query is not usable, or the caller has too many.
    """
    workspace = access.workspace
    require(actor_of(access), "runs:read", workspace_id=workspace.pk)
    user = access.user_id
    if user is None:
        raise ConfigurationError("Only a person can save a view.")
    name = " ".join(clean_text(name).split())
    if not 0 < len(name) <= 60:
        raise ConfigurationError("A view needs a name of at most 60 characters.")
    if len(query) > 1000:
        raise ConfigurationError("This list has too many filters to be saved: remove some.")
    mine = SavedView.objects.filter(workspace=workspace, user=user)
    if mine.exclude(name=name).count() >= MOST:
        raise ConfigurationError(f"You have {MOST} views here: delete one first.")
    saved, _ = SavedView.objects.update_or_create(
        workspace=workspace,
        user_id=user,
        name=name,
        defaults={"query": query, "is_shared": is_shared},
    )
    _record(access, "view.save", saved.pk, is_shared=is_shared)
    return saved


@transaction.atomic
def delete_view(access: Access, number: str) -> SavedView:
    """Delete a view of one's own; who manages the workspace also shared ones of others.

    Raises:
        NotFoundError: There is none that the caller may delete.
    """
    require(actor_of(access), "runs:read", workspace_id=access.workspace.pk)
    rows = views_for(access)
    if not access.allows("workspace:manage"):
        rows = rows.filter(user=access.user_id)
    found = rows.filter(pk=int(number)).first() if number.isdecimal() and len(number) < 19 else None
    if found is None:
        raise NotFoundError("This view is not yours, or it is already deleted.")
    SavedView.objects.filter(pk=found.pk).delete()
    _record(access, "view.remove", found.pk, is_shared=found.is_shared)
    return found


def _record(access: Access, action: str, number: int, *, is_shared: bool) -> None:
    """Write an audit entry without the view's name, which is erased with its person."""
    by, details = actor_of(access), {"shared": is_shared}
    record(by, action, workspace=access.workspace, target=f"view:{number}", details=details)
