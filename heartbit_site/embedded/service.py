"""A kind of server, as the supervisor sees it."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

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
