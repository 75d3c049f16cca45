"""`heartbit schedules`, here and against a server, as a person uses it."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
import typer

from agents.models import Agent, Run, WebhookEndpoint
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry
from heartbit_site.cli.backend import chosen
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.commands import schedules
from heartbit_site.cli.terminal import times
from heartbit_site.cli.terminal.errors import CommandError
from heartbit_site.contract import schedules as contract
from heartbit_site.contract.schedules import (
    FiringOut,
    FiringsOut,
    ScheduledRunOut,
    ScheduleIn,
    ScheduleOut,
    SchedulesOut,
)
from heartbit_site.first_start import default_workspace
from scheduling.actions.schedules import remove_schedule
from scheduling.models import Firing, Schedule
from tests.cli.terminal import Terminal
from tests.cli.test_remote import afar
from tests.web.matrix_world import agent_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.contract.operation import Operation
    from tests.cli.test_remote import Afar
    from tests.command import Command

__all__ = ["afar"]

BERLIN = ZoneInfo("Europe/Berlin")
CRON = ("--cron", "0 9 * * MON", "--time-zone", "Europe/Berlin")
EVIL = "a\x1b[2Jb\u202ec"


@pytest.fixture
def clerk(database: None) -> Iterator[str]:
    """An agent of the default workspace whose runs nobody takes; its schedules go at the end."""
    name = f"clerk-{secrets.token_hex(3)}"
    row = agent_of(default_workspace(), name)
    yield name
    for schedule in Schedule.objects.filter(agent=row).select_related("workspace"):
        remove_schedule(schedule, by=SYSTEM)
    Agent.objects.filter(pk=row.pk).update(enabled=False)


def without_distance(text: str) -> str:
    """What is said alike a second later."""
    return re.sub(r"in [0-9][0-9a-z ]*", "in ...", text)


def test_a_schedule_is_made_shown_and_listed_alike_here_and_there(
    heartbit: Command, afar: Afar, clerk: str
) -> None:
    asked = ["--agent", clerk, "--task", "Write it.", *CRON, "--deliver-email", "ann@example.org"]
    asked += ["--review", "anyone", "--cost-brake", "3"]
    for command, name in ((heartbit, f"{clerk} here"), (afar, f"{clerk} there")):
        added = command("schedules", "add", name, *asked, "--jitter", "1m30s", "--catch-up", "all")
        assert (added.code, added.err) == (0, "")
        first, second = added.out.split(". Next: ")
        assert first.startswith(f"{name}: At 09:00 on Monday")
        assert re.fullmatch(r"Mon .* 09:00 \(Europe/Berlin\), in .*\.\n", second)
        made = Schedule.objects.get(workspace=default_workspace(), name=name)
        assert (made.agent.name, made.jitter_seconds, made.catch_up) == (clerk, 90, "all")
        assert made.deliver[0]["to"] == ["ann@example.org"]
        shown = command("schedules", "show", name)
        for line in ("agent", "state        active", "when         At 09:00 on Monday (Europe"):
            assert f"\n  {line}" in shown.out
        assert shown.out.count(", 09:00 (Europe/Berlin), in ") == 5, "the next ones"
        assert "results to   ann@example.org" in shown.out
        assert "review by    anyone" in shown.out
        assert "cost brake   3 times the usual" in shown.out
    here, there = (command("schedules", "list") for command in (heartbit, afar))
    assert without_distance(here.out) == without_distance(there.out)
    listed = here.out.splitlines()
    for arguments in (["--json"], ["show", f"{clerk} here", "--json"]):
        here, there = (command("schedules", *arguments) for command in (heartbit, afar))
        assert here.json == there.json
    assert listed[0].split() == ["SCHEDULE", "AGENT", "NEXT", "LAST", "STATE", "WHEN"]
    [line] = [line for line in listed if line.startswith(f"{clerk} here")]
    assert re.search(
        rf"{clerk}  Mon .* 09:0\d(:\d\d)?, in .*  -  +active  At 09:00 on Monday", line
    )


def test_results_go_to_webhooks_by_name_or_number_and_to_artifacts(
    heartbit: Command, afar: Afar, clerk: str
) -> None:
    workspace = default_workspace()
    hooks = [
        WebhookEndpoint.objects.create(
            workspace=workspace, name=f"{clerk} {name}", url="https://x.example", enabled=False
        )
        for name in ("tickets", "twice", "twice")
    ]
    tickets, first, second = hooks
    asked = ("--agent", clerk, "--task", "x", "--every", "1d", "--deliver-artifact", "sales")
    for command, place in ((heartbit, "here"), (afar, "there")):
        for number, webhook in enumerate((tickets.name, str(tickets.pk))):
            name = f"{clerk} {place} {number}"
            added = command("schedules", "add", name, *asked, "--deliver-webhook", webhook)
            assert (added.code, added.err) == (0, "")
            assert Schedule.objects.get(workspace=workspace, name=name).deliver == [
                {"kind": "webhook", "endpoint": tickets.pk},
                {"kind": "artifact", "name": "sales"},
            ]
            shown = command("schedules", "show", name).out
            assert f"results to   webhook {tickets.name}; artifact sales" in shown
        for webhook, said in (
            (first.name, f"one of {second.pk} and {first.pk}"),
            ("no such", f"there are {second.name}, {first.name}, {tickets.name}"),
        ):
            wrong = command("schedules", "add", "x", *asked, "--deliver-webhook", webhook)
            assert wrong.code == 2
            assert said in wrong.err
    WebhookEndpoint.objects.filter(pk__in=[hook.pk for hook in hooks]).delete()


def test_it_is_run_paused_resumed_backfilled_and_removed(
    heartbit: Command, afar: Afar, clerk: str
) -> None:
    name = f"{clerk}/daily"  # a slash cannot stand in an address
    heartbit("schedules", "add", name, "-a", clerk, "-t", "x", "--every", "1d")
    for command in (heartbit, afar):
        ran = command("schedules", "run", name)
        assert ran.code == 0
        assert Run.objects.get(pk=ran.out.strip()).started_by == f"schedule {name}"
        assert "nobody-serves-this" in ran.err
    paused = afar("schedules", "pause", name)
    assert paused.out == f"{name} is paused: its firings are skipped.\n"
    assert heartbit("schedules", "show", name, "--json").json["upcoming"] == []
    assert heartbit("schedules", "resume", name).out.startswith(f"{name} is resumed. Next: ")
    row = Schedule.objects.get(workspace=default_workspace(), name=name)
    began = row.begins_at
    day = f"{began - timedelta(days=1):%Y-%m-%dT%H:%M:%S}"
    before = f"{began - timedelta(days=2):%Y-%m-%dT%H:%M:%S}"
    here = heartbit("schedules", "backfill", name, "--from", day, "--to", day)
    assert (here.code, here.out) == (0, "1 firing runs, one after the other.\n")
    there = afar("schedules", "backfill", name, "--from", before, "--to", before, "--json")
    assert (there.code, there.json) == (0, {"firings_created": 1})
    shown = heartbit("schedules", "show", name)
    causes = [line.split()[5] for line in shown.out.splitlines()[-4:]]
    assert causes == ["manual", "manual", "backfill", "backfill"]
    assert Firing.objects.filter(schedule=row).count() == 4
    afar("schedules", "pause", name)
    earlier = f"{began - timedelta(days=3):%Y-%m-%dT%H:%M:%S}"
    waits = heartbit("schedules", "backfill", name, "--from", earlier, "--to", earlier)
    assert waits.out == "1 firing runs, one after the other, when it is resumed.\n"
    careful = heartbit("schedules", "remove", name)
    assert (careful.code, careful.out) == (2, "")
    assert careful.err == f"heartbit: Say --yes if {name} and its log of firings may go.\n"
    removed = afar("schedules", "remove", name, "--yes")
    assert (removed.code, removed.out) == (0, f"Removed {name}; its runs stay.\n")
    gone = [command("schedules", "show", name) for command in (heartbit, afar)]
    assert [ended.code for ended in gone] == [2, 2]
    assert all("There is no schedule" in ended.err for ended in gone)
    entries = AuditEntry.objects.filter(target=f"schedule:{row.pk}").order_by("number")
    assert {entry.via for entry in entries} == {"terminal", "api"}


def test_a_person_is_asked_before_a_removal(heartbit: Command, clerk: str) -> None:
    heartbit("schedules", "add", f"{clerk} x", "-a", clerk, "-t", "x", "--in", "3d")
    found = Schedule.objects.filter(agent__name=clerk)
    with Terminal("schedules", "remove", f"{clerk} x") as terminal:
        terminal.sees(f"Remove {clerk} x and its log of firings? [y/N]:")
        terminal.types("n")
        assert terminal.ends()[0] == 1
    assert found.exists()


def test_one_off_times_are_meant_in_the_zone_and_messages_and_tools_are_said(
    heartbit: Command, clerk: str
) -> None:
    add = ("schedules", "add", f"{clerk} once", "-a", clerk, "-t", "x", "--json")
    once = heartbit(
        *add, "--at", "2150-07-01T09:00", "--time-zone", "Europe/Berlin", "--conversation"
    ).json
    assert (once["at"], once["task_type"]) == ("2150-07-01T07:00:00+00:00", "message")
    assert once["description"] == "Once, Wed 1 Jul 2150, 09:00 (Europe/Berlin)"
    took = heartbit(*add, "--in", "3d")
    assert (took.code, took.out) == (2, "")
    assert f"The workspace already has a schedule named '{clerk} once'" in took.err


def test_what_is_wrong_is_one_sentence_alike_here_and_there(
    heartbit: Command, afar: Afar, clerk: str
) -> None:
    asked = ("schedules", "add", "x", "--agent", clerk, "--task", "x")
    for arguments, words in (
        ((*asked, "--cron", "0 9 * *"), "has 4 fields: write five"),
        (
            (*asked, "--every", "5s"),
            "--every is not right: input should be greater than or equal to 10 seconds",
        ),
        (
            (*asked, "--every", "1d", "--deliver-email", "ann"),
            "entry 1 of 'to' is not an e-mail address",
        ),
        (("schedules", "add", "x", "-a", "nobody", "-t", "x", "--in", "1d"), "named 'nobody'"),
    ):
        for command in (heartbit, afar):
            ended = command(*arguments)
            assert (ended.code, ended.out) == (2, ""), arguments
            [line] = ended.err.splitlines()
            assert line.startswith("heartbit: ")
            assert words in line
    assert not Schedule.objects.filter(agent__name=clerk).exists()


def test_against_a_server_nothing_slow_is_imported(afar: Afar, clerk: str) -> None:
    assert afar.modules("schedules", "add", "x", "--task", "x", "-a", clerk, "--in", "3d") == (
        0,
        "[]",
    )


# ------------------------------------------------------------------------------------ what is typed


def add(*asked: str) -> Any:
    """`heartbit schedules add` with these options, in this process."""
    command: Any = typer.main.get_command(schedules.app)
    return command.main(["add", "n", "-a", "a", "-t", "t", *asked], standalone_mode=False)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ((), "Say when by one of --cron, --every, --at, --in, such as --in 3d."),
        (("--cron", "x", "--in", "3d"), "Say when by one of .*, not by --cron and --in."),
        (("--every", "15"), "--every is '15': write a number and its unit"),
        (("--in", "3 days"), "--in is '3 days': write a number and its unit"),
        (("--every", "1d", "--jitter", "soon"), "--jitter is 'soon'"),
        (("--at", "tomorrow"), "--at is 'tomorrow': write a date and a time, such as"),
        (
            ("--at", "2026-12-01", "--time-zone", "Berlin"),
            "There is no time zone 'Berlin': write it like",
        ),
        (
            ("--every", "1d", "--conversation", "--tool", "x"),
            "--conversation goes to the agent, --tool past",
        ),
        (("--every", "1d", "--arguments", "{}"), "--arguments are those of --tool: name the tool."),
        (("--every", "1d", "--tool", "x", "--arguments", "[]"), "--arguments takes a JSON object"),
        (
            ("--every", "1d", "--tool", "x", "--arguments", "{"),
            "--arguments cannot be read: The JSON",
        ),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_sentence_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.setattr(schedules, "backend", pytest.fail)
    with pytest.raises(CommandError, match=sentence) as refused:
        add(*asked)
    assert refused.value.code == 2


def test_an_order_is_what_the_api_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Api(Backend):
        """A server that takes one order."""

        def carry_out(self, operation: Operation[Any], body: Any, **given: Any) -> Any:
            raise Taken(body)

        def rest(self) -> None:
            pass

    class Taken(Exception):
        """The order has arrived."""

    def order(*asked: str) -> ScheduleIn:
        with pytest.raises(Taken) as taken:
            add(*asked)
        [body] = taken.value.args
        assert isinstance(body, ScheduleIn)
        return body

    monkeypatch.setattr(schedules, "backend", Api)
    called = order(
        *("--every", "1h30m", "--jitter", "5m"), *("--tool", "x", "--arguments", '{"a": 1}')
    )
    assert called.every_seconds == 5400
    assert (called.task_type, called.tool, called.arguments) == ("tool_call", "x", {"a": 1})
    assert called.jitter_seconds == 300
    at = order("--in", "1w").at
    assert at is not None
    assert timedelta(days=7) - timedelta(seconds=60) < at - datetime.now(UTC)
    assert order("--every", "1d", "--conversation").task_type == "message"


def test_times_are_read_and_said_in_a_zone() -> None:
    assert times.moment("2026-12-01", BERLIN, "--from") == datetime(2026, 12, 1, tzinfo=BERLIN)
    fixed = datetime(2026, 12, 1, 8, tzinfo=UTC)
    assert times.moment("2026-12-01T09:00+01:00", ZoneInfo("UTC"), "--from") == fixed
    with pytest.raises(CommandError, match="There is no 2027-03-28 02:30 in Europe/Berlin"):
        times.moment("2027-03-28T02:30", BERLIN, "--at")
    july = datetime(2026, 7, 1, 7, tzinfo=UTC)
    assert times.format_time(july, "Europe/Berlin") == "Wed 1 Jul 2026, 09:00"
    later = july + timedelta(seconds=9)
    assert times.format_time(later, "Mars/X") == "Wed 1 Jul 2026, 07:00:09 UTC"
    now = datetime.now(UTC)
    assert times.format_relative(now + timedelta(hours=3, minutes=5.5)) == "in 3 h 5 min"
    assert times.format_relative(now - timedelta(days=4)) == "4 days ago"


def test_nothing_that_somebody_wrote_steers_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = datetime(2026, 7, 1, 7, tzinfo=UTC)
    firing = FiringOut(
        scheduled_for=slot, trigger="schedule", status="failed",
        note=EVIL, run_id=None, run_status=None, test_run_id=None,
        delivery_status=None, created_at=slot,
    )  # fmt: skip
    facts: dict[str, Any] = {
        "id": 1,
        "name": EVIL,
        "agent": EVIL,
        "agent_enabled": True,
        "task": EVIL,
        "task_characters": len(EVIL),
        "task_type": "task",
        "tool": "",
        "arguments": {},
        "input": {},
        "kind": "once",
        "cron": None,
        "every_seconds": None,
        "at": slot,
        "description": EVIL,
        "time_zone": EVIL,
        "upcoming": [{"at": slot, "text": "then"}],
        "next_at": slot,
        "last": firing,
        "enabled": True,
        "require_approval": True,
        "begins_at": slot,
        "ends_at": None,
        "created_at": slot,
        "updated_at": slot,
        "catch_up": "latest",
        "overlap": "skip",
        "jitter_seconds": 9,
        "conversation_id": None,
        "created_by": EVIL,
        "created_by_run_id": None,
        "review": EVIL,
        "cost_brake": None,
        "test": {},
        "asks": [EVIL],
        "deliver": [{"kind": "artifact", "name": EVIL}, {"kind": EVIL}],
        "recipients": [EVIL],
    }
    one = ScheduleOut(**facts)
    answers: dict[Operation[Any], Any] = {
        contract.LIST_SCHEDULES: SchedulesOut(schedules=[one], next_cursor=None),
        contract.LIST_FIRINGS: FiringsOut(firings=[firing], next_cursor=None),
        contract.RUN_SCHEDULE: ScheduledRunOut(run_id=EVIL),
    }

    class Stub(Backend):
        """A server that says what it likes."""

        def carry_out(self, operation: Operation[Any], body: Any, **given: Any) -> Any:
            return answers.get(operation, one)

        def rest(self) -> None:
            pass

    monkeypatch.setattr(schedules, "backend", Stub)
    monkeypatch.setattr(chosen, "backend", lambda **_: Stub())
    monkeypatch.setattr(schedules, "warn_without_worker", lambda run: None)
    schedules.list_schedules()
    schedules.show("x")
    add("--every", "1d")
    schedules.resume("x")
    schedules.run("x")
    said = capsys.readouterr().out
    assert "abc" in said
    assert "\x1b" not in said
    assert "\u202e" not in said
