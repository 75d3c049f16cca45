"""A program makes schedules, looks at what comes, changes, runs and removes them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from agents.models import Delivery, Run, ToolBinding
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.config.build import ScheduleSection
from heartbit_site.contract.schedules import (
    FiringOut,
    ScheduleIn,
    ScheduleOut,
    ScheduleSummaryOut,
)
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import CatchUp, FiringStatus, Kind, Overlap, TaskType, Trigger
from scheduling.firings import record_firing
from scheduling.models import Firing, Schedule
from scheduling.spec import SETTINGS, ScheduleSpec
from tests.web.matrix_world import agent_of

if TYPE_CHECKING:
    import httpx

    from agents.models import Agent
    from tests.api.server import Caller

REPORT: dict[str, Any] = {
    "name": "Monday report",
    "agent": "parked",
    "task": "Write the report.",
    "cron": "0 9 * * MON",
    "time_zone": "Europe/Berlin",
}


@pytest.fixture
def parked(workspace: Workspace) -> Agent:
    """An agent whose runs nobody takes."""
    return agent_of(workspace, "parked")


def patch(caller: Caller, name: str | int, /, **fields: Any) -> httpx.Response:
    return caller.http.patch(f"/schedules/{name}", json=fields)


def row(workspace: Workspace, name: str = "Monday report") -> Schedule:
    return Schedule.objects.select_related("agent", "workspace").get(workspace=workspace, name=name)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def audited(workspace: Workspace) -> list[tuple[str, str]]:
    entries = AuditEntry.objects.filter(chain=workspace.pk, action__startswith="schedule.")
    return list(entries.order_by("number").values_list("action", "actor"))


def test_given_a_task_and_a_rhythm_then_it_is_made_and_says_what_comes_next(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    made = caller.post("/schedules", REPORT)
    assert made.status_code == 201, made.text
    body = made.json()
    assert set(body) == set(ScheduleOut.model_fields)
    assert {name: body[name] for name in REPORT} == REPORT
    assert body["description"] == "At 09:00 on Monday (Europe/Berlin)"
    assert (body["kind"], body["every_seconds"], body["at"]) == ("cron", None, None)
    assert (body["catch_up"], body["overlap"], body["jitter_seconds"]) == ("latest", "skip", 0)
    assert (body["enabled"], body["agent_enabled"], body["last"]) == (True, True, None)
    assert (body["created_by"], body["created_by_run_id"]) == ("API key test", None)
    slots = [moment(slot["at"]) for slot in body["upcoming"]]
    assert len(slots) == 5
    assert all(slot.weekday() == 0 and slot.hour in (7, 8) for slot in slots)
    assert all(slot["text"].startswith("Mon ") for slot in body["upcoming"])
    assert all(slot["text"].endswith(", 09:00 (Europe/Berlin)") for slot in body["upcoming"])
    assert moment(body["next_at"]) == slots[0] > timezone.now()
    assert caller.get("/schedules/Monday report").json() == body
    assert caller.get(f"/schedules/{body['id']}").json() == body
    row = {name: body[name] for name in ScheduleSummaryOut.model_fields}
    assert caller.get("/schedules").json() == {"schedules": [row], "next_cursor": None}
    assert audited(workspace) == [("schedule.create", "API key test")]


def test_given_calls_that_ask_then_a_schedule_says_so_before_anybody_waits_for_it(
    caller: Caller, parked: Agent
) -> None:
    def asks(**more: Any) -> list[str]:
        caller.http.delete("/schedules/Monday report")
        found = caller.post("/schedules", REPORT | more)
        assert found.status_code == 201, found.text
        return list(found.json()["asks"])

    assert asks() == []
    assert asks(require_approval=True) == ["Every tool call waits for a person."]
    binding = ToolBinding.objects.create(agent=parked, tool="calculate", approval="always")
    helper = agent_of(parked.workspace, "helper")
    ToolBinding.objects.create(agent=helper, tool="http_get")
    type(helper).objects.filter(pk=helper.pk).update(approval="always")
    parked.team.add(helper)
    assert asks() == [
        "parked asks before each call of calculate.",
        "helper asks before each call of http_get.",
    ]
    binding.approval, binding.approval_when = "when", {"required": ["expression"]}
    binding.save()
    call = {"task_type": "tool_call", "tool": "calculate", "arguments": {"expression": "1 + 1"}}
    assert asks(task="", **call) == ["parked asks before some calls of calculate."]


def test_given_a_name_that_is_taken_then_409_says_so(caller: Caller, parked: Agent) -> None:
    assert caller.post("/schedules", REPORT).status_code == 201
    again = caller.post("/schedules", {**REPORT, "cron": "0 10 * * *"})
    assert (again.status_code, again.json()["code"]) == (409, "schedule_conflict")
    assert "named 'Monday report'" in again.json()["detail"]


def test_given_each_kind_of_rhythm_and_task_then_it_is_what_was_said(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    ToolBinding.objects.create(agent=parked, tool="calculate")
    soon = (timezone.now() + timedelta(days=3)).replace(microsecond=0)
    begins = soon - timedelta(days=1)
    plain = {"agent": "parked", "task": "x"}
    once = caller.post("/schedules", {**plain, "name": "once", "at": soon.isoformat()}).json()
    assert (once["kind"], moment(once["at"]), len(once["upcoming"])) == ("once", soon, 1)
    assert once["description"].startswith("Once, ")
    every = {"name": "every", "every_seconds": 5400, "begins_at": begins.isoformat()}
    interval = caller.post("/schedules", {**plain, **every, "task_type": "message"}).json()
    assert (interval["kind"], interval["description"]) == ("interval", "Every 90 minutes")
    assert (interval["task_type"], interval["conversation_id"]) == ("message", None)
    assert [moment(slot["at"]) for slot in interval["upcoming"]] == [
        begins + timedelta(minutes=90 * number) for number in range(5)
    ]
    called = {"task_type": "tool_call", "tool": "calculate", "arguments": {"expression": "1+1"}}
    call = {"name": "call", "agent": "parked", "cron": "*/5 * * * *", **called}
    assert caller.post("/schedules", call).json().items() >= called.items()
    assert [one["name"] for one in caller.get("/schedules").json()["schedules"]] == [
        *("call", "every", "once"),
    ]


def test_given_targets_then_they_are_checked_and_the_run_s_result_goes_there(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    deliver = [{"kind": "email", "to": ["ann@example.org"]}, {"kind": "artifact", "name": "report"}]
    made = caller.post("/schedules", {**REPORT, "deliver": deliver}).json()
    assert [target["kind"] for target in made["deliver"]] == ["email", "artifact"]
    assert made["deliver"][0]["to"] == ["ann@example.org"]
    run = caller.post("/schedules/Monday report/run").json()["run_id"]
    kinds = Delivery.objects.filter(run_id=run).order_by("position").values_list("kind", flat=True)
    assert list(kinds) == ["email", "artifact"]
    assert patch(caller, "Monday report", deliver=[]).json()["deliver"] == []


def test_given_a_change_then_the_rest_stays_and_another_rhythm_counts_from_now(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    agent_of(workspace, "second")
    before = caller.post("/schedules", REPORT).json()
    renamed = patch(caller, "Monday report", name="Report", agent="second", task="Write it all.")
    assert renamed.status_code == 200, renamed.text
    after = renamed.json()
    assert (after["name"], after["agent"], after["task"]) == ("Report", "second", "Write it all.")
    same = set(before) - {"name", "agent", "task", "task_characters", "updated_at"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    other = patch(caller, before["id"], every_seconds=60, catch_up="all").json()
    assert (other["kind"], other["cron"], other["catch_up"]) == ("interval", None, "all")
    assert moment(other["next_at"]) < timezone.now() + timedelta(seconds=61)
    ends = (timezone.now() + timedelta(hours=2)).replace(microsecond=0)
    assert patch(caller, "Report", ends_at=ends.isoformat()).json()["ends_at"] is not None
    assert patch(caller, "Report", ends_at=None).json()["ends_at"] is None
    paused = patch(caller, "Report", enabled=False).json()
    assert (paused["upcoming"], paused["next_at"], paused["enabled"]) == ([], None, False)
    assert len(patch(caller, "Report", enabled=True).json()["upcoming"]) == 5
    assert len(audited(workspace)) == 7


def test_given_what_get_answers_when_it_is_sent_back_then_nothing_changes(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    made = caller.post(
        "/schedules", {**REPORT, "jitter_seconds": 60, "require_approval": True}
    ).json()
    given = {name: made[name] for name in ScheduleIn.model_fields}
    same = caller.http.patch("/schedules/Monday report", json=given)
    assert (same.status_code, same.json()) == (200, made)
    assert len(audited(workspace)) == 1


WRONG: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"name": ""}, "validation", "The field name is not right"),
    ({"name": " "}, "schedule", "A schedule needs a name"),
    ({"name": "17"}, "schedule", "A schedule's name must not be only a number"),
    ({"name": "preview"}, "schedule", "A schedule's name cannot be 'preview'"),
    ({"name": "n" * 101}, "validation", "The field name is not right"),
    ({"agent": "nobody"}, "agent_not_found", "There is no agent named 'nobody'"),
    ({"task": " "}, "schedule", "is empty"),
    ({"task": "x" * 20_001}, "validation", "The field task is not right"),
    ({"cron": None}, "validation", "The body is not right: give one of cron, every_seconds and at"),
    ({"every_seconds": 60}, "validation", "The body is not right: give one of cron"),
    ({"cron": "0 9 * *"}, "schedule", "The cron expression '0 9 * *' has 4 fields"),
    ({"cron": "0 25 * * *"}, "schedule", "The cron expression '0 25 * * *' is not valid: bad hour"),
    ({"cron": "0 0 31 2 *"}, "schedule", "The cron expression '0 0 31 2 *'"),
    ({"time_zone": "Mars/Olympus"}, "schedule", "There is no time zone 'Mars/Olympus'"),
    ({"time_zone": "../etc/passwd"}, "schedule", "time zone"),
    ({"cron": None, "every_seconds": 9}, "validation", "The field every_seconds is not right"),
    ({"cron": None, "at": "2026-12-01T09:00:00"}, "validation", "The field at is not right"),
    ({"cron": None, "at": 1_800_000_000}, "validation", "The field at is not right: write it as"),
    ({"cron": None, "at": "2020-01-01T00:00:00Z"}, "schedule", "The time is in the past"),
    ({"begins_at": "9999-12-31T23:59:59Z"}, "validation", "The field begins_at is not right"),
    ({"ends_at": "2020-01-01T00:00:00Z"}, "schedule", "The schedule ends before it begins."),
    ({"catch_up": "one"}, "validation", "The field catch_up is not right"),
    ({"jitter_seconds": 3601}, "validation", "The field jitter_seconds is not right"),
    ({"enabled": 1}, "validation", "The field enabled is not right"),
    ({"every": "15m"}, "validation", "There is no field every"),
    ({"kind": "cron"}, "validation", "There is no field kind"),
    (
        {"tool": "calculate"},
        "schedule",
        "Only the task_type tool_call takes a tool and its arguments",
    ),
    ({"task_type": "tool_call"}, "schedule", "A scheduled tool call needs a tool"),
    (
        {"task_type": "tool_call", "tool": "calculate"},
        "schedule",
        "The agent parked has no tool 'calculate': it has none.",
    ),
    (
        {"deliver": [{"kind": "fax"}]},
        "invalid_targets",
        "Delivery 1 must be an object whose kind",
    ),
    (
        {"deliver": [{"kind": "email", "to": ["ann"]}]},
        "invalid_targets",
        "Delivery 1 (email): entry 1 of 'to' is not an e-mail address",
    ),
    (
        {"deliver": [{"kind": "webhook", "endpoint": 1}]},
        "invalid_targets",
        "The workspace has no",
    ),
)


@pytest.mark.parametrize(("fields", "code", "sentence"), WRONG, ids=[w[2][:50] for w in WRONG])
def test_given_what_no_schedule_can_be_then_one_sentence_says_so_and_nothing_is_written(
    caller: Caller,
    workspace: Workspace,
    parked: Agent,
    fields: dict[str, Any],
    code: str,
    sentence: str,
) -> None:
    refused = caller.post("/schedules", {**REPORT, **fields})
    assert refused.json()["code"] == code, refused.text
    assert refused.status_code == (404 if code == "agent_not_found" else 422)
    assert refused.headers["content-type"] == "application/problem+json"
    assert sentence in refused.json()["detail"]
    assert not Schedule.objects.filter(workspace=workspace).exists()
    assert audited(workspace) == []


def test_given_a_change_that_cannot_be_then_nothing_of_it_is_written(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    before = caller.post("/schedules", REPORT).json()
    for fields, code in (
        ({"task": "Half written?", "cron": "x"}, 422),
        ({"cron": "0 9 * * *", "every_seconds": 60}, 422),
        ({"task": "y", "agent": "nobody"}, 404),
        ({"task": "y", "arguments": {"a": 1}}, 422),
        ({"catch_up": None}, 422),
    ):
        assert patch(caller, "Monday report", **fields).status_code == code
    assert caller.get("/schedules/Monday report").json() == before
    absent = patch(caller, "Tuesday report", task="x")
    assert (absent.status_code, absent.json()["code"]) == (404, "schedule_not_found")
    assert "there are Monday report" in absent.json()["detail"]


def test_given_two_who_change_different_things_then_neither_is_lost(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    caller.post("/schedules", REPORT)
    changes: list[dict[str, Any]] = [
        {"task": "New."},
        {"jitter_seconds": 7},
        {"catch_up": "all"},
        {"overlap": "queue"},
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda fields: patch(caller, "Monday report", **fields), changes))
    found = caller.get("/schedules/Monday report").json()
    for fields in changes:
        assert found.items() >= fields.items()


def test_given_a_removal_then_its_log_goes_and_its_runs_stay(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    caller.post("/schedules", REPORT)
    run = caller.post("/schedules/Monday report/run").json()["run_id"]
    assert caller.http.delete("/schedules/Monday report").status_code == 204
    assert caller.get("/schedules/Monday report").status_code == 404
    assert not Firing.objects.filter(run_id=run).exists()
    assert Run.objects.get(pk=run).started_by == "schedule Monday report"
    assert [action for action, _ in audited(workspace)] == [
        *("schedule.create", "schedule.run", "schedule.remove"),
    ]


def test_given_run_now_then_one_run_starts_beside_the_slots(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    made = caller.post("/schedules", {**REPORT, "enabled": False}).json()
    first, second = (caller.post("/schedules/Monday report/run") for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["run_id"] != second.json()["run_id"], "each asks for one"
    shown = caller.get("/schedules/Monday report").json()
    assert (shown["next_at"], shown["enabled"]) == (made["next_at"], False)
    assert set(shown["last"]) == set(FiringOut.model_fields)
    assert (shown["last"]["trigger"], shown["last"]["status"]) == ("manual", "started")
    assert (shown["last"]["run_id"], shown["last"]["run_status"]) == (
        second.json()["run_id"],
        "queued",
    )
    task = Run.objects.get(pk=first.json()["run_id"]).task
    assert task.startswith("Write the report.\n\n(Scheduled for ")
    parked.enabled = False
    parked.save()
    refused = caller.post("/schedules/Monday report/run")
    assert (refused.status_code, refused.json()["code"]) == (409, "schedule_conflict")
    assert "cannot run now: The agent parked is stopped" in refused.json()["detail"]
    assert Firing.objects.filter(schedule=made["id"]).count() == 2


def test_given_an_idempotency_key_then_it_runs_once_however_often_it_is_asked(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    made = caller.post("/schedules", REPORT).json()
    ready = threading.Barrier(4)

    def ask(_: int) -> httpx.Response:
        ready.wait()
        return caller.post("/schedules/Monday report/run", **{"Idempotency-Key": "week 48"})

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert Firing.objects.filter(schedule=made["id"]).count() == 1
    other = caller.post("/schedules/Monday report/run", **{"Idempotency-Key": "week 49"})
    assert other.json()["run_id"] != answers[0].json()["run_id"]


def test_given_a_past_span_then_its_slots_are_held_once(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    made = caller.post("/schedules", {**REPORT, "cron": "0 9 * * *", "enabled": False}).json()
    span = {"from": "2025-03-29T00:00:00+01:00", "to": "2025-03-31T23:59:59+02:00"}
    done = caller.post("/schedules/Monday report/backfill", span)
    assert (done.status_code, done.json()) == (200, {"firings_created": 3})
    slots = Firing.objects.filter(schedule=made["id"]).order_by("scheduled_for")
    assert [(one.scheduled_for, one.cause) for one in slots] == [
        (datetime(2025, 3, day, hour, tzinfo=UTC), Trigger.BACKFILL)
        for day, hour in ((29, 8), (30, 7), (31, 7))  # summer begins in between
    ]
    again = caller.post("/schedules/Monday report/backfill", span)
    assert (again.status_code, again.json()["code"]) == (409, "schedule_conflict")
    for wrong, code in (
        ({"from": span["to"], "to": span["from"]}, "schedule"),
        ({"from": span["from"], "to": "2199-01-01T00:00:00Z"}, "schedule"),
        ({"from": "0001-01-01T00:00:00+23:00", "to": span["to"]}, "validation"),
        ({"from": "2025-03-29", "to": span["to"]}, "validation"),
        ({"from": span["from"]}, "validation"),
    ):
        refused = caller.post("/schedules/Monday report/backfill", wrong)
        assert (refused.status_code, refused.json()["code"]) == (422, code), wrong
    assert "The field to is missing." in refused.json()["detail"]


def test_given_an_interval_then_backfilled_slots_are_where_its_others_are(
    caller: Caller, parked: Agent
) -> None:
    begins = (timezone.now() - timedelta(hours=1)).replace(microsecond=0)
    body = {"name": "hourly", "agent": "parked", "task": "x", "every_seconds": 3600}
    made = caller.post("/schedules", {**body, "begins_at": begins.isoformat()}).json()
    since = begins - timedelta(hours=2, minutes=10)
    span = {"from": since.isoformat(), "to": (begins - timedelta(seconds=1)).isoformat()}
    assert caller.post("/schedules/hourly/backfill", span).json() == {"firings_created": 2}
    slots = Firing.objects.filter(schedule=made["id"]).order_by("scheduled_for")
    assert [one.scheduled_for for one in slots] == [
        begins - timedelta(hours=2),
        begins - timedelta(hours=1),
    ]


def test_given_a_log_then_it_is_read_by_status_the_latest_first(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    caller.post("/schedules", REPORT)
    schedule = row(workspace)
    for hour, status in enumerate(
        (FiringStatus.SKIPPED, FiringStatus.DEFERRED, FiringStatus.SKIPPED)
    ):
        record_firing(schedule, datetime(2025, 1, 1, hour, tzinfo=UTC), status, f"note {hour}")
    every = caller.get("/schedules/Monday report/firings").json()["firings"]
    assert [one["note"] for one in every] == ["note 2", "note 1", "note 0"]
    skipped = caller.get("/schedules/Monday report/firings", status="skipped", limit=1).json()
    assert [one["note"] for one in skipped["firings"]] == ["note 2"]
    assert "+" not in skipped["next_cursor"], "it can stand in an address as it is"
    rest = caller.get(
        "/schedules/Monday report/firings", status="skipped", cursor=skipped["next_cursor"]
    ).json()
    assert [one["note"] for one in rest["firings"]] == ["note 0"]
    assert rest["next_cursor"] is None
    assert caller.get("/schedules/Monday report/firings", status="over").status_code == 422
    assert caller.get("/schedules/Monday report").json()["last"] == every[0]


def test_given_a_rhythm_then_it_is_said_in_words_with_its_next_slots_and_nothing_is_kept(
    caller: Caller, workspace: Workspace
) -> None:
    said = caller.post("/schedules/preview", {"cron": "30 2 * * *", "time_zone": "Europe/Berlin"})
    assert said.status_code == 200, said.text
    assert said.json()["description"] == "At 02:30 every day (Europe/Berlin)"
    assert len(said.json()["upcoming"]) == 5
    ends = {"begins_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-01T02:00:00Z"}
    few = caller.post("/schedules/preview", {"every_seconds": 3600, **ends}).json()
    assert [slot["text"] for slot in few["upcoming"]] == [
        f"Tue 1 Jan 2030, 0{hour}:00 (UTC)" for hour in range(3)
    ]
    over = caller.post("/schedules/preview", {"at": "2020-01-01T00:00:00Z"}).json()
    assert over["upcoming"] == []
    wrong = caller.post("/schedules/preview", {"cron": "x x x x x"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "schedule")
    assert not Schedule.objects.filter(workspace=workspace).exists()


def test_given_a_filter_then_one_agent_s_schedules_are_listed(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    agent_of(workspace, "second")
    for name, agent in (("a", "parked"), ("b", "second")):
        caller.post("/schedules", {**REPORT, "name": name, "agent": agent})
    found = caller.get("/schedules", agent="second").json()["schedules"]
    assert [one["name"] for one in found] == ["b"]


def test_given_a_time_zone_that_is_gone_then_the_list_says_so_and_goes_on(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    caller.post("/schedules", REPORT)
    Schedule.objects.filter(workspace=workspace).update(time_zone="Mars/Olympus")
    [found] = caller.get("/schedules").json()["schedules"]
    assert found["description"].startswith("There is no time zone 'Mars/Olympus'")
    assert found["upcoming"] == []
    assert patch(caller, "Monday report", enabled=False).status_code == 200, "it can be paused"


def test_given_a_target_that_is_gone_then_it_can_still_be_paused(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    caller.post("/schedules", REPORT)
    gone = [{"kind": "webhook", "endpoint": 2**62}]
    Schedule.objects.filter(workspace=workspace).update(deliver=gone)
    assert patch(caller, "Monday report", task="x").json()["code"] == "invalid_targets"
    assert patch(caller, "Monday report", enabled=False).json()["enabled"] is False


def test_given_a_firing_meanwhile_then_a_change_does_not_bring_its_slot_back(
    workspace: Workspace, parked: Agent
) -> None:
    made = Schedule(workspace=workspace, agent=parked, name="x", task="x", cron="* * * * *")
    save_schedule(made, by=SYSTEM)
    read = row(workspace, "x")
    later = read.next_occurrence
    assert later is not None
    later += timedelta(minutes=1)
    Schedule.objects.filter(pk=made.pk).update(
        next_occurrence=later, next_at=later
    )  # a clock fired it
    read.task = "y"
    save_schedule(read, by=SYSTEM)
    found = row(workspace, "x")
    assert (found.next_occurrence, found.next_at, found.task) == (later, later, "y")


def test_the_api_s_words_are_those_of_the_rows() -> None:
    fields = ScheduleIn.model_json_schema()["properties"]
    assert fields["task_type"]["enum"] == TaskType.values
    assert fields["catch_up"]["enum"] == CatchUp.values
    assert fields["overlap"]["enum"] == Overlap.values
    schema = FiringOut.model_json_schema(mode="serialization")["properties"]
    assert schema["status"]["enum"] == FiringStatus.values
    assert schema["trigger"]["enum"] == Trigger.values
    assert ScheduleOut.model_json_schema()["properties"]["kind"]["enum"] == Kind.values


def test_given_a_secret_among_the_arguments_then_it_is_refused_but_a_stored_one_stays_editable(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    ToolBinding.objects.create(agent=parked, tool="calculate")
    call = {**REPORT, "task_type": "tool_call", "tool": "calculate"}
    secret = {"api_key": "x"}
    refused = caller.post("/schedules", {**call, "arguments": secret})
    assert (refused.status_code, refused.json()["code"]) == (422, "schedule")
    assert refused.json()["detail"].startswith("The schedule's arguments.api_key looks like a sec")
    caller.post("/schedules", {**call, "arguments": {"expression": "1"}})
    assert patch(caller, "Monday report", arguments=secret).status_code == 422
    Schedule.objects.filter(workspace=workspace).update(arguments=secret)
    assert patch(caller, "Monday report", cron="0 10 * * *").status_code == 200


def test_given_settings_of_the_list_then_every_way_in_has_them_all() -> None:
    for surface in (ScheduleIn, ScheduleSection):
        assert list(surface.model_fields) == list(ScheduleSpec.model_fields)
    for name in SETTINGS:
        default = ScheduleSpec.default_of(name)
        assert ScheduleIn.model_fields[name].get_default(call_default_factory=True) == default
