"""Access to the files of a workspace's drive, implemented by an app above this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string


class FolderSource(Protocol):
    """Files of a workspace's drive by name. Every method raises ``HeartbitError``."""

    def folder(self, name: str) -> str:
        """Return a folder's name in normal form; refuse a name that is not valid."""
        ...

    def names(self, workspace_id: int, folder: str) -> tuple[Sequence[str], bool]:
        """Return the files below a folder by name, and True if the list is complete."""
        ...

    def read(self, workspace_id: int, name: str) -> bytes:
        """Return a file's content."""
        ...


def folder_source() -> FolderSource:
    """Return the source that ``HEARTBIT_FOLDER_SOURCE`` names."""
    source: FolderSource = import_string(settings.HEARTBIT_FOLDER_SOURCE)()
    return source
