"""Compares what a mode left behind with what it had to. Pure; the sentences name what is wrong."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.chaos.model_faults.mode import Mode
    from tests.chaos.model_faults.observed import Case, Observed

ENDINGS = ("run.succeeded", "run.failed", "run.cancelled", "run.quarantined")
#: A pause ends this much later at most: a tenth of it, a sweep, and the way of the request.
LATER, SWEEP_SECONDS, WAY_SECONDS = 0.1, 1.0, 1.5
#: A date has whole seconds, so it may name up to one more.
DATE_SECONDS = 1.0
_HOLES = {"MODEL": "{model}", "HOST": r"[\w.]+:\d+", "REASON": ".+", "KEY": ".+"}


def judge(mode: Mode, case: Case, seen: Observed) -> list[str]:
    """Everything that is not as the mode says."""
    checks: tuple[Callable[[Mode, Case, Observed], Iterator[str]], ...] = (
        _end,
        _sentence,
        _journal,
        _requests,
        _pauses,
        _effects,
        _ledger,
    )
    return [fault for check in checks for fault in check(mode, case, seen)]


def _end(mode: Mode, _case: Case, seen: Observed) -> Iterator[str]:
    if seen.status != mode.ends:
        yield f"is {seen.status}, not {mode.ends}: {seen.error or seen.output[:80]!r}"
    if seen.error.get("kind", "") != mode.kind:
        yield f"failed by {seen.error.get('kind')!r}, not {mode.kind!r}"
    if seen.wall > mode.longest:
        yield f"took {seen.wall:.1f} s, longer than {mode.longest:.1f} s"
    if not seen.served_after:
        yield "left a process that served no other run"


def _sentence(mode: Mode, case: Case, seen: Observed) -> Iterator[str]:
    if mode.told:
        said = seen.calls[0][1] if seen.calls else ""
    else:
        said = seen.error.get("message", "") if mode.ends == "failed" else seen.output
    pattern = re.escape(mode.sees)
    for hole, filled in _HOLES.items():
        pattern = pattern.replace(hole, filled)
    pattern = pattern.replace("{model}", re.escape(case.model))
    if not re.fullmatch(pattern, said, re.DOTALL):
        yield f"says {said[:300]!r}, not {mode.sees[:300]!r}"


def _journal(mode: Mode, _case: Case, seen: Observed) -> Iterator[str]:
    if seen.unreadable:
        yield f"has a journal that cannot be read: {seen.unreadable[:200]}"
    if list(seen.seqs) != list(range(1, len(seen.seqs) + 1)):
        yield "has a journal with gaps"
    types = [kind for kind, *_ in seen.journal]
    if [kind for kind in types if kind in ENDINGS] != [f"run.{mode.ends}"]:
        yield f"ends as {[kind for kind in types if kind in ENDINGS]}"
    turns = [payload["turn"] for kind, payload, _ in seen.journal if kind == "model.answered"]
    whole = mode.answers if mode.ends == "failed" else 1 + bool(mode.told or mode.effects)
    if turns != list(range(1, whole + 1)):
        yield f"holds the answers of turns {turns}, not of {whole}"
    delayed = types.count("model.delayed")
    if bool(delayed) != mode.suspended:
        yield f"was suspended {delayed} times"
    if mode.suspended and not seen.waited:
        yield "was never seen waiting without a worker"


def _requests(mode: Mode, _case: Case, seen: Observed) -> Iterator[str]:
    if mode.calls is not None and len(seen.requests) != mode.calls:
        yield f"asked the server {len(seen.requests)} times, not {mode.calls}"
    first = sum(request.turn == 0 for request in seen.requests)
    if first > 1 + mode.attempts:
        yield f"tried {first} times, although max_retries is {mode.attempts}"


def _pauses(mode: Mode, case: Case, seen: Observed) -> Iterator[str]:
    if not mode.wait:
        return
    date = DATE_SECONDS if "date" in mode.fault else 0.0
    latest = (mode.wait + date) * (1 + LATER) + SWEEP_SECONDS + WAY_SECONDS
    # What a local process's sweeper has ended the fleet's next sweep rings.
    latest += SWEEP_SECONDS if case.route == "fleet" else 0.0
    for before, after in itertools.pairwise(seen.requests):
        pause = after.at - before.at
        if not mode.wait <= pause <= latest:
            yield f"came back after {pause:.2f} s, not after {mode.wait:g} to {latest:.2f} s"


def _effects(mode: Mode, _case: Case, seen: Observed) -> Iterator[str]:
    if len(seen.effects) != len(set(seen.effects)):
        yield "acted twice"
    if len(seen.effects) != mode.effects:
        yield f"acted {len(seen.effects)} times, not {mode.effects}"
    served = sum(status == "ok" for status, _ in seen.calls)
    if served != mode.effects:
        yield f"has {served} calls that are ok, not {mode.effects}"


def _ledger(_mode: Mode, _case: Case, seen: Observed) -> Iterator[str]:
    figures = [*seen.tokens]
    for given, made, cached, cost in seen.usage:
        figures += [given, made, cached]
        if cost is not None and cost < 0:
            yield f"cost {cost}"
    if min(figures) < 0:
        yield f"counts {min(figures)} tokens"
    if seen.tokens != (sum(row[0] for row in seen.usage), sum(row[1] for row in seen.usage)):
        yield "counts other tokens than the ledger"
    answers = sum(kind == "model.answered" for kind, *_ in seen.journal)
    cut = sum(kind == "model.interrupted" for kind, *_ in seen.journal)
    if len(seen.usage) != answers + cut:
        yield f"has {len(seen.usage)} rows in the ledger for {answers} answers and {cut} cut off"
    if answers + cut > len(seen.requests):
        yield f"counts {answers} answers and {cut} cut off of {len(seen.requests)} requests"
