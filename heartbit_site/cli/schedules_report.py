"""Results of `heartbit schedules`. No Django."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import typer

from agents.delivery.words import DELIVERIES
from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.outcome import LIVE, warn_without_worker
from heartbit_site.cli.output import one_line, write, write_json, write_view
from heartbit_site.cli.table import print_table
from heartbit_site.cli.targets import target_text
from heartbit_site.cli.times import format_relative, format_time, moment, span, time_zone
from heartbit_site.cli.webhook_option import find_webhook
from heartbit_site.contract import schedules as contract
from heartbit_site.contract.runs import SHOW_RUN
from heartbit_site.contract.schedules import BackfillIn, ScheduleChangeIn, ScheduleIn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.cli.backend import Backend
    from heartbit_site.contract.schedules import FiringOut, ScheduleOut, ScheduleSummaryOut

COLUMNS: Final = ("SCHEDULE", "AGENT", "NEXT", "LAST", "STATE", "WHEN")
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
    """What `heartbit schedules add` was asked; what is empty was not said."""

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
        """As the REST API takes it.

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
        deliver: list[dict[str, Any]] = []
        if self.emails:
            deliver.append({"kind": "email", "to": list(self.emails)})
        # A webhook's name becomes its number once it is known where it is to be looked for.
        deliver += [{"kind": "webhook", "endpoint": name} for name in self.webhooks]
        deliver += [{"kind": "artifact", "name": name} for name in self.artifacts]
        if deliver:
            found["deliver"] = deliver
        if self.conversation:
            found["task_type"] = "message"
        if self.tool:
            found |= {"task_type": "tool_call", "tool": self.tool}
            found["arguments"] = _json_object(self.arguments) if self.arguments else {}
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
    everything = backend_for(url).every(contract.LIST_SCHEDULES)
    if as_json:
        write_view(everything)
    elif not everything.schedules:
        write("No schedules yet: `heartbit schedules add NAME --task ... --in 3d` makes one.")
    else:
        print_table(COLUMNS, [_cells(one) for one in everything.schedules], styles=STYLES)
    return OK


def show(url: str | None, name: str, *, as_json: bool) -> int:
    """Print a schedule: what it does, what comes, and what became of it."""
    backend = backend_for(url)
    found = _find(backend, name)
    firings = backend.call(contract.LIST_FIRINGS, schedule=str(found.id), limit=SHOWN).firings
    if as_json:
        write_view(found, firings=[one.model_dump(mode="json") for one in firings])
        return OK
    write(one_line(found.name))
    for title, text in _facts(found):
        if text:
            write(f"  {title:<12} {one_line(text)}")
    for number, slot in enumerate(found.upcoming):
        write(f"  {'' if number else 'next':<12} {slot.text}, {format_relative(slot.at)}")
    if firings:
        write("")
        rows = [_firing(one, found.time_zone) for one in firings]
        print_table(FIRINGS, rows, styles=STYLES)
    return OK


def add(url: str | None, order: ScheduleOptions, *, as_json: bool) -> int:
    """Make a schedule and print when it comes due."""
    given = order.given()  # what is not understood is said before anything is started
    backend = backend_for(url)
    for target in given.get("deliver", ()):
        if target["kind"] == "webhook":
            target["endpoint"] = find_webhook(backend, target["endpoint"])
    made = backend.call(contract.CREATE_SCHEDULE, checked(ScheduleIn, given))
    if as_json:
        write_view(made)
    else:
        write(f"{one_line(made.name)}: {made.description}. {_coming(made)}")
    return OK


def switch(url: str | None, name: str, *, enabled: bool, as_json: bool) -> int:
    """Pause a schedule, or let it go on."""
    backend = backend_for(url)
    found = backend.call(
        contract.CHANGE_SCHEDULE, ScheduleChangeIn(enabled=enabled), schedule=_key(backend, name)
    )
    if as_json:
        write_view(found)
    elif enabled:
        write(f"{one_line(found.name)} goes on. {_coming(found)}")
    else:
        write(f"{one_line(found.name)} is paused: it lets its slots pass.")
    return OK


def run(url: str | None, name: str, *, as_json: bool) -> int:
    """Start a schedule's run now and print its id; say so when no worker serves its queue."""
    backend = backend_for(url)
    started = backend.call(contract.RUN_SCHEDULE, schedule=_key(backend, name))
    warn_without_worker(backend.call(SHOW_RUN, run_id=started.run_id))
    if as_json:
        write_view(started)
    else:
        write(started.run_id)
    return OK


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
    if as_json:
        write_view(done)
    else:
        order = "at once" if found.overlap == "parallel" else "one after the other"
        when = "" if found.enabled else ", when it is resumed"
        write(
            f"{done.firings_created} {'slot runs' if done.firings_created == 1 else 'slots run'}, "
            f"{order}{when}."
        )
    return OK


def remove(url: str | None, name: str, *, yes: bool, as_json: bool) -> int:
    """Remove a schedule, after a yes.

    Raises:
        CommandError: The answer is no, or nobody can be asked and --yes was not given.
    """
    backend = backend_for(url)
    found = _find(backend, name)
    title = one_line(found.name)
    if not yes:
        if not is_interactive():
            raise CommandError(f"Say --yes if {title} and the log of its slots may go.", USAGE)
        if not typer.confirm(f"Remove {title} and the log of its slots?", err=True):
            raise CommandError("Nothing was removed.")
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


def _cells(one: ScheduleSummaryOut) -> tuple[str, ...]:
    return (
        one_line(one.name, NAME_WIDTH),
        one_line(one.agent),
        f"{format_time(one.next_at, one.time_zone)}, {format_relative(one.next_at)}"
        if one.next_at
        else "-",
        _standing(one.last) if one.last else "-",
        _state(one),
        one_line(one.description),
    )


def _facts(one: ScheduleOut) -> list[tuple[str, str]]:
    zone = one.time_zone
    made = f"{one.created_by or '-'}, {format_time(one.created_at, zone)}"
    is_call = one.task_type == "tool_call"
    return [
        ("number", str(one.id)),
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
    ]


def _firing(one: FiringOut, zone: str) -> tuple[str, ...]:
    return (
        format_time(one.scheduled_for, zone),
        one.trigger,
        _standing(one),
        one.run_id or "-",
        one_line(one.note),
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
        return "No slot is to come any more."
    return f"Next: {one.upcoming[0].text}, {format_relative(one.upcoming[0].at)}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise CommandError(f"--arguments cannot be read: {error}", USAGE) from None
    if not isinstance(value, dict):
        raise CommandError('--arguments takes a JSON object, such as \'{"url": "..."}\'.', USAGE)
    return value
