"""Lists hold summaries: what is long is asked for one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.journal.events import ModelAnswered, encode
from agents.llm.messages import AssistantMessage, Usage
from agents.models import BlackboardEntry, Decision, Run, RunEvent, ToolCall, WebhookDelivery
from heartbit_site.base.ids import new_id
from heartbit_site.base.preview import PREVIEW_CHARACTERS, preview
from tests.admin import rows
from tests.starts import start_run
from tests.web.matrix_world import MAKERS, agent_of
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller

LONG = " ".join(["word"] * 20_000)
SAID = LONG[:19_999]  # what a schedule and a message may hold


def test_given_runs_with_long_answers_when_listed_then_only_their_beginnings_are_sent(
    caller: Caller, workspace: Workspace
) -> None:
    agent_of(workspace, "parked")
    runs = [start_run(workspace, LONG, agent="parked") for _ in range(3)]
    for run in runs:
        rows.Held(run).finish(LONG)
    listed = caller.get("/runs")
    assert len(listed.content) < 3 * (PREVIEW_CHARACTERS + 1_500)
    for row in listed.json()["runs"]:
        assert not row.keys() & {"output", "structured", "payload"}
        assert (row["task"], row["task_characters"]) == (preview(LONG), len(LONG))
    whole = caller.get(f"/runs/{runs[0]}").json()
    assert (whole["task"], whole["output"], whole["task_characters"]) == (LONG, LONG, len(LONG))


def test_given_a_call_of_a_run_with_a_long_task_then_the_list_of_calls_has_its_beginning(
    caller: Caller, workspace: Workspace
) -> None:
    call = unserved(workspace)
    [row] = caller.get("/approvals").json()["calls"]
    assert (row["task"], row["task_characters"]) == (call.run.task, len(call.run.task))


def test_given_a_schedule_with_a_long_task_then_the_list_has_its_beginning(
    caller: Caller, workspace: Workspace
) -> None:
    agent_of(workspace, "parked")
    targets = [{"kind": "email", "to": ["ann@example.org"], "subject": "s" * 200}] * 20
    made = caller.post(
        "/schedules",
        {"name": "a", "agent": "parked", "task": SAID, "every_seconds": 60, "deliver": targets},
    )
    listed = caller.get("/schedules")
    assert len(listed.content) < PREVIEW_CHARACTERS + 1_500
    [row] = listed.json()["schedules"]
    assert (row["task"], row["task_characters"]) == (preview(SAID), len(SAID))
    assert not row.keys() & {"arguments", "deliver"}
    assert caller.get("/schedules/a").json() == made.json()
    assert made.json().items() >= {"task": SAID, "task_characters": len(SAID)}.items()


def test_given_a_long_message_then_the_list_has_its_beginning(
    caller: Caller, workspace: Workspace
) -> None:
    agent_of(workspace, "parked")
    sent = caller.post("/messages", {"to": "parked", "text": SAID}).json()
    listed = caller.get("/messages")
    assert len(listed.content) < PREVIEW_CHARACTERS + 1_000
    [row] = listed.json()["messages"]
    assert (row["text"], row["text_characters"]) == (preview(SAID), len(SAID))
    whole = caller.get(f"/messages/{row['id']}").json()
    assert whole == sent
    assert (whole["text"], whole["text_characters"], whole["unread"]) == (SAID, len(SAID), 1)
    for other in ("x", str(new_id())):
        assert caller.get(f"/messages/{other}").json()["code"] == "unknown_message"


@pytest.mark.parametrize(
    ("value", "listed", "length"),
    [
        ("x" * 500, "x" * 500, 500),
        (LONG, preview(LONG), len(LONG)),
        ({"a": [1]}, {"a": [1]}, 10),
        ([LONG], preview(json.dumps([LONG])), len(LONG) + 4),
    ],
)
def test_given_a_blackboard_then_the_list_has_the_beginnings_of_long_values(
    caller: Caller, workspace: Workspace, value: Any, listed: Any, length: int
) -> None:
    agent_of(workspace, "parked")
    run, key = start_run(workspace, "x", agent="parked"), "../a/b?c"
    BlackboardEntry.objects.create(root_id=run, key=key, value=value, author="program")
    [row] = caller.get(f"/runs/{run}/blackboard").json()["entries"]
    assert (row["value"], row["value_characters"]) == (listed, length)
    path = f"/runs/{run}/blackboard/entry"
    assert caller.get(path, key=key).json() == {**row, "value": value}
    assert caller.get(path, key="a").json()["code"] == "blackboard_entry_not_found"


def test_given_a_long_answer_then_the_list_of_turns_has_its_beginning(
    caller: Caller, workspace: Workspace
) -> None:
    agent_of(workspace, "parked")
    run = start_run(workspace, "x", agent="parked")
    answer = ModelAnswered(1, AssistantMessage(LONG), Usage(), "stop", "openai:fake")
    RunEvent.objects.create(run_id=run, seq=2, **encode(answer))
    Run.objects.filter(pk=run).update(last_seq=2)
    [row] = caller.get(f"/runs/{run}/turns").json()["turns"]
    assert (row["text"], row["text_characters"]) == (preview(LONG), len(LONG))
    assert caller.get(f"/runs/{run}/turns/1").json()["answer"]["text"] == LONG


def test_given_long_calls_then_the_list_has_their_beginnings(
    caller: Caller, workspace: Workspace
) -> None:
    call = unserved(workspace)
    path = f"/runs/{call.run_id}/calls"
    [row] = caller.get(path).json()["calls"]
    assert caller.get(f"{path}/{row['call_id']}").json().items() <= row.items()
    assert not row["shortened"]
    ToolCall.objects.filter(pk=call.pk).update(arguments=LONG, result=LONG)
    Decision.objects.create(
        run=call.run, call_id=call.call_id, wait_key="x", verdict="edited", arguments=LONG
    )
    [row] = caller.get(path).json()["calls"]
    assert (row["arguments"], row["result"], row["shortened"]) == (
        preview(LONG),
        preview(LONG),
        True,
    )
    assert row["decisions"][0]["arguments"] == preview(LONG)
    whole = caller.get(f"{path}/{row['call_id']}").json()
    assert (whole["arguments"], whole["result"]) == (LONG, LONG)
    assert whole["decisions"][0]["arguments"] == LONG
    assert caller.get(f"{path}/9.9").json()["code"] == "call_not_found"


def test_given_a_webhook_then_the_list_of_its_deliveries_has_no_payloads(
    caller: Caller, workspace: Workspace
) -> None:
    agent_of(workspace, "parked")
    path = f"/webhooks/{MAKERS['webhook_id'](workspace)}/deliveries"
    delivery = MAKERS["delivery_id"](workspace)
    WebhookDelivery.objects.filter(pk=delivery).update(payload={"output": LONG})
    [row] = caller.get(path).json()["deliveries"]
    assert "payload" not in row
    assert caller.get(f"{path}/{delivery}").json() == {**row, "payload": {"output": LONG}}
    assert caller.get(f"{path}/0").status_code == 404


@pytest.mark.parametrize(("length", "cut"), [(500, False), (501, True)])
def test_a_preview_is_no_longer_than_it_may_be(length: int, *, cut: bool) -> None:
    shown = preview("x" * length)
    assert len(shown) == PREVIEW_CHARACTERS
    assert shown.endswith("…") is cut
