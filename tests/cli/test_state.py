"""`heartbit state`, here and against a server."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from agents.actions.state import prune_state
from agents.models import Conversation, StateEntry
from heartbit_site.base.models import AuditEntry

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


def test_a_value_is_set_read_replaced_and_deleted(place: Place, workspace: Workspace) -> None:
    state = place.of("state")
    assert state("set", "a/b", '{"page": 3}').out == "a/b is set.\n"
    assert json.loads(state("get", "a/b").out) == {"page": 3}
    assert state("set", "a/b", "three", "--ttl-seconds", "3600").code == 0
    assert state("get", "a/b").out == "three"
    assert "three" in state("list").out
    assert (state("exists", "a/b").code, state("exists", "b").out) == (0, "no\n")
    row = StateEntry.objects.get(workspace=workspace)
    assert row.expires_at is not None
    assert state("delete", "a/b").out == "a/b is deleted.\n"
    ended = state("get", "a/b")
    assert (ended.code, "no entry 'a/b'" in ended.err) == (2, True), ended.err
    audit = AuditEntry.objects.filter(workspace=workspace, action__startswith="state.")
    assert [one.action for one in audit.order_by("pk")] == ["state.set"] * 2 + ["state.delete"]
    assert "three" not in str([one.details for one in audit])


def test_scopes_are_apart_and_what_has_expired_is_gone(place: Place, workspace: Workspace) -> None:
    thread = Conversation.objects.create(workspace=workspace, agent="writer")
    state = place.of("state")
    scopes: dict[str, tuple[str, ...]] = {
        "workspace": (),
        "agent": ("--agent", "writer"),
        "conversation": ("--conversation", str(thread.pk)),
    }
    for name, options in scopes.items():
        assert state("set", "k", name, *options).code == 0
    assert [state("get", "k", *options).out for options in scopes.values()] == list(scopes)
    both = state("set", "k", "v", "--agent", "a", "--conversation", str(thread.pk))
    assert "leave one of them out" in both.err
    assert "no conversation" in state("list", "--conversation", str(workspace.pk)).err
    thread.delete()
    rows = StateEntry.objects.filter(workspace=workspace)
    assert {row.scope for row in rows} == {"workspace", "agent"}
    rows.filter(scope="agent").update(expires_at=timezone.now() - timedelta(seconds=1))
    assert state("exists", "k", "--agent", "writer").out == "no\n"
    assert state("set", "k", "again", "--agent", "writer").code == 0, "it may be set anew"
    rows.filter(scope="agent").update(expires_at=timezone.now() - timedelta(seconds=1))
    assert prune_state() == 1
    assert rows.get().scope == "workspace"


def test_what_cannot_be_stored_is_refused(place: Place, workspace: Workspace) -> None:
    state = place.of("state")
    assert "at most 20,000 are stored" in state("set", "k", "x" * 20_001).err
    assert state("set", "k" * 201, "x").code == 2
    assert state("set", "k", "x", "--ttl-seconds", "0").code == 2
    assert not StateEntry.objects.filter(workspace=workspace).exists()
