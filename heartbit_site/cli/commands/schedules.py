"""`heartbit schedules`: what agents do by the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from agents.delivery.words import DELIVERIES
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend.chosen import (
    backend,
    confirm_removal,
    print_all,
    print_removed,
    send_change,
)
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options, json_option
from heartbit_site.cli.options.payload import payload_of
from heartbit_site.cli.options.shared import RemoteCommand, with_groups
from heartbit_site.cli.options.targets import TargetOptions
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.output import listed, one_line, write
from heartbit_site.cli.terminal.table import Table, print_done, print_facts, print_view
from heartbit_site.cli.terminal.times import (
    after,
    format_relative,
    format_time,
    moment,
    span,
    time_zone,
)
from heartbit_site.cli.views.outcome import LIVE, warn_without_worker
from heartbit_site.contract import schedules as contract
from heartbit_site.contract.runs import SHOW_RUN

NEW = common.argument("NAME", "Purpose of the schedule, such as 'Monday sales report'.")
RENAME = common.option("--name NAME", "Give it this name.", None)
NAME = common.argument("NAME", "The schedule's name, or its number.")
CONVERSATION = common.flag(
    "--conversation", "Post each task in the same conversation, with its history."
)
FROM = common.option("--from TIME", "Begin of the span, in the schedule's time zone.", ...)
TO = common.option("--to TIME", "End of the span.", ...)

STYLES: Final = {
    "active": "green",
    "paused": "yellow",
    "agent stopped": "yellow",
    "over": "dim",
    "failed": "red",
    "deferred": "cyan",
    "skipped": "dim",
}
SHOWN: Final = 10  # firings


SETTINGS: Final = body_options(
    contract.ScheduleIn,
    *("name", "task_type", "enabled", "deliver"),
    *("cron", "every_seconds", "at", "begins_at", "ends_at"),
    agent=common.option("--agent -a NAME", "Let this agent do it; else the orchestrator.", None),
    task=common.option("--task -t", "Give the agent this task each time.", None),
    time_zone=common.option(
        "--time-zone", "Set the IANA time zone of the times; UTC unless set.", None
    ),
    tool=common.option("--tool", "Call this tool of the agent, without a model.", None),
    arguments=json_option("--arguments", '{"url": "..."}', "Call --tool with these arguments."),
    input=json_option("--input", '{"topic": "owls"}', "Give a workflow this input."),
    cost_brake=common.option(
        "--cost-brake N",
        "Pause it after a run that costs more than N times the median of the ten before.",
        None,
    ),
    test=json_option(
        "--test", '{"tool": "..."}', "Let a tool, workflow or condition decide about each firing."
    ),
    jitter_seconds=common.option(
        "--jitter SPAN",
        "Delay each firing by up to this time, such as 5m.",
        None,
        parser=lambda text: span(text, "--jitter") if text else None,
    ),
)


@dataclass(frozen=True, slots=True)
class RecurrenceOptions:
    """Options that say when: one of them is given."""

    cron: str = common.option("EXPRESSION", "Minute hour day month weekday: '0 9 * * MON'.")
    every_seconds: str = common.option("--every SPAN", "Fire at this interval, such as 15m or 1d.")
    at: str = common.option("TIME", "Fire once, at this time, such as 2026-12-01T09:00.")
    after: str = common.option("--in SPAN", "Fire once, after this time, such as 3d.")

    def given(self, zone: str, *, required: bool = True) -> dict[str, Any]:
        """Return the recurrence, or the one time, as the REST API takes it.

        Args:
            zone: Time zone in which ``--at`` is meant.
            required: One has to be given; else what is returned may be empty.

        Raises:
            CommandError: None is given, or several, or it cannot be read.
        """
        every = self.every_seconds
        said = {"--cron": self.cron, "--every": every, "--at": self.at, "--in": self.after}
        named = [option for option, text in said.items() if text]
        if not (named or required):
            return {}
        if len(named) != 1:
            raise UsageError(
                f"Say when by one of {', '.join(said)}"
                f"{f', not by {listed(named)}' if named else ', such as --in 3d'}."
            )
        if self.cron:
            return {"cron": self.cron}
        if every:
            return {"every_seconds": span(every, "--every")}
        if self.at:
            return {"at": moment(self.at, time_zone(zone), "--at").isoformat()}
        return {"at": after(self.after, "--in").isoformat(timespec="seconds")}


app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_schedules() -> int:
    """List the schedules with their next firings."""
    return print_all(contract.LIST_SCHEDULES, SCHEDULES)


@app.command(cls=RemoteCommand)
@with_groups
def add(
    name: str = NEW,
    *,
    settings: Annotated[Given, SETTINGS],
    when: RecurrenceOptions,
    deliver: TargetOptions,
    conversation: bool = CONVERSATION,
    payload: str = common.PAYLOAD,
) -> int:
    """Make a schedule: --cron, --every, --at or --in says when."""
    long_form = payload_of(payload)
    if long_form is not None and (conversation or settings.get("tool") or "input" in settings):
        raise UsageError("--payload is a task: leave out --conversation, --tool and --input.")
    given = {
        "name": name,
        "agent": "orchestrator",
        **settings,
        **when.given(settings.get("time_zone", "UTC")),
        **_kind_of_task(settings, conversation=conversation),
        **({"input": long_form.model_dump(mode="json")} if long_form is not None else {}),
    }
    server = backend()
    given |= deliver.given(server)
    made = server.call(contract.CREATE_SCHEDULE, given)
    return print_done(made, f"{one_line(made.name)}: {made.description}. {_coming(made)}")


@app.command(cls=RemoteCommand)
@with_groups
def change(
    schedule: str = NAME,
    *,
    name: str | None = RENAME,
    settings: Annotated[Given, SETTINGS],
    when: RecurrenceOptions,
    deliver: TargetOptions,
) -> int:
    """Change the given settings of a schedule; the others stay."""
    server = backend()
    found = _find(server, schedule)
    zone = settings.get("time_zone", found.time_zone)
    given = {**settings, **when.given(zone, required=False), **deliver.given(server)}
    given |= {} if name is None else {"name": name}
    changed = send_change(contract.CHANGE_SCHEDULE, given, server, schedule=str(found.id))
    return print_done(
        changed, f"{one_line(changed.name)}: {changed.description}. {_coming(changed)}"
    )


@app.command(cls=RemoteCommand)
def show(name: str = NAME) -> int:
    """Show a schedule: its settings, its next firings, and the outcomes of the last ones."""
    server = backend()
    found = _find(server, name)
    firings = server.call(contract.LIST_FIRINGS, schedule=str(found.id), limit=SHOWN).firings

    def print_text() -> None:
        print_facts(found.name, _facts(found))
        if firings:
            write("")
            _firings(found.time_zone).print(firings)

    return print_view(found, print_text, firings=[one.model_dump(mode="json") for one in firings])


@app.command(cls=RemoteCommand)
def run(name: str = NAME) -> int:
    """Run a schedule once, now, and print the run's id; its firings stay as they are."""
    server = backend()
    started = server.call(contract.RUN_SCHEDULE, schedule=_key(server, name))
    warn_without_worker(server.call(SHOW_RUN, run_id=started.run_id))
    return print_done(started, started.run_id)


