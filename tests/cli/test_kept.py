"""Services that a command looks after: revived meanwhile, left alone afterwards."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from heartbit_site import environment
from heartbit_site.cli.installation import startup
from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory
from tests.embedded.conftest import passable_directory
from tests.fleet import wait_until

if TYPE_CHECKING:
    import pytest


def test_services_are_revived_while_kept_and_by_nobody_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with passable_directory() as path:
        stays_away_afterwards(StateDirectory(path / "s"), monkeypatch)


def stays_away_afterwards(state: StateDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBIT_STATE_DIR", str(state.path))
    kept = environment.read({"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
    monkeypatch.setattr(startup, "LOOK_SECONDS", 0.01)

    def revived() -> bool:
        return client.status(state).services["valkey"].ready

    try:
        with startup.kept(kept):
            wait_until(revived)
            client.stop(state)
            wait_until(revived)
        assert "services" not in {thread.name for thread in threading.enumerate()}
        client.stop(state)
        assert client.status(state).supervisor is None
    finally:
        client.stop(state)
