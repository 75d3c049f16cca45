"""Workspaces by their short names."""

from __future__ import annotations

from heartbit_site.base.access import NoWorkspaceError
from heartbit_site.base.models import Workspace
from tools.registry import closest


def find_workspace(slug: str) -> Workspace:
    """Return the workspace of a short name, for somebody who may know all of them.

    Raises:
        NoWorkspaceError: There is none; the sentence names the nearest, or all.
    """
    workspace = Workspace.objects.filter(slug=slug.replace("\x00", "")).first()
    if workspace is None:
        slugs = sorted(Workspace.objects.values_list("slug", flat=True))
        near = closest(slug, slugs)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(slugs)}."
        raise NoWorkspaceError(f"There is no workspace {slug[:50]!r}: {hint}")
    return workspace
