"""The workspace's drive: files in its folder, which agents read and write too."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from pydantic import Field

from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.drive import DriveFileIn, DriveFileOut, DriveFilesOut, FileName
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.operation import Download
from heartbit_site.operations.paging import page_of
from tools.actions import drive_files
from tools.connectors.drive.files import DriveError, checked_folder, checked_name
from tools.connectors.drive.folder import workspace_drive

Folder = Annotated[Word, Field(description="Only the files below this folder.")]
Named = Annotated[FileName, Field(description="Path of the file, with slashes.")]


def list_drive_files(
    access: Access, *, folder: Folder = "", cursor: Cursor = None, limit: Limit = USUAL
) -> DriveFilesOut:
    """Return the files of the workspace's folder by name, 10,000 at most; a bucket's are not."""
    found = workspace_drive(access.workspace.pk).list_below(checked_folder(folder))
    rows, following = page_of({one.name: one for one in found}, str, cursor, limit)
    return DriveFilesOut(files=[DriveFileOut.of(row) for row in rows], next_cursor=following)


def fetch_drive_file(access: Access, *, name: Named) -> Download:
    """Return a file of the drive."""
    name = checked_name(name)
    data = workspace_drive(access.workspace.pk).read_whole(name)
    return Download(name.rpartition("/")[2], data)


def save_drive_file(access: Access, body: DriveFileIn) -> DriveFileOut:
    """Upload a file; one with other content is replaced only with `replace`."""
    try:
        data = base64.b64decode(body.content, validate=True)
    except (binascii.Error, ValueError):
        raise DriveError("The content is not base64: encode the file's bytes.") from None
    saved = drive_files.save_drive_file(
        access.workspace, body.name, data, replace=body.replace, by=actor_of(access)
    )
    return DriveFileOut.of(saved)


def remove_drive_file(access: Access, *, name: Named) -> None:
    """Delete a file; a knowledge base that follows its folder drops the document within an hour."""
    drive_files.remove_drive_file(access.workspace, name, by=actor_of(access))
