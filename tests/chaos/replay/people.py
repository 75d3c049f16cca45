"""What people do to the runs that are recorded: they decide, settle, tell, cancel, fork, talk."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import connection

from agents.actions.decide_call import approve_call, deny_call, edit_call
from agents.actions.fork_run import Edits
from agents.actions.resolve_wait import resolve_call
from agents.actions.runs import cancel_run, steer_run
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy, CallResolution, Placement
from agents.errors import CallClosedError
from agents.journal.events import ModelAnswered, ToolStarted, encode
from agents.llm.messages import AssistantMessage, ToolCall, Usage
from agents.models import Conversation, Run, WorkerHeartbeat
from agents.querysets import calls_waiting, uncertain_calls
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from tests.starts import fork_run, post_message, start_run

if TYPE_CHECKING:
    from uuid import UUID

    from agents.journal.events import Event
    from agents.models import ToolCall as Call
    from heartbit_site.base.models import Workspace
    from tests.chaos.replay.shapes import Shape

ANNA = Actor("anna", "terminal")
BEN = Actor("ben", "web")
LOOK_SECONDS = 0.05
_CLAIM = """
    SELECT lease_token, last_seq FROM heartbit_claim(
        %s, 'local', '{}', %s, 'dead:1', '', 'openai:fake', '', 2, true)
"""


async def decide_for_ever(workspace: Workspace) -> None:
    """Decide each call that waits as its run's task begins: approved, edited or denied."""
    while True:
        await orm.run_in_thread(partial(_decide, workspace))
        await asyncio.sleep(LOOK_SECONDS)


def _decide(workspace: Workspace) -> None:
    with suppress(CallClosedError):
        for call in calls_waiting(workspace):
            if call.run.task.startswith("["):
                continue  # that one is cancelled while it waits
            match call.run.task.partition(":")[0]:
                case "edited":
                    edit_call(call, digest=call.digest, by=ANNA, arguments=_edited(call))
                case "denied":
                    deny_call(call, digest=call.digest, by=ANNA, reason="Not today.")
                case _:
                    approve_call(call, digest=call.digest, by=ANNA)
        for call in uncertain_calls(workspace):
            outcome = CallResolution(call.run.task.partition(" ")[0])
            resolve_call(call, outcome, by=ANNA, result="It is out.")


def _edited(call: Call) -> str:
    arguments: dict[str, Any] = json.loads(call.arguments)
    if "op" in arguments:
        arguments["op"] += "~edited"
    elif "expression" in arguments:
        arguments["expression"] += "+1"
    elif "json" in arguments:
        arguments["json"]["op"] += "~edited"
    else:
        arguments["time_zone"] = "Europe/Berlin"
    return json.dumps(arguments)


def begin(workspace: Workspace, shape: Shape) -> UUID:
    """Accept a run; an orphan's worker has died when it had begun to act."""
    run_id = start_run(workspace, shape.task, agent=shape.agent, home=Placement.LOCAL)
    if shape.then == "orphan":
        _orphan(run_id)
    return run_id


def _orphan(run_id: UUID) -> None:
    row = WorkerHeartbeat.objects.create(name="dead:1", home=Placement.LOCAL, lease_seconds=3600)
    request = json.dumps({"method": "POST", "url": "http://127.0.0.1:9/"})
    message = AssistantMessage("", (ToolCall("c1", "http_request", request),))
    events: list[Event] = [
        ModelAnswered(1, message, Usage(), "tool_calls", "openai:fake", seen=2),
        ToolStarted("1.0", "at_most_once"),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [run_id, row.pk])
        token, seq = cursor.fetchone()
        encoded = json.dumps([encode(event) for event in events])
        cursor.execute("SELECT heartbit_record(%s, %s, %s, %s)", [run_id, token, seq, encoded])
        cursor.execute("SELECT heartbit_recover(%s, 3)", [row.pk])


def interrupt(workspace: Workspace, run_id: UUID, what: str) -> None:
    """Tell a live run something, or cancel it."""
    if "steer" in what:
        with suppress(CallClosedError):
            steer_run(Run.objects.get(pk=run_id), "Stop there. [[text: Stopped.]]", by=BEN)
    if "cancel" in what:
        cancel_run(workspace, run_id, reason="enough")


def fork(run_id: UUID, what: str) -> UUID:
    """A run that begins with another one's first turn."""
    source = Run.objects.select_related("version__agent", "workspace").get(pk=run_id)
    edits = {
        "message": Edits(message="And now? [[text: Now.]]"),
        "result": Edits(call="1.0", result="43"),
        "arguments": Edits(call="1.0", arguments='{"expression": "7*7"}'),
        "task": Edits(task='Otherwise. [[calls: calculate {"expression": "1"}]] [[text: O.]]'),
    }[what]
    return fork_run(source, 1, edits=edits, by=Actor("anna", "web"), home=Placement.LOCAL)


def converse(workspace: Workspace, shape: Shape) -> list[UUID]:
    """Four messages on one thread; the second one may tell the first one's run."""
    thread = start_conversation(workspace, agent=shape.agent)
    ids = [_say(thread, shape.task, None)]
    ids.append(_say(thread, shape.task, BusyPolicy.STEER if "steer" in shape.then else None))
    ids += [_say(thread, f"{word} {shape.task}", None) for word in ("Further.", "More.")]
    return list(dict.fromkeys(ids))


def _say(thread: Conversation, text: str, policy: BusyPolicy | None) -> UUID:
    return post_message(thread, text, by=BEN, home=Placement.LOCAL, busy_policy=policy).run_id
