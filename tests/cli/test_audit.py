"""`heartbit audit`, here and at a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.audit import SYSTEM, record

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


def test_every_chain_is_verified_and_its_end_printed(place: Place, workspace: Workspace) -> None:
    record(SYSTEM, "agent.publish", workspace=workspace, label="solo")
    [mine] = [
        chain
        for chain in place("audit", "verify", "--json").json["chains"]
        if chain["workspace"] == workspace.slug
    ]
    assert (mine["chain"], mine["broken_at"]) == (workspace.pk, None)
    shown = place("audit", "verify").out
    [line] = [line for line in shown.splitlines() if f" {workspace.slug} " in line]
    assert line.split() == ["holds", workspace.slug, str(mine["last_number"]), mine["last_hash"]]
