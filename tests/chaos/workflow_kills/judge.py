"""Compares runs of workflows with their undisturbed twins, and counts what happened outside.

Pure: it sees records, no system.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.chaos.checker import TERMINAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.chaos.records import Effect, Run

#: Function whose effect is in one transaction with its result, so that no intent names its class.
TRANSACTIONAL: Final = "book"
#: Functions whose effect is repeated under its key.
REPEATABLE: Final = frozenset({"store"})
#: Parts of a commit that say where messages went.
_EDGES: Final = ("taken", "dropped")
ENDINGS: Final = ("run.succeeded", "run.failed", "run.cancelled", "run.quarantined")


@dataclass(frozen=True, slots=True)
class Journey:
    """A run of a workflow.

    Attributes:
        name: What its input names it; forks of it have the same.
        kind: Journeys of a kind have equal stories.
        is_ordered: True if its commits have one order, whatever completes first.
        source: Id of the run that it was forked from; empty: of none.
    """

    run: Run
    name: str
    kind: str
    is_ordered: bool = True
    source: str = ""


def story(journey: Journey) -> Any:
    """Return all that the journal decided, without times and ids, and with a common name."""
    finished: list[Any] = []
    commits: list[Any] = []
    ending = None
    for event in journey.run.events:
        payload = json.loads(json.dumps(event.payload).replace(journey.name, "NAME"))
        if event.type == "node.finished":
            payload.pop("duration_ms", None)
            finished.append(payload)
        elif event.type == "graph.committed":
            commits.append(payload)
        elif event.type in ENDINGS:
            ending = (event.type, payload.get("output"), payload.get("structured"))
    if not journey.is_ordered:
        finished = [{**one, "call_id": ""} for one in finished]
        edges = [
            [each, one] for commit in commits for each in _EDGES for one in commit.get(each, ())
        ]
        commits = sorted(edges, key=json.dumps)
    return sorted(finished, key=json.dumps), commits, ending


def differences(journeys: Iterable[Journey], twins: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each run whose story is not that of its kind's twin."""
    found = []
    for one in journeys:
        finished, commits, ending = story(one)
        expected, committed, end = twins[one.kind]
        what = f"{one.kind} {one.name}{', a fork' if one.source else ''}"
        if one.run.status not in TERMINAL:
            found.append(f"{what} is lost: {one.run.status}")
        elif ending != end:
            found.append(f"{what} ended as {ending}, not as {end}")
        elif finished != expected:
            others = [each for each in finished if each not in expected]
            found.append(f"the results of {what} differ: {others[:2] or len(finished)}")
        elif commits != committed:
            found.append(f"the commits of {what} differ")
    return found


@dataclass(slots=True)
class Outside:
    """What the ledgers show.

    Attributes:
        twice: At-most-once and transactional effects that happened twice.
        keys_doubled: Effects of one run that came under two keys.
        repeated: Idempotent effects that were repeated under their key.
        strangers: Effects of no call, or that a fork repeated, and calls without their effect.
    """

    twice: int = 0
    keys_doubled: int = 0
    repeated: int = 0
    strangers: list[str] = field(default_factory=list)


def outside(runs: Sequence[Run], effects: Sequence[Effect], sources: Mapping[str, str]) -> Outside:
    """Join the effects with the calls of all runs.

    Args:
        runs: Runs of workflows, nested ones too.
        effects: What happened outside, under ``RUN:CALL``.
        sources: Id of the run that each fork was made from, by the fork's.
    """
    found = Outside()
    by_key = Counter(effect.key for effect in effects)
    kinds = {effect.key: effect.tool for effect in effects}
    for key, times in by_key.items():
        found.twice += times > 1 and kinds[key] not in REPEATABLE
        found.repeated += times > 1 and kinds[key] in REPEATABLE
    keys: dict[tuple[str, str], set[str]] = defaultdict(set)
    for effect in effects:
        keys[effect.key.partition(":")[0], effect.op].add(effect.key)
    found.keys_doubled = sum(len(each) > 1 for each in keys.values())
    known = {f"{run.id}:{call.call_id}" for run in runs for call in run.calls}
    copied = {key for run in runs for key in _copied(run)}
    for key in by_key:
        if key not in known:
            found.strangers.append(f"the effect {key} belongs to no call")
        elif key in copied:
            found.strangers.append(f"the effect {key} is one that a fork repeated")
    for run in runs:
        for call in run.calls:
            if not (call.effect or call.tool == TRANSACTIONAL) or call.status != "ok":
                continue
            lineage = _lineage(run.id, sources)
            if not any(f"{each}:{call.call_id}" in by_key for each in lineage):
                found.strangers.append(f"{run.id}:{call.call_id} had no effect")
    return found


def _copied(run: Run) -> list[str]:
    """Return the keys of the calls that had ended where a run was forked."""
    cut = max((e.payload["seq"] for e in run.events if e.type == "run.forked"), default=0)
    return [
        f"{run.id}:{event.payload['call_id']}"
        for event in run.events
        if event.seq <= cut and event.type == "node.finished"
    ]


def _lineage(run_id: str, sources: Mapping[str, str]) -> list[str]:
    found = [run_id]
    while found[-1] in sources:
        found.append(sources[found[-1]])
    return found
