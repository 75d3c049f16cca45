"""Views of runs show nobody memories that the memory API hides from them, and say so."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.publish_agent import publish_agent
from agents.journal.events import MemoriesRecalled, ScriptCalled, ToolFinished
from agents.journal.memory_texts import MemoryTexts, is_memory_tool
from agents.live.watchers import watch
from agents.llm.messages import ToolCall
from agents.models import Agent, Artifact, RecalledMemory, Run
from agents.reads.hidden_memories import texts_hidden_from
from heartbit_site.base import aio, orm
from heartbit_site.base.access import access_of_user
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import Role
from memory import agent_tools
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author
from memory.place import MemoryPlace
from tests.admin.rows import Held, answer
from tests.mcp.sign_ins import browser
from tests.starts import start_run
from tests.web.people import member
from tools.definitions.registry import marked

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

CANARY = "canary-of-ann"
OPEN = "We open at nine."
FOUND = {
    "found_by": "words",
    "memories": [
        {"id": 1, "text": f"Ann's number is {CANARY}.", "scope": "person"},
        {"id": 2, "text": OPEN, "scope": "agent"},
    ],
}


@pytest.fixture(autouse=True)
def _hosts(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]


@pytest.fixture
def ann(workspace: Workspace) -> User:
    return member(workspace, Role.OPERATOR)


@pytest.fixture
def run(workspace: Workspace, ann: User) -> Run:
    """A run of Ann that was given, recalled and stored memories of hers."""
    agent = Agent.objects.create(
        workspace=workspace, name="keen", system_prompt="x", queue=f"idle-{secrets.token_hex(4)}"
    )
    publish_agent(agent)
    by = Actor(ann.username, "web", ann.pk)
    held = Held(start_run(workspace, "Which number?", agent="keen", by=by))
    place = MemoryPlace(workspace.pk, Scope.PERSON, "keen", ann.pk)
    item = remember(place, f"Ann's number is {CANARY}.", by=Author(SYSTEM))
    RecalledMemory.objects.create(
        run_id=held.id, item=item, position=0, text=item.text, source="one person", why="x"
    )
    held.record(MemoriesRecalled((item.pk,)))
    stored = json.dumps({"text": f"It is {CANARY}.", "importance": 3})
    read = json.dumps({"name": "recall-1.0-abc"})
    calls = [ToolCall("a", "recall", "{}"), ToolCall("b", "functions.Remember", stored)]
    held.record(answer(1, "", *calls, ToolCall("c", "read_artifact", read)))
    held.record(ToolFinished("1.0", "ok", json.dumps(FOUND), artifact="recall-1.0-abc"))
    held.record(ToolFinished("1.1", "ok", "Remembered as memory 3."))
    held.record(ToolFinished("1.2", "ok", f"...{CANARY}"))
    Artifact.objects.create(
        run_id=held.id, name="recall-1.0-abc", content=CANARY.encode(), size=1, sha256=""
    )
    held.record(answer(2, "Noted."))
    held.finish("Noted.")
    return Run.objects.get(pk=held.id)


def views(workspace: Workspace, run: Run, reader: User) -> dict[str, str]:
    """What a member gets of a run, by its address."""
    api = f"/api/v1/runs/{run.pk}"
    paths = [
        f"/w/{workspace.slug}/runs/{run.pk}/",
        *(f"{api}/{rest}" for rest in ("calls", "calls/1.0", "calls/1.1", "calls/1.2")),
        *(f"{api}/{rest}" for rest in ("turns", "turns/1", "turns/2", "events?follow=false")),
        f"{api}/artifacts/recall-1.0-abc",
        api,
    ]
    client = browser(reader)
    found = {}
    for path in paths:
        joint = "&" if "?" in path else "?"
        sent: Any = client.get(f"{path}{joint}workspace={workspace.slug}")
        parts = sent.streaming_content if sent.streaming else [sent.content]
        found[path] = b"".join(parts).decode()
    found["page's socket"] = aio.run(lines(workspace, run, reader))
    return found


async def lines(workspace: Workspace, run: Run, reader: User) -> str:
    access = await orm.run_in_thread(lambda: access_of_user(reader, workspace.slug))
    found = watch(run.pk, hidden=lambda: texts_hidden_from(access, run.pk))
    return "".join([await batch.text() async for batch in found])


def test_no_view_shows_them_to_other_members_and_each_says_so(
    workspace: Workspace, ann: User, run: Run
) -> None:
    for reader in (member(workspace, Role.VIEWER), member(workspace, Role.OPERATOR)):
        found = views(workspace, run, reader)
        assert [path for path, text in found.items() if CANARY in text] == []
        said = f"1 memory of {ann.username} is not shown to you."
        quiet = [path for path, text in found.items() if said not in text]
        api = f"/api/v1/runs/{run.pk}"
        # No memory is in these, or the sentence is another one.
        assert set(quiet) == {
            f"{api}/calls/1.2",
            f"{api}/turns",
            f"{api}/artifacts/recall-1.0-abc",
            api,
        }
        assert OPEN in found[f"{api}/calls/1.0"], "what everyone may read stays"
        assert '\\"importance\\": 3' in found[f"{api}/calls/1.1"]


def test_its_person_and_managers_see_them(workspace: Workspace, ann: User, run: Run) -> None:
    for reader in (ann, member(workspace)):
        found = views(workspace, run, reader)
        without = [path for path, text in found.items() if CANARY not in text]
        api = f"/api/v1/runs/{run.pk}"
        assert without == [f"{api}/turns", api]


def test_each_tool_with_texts_of_memories_is_known_and_a_script_that_recalls_is_hidden() -> None:
    shown = {"forget", "search_knowledge"}  # texts of a model, and documents that are no person's
    for spec in marked(vars(agent_tools).values()):
        assert is_memory_tool(spec.name) or spec.name in shown
    texts = MemoryTexts("ann")
    script = ToolCall("a", "run_script", "{}")
    texts.redact(answer(1, "", script))
    inner = (ToolCall("b", "recall", "{}"),)
    round_ = texts.redact(ScriptCalled("1.0", 0, inner, snapshot=CANARY, printed=CANARY))
    assert CANARY not in str(round_)
    texts.redact(ToolFinished("1.0.0", "ok", json.dumps(FOUND)))
    assert CANARY not in str(texts.redact(ToolFinished("1.0", "ok", CANARY)))
