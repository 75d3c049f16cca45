"""Admission checks the owner's rights, whichever door a request comes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.admit import admit
from agents.actions.fork_run import fork_run
from agents.actions.run_request import RunRequest, call_of
from agents.actions.runs import cancel_run, retry_run
from agents.actions.start_conversation import start_conversation
from agents.choices import Placement
from agents.models import Conversation, Run, WorkFile
from heartbit_site.base.access import Access, NoWorkspaceError
from heartbit_site.base.audit import SYSTEM, Actor, actor_of
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models import Workspace
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = "orchestrator"
WAYS: dict[str, Callable[[Workspace, Run, Conversation, Actor], object]] = {
    "task": lambda w, _, __, by: admit(RunRequest(w, "Add.", by=by)),
    "call": lambda w, _, __, by: admit(RunRequest(w, call=call_of("add", {}), agent=AGENT, by=by)),
    "message": lambda w, _, t, by: admit(RunRequest(w, "Add.", conversation=t, by=by)),
    "repeated": lambda w, _, __, by: admit(RunRequest(w, "Add.", idempotency_key="k", by=by)),
    "fork": lambda _, r, __, by: fork_run(r, 0, by=by),
    "retry": lambda _, r, __, by: retry_run(r, by=by),
    "conversation": lambda w, _, __, by: start_conversation(w, agent=AGENT, by=by),
}


def actor(workspace: Workspace, *scopes: str) -> Actor:
    return actor_of(Access(workspace, "API key reader", "api", frozenset(scopes), None, 1))


@pytest.fixture
def ended(workspace: Workspace) -> Run:
    run = Run.objects.get(
        pk=start_run(workspace, "Add.", idempotency_key="k", home=Placement.LOCAL)
    )
    cancel_run(workspace, run.pk, reason="a test")
    run.refresh_from_db()
    return run


@pytest.fixture
def thread(workspace: Workspace) -> Conversation:
    return start_conversation(workspace, agent=AGENT)


@pytest.mark.parametrize("way", WAYS)
def test_an_owner_without_the_right_starts_nothing(
    workspace: Workspace, ended: Run, thread: Conversation, way: str
) -> None:
    with pytest.raises(ForbiddenError, match=r"does not have the scope runs:write\.$") as refused:
        WAYS[way](workspace, ended, thread, actor(workspace, "runs:read", "agents:write"))

    assert refused.value.scope == "runs:write"
    assert [*Run.objects.filter(workspace=workspace)] == [ended]
    assert [*Conversation.objects.filter(workspace=workspace)] == [thread]


@pytest.mark.parametrize("way", WAYS)
def test_a_right_in_one_workspace_starts_nothing_in_another(
    workspace: Workspace, ended: Run, thread: Conversation, way: str
) -> None:
    elsewhere = Workspace(pk=0, name="Elsewhere", slug="elsewhere")

    with pytest.raises(NoWorkspaceError):
        WAYS[way](workspace, ended, thread, actor(elsewhere, "runs:write"))

    assert [*Run.objects.filter(workspace=workspace)] == [ended]
    assert [*Conversation.objects.filter(workspace=workspace)] == [thread]


@pytest.mark.parametrize("way", WAYS)
def test_the_right_and_heartbit_itself_are_let_in(
    workspace: Workspace, ended: Run, thread: Conversation, way: str
) -> None:
    for by in (actor(workspace, "runs:write"), SYSTEM):
        WAYS[way](workspace, ended, thread, by)


def test_a_repeated_key_gives_the_run_without_extras(workspace: Workspace) -> None:
    first = admit(RunRequest(workspace, "Add.", idempotency_key="k", files={"a.txt": b"1"}))
    again = admit(RunRequest(workspace, "Other.", idempotency_key="k", files={"b.txt": b"2"}))

    assert (first.is_new, again.is_new) == (True, False)
    assert first.run_id == again.run_id
    given = WorkFile.objects.filter(root=first.run_id)
    assert [*given.values_list("path", flat=True)] == ["a.txt"]
