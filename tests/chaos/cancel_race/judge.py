"""What a cancelled run left behind, held against the promises. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.chaos.cancel_race.kinds import PARTIAL, SLOW_TOOLS
from tests.chaos.checker import OPEN, TERMINAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.chaos.cancel_race.racing import Race
    from tests.chaos.records import Effect, Event, Run

#: Has an intent, so nothing of it happens that the journal does not know of before.
ANNOUNCED = frozenset({SLOW_TOOLS["idempotent"], SLOW_TOOLS["at_most_once"]})
#: Can be told; a transactional one works in a thread, and is undone instead.
TOLD = frozenset({"pure", "idempotent", "at_most_once"})
#: The end and the cancel were about the same moment.
CLOSE_SECONDS = 0.03


@dataclass(slots=True)
class Findings:
    """What was found in all races.

    Attributes:
        met: Cancels that met a run that had not ended, by kind.
        endings: Runs without exactly one terminal state and event.
        late_effects: Effects that began after the cancel was committed.
        told: Seconds from a cancel until the running tool was told.
        untold: Tools that ran and never heard of it.
        silent: Seconds from a cancel until the end of a run whose model said nothing.
        ended: The same of every run that was at work.
        kept: Half answers that were kept.
        lost: Half answers that were not.
        orphans: Sub-agents that went on.
        close: Races that were decided within a moment.
    """

    met: dict[str, int] = field(default_factory=dict)
    endings: int = 0
    late_effects: int = 0
    told: list[float] = field(default_factory=list)
    untold: int = 0
    silent: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    kept: int = 0
    lost: int = 0
    orphans: int = 0
    close: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Left:
    """What one race left.

    Attributes:
        output: The run's, as its row has it.
        effects: Those with its name.
        told: When its tool was told, if it was.
        children: The sub-agents' statuses.
    """

    run: Run
    output: str
    effects: Sequence[Effect]
    told: float | None
    children: Sequence[str]


def judge(races: Sequence[Race], left: Mapping[str, Left]) -> Findings:
    """Look at every race."""
    found = Findings()
    for race in races:
        _judge_one(race, left[race.name], found)
    return found


def _judge_one(race: Race, left: Left, found: Findings) -> None:
    run = left.run
    where = f"{race.name} ({race.kind.name})"
    endings = [event for event in run.events if event.type.removeprefix("run.") in TERMINAL]
    if run.status not in TERMINAL or len(endings) != 1:
        found.endings += 1
        found.faults.append(f"{where} is {run.status} with {len(endings)} endings")
        return
    cancel = next((event for event in run.events if event.type == "run.cancel_requested"), None)
    end = endings[0]
    found.close += abs(end.at - (cancel.at if cancel else race.done_at)) < CLOSE_SECONDS
    if cancel is None and run.status != "cancelled":
        return  # the run was quicker
    found.met[race.kind.name] = found.met.get(race.kind.name, 0) + 1
    if run.status != "cancelled":
        found.endings += 1
        found.faults.append(f"{where} is {run.status} although its cancel came first")
    late = list(_late(run, cancel or end, left.effects))
    found.late_effects += len(late)
    found.faults += [f"{where}: {fault}" for fault in late]
    found.faults += [
        f"{where}: {call.call_id} is {call.status} although its run has ended"
        for call in run.calls
        if call.status in OPEN
    ]
    _judge_kind(race, left, cancel, end, found)


def _late(run: Run, cancel: Event, effects: Sequence[Effect]) -> Iterator[str]:
    for event in run.events:
        if event.seq <= cancel.seq:
            continue
        if event.type == "tool.started":
            yield "an intent was journaled after the cancel"
        if _is_done(event) and event.payload["effect"] == "transactional":
            yield "a transaction was committed after the cancel"
    started = [event for event in run.events if event.type == "tool.started"]
    for effect in effects:
        if effect.tool in ANNOUNCED and not any(event.at <= effect.at for event in started):
            yield f"{effect.tool} acted without an intent"
        if effect.tool == SLOW_TOOLS["transactional"] and not any(map(_is_done, run.events)):
            yield "a row was kept although its result was not"


def _is_done(event: Event) -> bool:
    return event.type == "tool.finished" and event.payload["status"] == "ok"


def _judge_kind(race: Race, left: Left, cancel: Event | None, end: Event, found: Findings) -> None:
    kind = race.kind.name
    where = f"{race.name} ({kind})"
    if cancel is not None:
        found.ended.append(end.at - cancel.at)
    if kind == "silent model" and cancel is not None:
        found.silent.append(end.at - cancel.at)
    if kind == "half an answer":
        kept = bool(left.output) and PARTIAL.startswith(left.output.strip())
        found.kept += kept
        found.lost += not kept
        if not kept:
            found.faults.append(f"{where} kept {left.output!r} of a half answer")
    if kind == "sub-agent":
        alive = [status for status in left.children if status not in TERMINAL]
        found.orphans += len(alive)
        found.faults += [f"{where}: its sub-agent is {status}" for status in alive]
    if kind in TOLD and cancel is not None and _was_running(left, cancel):
        if left.told is None:
            found.untold += 1
            found.faults.append(f"{where}: its tool was never told")
        else:
            found.told.append(left.told - cancel.at)


def _was_running(left: Left, cancel: Event) -> bool:
    began = any(effect.at < cancel.at for effect in left.effects)
    finished = any(
        event.type == "tool.finished" and event.seq < cancel.seq for event in left.run.events
    )
    return began and not finished
