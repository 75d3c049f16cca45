"""What `heartbit approve` and `heartbit settle` do, here or at a server. No Django by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.cli import remote
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load

if TYPE_CHECKING:
    from heartbit_site.cli.choices import Order, Word
    from heartbit_site.cli.kinds import Kind


def answer(
    kind: Kind,
    run: str | None,
    call: str | None,
    order: Order | Word,
    *,
    url: str | None,
    as_json: bool,
) -> int:
    """List what waits when no run is named, else answer what waits in it; the exit code."""
    code: int
    server = remote.server(url)
    if server is not None:
        there = load("approvals_there")
        if run is None:
            code = there.overview(server, kind, as_json=as_json)
        else:
            code = there.of_run(server, run, call, order, kind, as_json=as_json)
        return code
    begin("heartbit_site.cli.approvals")
    approvals = load("approvals")
    if run is None:
        code = approvals.overview(kind, as_json=as_json)
    else:
        code = approvals.of_run(run, call, order, kind, as_json=as_json)
    return code
