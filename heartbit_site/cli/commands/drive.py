"""`heartbit drive`: files of the workspace's folder, which agents read and write too."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.backend.chosen import call
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table, print_done
from heartbit_site.contract import drive as contract

FILE: Final = common.argument("FILE", "The file here.")
NAME: Final = common.option("--name PATH", "Its path in the drive; else the file's name.")
REPLACE: Final = common.flag("--replace", "Replace a file with other content.")
FOLDER: Final = common.option("--folder FOLDER", "Only the files below this folder.")

TABLE: Final = Table.of(
    contract.DriveFileOut,
    "FILE=name BYTES=size:, MODIFIED=modified_at",
    none="The drive is empty: `heartbit drive upload FILE` puts a file there.",
)

app = common.group()
DRIVE: Final = Verbs(app, "file", contract.LIST_DRIVE_FILES, TABLE)

DRIVE.list("List the files of the workspace's folder.", folder=FOLDER)


@app.command(cls=RemoteCommand)
def upload(file: Path = FILE, *, name: str = NAME, replace: bool = REPLACE) -> int:
    """Put a file into the drive, of at most 10 MB."""
    try:
        content = base64.b64encode(file.read_bytes()).decode()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}.") from error
    given = {"name": name or file.name, "content": content, "replace": replace}
    saved = call(contract.SAVE_DRIVE_FILE, given)
    return print_done(saved, f"{saved.name} has {saved.size:,} bytes.")


DRIVE.download("download", contract.FETCH_DRIVE_FILE, "Save a file of the drive.", named="name")
DRIVE.remove(contract.REMOVE_DRIVE_FILE, "Delete a file of the drive.", named="name")
