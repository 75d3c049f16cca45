"""What ledgers and kills show of workflows: windows, supersteps that were hit, repeated requests.

Pure: it sees records, no system.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from tests.chaos.workflow_kills.judge import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.chaos.records import Asked, Event, Kill, Records, Run


def most_at_once(spans: Iterable[tuple[float, float]]) -> int:
    """Return how many spans overlap at most; one that ends where another begins does not."""
    changes = sorted((at, change) for begin, end in spans for at, change in ((begin, 1), (end, -1)))
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def span(at: float, seconds: float, kills: Iterable[Kill]) -> tuple[float, float]:
    """Return when a request was under way: until its answer, or its worker's death."""
    ends = [kill.at for kill in kills if at <= kill.at < at + seconds]
    return at, min([at + seconds, *ends])


def repeated_requests(
    asked: Iterable[Asked], runs: Sequence[Run], kills: Mapping[str, Sequence[Kill]]
) -> int:
    """Count requests to the model beyond one for each run and each kill that hit the run."""
    counts = Counter(each.run for each in asked)
    allowed: Counter[str] = Counter()
    for run in runs:
        allowed[run.name] += 1 + len(kills.get(run.id, ()))
    return sum(max(0, count - allowed[name]) for name, count in counts.items())


def commits_before(events: Iterable[Event], at: float) -> int:
    """Return how many supersteps had begun by then; 0 if the run had ended."""
    before = [event.type for event in events if event.at <= at]
    if any(each in ENDINGS for each in before):
        return 0
    return before.count("graph.committed")


def windows(
    left: Records,
    limits: Mapping[str, int],
    lineages: Mapping[str, int],
    kills: Mapping[str, Sequence[Kill]],
    *,
    seconds: float,
) -> tuple[dict[str, int], int]:
    """Return the most requests at once of each window, and how many times there were too many.

    Args:
        left: What happened.
        limits: Most calls at the same time, by the part of an entry's name after that of its run.
        lineages: Number of runs by their name: forks have that of their source, and work beside it.
        kills: Kills by the ids of runs.
        seconds: How long a request takes at least.
    """
    by_name: dict[str, list[str]] = defaultdict(list)
    for run in left.runs:
        by_name[run.name].append(run.id)
    spans: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    requests = [(each.run, each.at, by_name[each.run]) for each in left.asked]
    requests += [(each.op, each.at, [each.key.partition(":")[0]]) for each in left.effects]
    for name, at, run_ids in requests:
        whose, _, what = name.partition("/")
        hits = [kill for run_id in run_ids for kill in kills.get(run_id, ())]
        spans[whose, what.partition("/")[0]].append(span(at, seconds, hits))
    most, beyond = dict.fromkeys(limits, 0), 0
    for (whose, what), found in spans.items():
        if what in limits and whose in lineages:
            at_once = most_at_once(found)
            beyond += at_once > limits[what] * lineages[whose]
            most[what] = max(most[what], at_once)
    return most, beyond


def supersteps_hit(left: Records, parents: Mapping[str, str]) -> dict[tuple[str, int], bool]:
    """Return the supersteps inside which a worker died; True: it held the workflow's own run.

    Args:
        left: What happened.
        parents: Id of each run's parent, or an empty string.
    """
    runs = {run.id: run for run in left.runs}
    found: dict[tuple[str, int], bool] = {}
    for kill in left.kills:
        for held in kill.held:
            for run_id in (held, parents[held]):
                begun = commits_before(runs[run_id].events, kill.at) if run_id else 0
                if begun:
                    key = (run_id, begun)
                    found[key] = found.get(key, False) or run_id == held
    return found
