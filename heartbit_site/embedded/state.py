"""The state directory of the embedded services, and their addresses.

Addresses depend only on the path, so settings know them before anything runs.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from heartbit_site.base import variables
from heartbit_site.embedded import locks
from heartbit_site.embedded.errors import EmbeddedError

ServiceName = Literal["postgres", "valkey", "model"]
SERVICES: Final[tuple[ServiceName, ...]] = ("postgres", "valkey", "model")

POSTGRES_PORT: Final = 5432
_SOCKET_PATH_BYTES: Final = 107
# Characters that would need quoting in PostgreSQL's socket list and both configuration files.
_UNQUOTABLE: Final = re.compile(r"[,\"'\\\x00-\x1f]")


def default_path() -> Path:
    """Return HEARTBIT_STATE_DIR, else /var/lib/heartbit for root, else the XDG state directory."""
    if chosen := variables.STATE.read():
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/lib/heartbit")
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    # The XDG specification says to ignore relative paths.
    if not base.is_absolute():
        base = Path(os.path.expanduser("~")) / ".local/state"  # noqa: PTH111 -- Path.home() raises for users without a home
    return base / "heartbit"


class StateDirectory:
    """One set of embedded services, named by the directory that holds their state.

    Args:
        path: The directory; `default_path()` when not given.

    Attributes:
        path: The absolute path.
        run: The directory of the sockets.
        postgres_socket: The socket PostgreSQL listens on.
        valkey_socket: The socket Valkey listens on.
        control_socket: The socket the supervisor listens on.
        page_file: The address of the web pages of the last `heartbit up`.
        model_file: The record that the local model writes when it is ready.
        users_lock: The lock that every process using the services holds shared.
        start_lock: The lock of the process that is starting a supervisor.
        supervisor_lock: The lock that the supervisor holds while it runs.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path: Final = (path or default_path()).absolute()
        self.run: Final = self.path / "run"
        self.postgres_socket: Final = self.run / f".s.PGSQL.{POSTGRES_PORT}"
        self.valkey_socket: Final = self.run / "valkey.sock"
        self.control_socket: Final = self.run / "supervisor.sock"
        self.page_file: Final = self.path / "page-url"
        self.model_file: Final = self.run / "model.json"
        self.users_lock: Final = self.path / "users.lock"
        self.start_lock: Final = self.path / "start.lock"
        self.supervisor_lock: Final = self.path / "supervisor.lock"

    @property
    def database_url(self) -> str:
        """The PostgreSQL URL (libpq form, over the unix socket)."""
        # The port is explicit because PGPORT in the caller's environment would replace it.
        host = quote(str(self.run), safe="")
        return f"postgresql:///heartbit?host={host}&port={POSTGRES_PORT}&user=heartbit"

    @property
    def redis_url(self) -> str:
        """The Valkey URL in redis-py's form, over the unix socket."""
        return f"unix://{quote(str(self.valkey_socket))}?db=0"

    def page_url(self) -> str:
        """Return the address of the web pages of the last `heartbit up`, or an empty string."""
        try:
            return self.page_file.read_text(encoding="utf-8")
        except OSError:
            return ""

    def keep_page_url(self, url: str) -> None:
        """Store that address atomically, so that no reader sees a part of it."""
        unfinished = self.page_file.with_suffix(".new")
        unfinished.write_text(url, encoding="utf-8")
        unfinished.replace(self.page_file)

    def model_url(self) -> str | None:
        """Return the base URL of the local model's HTTP server, or None while it is not ready."""
        record = self.model_record()
        return str(record["url"]) if record else None

    def model_record(self) -> dict[str, object] | None:
        """Return what the running local model recorded about itself (url, pid), if one runs."""
        try:
            text = self.model_file.read_text()
        except OSError:
            return None
        # A record outlives a killed server; its lock does not.
        if not locks.held(self.lock("model")):
            return None
        record: dict[str, object] = json.loads(text)
        return record

    def lock(self, service: ServiceName) -> Path:
        """Return the lock that a server holds for as long as it (or a child of it) lives."""
        return self.path / f"{service}.lock"

    def data(self, service: ServiceName) -> Path:
        """Return the directory of a server's data."""
        return self.path / "data" / service

    def config(self, name: str) -> Path:
        """Return the path of a generated configuration file."""
        return self.path / "etc" / name

    def log(self, name: str) -> Path:
        """Return the log of a service or of the supervisor."""
        return self.path / "log" / f"{name}.log"

    def check(self) -> None:
        """Refuse a path that no server could use.

        Raises:
            EmbeddedError: It is too long for a unix socket, or holds a character that the
                servers' configuration cannot carry.
        """
        excess = len(os.fsencode(self.control_socket)) - _SOCKET_PATH_BYTES
        if excess > 0:
            raise EmbeddedError(
                f"The state directory {self.path} is {excess} bytes too long for a unix socket: "
                "set HEARTBIT_STATE_DIR to a shorter path."
            )
        if _UNQUOTABLE.search(str(self.path)):
            raise EmbeddedError(
                f"The state directory {str(self.path)!r} has a comma, quote, backslash or control "
                "character in its name: set HEARTBIT_STATE_DIR to a plainer path."
            )
