"""Drive of a workspace as a source of documents (``memory.actions.follow_folders``)."""

from __future__ import annotations

from tools.connectors.drive.files import MAX_FILES, DriveError, checked_folder, checked_name
from tools.connectors.drive.folder import workspace_drive


class DriveSource:
    """Implementation of ``FolderSource`` over the folder of each workspace, not over buckets."""

    def folder(self, name: str) -> str:
        """Return a folder's name in normal form.

        Raises:
            DriveError: It is no folder below the drive's root.
        """
        found = checked_folder(name)
        if not found:
            raise DriveError("Name a folder of the drive, such as handbook: not all of it.")
        return found

    def names(self, workspace_id: int, folder: str) -> tuple[list[str], bool]:
        """Return the files below a folder by name, and True if these are all of them."""
        found = workspace_drive(workspace_id).list_below(folder)
        return [entry.name for entry in found], len(found) < MAX_FILES

    def read(self, workspace_id: int, name: str) -> bytes:
        """Return a file's content.

        Raises:
            DriveError: It is gone, too large, or no plain file.
        """
        return workspace_drive(workspace_id).read_whole(checked_name(name))
