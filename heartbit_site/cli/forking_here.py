"""`heartbit runs fork --local`: the new run is executed in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.choices import Placement
from heartbit_site.cli.forking import confirm
from heartbit_site.cli.local_backend import LocalBackend
from heartbit_site.cli.standalone import stay_here
from heartbit_site.operations import turns

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.cli.forking import ForkOptions


def fork_here(order: ForkOptions, *, as_json: bool, plain: bool) -> int:
    """Fork a run and execute the new one in this process."""
    backend, body = LocalBackend(), order.body()
    confirm(backend, order, body.turn)

    def start() -> UUID:
        return turns.fork(backend.access, order.run, body, home=Placement.LOCAL)

    return stay_here(backend.access.workspace, start, as_json=as_json, plain=plain)
