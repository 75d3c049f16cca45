"""A run that was started and waits for workers that are not there. No Django by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.cli import remote_outcome
from heartbit_site.cli.backend import ServerBackend
from heartbit_site.cli.load import load
from heartbit_site.cli.remote_client import get
from heartbit_site.cli.remote_runs import path_of

if TYPE_CHECKING:
    from heartbit_site.cli.backend import Backend


def warn_without_worker(backend: Backend, run_id: str) -> None:
    """Say so when no worker serves a run's queue."""
    if isinstance(backend, ServerBackend):
        remote_outcome.warn_without_worker(get(backend.server, path_of(run_id)))
    else:
        load("fleet").warn_without_worker_of(run_id)
