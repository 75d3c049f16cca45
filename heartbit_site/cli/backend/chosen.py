"""The backend that a command's options name.

::

    agent = backend().call(START_AGENT, name="writer")
    channels = backend().every(LIST_CHANNELS).channels
"""

from __future__ import annotations

from pathlib import Path

from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.backend.server import ServerBackend, server
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.terminal.output import INVOCATION


def backend(file: Path | None = None, *, reads_only: bool = False) -> Backend:
    """Return what does the command's operations: the server that is named, or this installation.

    Args:
        file: What ``--config`` names, for a command that has its own.
        reads_only: As for ``ensure_ready``.

    Raises:
        ConfigurationError: As for ``server`` and ``ensure_ready``.
        EmbeddedError: As for ``ensure_ready``.
    """
    return backend_for(INVOCATION.url, file, reads_only=reads_only)


def backend_for(url: str | None, file: Path | None = None, *, reads_only: bool = False) -> Backend:
    """Return the backend of an address, as ``backend`` does.

    Args:
        url: What ``--url`` says; empty: this installation; None: it was not given.
        file: As for ``backend``.
        reads_only: As for ``ensure_ready``.
    """
    named = server(url, file)
    if named is not None:
        return ServerBackend(named)
    ensure_ready("heartbit_site.cli.backend.local", reads_only=reads_only)
    from heartbit_site.cli.backend.local import LocalBackend  # noqa: PLC0415  needs Django set up

    return LocalBackend()