@app.command(cls=RemoteCommand)
def pause(name: str = NAME) -> int:
    """Skip the firings of a schedule until it is resumed."""
    found = _switch(name, enabled=False)
    return print_done(found, f"{one_line(found.name)} is paused: its firings are skipped.")


@app.command(cls=RemoteCommand)
def resume(name: str = NAME) -> int:
    """Resume a paused schedule, from its next firing."""
    found = _switch(name, enabled=True)
    return print_done(found, f"{one_line(found.name)} is resumed. {_coming(found)}")


@app.command(cls=RemoteCommand)
def backfill(name: str = NAME, *, begin: str = FROM, end: str = TO) -> int:
    """Run the missing firings of a past span."""
    server = backend()
    found = _find(server, name)
    zone = time_zone(found.time_zone)
    first, last = moment(begin, zone, "--from"), moment(end, zone, "--to")
    done = server.call(
        contract.BACKFILL_SCHEDULE,
        {"from": first.isoformat(), "to": last.isoformat()},
        schedule=str(found.id),
    )
    count = done.firings_created
    order = "at once" if found.overlap == "parallel" else "one after the other"
    when = "" if found.enabled else ", when it is resumed"
    runs = "firing runs" if count == 1 else "firings run"
    return print_done(done, f"{count} {runs}, {order}{when}.")


@app.command(cls=RemoteCommand)
def remove(name: str = NAME, *, yes: bool = common.YES) -> int:
    """Remove a schedule and the log of its firings; its runs stay."""
    server = backend()
    found = _find(server, name)
    confirm_removal(f"{one_line(found.name)} and its log of firings", yes=yes)
    server.call(contract.REMOVE_SCHEDULE, schedule=str(found.id))
    return print_removed(found.id, found.name, stays="its runs stay")


