"""The workspace's drive: files in its folder, which agents read and write too."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Noun

#: 10 MB in base64.
_MOST_CHARACTERS = 13_400_000
FileName = Annotated[str, Field(min_length=1, max_length=500)]


class DriveFileOut(View):
    """A file of the drive, without its content."""

    name: str = Field(description="Path with slashes, such as reports/2026/may.txt.")
    size: int = Field(description="Bytes.")
    modified_at: Time = Field(validation_alias="modified")


class DriveFilesOut(Page):
    """Files of the drive by name."""

    files: list[DriveFileOut]


class DriveFileIn(Body):
    """A file to upload."""

    name: FileName = Field(description="Path with slashes, such as reports/2026/may.txt.")
    content: Annotated[str, Field(max_length=_MOST_CHARACTERS)] = Field(
        description="The content in base64, of at most 10 MB."
    )
    replace: bool = Field(default=False, description="A file with other content is replaced.")


NOUN = Noun("drive", read=READ_RUNS, write=WRITE_RUNS)

# The name is no part of the path: it holds slashes.
LIST_DRIVE_FILES = NOUN.get(
    "list_drive_files", "/drive", DriveFilesOut, command="`heartbit drive list`"
)
FETCH_DRIVE_FILE = NOUN.download("fetch_drive_file", "/drive/content")
SAVE_DRIVE_FILE = NOUN.post(
    "save_drive_file", "/drive", DriveFileOut, "Upload a drive file", body=DriveFileIn, status=201
)
REMOVE_DRIVE_FILE = NOUN.delete("remove_drive_file", "/drive")
