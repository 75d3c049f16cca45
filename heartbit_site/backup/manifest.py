"""The manifest of a backup: its origin, and a checksum of each part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from heartbit_site.backup.errors import BackupError

#: Raised when an older Heartbit could not restore what a newer one writes.
FORMAT: Final = 1
NAME: Final = "manifest.json"
DATABASE: Final = "database.dump"
KEYS: Final = ("secret_key", "encryption_keys")
FOLDERS: Final = ("archive", "drive")


class BackupPart(BaseModel):
    """A file of the backup.

    Attributes:
        sha256: Checksum in hexadecimal.
        mode: Permissions of the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int
    sha256: str
    mode: int = 0o600


class Manifest(BaseModel):
    """Content of a backup.

    Attributes:
        heartbit: Version of Heartbit that wrote it.
        made_at: Time of the database just before its snapshot.
        postgres: Version of the server, such as 180006.
        extensions: Extensions of the database, each with its schema: a dump lacks those that came
            with the server.
        migrations: Applied migrations by app.
        keys: Key files in it; others were in the environment, or left out.
        folders: Folders in it, also empty ones; others were not on that machine.
        parts: Files by their path in the backup.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int = FORMAT
    heartbit: str
    made_at: datetime
    postgres: int
    extensions: dict[str, str]
    migrations: dict[str, list[str]]
    keys: list[str]
    folders: list[str]
    parts: dict[str, BackupPart]

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON with its own checksum."""
        text = self.model_dump_json()
        return json.dumps({"sha256": _checksum(text), "manifest": text}).encode()


def read_manifest(data: bytes, file: str) -> Manifest:
    """Return the manifest of a backup.

    Raises:
        BackupError: It is damaged, or of a newer Heartbit.
    """
    try:
        outer = json.loads(data)
        text = outer["manifest"]
        if outer["sha256"] != _checksum(text):
            raise damaged(file)
        if json.loads(text)["format"] > FORMAT:
            raise BackupError(
                f"{file} was written by a newer Heartbit, {json.loads(text).get('heartbit')}: "
                "install that version, or a later one, to restore it."
            )
        return Manifest.model_validate_json(text)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ValidationError,
        RecursionError,
    ) as error:
        raise damaged(file) from error


def damaged(file: str, part: str = "") -> BackupError:
    """Return the error for a backup that is not as it was written."""
    what = f" ({part} is not as it was written)" if part else ""
    return BackupError(f"{file} is damaged or incomplete{what}: take another backup.")


def refuse_newer(manifest: Manifest, known: Mapping[str, set[str]]) -> None:
    """Refuse a backup whose tables this version of Heartbit does not know.

    Args:
        manifest: The backup's.
        known: Migrations of the apps that are installed here.

    Raises:
        BackupError: It has migrations that an app here lacks.
    """
    for app, names in sorted(manifest.migrations.items()):
        unknown = sorted(set(names) - known[app]) if app in known else []
        if unknown:
            raise BackupError(
                f"The backup is of Heartbit {manifest.heartbit}, whose tables are newer than this "
                f"version's ({app} {unknown[-1]}): install that version, or a later one."
            )


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
