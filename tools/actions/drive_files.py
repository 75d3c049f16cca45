"""Save and delete files of a workspace's drive for a person."""

from __future__ import annotations

from heartbit_site.base.audit import Actor, record_workspace
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from tools.connectors.drive.files import FileEntry, checked_name
from tools.connectors.drive.folder import workspace_drive


def save_drive_file(
    workspace: Workspace, name: str, data: bytes, *, replace: bool, by: Actor
) -> FileEntry:
    """Write a file, and return its entry.

    Args:
        workspace: The drive's workspace.
        name: Path with slashes.
        data: Its content.
        replace: Replace a file with other content.
        by: The actor, for the audit.

    Raises:
        DriveError: The name is not valid, the file is too large or exists, or the drive is full.
        ForbiddenError: The actor may not start runs, which write such files.
    """
    require(by, "runs:write", workspace_id=workspace.pk)
    name, drive = checked_name(name), workspace_drive(workspace.pk)
    drive.write_whole(name, data, replace=replace)
    record_workspace(by, "drive.save", workspace, {"file": name, "bytes": len(data)})
    return next(entry for entry in drive.list_below(name.rpartition("/")[0]) if entry.name == name)


def remove_drive_file(workspace: Workspace, name: str, *, by: Actor) -> None:
    """Delete a file.

    Raises:
        DriveError: There is none of that name.
        ForbiddenError: As for ``save_drive_file``.
    """
    require(by, "runs:write", workspace_id=workspace.pk)
    name = checked_name(name)
    workspace_drive(workspace.pk).remove(name)
    record_workspace(by, "drive.delete", workspace, {"file": name})
