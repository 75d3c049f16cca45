"""`heartbit approve` of a call that several people have to approve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Decision, ToolCall, Vote
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


def test_an_approval_that_is_not_the_last_one_says_how_many_are_missing(
    place: Place, workspace: Workspace
) -> None:
    call = unserved(workspace)
    ToolCall.objects.filter(pk=call.pk).update(
        approval_view={**(call.approval_view or {}), "needed": 3}
    )
    done = place("approve", str(call.run_id), "--yes")
    assert done.code == 0, done.err
    counts = "Your approval of http_get of researcher counts, 2 more people have to approve it: "
    assert done.out.startswith(counts)
    assert Vote.objects.filter(run=call.run).count() == 1
    assert not Decision.objects.filter(run=call.run).exists()
