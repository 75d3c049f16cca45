"""Results of `heartbit schedules`. No Django."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from agents.delivery.words import DELIVERIES
from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.confirmation import confirm_removal
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.json_option import json_object
from heartbit_site.cli.outcome import LIVE, warn_without_worker
from heartbit_site.cli.output import one_line, write, write_json, write_view
from heartbit_site.cli.table import Lines, Table, print_done, print_facts, print_list
from heartbit_site.cli.targets import named_targets, target_text, with_numbers
from heartbit_site.cli.times import format_relative, format_time, moment, span, time_zone
from heartbit_site.contract import schedules as contract
from heartbit_site.contract.runs import SHOW_RUN
from heartbit_site.contract.schedules import (
    BackfillIn,
    ScheduleChangeIn,
    ScheduleIn,
    ScheduleSummaryOut,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.cli.backend import Backend
    from heartbit_site.contract.schedules import FiringOut, ScheduleOut

FIRINGS: Final = ("SLOT", "CAUSE", "STATUS", "RUN", "NOTE")
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
NAME_WIDTH: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions:
    """Options of `heartbit schedules add`; empty: not given."""

    name: str
    agent: str
    task: str
    cron: str
    every: str
    at: str
    after: str
    time_zone: str
    catch_up: str
    overlap: str
    jitter: str
    emails: Sequence[str]
    webhooks: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    conversation: bool
    tool: str
    arguments: str
    require_approval: bool

    def given(self) -> dict[str, Any]:
        """Return the options as the REST API takes them.

        Raises:
            CommandError: Something of it is not understood, or does not go together.
        """
        if self.conversation and self.tool:
            raise CommandError(
                "--conversation goes to the agent, --tool past it: choose one.", USAGE
            )
        if self.arguments and not self.tool:
            raise CommandError("--arguments are those of --tool: name the tool.", USAGE)
        found: dict[str, Any] = {
            "name": self.name,
            "agent": self.agent,
            "task": self.task,
            "time_zone": self.time_zone,
            "catch_up": self.catch_up,
            "overlap": self.overlap,
            "require_approval": self.require_approval,
            **self._when(),
        }
        if self.jitter:
            found["jitter_seconds"] = span(self.jitter, "--jitter")
        if deliver := named_targets(self.emails, self.webhooks, self.artifacts):
            found["deliver"] = deliver
        if self.conversation:
            found["task_type"] = "message"
        if self.tool:
            found |= {"task_type": "tool_call", "tool": self.tool}
            found["arguments"] = (
                json_object(self.arguments, "--arguments", '{"url": "..."}')
                if self.arguments
                else {}
            )
        return found

    def _when(self) -> dict[str, Any]:
        said = {"--cron": self.cron, "--every": self.every, "--at": self.at, "--in": self.after}
        named = [option for option, text in said.items() if text]
        if len(named) != 1:
            raise CommandError(
                f"Say when by one of {', '.join(said)}"
                f"{f', not by {_listed(named)}' if named else ', such as --in 3d'}.",
                USAGE,
            )
        match named[0]:
            case "--cron":
                return {"cron": self.cron}
            case "--every":
                return {"every_seconds": span(self.every, "--every")}
            case "--at":
                return {"at": moment(self.at, time_zone(self.time_zone), "--at").isoformat()}
            case _:
                return {"at": _in(span(self.after, "--in")).isoformat(timespec="seconds")}


def _in(seconds: int) -> datetime:
    try:
        return to_utc(datetime.now(UTC) + timedelta(seconds=seconds))
    except (OverflowError, TooFarError):
        raise CommandError(
            "--in is too long: the time has to be before the year 9999.", USAGE
        ) from None


def list_all(url: str | None, *, as_json: bool) -> int:
    """Print every schedule, one a line."""
    found = backend_for(url).every(contract.LIST_SCHEDULES)
    none = "No schedules yet: `heartbit schedules add NAME --task ... --in 3d` makes one."
    return print_list(found, SCHEDULES.of(found.schedules), none=none, as_json=as_json)


def show(url: str | None, name: str, *, as_json: bool) -> int:
    """Print a schedule: what it does, what comes, and what became of it."""
    backend = backend_for(url)
    found = _find(backend, name)
    firings = backend.call(contract.LIST_FIRINGS, schedule=str(found.id), limit=SHOWN).firings
    if as_json:
        write_view(found, firings=[one.model_dump(mode="json") for one in firings])
        return OK
    print_facts(found.name, _facts(found))
    if firings:
        write("")
        Lines(FIRINGS, [_firing(one, found.time_zone) for one in firings], STYLES).print()
    return OK


def add(url: str | None, order: ScheduleOptions, *, as_json: bool) -> int:
    """Make a schedule and print when it comes due."""
    given = order.given()  # what is not understood is said before anything is started
    backend = backend_for(url)
    if "deliver" in given:
        given["deliver"] = with_numbers(backend, given["deliver"])
    made = backend.call(contract.CREATE_SCHEDULE, checked(ScheduleIn, given))
    sentence = f"{one_line(made.name)}: {made.description}. {_coming(made)}"
    return print_done(made, sentence, as_json=as_json)


def switch(url: str | None, name: str, *, enabled: bool, as_json: bool) -> int:
    """Pause a schedule, or let it go on."""
    backend = backend_for(url)
    found = backend.call(
        contract.CHANGE_SCHEDULE, ScheduleChangeIn(enabled=enabled), schedule=_key(backend, name)
    )
    state = f"resumed. {_coming(found)}" if enabled else "paused: its occurrences are skipped."
    return print_done(found, f"{one_line(found.name)} is {state}", as_json=as_json)


def run(url: str | None, name: str, *, as_json: bool) -> int:
    """Start a schedule's run now and print its id; say so when no worker serves its queue."""
    backend = backend_for(url)
    started = backend.call(contract.RUN_SCHEDULE, schedule=_key(backend, name))
    warn_without_worker(backend.call(SHOW_RUN, run_id=started.run_id))
    return print_done(started, started.run_id, as_json=as_json)


