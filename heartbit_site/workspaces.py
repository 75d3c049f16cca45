"""Workspaces by their short names."""

from __future__ import annotations

from heartbit_site.base.access import NoWorkspaceError
from heartbit_site.base.models import Workspace
from tools.texts.near_names import hint

MOST_LISTED = 10


def find_workspace(slug: str) -> Workspace:
    """Return the workspace of a short name, for a caller who may know all of them.

    Raises:
        NoWorkspaceError: There is no such workspace; the sentence names the nearest, or the first
            ones.
    """
    workspace = Workspace.objects.filter(slug=slug.replace("\x00", "")).first()
    if workspace is None:
        slugs = sorted(Workspace.objects.values_list("slug", flat=True))
        end = hint(slug, slugs, most=MOST_LISTED)
        stop = "" if end.endswith("?") else "."
        raise NoWorkspaceError(
            f"There is no workspace {slug[:50]!r}: {end}{stop} A superuser makes one in the admin, "
            "under Workspaces."
        )
    return workspace
