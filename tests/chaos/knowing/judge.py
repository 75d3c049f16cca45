"""Comparison of the stored documents and memories with those that the workers were given."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from agents.models import LearnedMemory
from memory.choices import DocumentState
from memory.models import Document, MemoryItem, Passage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.chaos.checker import Verdict
    from tests.chaos.knowing.load import Load
    from tests.chaos.records import Kill, Run

_TOKEN = re.compile(r"token\w+")
#: Three workers stopped one after the other while they read it: as is promised, and no proof.
_GIVEN_UP = "was begun 3 times"
_ENDED = frozenset({"run.succeeded", "run.failed", "run.cancelled", "run.requeued"})


def figures(load: Load, extractions: Sequence[Run], verdict: Verdict) -> dict[str, float]:
    """Count what was lost or is there twice; a sentence about each goes into the verdict."""
    stopped = {run.name for run in extractions if run.status == "quarantined"}
    verdict.invalid += [f"{name} was quarantined: its workers died 3 times" for name in stopped]
    for run in extractions:
        stored = sum(event.type == "memories.extracted" for event in run.events)
        if stored != 1 and run.name not in stopped:
            verdict.faults.append(f"{run.name} stored {stored} times")
    wanted_texts = {text for name, text in load.texts.items() if f"{name}-memories" not in stopped}
    rows = Document.objects.filter(base=load.base)
    problems = dict(rows.values_list("name", "problem"))
    given_up = {name for name, problem in problems.items() if _GIVEN_UP in problem}
    verdict.invalid += sorted(problems[name] for name in given_up)
    ready = set(rows.filter(state=DocumentState.READY).values_list("name", flat=True))
    lost = sorted(load.tokens.keys() - ready - given_up)
    verdict.faults += [f"{name} is lost: {problems.get(name, 'it is gone')}" for name in lost]
    missing = twice = 0
    for name, wanted in load.tokens.items():
        if name in given_up:
            continue
        passages = Passage.objects.filter(document__base=load.base, document__name=name)
        texts = passages.order_by("position").values_list("text", flat=True)
        found = _TOKEN.findall("\n".join(texts))
        less, more = differences(wanted, found)
        missing, twice = missing + less, twice + more
        if less or more or found != wanted:
            verdict.faults.append(f"{name} has {len(found)} of {len(wanted)} passages, or others")
    items = MemoryItem.objects.filter(workspace=load.on.workspace)
    forgotten, doubled = differences(wanted_texts, items.values_list("text", flat=True))
    links = LearnedMemory.objects.filter(run__in=load.ids).count()
    if links != len(wanted_texts):
        verdict.faults.append(f"{links} links to runs for {len(wanted_texts)} memories")
    return {
        "documents_lost": len(lost),
        "passages_lost": missing,
        "passages_twice_or_former": twice,
        "memories_lost": forgotten,
        "memories_twice": doubled,
    }


def differences(wanted: Iterable[str], found: Iterable[str]) -> tuple[int, int]:
    """Return how many are missing, and how many are too many."""
    expected, there = Counter(wanted), Counter(found)
    return (expected - there).total(), (there - expected).total()


def held_by(runs: Iterable[Run], pid: int, at: float) -> tuple[str, ...]:
    """Return the runs that a process held at a time, as their journals say."""
    held = []
    for run in runs:
        before = [event for event in run.events if event.at <= at]
        started = [event for event in before if event.type == "run.started"]
        if not started or not str(started[-1].payload["worker"]).endswith(f":{pid}"):
            continue
        if not any(event.type in _ENDED and event.seq > started[-1].seq for event in before):
            held.append(run.id)
    return tuple(held)


def killed_inside(runs: Iterable[Run], kills: Iterable[Kill]) -> int:
    """Count the kills of workers that held one of these runs."""
    ids = {run.id for run in runs}
    return sum(not ids.isdisjoint(kill.held) for kill in kills)
