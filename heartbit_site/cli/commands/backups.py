"""`heartbit backup` and `heartbit restore`."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heartbit_site.backup.errors import BackupError
from heartbit_site.base.amounts import counted
from heartbit_site.cli.installation import startup
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import OK, CommandError, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.output import as_json, listed, note, write, write_json
from heartbit_site.environment import read

if TYPE_CHECKING:
    from heartbit_site.backup.restore import Restored

TARGET = common.argument("TARGET", "A new file, or a directory for a file named after the time.")
WITHOUT_KEYS = common.flag("--without-keys", "Leave out the key files: keep them in another place.")
FILE = common.argument("FILE", "The file that `heartbit backup` wrote.")
REPLACE = common.flag("--replace", "Delete the content of the database and the folders.")
GOES_ON = common.flag(
    "--continue", "Nothing has run since the backup: let everything continue by itself."
)
MEGABYTE = 1_000_000


def backup(target: Path = TARGET, *, without_keys: bool = WITHOUT_KEYS) -> int:
    """Write a backup; nothing is stopped.

    It has the database, the archive of runs, the drive, and the key files of the state directory,
    which decrypt the stored secrets: keep it as safe as those. Keys in the environment are not in
    it.
    """
    _attach()
    writing = importlib.import_module("heartbit_site.backup.write")
    try:
        done = writing.write_backup(target, with_keys=not without_keys)
    except BackupError as error:
        raise CommandError(str(error)) from error
    if as_json():
        write_json(_plain(asdict(done)))
        return OK
    write(f"{done.path}, {done.size / MEGABYTE:.1f} MB, as of {done.made_at:%Y-%m-%d %H:%M:%S} UTC")
    if done.in_environment:
        note(f"{listed(done.in_environment)} is not in it: keep a copy elsewhere.")
    elif without_keys:
        note("The key files are not in it: keep a copy elsewhere.")
    for name in () if read().embedded else done.absent:
        note(f"This machine has no {name} folder: if another has, back it up there as well.")
    return OK


def restore(
    file: Path = FILE,
    *,
    replace: bool = REPLACE,
    goes_on: bool = GOES_ON,
    yes: bool = common.YES,
) -> int:
    """Restore a backup into this installation.

    Stop web, workers and beat first. Whatever was in flight in the backup may have happened since,
    elsewhere. So runs that would continue by themselves are held until `heartbit runs release`,
    results and webhooks that were on their way are not sent, mailboxes are not read, and firings
    since the backup are skipped. Runs that wait for a person continue by the decision. With
    --continue, everything does.
    """
    if replace and not yes:
        _confirm()
    _attach()
    restoring = importlib.import_module("heartbit_site.backup.restore")
    try:
        done: Restored = restoring.restore_backup(file, replace=replace, goes_on=goes_on)
    except BackupError as error:
        raise CommandError(str(error)) from error
    if as_json():
        write_json(_plain(asdict(done)))
        return OK
    moment = f"{done.made_at:%Y-%m-%d %H:%M:%S} UTC"
    write(f"Restored the backup of {moment}, of Heartbit {done.heartbit}.")
    _print_held(done)
    if done.keys_here:
        note(f"{listed(done.keys_here)} is set here: it has to be that of the backup.")
    elif not done.keys:
        note("It has no key files: copy those of its installation, then run `heartbit doctor`.")
    return OK


def _attach() -> None:
    """Start the services and load Django; the tables stay as they are."""
    environment = read()
    starting = startup.Starting(environment, startup.wanted(environment))
    startup.set_up_django(environment)
    starting.wait()


def _confirm() -> None:
    if not is_interactive():
        raise UsageError("Say --yes if what is in the database and the folders may go.")
    if not typer.confirm("Delete what is in the database and the folders?", err=True):
        raise CommandError("Nothing was restored.")


def _print_held(done: Restored) -> None:
    if done.runs:
        write(
            f"{counted(done.runs, 'run')} held: `heartbit runs list --held` lists them, "
            "`heartbit runs release` lets one continue."
        )
    if done.unsent:
        write(
            f"{counted(done.unsent, 'result')} not sent: `heartbit deliveries` and "
            "`heartbit webhooks deliveries` list them."
        )
    if done.channels:
        write(f"Mailboxes not read until they are enabled: {', '.join(done.channels)}.")
    if done.schedules:
        write(
            f"Firings since the backup are skipped: {', '.join(done.schedules)}. "
            "`heartbit schedules backfill` makes up for them."
        )


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    """Return a result as JSON has it."""
    found["made_at"] = found["made_at"].isoformat()
    return {name: str(value) if isinstance(value, Path) else value for name, value in found.items()}
