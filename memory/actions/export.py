"""Export of everything that an erasure of a person with their runs would delete."""

from __future__ import annotations

from typing import BinaryIO

from django.conf import settings
from django.utils.module_loading import import_string

from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import User
from heartbit_site.base.rights import require


def export_person(workspace: Workspace, user: User, file: BinaryIO, *, by: Actor) -> int:
    """Write a person's data into a ZIP archive; return the number of rows.

    ``agents.housekeeping.export_person`` does it: most of it belongs to the agents app, which is
    above this one.

    Raises:
        ForbiddenError: The author does not manage the workspace.
        HeartbitError: An archive of runs cannot be read, or is being written.
    """
    require(by, "workspace:manage", workspace_id=workspace.pk)
    count: int = import_string(settings.HEARTBIT_EXPORT_PERSON)(workspace, user, file, by=by)
    return count
