"""Workspaces by their short names."""

from __future__ import annotations

from heartbit_site.base.access import NoWorkspaceError
from heartbit_site.base.models import Workspace
from tools.registry import closest

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
        near = closest(slug, slugs)
        hint = f"did you mean {near[0]}?" if near else _listed(slugs)
        raise NoWorkspaceError(f"There is no workspace {slug[:50]!r}: {hint}")
    return workspace


def _listed(slugs: list[str]) -> str:
    more = len(slugs) - MOST_LISTED
    return f"there are: {', '.join(slugs[:MOST_LISTED])}{f' and {more} more' if more > 0 else ''}."