def _kind_of_task(settings: Given, *, conversation: bool) -> dict[str, Any]:
    """Return the kind of task as a setting, if it is another than the usual one."""
    if conversation and settings.get("tool"):
        raise UsageError("--conversation goes to the agent, --tool past it: choose one.")
    if "arguments" in settings and not settings.get("tool"):
        raise UsageError("--arguments are those of --tool: name the tool.")
    if "input" in settings and (conversation or settings.get("tool")):
        raise UsageError("--input is for a workflow: leave out --conversation and --tool.")
    if "input" in settings:
        return {"task_type": "workflow"}
    if conversation:
        return {"task_type": "message"}
    return {"task_type": "tool_call"} if settings.get("tool") else {}


def _switch(name: str, *, enabled: bool) -> contract.ScheduleOut:
    """Pause a schedule, or resume it."""
    server = backend()
    return server.call(contract.CHANGE_SCHEDULE, {"enabled": enabled}, schedule=_key(server, name))


def _find(backend: Backend, name: str) -> contract.ScheduleOut:
    return backend.call(contract.SHOW_SCHEDULE, schedule=_key(backend, name))


def _key(backend: Backend, name: str) -> str:
    """Return what names a schedule in an address: a slash cannot stand in one, a number can."""
    if "/" not in name:
        return name
    found = backend.every(contract.LIST_SCHEDULES).schedules
    numbers = (str(one.id) for one in found if one.name == name)
    return next(numbers, name.replace("/", " "))


def _facts(one: contract.ScheduleOut) -> list[tuple[str, object]]:
    zone = one.time_zone
    made = f"{one.created_by or '-'}, {format_time(one.created_at, zone)}"
    work = {
        "tool_call": ("tool call", f"{one.tool} {readable_json(one.arguments)}"),
        "workflow": ("input", readable_json(one.input)),
    }
    slots = [f"{slot.text}, {format_relative(slot.at)}" for slot in one.upcoming]
    return [
        ("number", one.id),
        ("agent", one.agent),
        ("state", _state(one)),
        ("when", one.description),
        ("begins", format_time(one.begins_at, zone)),
        ("ends", format_time(one.ends_at, zone) if one.ends_at else ""),
        ("what", "a message on its conversation" if one.task_type == "message" else ""),
        work.get(one.task_type, ("task", one.task)),
        ("long form", readable_json(one.input) if one.task_type == "task" and one.input else ""),
        ("test", readable_json(one.test) if one.test else ""),
        ("asks", " ".join(one.asks)),
        ("review by", one.review),
        ("results to", "; ".join(one.recipients)),
        ("catch-up", one.catch_up),
        ("overlap", one.overlap),
        ("cost brake", f"{one.cost_brake} times the usual" if one.cost_brake else ""),
        ("jitter", f"up to {one.jitter_seconds} s" if one.jitter_seconds else ""),
        ("made by", f"{made} in run {one.created_by_run_id}" if one.created_by_run_id else made),
        *zip(("next", *[""] * len(slots)), slots, strict=False),
    ]


def _firings(zone: str) -> Table[contract.FiringOut]:
    return Table(
        {
            "FIRING": lambda one: format_time(one.scheduled_for, zone),
            "CAUSE": lambda one: one.trigger,
            "STATUS": _standing,
            "RUN": lambda one: one.run_id or "-",
            "NOTE": lambda one: one.note,
        },
        STYLES,
    )


def _standing(firing: contract.FiringOut) -> str:
    """Return the status of a firing's run and of its delivery, or why there is no run."""
    run = firing.run_status or firing.status
    delivery = DELIVERIES.get(firing.delivery_status or "")
    return run if run in LIVE or delivery is None else f"{run}, {delivery}"


def _state(one: contract.ScheduleSummaryOut) -> str:
    if not one.enabled:
        return "paused"
    if one.next_at is None:
        return "over"
    return "active" if one.agent_enabled else "agent stopped"


def _coming(one: contract.ScheduleOut) -> str:
    if not one.upcoming:
        return "No firing follows."
    return f"Next: {one.upcoming[0].text}, {format_relative(one.upcoming[0].at)}."


def _next(one: contract.ScheduleSummaryOut) -> str:
    if one.next_at is None:
        return "-"
    return f"{format_time(one.next_at, one.time_zone)}, {format_relative(one.next_at)}"


SCHEDULES: Final = Table.of(
    contract.ScheduleSummaryOut,
    "SCHEDULE=name:40 AGENT NEXT LAST STATE WHEN=description",
    styles=STYLES,
    none="No schedules yet: `heartbit schedules add NAME --task ... --in 3d` makes one.",
    NEXT=_next,
    LAST=lambda one: _standing(one.last) if one.last else "-",
    STATE=_state,
)
