"""Runs that write to each other, with the runtime in this process or without any."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest

from agents.choices import Placement
from agents.messaging.addresses import Sender, sender_of_call, sender_of_person
from agents.models import Agent, InboxEntry, Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.orm import OrmExecutor
from heartbit_site.base.toolspec import ToolContext
from tests.runtime.conftest import agent, studio
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import ThreadPoolExecutor
    from uuid import UUID

    from heartbit_site.base.models import Workspace

__all__ = ["agent", "studio"]  # fixtures of the runtime's tests

ALL = ("send_message", "reply_to_message", "ask_agent", "start_agent", "read_messages")
Writes = Callable[..., Sender]


@pytest.fixture
def unserved(workspace: Workspace) -> Workspace:
    """The workspace, none of whose runs a worker takes."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    return workspace


@pytest.fixture
def ada(unserved: Workspace) -> Sender:
    """A person."""
    return sender_of_person(unserved, Actor("ada", "terminal"))


@pytest.fixture
def writes(unserved: Workspace) -> Writes:
    """An agent that writes in a run of its own, which nobody executes."""

    def begin(
        name: str = "writer", *, home: Placement = Placement.FLEET, run_id: UUID | None = None
    ) -> Sender:
        if run_id is None:
            run_id = start_run(unserved, "Write.", agent=name, home=home, model="openai:fake")
        return sender_of_run(Run.objects.get(pk=run_id))

    return begin


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Eight at once, each with a connection of its own."""
    with OrmExecutor(8, name="sender") as executor:
        yield executor


def sender_of_run(run: Run) -> Sender:
    """Whoever writes in a run, as its tools see it."""
    return sender_of_call(context_of(run))


def context_of(run: Run, call_id: str = "1.0") -> ToolContext:
    """What the tools of a run are told of a call."""
    return ToolContext(
        workspace_id=run.workspace_id,
        run_id=run.pk,
        root_id=run.root_id,
        agent=run.agent,
        call_id=call_id,
        idempotency_key=f"{run.pk}:{call_id}",
        http=cast("Any", None),
    )


def inbox(workspace: Workspace, name: str) -> list[InboxEntry]:
    """An agent's inbox, the oldest first."""
    entries = InboxEntry.objects.filter(agent__workspace=workspace, agent__name=name)
    return list(entries.select_related("message").order_by("pk"))


def ping_pong(tool: str, argument: str, names: tuple[str, str], times: int) -> str:
    """A task that two agents hand to each other so many times."""
    if not times:
        return "[[text: End.]]"
    rest = ping_pong(tool, argument, (names[1], names[0]), times - 1)
    call = json.dumps({"to": names[1], argument: rest})
    return f"[[calls: {tool} {call}]] [[text: Round.]]"
