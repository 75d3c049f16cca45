"""Write a backup of a running installation.

The database comes first, as one snapshot. A run that is archived meanwhile is then in both the dump
and the archive; the other way round it would be in neither.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import psycopg
from django.conf import settings

from heartbit_site.backup import places
from heartbit_site.backup.archive import ArchiveWriter
from heartbit_site.backup.errors import BackupError, os_errors
from heartbit_site.backup.manifest import DATABASE, KEYS, Manifest
from heartbit_site.backup.programs import Programs
from heartbit_site.base.database_faults import database_fault

_CONNECT_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class WrittenBackup:
    """A backup that was written.

    Attributes:
        path: Its file.
        size: Its length in bytes.
        keys: Key files in it.
        in_environment: Variables that hold the keys instead; they are not in it.
        absent: Folders that this machine does not have.
    """

    path: Path
    size: int
    made_at: datetime
    keys: list[str]
    in_environment: list[str]
    absent: list[str]


def write_backup(target: Path, *, with_keys: bool = True) -> WrittenBackup:
    """Write database, keys and folders into one file, which appears when it is complete.

    Args:
        target: A new file, or a directory, in which the file is named after the time.
        with_keys: False: leave the key files out.

    Raises:
        BackupError: The file exists or cannot be written, or the database cannot be dumped.
    """
    path = target / _name() if target.is_dir() else target
    if path.exists():
        raise BackupError(f"{path} exists already: name another file, or a directory.")
    # Beside the file, for a rename within one file system; the directory is its owner's alone.
    with (
        os_errors(path),
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".heartbit-backup-") as working,
    ):
        unfinished = Path(working, "backup.tar")
        manifest = _fill(unfinished, Path(working, DATABASE), with_keys=with_keys)
        os.link(unfinished, path)  # a rename would replace a file that was made meanwhile
    return WrittenBackup(
        path,
        path.stat().st_size,
        manifest.made_at,
        manifest.keys,
        [name for key in KEYS if (name := places.variable_of(key))],
        [name for name, place in places.folders().items() if not place.is_dir()],
    )


def _fill(unfinished: Path, dump: Path, *, with_keys: bool) -> Manifest:
    database = _look()
    Programs(settings.DATABASE_DIRECT_URL, database.server).dump(dump)
    kept = [
        name
        for name in KEYS
        if with_keys and not places.variable_of(name) and places.key_file(name).is_file()
    ]
    present = [name for name, place in places.folders().items() if place.is_dir()]
    with ArchiveWriter(unfinished) as archive:
        archive.add_file(DATABASE, dump)
        dump.unlink()
        for name in kept:
            archive.add_file(f"keys/{name}", places.key_file(name))
        for name in present:
            archive.add_folder(name, places.folders()[name])
        manifest = Manifest(
            heartbit=metadata.version("heartbit"),
            made_at=database.now,
            postgres=database.server,
            extensions=database.extensions,
            migrations=database.migrations,
            keys=kept,
            folders=present,
            parts=archive.parts,
        )
        archive.finish(manifest)
    return manifest


def connect() -> psycopg.Connection[Any]:
    """Connect to the database, without a pooler in between.

    Raises:
        BackupError: It is unavailable.
    """
    try:
        return psycopg.connect(settings.DATABASE_DIRECT_URL, connect_timeout=_CONNECT_SECONDS)
    except psycopg.Error as error:
        fault = database_fault(error)
        reason = fault.reason if fault is not None else str(error).strip().splitlines()[0]
        raise BackupError(
            f"The database cannot be reached ({reason}): check DATABASE_URL and "
            "DATABASE_DIRECT_URL."
        ) from error


@dataclass(frozen=True, slots=True)
class _Database:
    """The database as it is; see ``Manifest``."""

    server: int
    now: datetime
    extensions: dict[str, str]
    migrations: dict[str, list[str]]


def _look() -> _Database:
    with connect() as session:
        (found,) = session.execute("SELECT to_regclass('django_migrations')").fetchone() or (None,)
        if found is None:
            raise BackupError(
                "The database has no tables of Heartbit, so there is nothing to back up: check "
                "DATABASE_URL and HEARTBIT_STATE_DIR."
            )
        (now,) = session.execute("SELECT clock_timestamp()").fetchone() or (datetime.now(UTC),)
        migrations = defaultdict(list)
        for app, name in session.execute("SELECT app, name FROM django_migrations ORDER BY id"):
            migrations[app].append(name)
        extensions = session.execute(
            "SELECT extname, extnamespace::regnamespace::text FROM pg_extension"
            " WHERE extname <> 'plpgsql'"
        ).fetchall()
        return _Database(
            session.info.server_version, now.astimezone(UTC), dict(extensions), dict(migrations)
        )


def _name() -> str:
    return f"heartbit-{datetime.now(UTC):%Y-%m-%d-%H%M%S}.tar"
