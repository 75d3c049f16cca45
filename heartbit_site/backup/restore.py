"""Restore a backup into this installation.

The file is checked as a whole first. New files lie beside the old ones until the database's one
transaction has committed, and everything is halted from that transaction on until the end: whatever
stops a restore, either nothing has changed, or nothing runs before it is repeated.
"""

from __future__ import annotations

import importlib.resources
import pkgutil
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.apps import apps
from django.conf import settings
from django.db import transaction
from psycopg.sql import SQL, Identifier

from heartbit_site.backup import places
from heartbit_site.backup.archive import ArchiveReader
from heartbit_site.backup.errors import BackupError, os_errors
from heartbit_site.backup.manifest import DATABASE, Manifest, refuse_newer
from heartbit_site.backup.programs import Programs
from heartbit_site.backup.write import connect
from heartbit_site.base import audit
from heartbit_site.base.os_user import terminal_user
from heartbit_site.base.query import execute, fetch_all, fetch_one
from heartbit_site.first_start import EARLY, migrate_and_seed
from scheduling.actions.skip_elapsed import skip_elapsed

if TYPE_CHECKING:
    import psycopg

_HOLDER: Final = "heartbit restore"  # author of the halt in hold.sql
_REPLACE: Final = "DROP SCHEMA public CASCADE;\nCREATE SCHEMA public;\n"
_EXTENSION: Final = SQL("CREATE EXTENSION IF NOT EXISTS {} WITH SCHEMA {};\n")


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of a restore.

    Attributes:
        made_at: Time of the backup.
        heartbit: Version of Heartbit that wrote it.
        runs: Root runs that no one executes until a person releases them.
        unsent: Results and webhook messages that were not sent at the time of the backup.
        channels: Mailboxes that are no longer read, as ``workspace/name``.
        schedules: Schedules whose firings since the backup are skipped, as ``workspace/name``.
        keys: Key files that were restored.
        keys_here: Variables that hold the keys here, so that those of the backup were left.
    """

    made_at: datetime
    heartbit: str
    runs: int
    unsent: int
    channels: list[str]
    schedules: list[str]
    keys: list[str]
    keys_here: list[str]


def restore_backup(file: Path, *, replace: bool = False, goes_on: bool = False) -> Restored:
    """Restore database, keys and folders.

    Args:
        file: File that ``write_backup`` wrote.
        replace: Delete what is in the database and the folders.
        goes_on: Nothing has run since the backup, so everything continues by itself.

    Raises:
        BackupError: The file or the place is unsuitable, or the database refuses; nothing was
            changed, or the message says that everything is halted.
    """
    with ArchiveReader(file) as archive:
        manifest = archive.manifest
        _refuse_early(manifest)
        refuse_newer(manifest, _known_migrations())
        archive.verify()
        with connect() as session:
            _check_place(session, manifest, replace=replace)
            server = session.info.server_version
        stages = _stage(archive)
        try:
            _restore_database(archive, server, replace=replace, goes_on=goes_on)
        except BaseException:
            for stage in stages:
                stage.discard()
            raise
        try:
            with os_errors(settings.ENVIRONMENT.state.path):
                for stage in stages:
                    stage.commit()
                keys, keys_here = _restore_keys(archive)
            migrate_and_seed()
            schedules = [] if goes_on else _skip_firings(manifest)
        except BaseException as error:
            raise BackupError(
                f"The restore did not end ({error}): everything stays halted; repeat it with "
                "--replace."
            ) from error
    return _finish(manifest, goes_on=goes_on, keys=keys, keys_here=keys_here, schedules=schedules)


def _refuse_early(manifest: Manifest) -> None:
    """Refuse a backup of a database that was made before the first release."""
    if any(name in manifest.migrations.get(app, ()) for app, name in EARLY):
        raise BackupError(
            "The backup was made before Heartbit's first release, and no way leads from its tables "
            "to today's: restore it with the version that made it."
        )


def _known_migrations() -> dict[str, set[str]]:
    """Return the names of the migrations of each app that is installed here."""
    return {
        app.label: {module.name for module in pkgutil.iter_modules([f"{app.path}/migrations"])}
        for app in apps.get_app_configs()
    }


def _check_place(session: psycopg.Connection[Any], manifest: Manifest, *, replace: bool) -> None:
    """Refuse a database that is in use, or a place that has something already."""
    here, there = session.info.server_version // 10_000, manifest.postgres // 10_000
    if here < there:
        raise BackupError(
            f"The backup is of PostgreSQL {there}, and the server here is PostgreSQL {here}: "
            f"restore it on PostgreSQL {there} or newer."
        )
    (others,) = session.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND usename = current_user AND pid <> pg_backend_pid()"
    ).fetchone() or (0,)
    if others:
        raise BackupError(
            f"The database is in use ({others} sessions): stop web, workers, beat and other "
            "commands first."
        )
    if replace:
        return
    (tables,) = session.execute(
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    ).fetchone() or (0,)
    if tables:
        raise BackupError(
            "The database is not empty: name an empty one, or add --replace to delete what is in "
            "it."
        )
    for directory in places.folders().values():
        if places.is_filled(directory):
            raise BackupError(
                f"{directory} is not empty: empty it, or add --replace to delete what is in it."
            )


def _stage(archive: ArchiveReader) -> list[places.StagedFolder]:
    """Unpack the folders of the backup beside those that they replace."""
    stages = []
    for name, directory in places.folders().items():
        if name not in archive.manifest.folders:
            continue
        stage = places.StagedFolder(directory)
        with os_errors(directory):
            stage.begin()
            for part in archive.names_in(name):
                archive.extract(part, stage.stage / part.removeprefix(f"{name}/"))
        stages.append(stage)
    return stages


def _restore_database(archive: ArchiveReader, server: int, *, replace: bool, goes_on: bool) -> None:
    sql = importlib.resources.files("heartbit_site.backup").joinpath("hold.sql").read_text()
    variables = {
        "made_at": archive.manifest.made_at.isoformat(),
        "sentence": _sentence(archive.manifest),
        "goes_on": "true" if goes_on else "false",
    }
    with tempfile.TemporaryDirectory(prefix="heartbit-restore-") as working:
        dump = Path(working, DATABASE)
        with os_errors(dump):
            archive.extract(DATABASE, dump)
        before = [_REPLACE] if replace else []
        for name, schema in archive.manifest.extensions.items():
            before.append(_EXTENSION.format(Identifier(name), Identifier(schema)).as_string())
        programs = Programs(settings.DATABASE_DIRECT_URL, server)
        programs.restore(dump, before="".join(before), after=sql, variables=variables)


def _restore_keys(archive: ArchiveReader) -> tuple[list[str], list[str]]:
    """Write the key files; keys that encrypted something here stay, behind those of the backup."""
    written, in_environment = [], []
    for name in archive.manifest.keys:
        if variable := places.variable_of(name):
            in_environment.append(variable)
            continue
        path = places.key_file(name)
        text = archive.read_key(name)
        if name == "encryption_keys" and path.is_file():
            mine = path.read_text().split()
            text = "\n".join(dict.fromkeys([*text.split(), *mine]))
        unfinished = path.with_name(f".{name}.restored")
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
        unfinished.write_text(text)
        unfinished.replace(path)
        written.append(name)
    return written, in_environment


def _skip_firings(manifest: Manifest) -> list[str]:
    why = f"{_moment(manifest)}: it may have been fired since."
    return [f"{one.workspace.slug}/{one.name}" for one in skip_elapsed(why)]


@transaction.atomic
def _finish(
    manifest: Manifest,
    *,
    goes_on: bool,
    keys: list[str],
    keys_here: list[str],
    schedules: list[str],
) -> Restored:
    """Count what is held, and end the halt."""
    sentence = _sentence(manifest)
    (runs,) = fetch_one(
        "SELECT count(DISTINCT root_id) FROM agents_run"
        " WHERE home = 'restored' AND finished_at IS NULL"
    )
    (unsent,) = fetch_one(
        "SELECT (SELECT count(*) FROM agents_delivery WHERE error = %s)"
        " + (SELECT count(*) FROM agents_webhookdelivery WHERE error = %s)",
        [sentence, sentence],
    )
    channels = fetch_all(
        "SELECT w.slug || '/' || c.name FROM agents_channel c"
        " JOIN base_workspace w ON w.id = c.workspace_id WHERE c.last_error = %s ORDER BY 1",
        [sentence],
    )
    audit.record(
        terminal_user(),
        "installation.restore",
        workspace=None,
        target="installation",
        details={"made_at": manifest.made_at.isoformat(), "goes_on": goes_on, "runs": runs},
    )
    execute("DELETE FROM agents_pause WHERE kind = 'all' AND by = %s", [_HOLDER])
    return Restored(
        manifest.made_at,
        manifest.heartbit,
        runs,
        unsent,
        [name for (name,) in channels],
        schedules,
        keys,
        keys_here,
    )


def _sentence(manifest: Manifest) -> str:
    return f"{_moment(manifest)}: look whether it was sent since, and send it again if not."


def _moment(manifest: Manifest) -> str:
    return f"Restored from the backup of {manifest.made_at:%Y-%m-%d %H:%M} UTC"
