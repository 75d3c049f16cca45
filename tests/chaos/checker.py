"""Joins ledgers and journals, and counts every broken promise. Pure: it sees records, no system.

What a worker's death excuses is narrow: a repeat counts as explained only when a kill of the worker
that held that very run lies between the two attempts.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tests.chaos.approvals import broken, origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.chaos.records import Asked, Call, Decided, Effect, Event, Kill, Records, Run

T = TypeVar("T")
K = TypeVar("K")

TERMINAL = frozenset({"succeeded", "failed", "cancelled", "quarantined"})
OPEN = frozenset({"pending", "started", "waiting"})
#: What was on its way when its worker died may still arrive, or commit, this much later.
ON_ITS_WAY_SECONDS = 0.5
HIT_WINDOWS = 0.9
SUCCEEDED = 0.95


@dataclass(slots=True)
class Verdict:
    """What was found.

    Attributes:
        kills: Workers killed.
        lost: Accepted runs without a terminal state.
        repeated: Model calls made after their answer had been journaled.
        doubled: Effects that happened twice, or under two keys.
        recoveries: Seconds from a kill to the next start of each run it hit.
        repeated_in_flight: Model calls repeated because a kill hit them before their journaling.
        repeats_with_key: Idempotent effects repeated after a kill, with the same key.
        uncertain: At-most-once calls whose outcome is shown as unknown.
        decided: Decisions that people took about calls.
        unapproved: Calls that ran without, or against, a decision, or not in spite of one.
        faults: A sentence for each broken promise, lost runs and doubled effects included.
        invalid: Why the scenario proves nothing, if it does not.
    """

    kills: int = 0
    lost: int = 0
    repeated: int = 0
    doubled: int = 0
    recoveries: list[float] = field(default_factory=list)
    repeated_in_flight: int = 0
    repeats_with_key: int = 0
    uncertain: int = 0
    decided: int = 0
    unapproved: int = 0
    faults: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)

    def recovery_p95(self) -> float:
        """Nearest rank; 0 without any recovery."""
        ordered = sorted(self.recoveries)
        return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))] if ordered else 0.0


def check(records: Records) -> Verdict:
    """Judge the records of a scenario that kills workers: ``judge``, and that the kills hurt."""
    verdict = judge(records)
    for run in records.runs:
        _check_recovery(run, [kill for kill in records.kills if run.id in kill.held], verdict)
    _check_hits(records, verdict)
    return verdict


def judge(records: Records) -> Verdict:
    """Judge what was promised about runs, whatever happened around them.

    A repeat is excused by a kill that hit its run between the two attempts, by nothing else. A
    scenario with another kind of fault says by ``kills`` what that excuses, if anything.
    """
    verdict = Verdict(kills=len(records.kills), decided=len(records.decided))
    kills: dict[str, list[Kill]] = defaultdict(list)
    for kill in records.kills:
        for run_id in kill.held:
            kills[run_id].append(kill)
    asked = _by(records.asked, lambda each: each.run)
    effects = _by(records.effects, lambda each: origin(each.op))
    decided = _by(records.decided, lambda each: (each.run, each.call_id))
    known: set[str] = set()
    for run in records.runs:
        _check_end(run, verdict)
        _check_journal(run, verdict)
        _check_model(run, asked.get(run.name, []), kills[run.id], verdict)
        for call in run.calls:
            known.add(call.op)
            _check_call(run, call, effects.get(call.op, []), kills[run.id], verdict)
            words = decided.get((run.id, call.call_id), [])
            _check_decision(run, call, words, effects.get(call.op, []), verdict)
    for op in sorted(op for op in effects if op not in known):
        verdict.faults.append(f"the effect {op} belongs to no journaled call")
    _check_progress(records, verdict)
    return verdict


def _check_end(run: Run, verdict: Verdict) -> None:
    if run.status not in TERMINAL:
        verdict.lost += 1
        verdict.faults.append(f"run {run.name} is lost: {run.status}")


def _check_journal(run: Run, verdict: Verdict) -> None:
    """Gapless, one answer a turn, one result a call, one ending."""
    if [event.seq for event in run.events] != list(range(1, len(run.events) + 1)):
        verdict.faults.append(f"the journal of {run.name} has gaps")
    seen: set[tuple[str, str]] = set()
    for event in run.events:
        subject = _subject(event)
        if subject is None:
            continue
        if subject in seen:
            verdict.faults.append(f"{run.name}: {subject[0]} twice for {subject[1]}")
        seen.add(subject)
    endings = [event for event in run.events if event.type.removeprefix("run.") in TERMINAL]
    if len(endings) != (run.status in TERMINAL):
        verdict.faults.append(f"{run.name} is {run.status} with {len(endings)} endings")


def _subject(event: Event) -> tuple[str, str] | None:
    match event.type:
        case "model.answered":
            return event.type, str(event.payload["turn"])
        case "tool.started" if event.payload.get("effect") == "idempotent":
            return None  # it begins again after a death, under the same key
        case "tool.finished" | "tool.started" | "outcome.requested":
            return event.type, str(event.payload["call_id"])
        case _:
            return None


def _check_model(run: Run, asked: list[Asked], kills: list[Kill], verdict: Verdict) -> None:
    answered = {
        event.payload["turn"]: event.at for event in run.events if event.type == "model.answered"
    }
    for turn, requests in _by(asked, lambda each: each.turn).items():
        requests.sort(key=lambda each: each.at)
        for before, again in itertools.pairwise(requests):
            if turn in answered and again.at > answered[turn]:
                verdict.repeated += 1
                verdict.faults.append(f"{run.name}: turn {turn} was asked again after its answer")
            elif _killed(kills, before.at, again.at):
                verdict.repeated_in_flight += 1
            else:
                verdict.repeated += 1
                verdict.faults.append(f"{run.name}: turn {turn} was asked twice without a kill")
    for turn in answered:
        if not any(each.turn == turn for each in asked):
            verdict.faults.append(f"{run.name}: turn {turn} was answered but never asked")


def _check_call(
    run: Run, call: Call, effects: list[Effect], kills: list[Kill], verdict: Verdict
) -> None:
    where = f"{run.name} {call.call_id} ({call.tool})"
    if run.status in TERMINAL and call.status in OPEN:
        verdict.faults.append(f"{where} is {call.status} although its run has ended")
    if not call.op:
        return  # a tool without an effect outside
    if call.status == "ok" and not effects:
        verdict.faults.append(f"{where} is ok but had no effect")
    if len({effect.key for effect in effects}) > 1:
        verdict.doubled += 1
        verdict.faults.append(f"{where} was executed under two keys")
    if call.effect == "idempotent":
        _check_repeats(where, effects, kills, verdict)
    elif len(effects) > 1:
        verdict.doubled += 1
        verdict.faults.append(f"{where} had its effect {len(effects)} times")
    asked = any(
        event.type == "outcome.requested" and event.payload["call_id"] == call.call_id
        for event in run.events
    )
    if asked or call.status == "uncertain":
        verdict.uncertain += 1
        if call.effect != "at_most_once" or not _fell_into(run, call, kills):
            verdict.faults.append(
                f"{where} is uncertain, but no kill fell between intent and result"
            )


def _check_decision(
    run: Run, call: Call, decided: list[Decided], effects: list[Effect], verdict: Verdict
) -> None:
    if not call.op:
        return
    found = broken(run, call, decided, effects)
    verdict.unapproved += len(found)
    verdict.faults += [f"{run.name} {call.call_id} ({call.tool}) {fault}" for fault in found]


def _check_repeats(where: str, effects: list[Effect], kills: list[Kill], verdict: Verdict) -> None:
    effects.sort(key=lambda each: each.at)
    for before, again in itertools.pairwise(effects):
        if _killed(kills, before.at, again.at):
            verdict.repeats_with_key += 1
        else:
            verdict.doubled += 1
            verdict.faults.append(f"{where} was executed twice without a kill")


def _fell_into(run: Run, call: Call, kills: list[Kill]) -> bool:
    at = {
        event.type: event.at
        for event in run.events
        if event.type in ("tool.started", "tool.finished")
        and event.payload["call_id"] == call.call_id
    }
    return len(at) == 2 and _killed(kills, at["tool.started"], at["tool.finished"])


def _check_recovery(run: Run, kills: list[Kill], verdict: Verdict) -> None:
    for kill in kills:
        later = [event for event in run.events if event.at > kill.at]
        started = next((event.at for event in later if event.type == "run.started"), None)
        if started is not None:
            verdict.recoveries.append(started - kill.at)
        elif not later or later[-1].at < kill.at + ON_ITS_WAY_SECONDS:
            continue  # its ending was on its way when the worker died
        elif run.status in TERMINAL:
            verdict.faults.append(f"{run.name} ended without a start after its worker's death")


def _check_hits(records: Records, verdict: Verdict) -> None:
    if not records.kills:
        verdict.invalid.append("no worker was killed")
    hits = sum(bool(kill.held) for kill in records.kills)
    windows = len(records.kills) + records.missed_windows
    if hits < HIT_WINDOWS * windows:
        verdict.invalid.append(f"only {hits} of {windows} kill windows hit a worker with runs")


def _check_progress(records: Records, verdict: Verdict) -> None:
    if any(call.guarded for run in records.runs for call in run.calls) and not records.decided:
        verdict.invalid.append("calls waited for approval, but nobody decided")
    succeeded = sum(run.status == "succeeded" for run in records.runs)
    if succeeded < SUCCEEDED * len(records.runs):
        verdict.invalid.append(f"only {succeeded} of {len(records.runs)} runs succeeded")
    if records.own_exits:
        verdict.faults.append(f"{records.own_exits} workers ended by themselves")


def _killed(kills: Iterable[Kill], after: float, before: float) -> bool:
    return any(
        after - ON_ITS_WAY_SECONDS <= (kill.until or kill.at) and kill.at <= before
        for kill in kills
    )


def _by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    grouped: dict[K, list[T]] = defaultdict(list)
    for item in items:
        grouped[key(item)].append(item)
    return grouped
