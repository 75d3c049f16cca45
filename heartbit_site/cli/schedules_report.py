"""What `heartbit schedules` does and says. No Django."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import typer

from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.outcome import LIVE
from heartbit_site.cli.output import one_line, write, write_json
from heartbit_site.cli.table import print_table
from heartbit_site.cli.targets import target_text
from heartbit_site.cli.times import distance, moment, span, spoken, time_zone
from heartbit_site.cli.webhook_option import find_webhook
from scheduling.delivery_words import DELIVERIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heartbit_site.cli.schedules import Schedules

COLUMNS: Final = ("SCHEDULE", "AGENT", "NEXT", "LAST", "STATE", "WHEN")
FIRINGS: Final = ("SLOT", "CAUSE", "STATUS", "RUN", "NOTE")
STYLES: Final = {
    "active": "green",
    "paused": "yellow",
    "agent stopped": "yellow",
    "over": "dim",
    "failed": "red",
    "held": "cyan",
    "skipped": "dim",
}
SHOWN: Final = 10  # firings
NAME_WIDTH: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What `heartbit schedules add` was asked; what is empty was not said."""

    name: str
    agent: str
    task: str
    cron: str
    every: str
    at: str
    after: str
    zone: str
    missed: str
    overlap: str
    jitter: str
    emails: Sequence[str]
    webhooks: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    message: bool
    tool: str
    arguments: str
    approve: bool

    def given(self) -> dict[str, Any]:
        """As the REST API takes it.

        Raises:
            CommandError: Something of it is not understood, or does not go together.
        """
        if self.message and self.tool:
            raise CommandError("--message goes to the agent, --tool past it: choose one.", USAGE)
        if self.arguments and not self.tool:
            raise CommandError("--arguments are those of --tool: name the tool.", USAGE)
        found: dict[str, Any] = {
            "name": self.name,
            "agent": self.agent,
            "task": self.task,
            "time_zone": self.zone,
            "missed": self.missed,
            "overlap": self.overlap,
            "approve": self.approve,
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
        if self.message:
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
                return {"at": moment(self.at, time_zone(self.zone), "--at").isoformat()}
            case _:
                return {"at": _in(span(self.after, "--in")).isoformat(timespec="seconds")}


def _in(seconds: int) -> datetime:
    try:
        return to_utc(datetime.now(UTC) + timedelta(seconds=seconds))
    except (OverflowError, TooFarError):
        raise CommandError(
            "--in is too long: the time has to be before the year 9999.", USAGE
        ) from None


def list_all(schedules: Schedules, *, as_json: bool) -> int:
    """Every schedule, one a line."""
    found = schedules.all()
    if as_json:
        write_json({"schedules": found})
    elif not found:
        write("No schedules yet: `heartbit schedules add NAME --task ... --in 3d` makes one.")
    else:
        print_table(COLUMNS, [_cells(one) for one in found], styles=STYLES)
    return OK


def show(schedules: Schedules, name: str, *, as_json: bool) -> int:
    """One: what it does, what comes, what became of it."""
    found = schedules.one(name)
    firings = schedules.firings(str(found["schedule"]), SHOWN)
    if as_json:
        write_json({**found, "firings": firings})
        return OK
    write(one_line(found["name"]))
    for title, text in _facts(found):
        if text:
            write(f"  {title:<12} {one_line(text)}")
    for number, slot in enumerate(found["next"]):
        write(f"  {'' if number else 'next':<12} {slot['words']}, {distance(slot['at'])}")
    if firings:
        write("")
        rows = [_firing(one, found["time_zone"]) for one in firings]
        print_table(FIRINGS, rows, styles=STYLES)
    return OK


def add(schedules: Schedules, order: Order, *, as_json: bool) -> int:
    """Make one."""
    given = order.given()
    for target in given.get("deliver", ()):
        if target["kind"] == "webhook":
            target["endpoint"] = find_webhook(schedules.backend, target["endpoint"])
    made = schedules.add(given)
    if as_json:
        write_json(made)
    else:
        write(f"{one_line(made['name'])}: {made['words']}. {_coming(made)}")
    return OK


def switch(schedules: Schedules, name: str, *, enabled: bool, as_json: bool) -> int:
    """Pause one, or let it go on."""
    found = schedules.change(name, {"enabled": enabled})
    if as_json:
        write_json(found)
    elif enabled:
        write(f"{one_line(found['name'])} goes on. {_coming(found)}")
    else:
        write(f"{one_line(found['name'])} is paused: it lets its slots pass.")
    return OK


def run(schedules: Schedules, name: str, *, as_json: bool) -> int:
    """Start its run now."""
    started = schedules.run(name)
    if as_json:
        write_json({"run": started})
    else:
        write(started)
    return OK


def backfill(schedules: Schedules, name: str, begin: str, end: str, *, as_json: bool) -> int:
    """Make up for a span of the past."""
    found = schedules.one(name)
    zone = time_zone(found["time_zone"])
    first, last = moment(begin, zone, "--from"), moment(end, zone, "--to")
    slots = schedules.backfill(str(found["schedule"]), first.isoformat(), last.isoformat())
    if as_json:
        write_json({"slots": slots})
    else:
        order = "at once" if found["overlap"] == "parallel" else "one after the other"
        when = "" if found["enabled"] else ", when it is resumed"
        write(f"{slots} {'slot runs' if slots == 1 else 'slots run'}, {order}{when}.")
    return OK


def remove(schedules: Schedules, name: str, *, yes: bool, as_json: bool) -> int:
    """Remove one, after a yes.

    Raises:
        CommandError: The answer is no, or nobody can be asked and --yes was not given.
    """
    found = schedules.one(name)
    title = one_line(found["name"])
    if not yes:
        if not is_interactive():
            raise CommandError(f"Say --yes if {title} and the log of its slots may go.", USAGE)
        if not typer.confirm(f"Remove {title} and the log of its slots?", err=True):
            raise CommandError("Nothing was removed.")
    schedules.remove(str(found["schedule"]))
    if as_json:
        write_json({"schedule": found["schedule"], "name": found["name"]})
    else:
        write(f"Removed {title}; its runs stay.")
    return OK


def _cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    last = one["last"]
    return (
        one_line(one["name"], NAME_WIDTH),
        one_line(one["agent"]),
        f"{spoken(one['next_at'], one['time_zone'])}, {distance(one['next_at'])}"
        if one["next_at"]
        else "-",
        _standing(last) if last else "-",
        _state(one),
        one_line(one["words"]),
    )


def _facts(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    zone = one["time_zone"]
    made = f"{one['made_by'] or '-'}, {spoken(one['created_at'], zone)}"
    what = one["task"]
    if one["task_type"] == "tool_call":
        what = f"{one['tool']} {readable_json(one['arguments'])}"
    return [
        ("number", str(one["schedule"])),
        ("agent", one["agent"]),
        ("state", _state(one)),
        ("when", one["words"]),
        ("begins", spoken(one["begins_at"], zone)),
        ("ends", spoken(one["ends_at"], zone) if one["ends_at"] else ""),
        ("what", {"message": "a message on its conversation"}.get(one["task_type"], "")),
        ("task" if one["task_type"] != "tool_call" else "tool call", what),
        ("approval", "every tool call waits for a person" if one["approve"] else ""),
        ("results to", "; ".join(target_text(target) for target in one["deliver"])),
        ("missed", one["missed"]),
        ("overlap", one["overlap"]),
        ("jitter", f"up to {one['jitter_seconds']} s" if one["jitter_seconds"] else ""),
        ("made by", f"{made} in run {one['made_in_run']}" if one["made_in_run"] else made),
    ]


def _firing(one: Mapping[str, Any], zone: str) -> tuple[str, ...]:
    return (
        spoken(one["slot"], zone),
        one["cause"],
        _standing(one),
        one["run"] or "-",
        one_line(one["note"]),
    )


def _standing(firing: Mapping[str, Any]) -> str:
    """Return the status of a firing's run and of its delivery, or why there is no run."""
    run = str(firing["run_status"] or firing["status"])
    delivery = DELIVERIES.get(firing.get("delivery_status") or "")
    return run if run in LIVE or delivery is None else f"{run}, {delivery}"


def _state(one: Mapping[str, Any]) -> str:
    if not one["enabled"]:
        return "paused"
    if one["next_at"] is None:
        return "over"
    return "active" if one["agent_enabled"] else "agent stopped"


def _coming(one: Mapping[str, Any]) -> str:
    if not one["next"]:
        return "No slot is to come any more."
    return f"Next: {one['next'][0]['words']}, {distance(one['next'][0]['at'])}."


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