def backfill(url: str | None, name: str, begin: str, end: str, *, as_json: bool) -> int:
    """Make up for a span of the past and print how many slots run."""
    backend = backend_for(url)
    found = _find(backend, name)
    zone = time_zone(found.time_zone)
    first, last = moment(begin, zone, "--from"), moment(end, zone, "--to")
    span_of = {"from": first.isoformat(), "to": last.isoformat()}
    done = backend.call(
        contract.BACKFILL_SCHEDULE, checked(BackfillIn, span_of), schedule=str(found.id)
    )
    count = done.firings_created
    order = "at once" if found.overlap == "parallel" else "one after the other"
    when = "" if found.enabled else ", when it is resumed"
    sentence = f"{count} {'occurrence runs' if count == 1 else 'occurrences run'}, {order}{when}."
    return print_done(done, sentence, as_json=as_json)


def remove(url: str | None, name: str, *, yes: bool, as_json: bool) -> int:
    """Remove a schedule, after a yes.

    Raises:
        CommandError: The removal is not confirmed.
    """
    backend = backend_for(url)
    found = _find(backend, name)
    title = one_line(found.name)
    confirm_removal(f"{title} and its log of firings", yes=yes)
    backend.call(contract.REMOVE_SCHEDULE, schedule=str(found.id))
    if as_json:
        write_json({"id": found.id, "name": found.name})
    else:
        write(f"Removed {title}; its runs stay.")
    return OK


def _find(backend: Backend, name: str) -> ScheduleOut:
    return backend.call(contract.SHOW_SCHEDULE, schedule=_key(backend, name))


def _key(backend: Backend, name: str) -> str:
    """Return what names a schedule in an address: a slash cannot stand in one, a number can."""
    if "/" not in name:
        return name
    found = backend.every(contract.LIST_SCHEDULES).schedules
    numbers = (str(one.id) for one in found if one.name == name)
    return next(numbers, name.replace("/", " "))


def _facts(one: ScheduleOut) -> list[tuple[str, object]]:
    zone = one.time_zone
    made = f"{one.created_by or '-'}, {format_time(one.created_at, zone)}"
    is_call = one.task_type == "tool_call"
    slots = [f"{slot.text}, {format_relative(slot.at)}" for slot in one.upcoming]
    return [
        ("number", one.id),
        ("agent", one.agent),
        ("state", _state(one)),
        ("when", one.description),
        ("begins", format_time(one.begins_at, zone)),
        ("ends", format_time(one.ends_at, zone) if one.ends_at else ""),
        ("what", "a message on its conversation" if one.task_type == "message" else ""),
        ("tool call", f"{one.tool} {readable_json(one.arguments)}")
        if is_call
        else ("task", one.task),
        ("approval", "every tool call waits for a person" if one.require_approval else ""),
        ("results to", "; ".join(target_text(target) for target in one.deliver)),
        ("catch-up", one.catch_up),
        ("overlap", one.overlap),
        ("jitter", f"up to {one.jitter_seconds} s" if one.jitter_seconds else ""),
        ("made by", f"{made} in run {one.created_by_run_id}" if one.created_by_run_id else made),
        *zip(("next", *[""] * len(slots)), slots, strict=False),
    ]


def _firing(one: FiringOut, zone: str) -> tuple[str, ...]:
    return (
        format_time(one.scheduled_for, zone),
        one.trigger,
        _standing(one),
        one.run_id or "-",
        one.note,
    )


def _standing(firing: FiringOut) -> str:
    """Return the status of a firing's run and of its delivery, or why there is no run."""
    run = firing.run_status or firing.status
    delivery = DELIVERIES.get(firing.delivery_status or "")
    return run if run in LIVE or delivery is None else f"{run}, {delivery}"


def _state(one: ScheduleSummaryOut) -> str:
    if not one.enabled:
        return "paused"
    if one.next_at is None:
        return "over"
    return "active" if one.agent_enabled else "agent stopped"


def _coming(one: ScheduleOut) -> str:
    if not one.upcoming:
        return "No occurrence follows."
    return f"Next: {one.upcoming[0].text}, {format_relative(one.upcoming[0].at)}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _next(one: ScheduleSummaryOut) -> str:
    if one.next_at is None:
        return "-"
    return f"{format_time(one.next_at, one.time_zone)}, {format_relative(one.next_at)}"


SCHEDULES: Final = Table[ScheduleSummaryOut](
    {
        "SCHEDULE": lambda one: one_line(one.name, NAME_WIDTH),
        "AGENT": lambda one: one.agent,
        "NEXT": _next,
        "LAST": lambda one: _standing(one.last) if one.last else "-",
        "STATE": _state,
        "WHEN": lambda one: one.description,
    },
    STYLES,
)
