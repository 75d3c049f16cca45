"""Checks of the demo's journal."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import httpx
from django.conf import settings

from agents.choices import TERMINAL, RunStatus
from agents.journal.events import ModelAnswered, ModelInterrupted, RunRequeued, RunStarted, decode
from agents.llm.profiles import TINY
from agents.models import Run, RunEvent
from agents.querysets import events_after, tree
from heartbit_site.base.amounts import duration
from heartbit_site.cli.terminal import errors
from heartbit_site.cli.terminal.output import note
from heartbit_site.first_start import default_workspace

SUB_AGENTS: Final = 3
COUNTER: Final = "llamacpp:tokens_predicted_total"
SETTLE_SECONDS: Final = 30.0  # the server counts a request when it lets go of it
#: Tokens of one call.
LONGEST_ANSWER: Final = TINY.max_output_tokens or 0
_CALLS: Final = (ModelAnswered.type, ModelInterrupted.type, RunRequeued.type)


@dataclass(frozen=True, slots=True)
class Work:
    """Span of a sub-agent's run, and its Celery tasks."""

    began: datetime
    ended: datetime
    tasks: frozenset[str]


def tokens_counted() -> int:
    """Completion tokens that the local model's server has counted since it started.

    Raises:
        CommandError: The server does not say.
    """
    url = settings.ENVIRONMENT.state.model_url()
    try:
        answer = httpx.get(f"{url}/metrics", timeout=SETTLE_SECONDS, trust_env=False)
        text = answer.raise_for_status().text
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise errors.CommandError(
            f"The model's server does not tell its counters at {url}/metrics ({reason}): run the "
            "demo again when the machine has less to do."
        ) from error
    for line in text.splitlines():
        if line.startswith(f"{COUNTER} "):
            return round(float(line.split()[1]))
    raise errors.CommandError(f"The model's server has no counter {COUNTER} at {url}/metrics.")


def verdict(idempotency_key: str, counted_before: int) -> int:
    """Print what the journal shows; 0 when it is what it should be."""
    run = Run.objects.get(workspace=default_workspace(), idempotency_key=idempotency_key)
    rows = tree(run.root_id)
    children = [row for row in rows if row.parent_id == run.pk and row.finished_at]
    work = [found for found in map(_work, children) if found is not None]
    findings = [overlap(work), tasks(work), tokens(_settled(answers(rows), counted_before))]
    note(f"Journal of run {run.pk}:")
    for good, text in findings:
        note(f"  {'ok ' if good else 'BAD'} {text}")
    everything = all(good for good, _ in findings) and all(row.status in TERMINAL for row in rows)
    return errors.OK if everything else errors.FAILED


def _work(run: Run) -> Work | None:
    """Read from a run's journal when it worked; None: it was cancelled before it began."""
    events = events_after(run.pk, 0)
    started = [event for event in events if event.type == RunStarted.type]
    if not started:
        return None
    tasks = frozenset(str(event.payload["task_id"]) for event in started)
    return Work(started[0].at, events[-1].at, tasks)


def overlap(work: list[Work]) -> tuple[bool, str]:
    """Return whether three sub-agents ran at one moment, which is when the last of them began."""
    for last in sorted(work, key=lambda one: one.began):
        others = [one for one in work if one.began <= last.began < one.ended]
        if len(others) >= SUB_AGENTS:
            together = (min(one.ended for one in others) - last.began).total_seconds()
            return (
                True,
                f"{len(others)} sub-agents worked at the same time for {duration(together)}",
            )
    return False, f"of {len(work)} sub-agents, no {SUB_AGENTS} worked at the same time"


def tasks(work: list[Work]) -> tuple[bool, str]:
    """Return whether no two sub-agents shared a Celery task."""
    distinct = frozenset().union(*(one.tasks for one in work))
    apart = len(distinct) == sum(len(one.tasks) for one in work) >= SUB_AGENTS
    return apart, f"{len(distinct)} different Celery tasks executed them"


@dataclass(frozen=True, slots=True)
class Answers:
    """Model calls of a tree of runs.

    Attributes:
        tokens: Completion tokens of the whole answers in the journal.
        cut: The most calls that may have ended without one: by a limit, a cancel, a retry. The
            journal has no exact count of their tokens, and the server counts them.
        counted: Completion tokens that the model's server counted meanwhile.
    """

    tokens: int
    cut: int
    counted: int = 0


def answers(rows: list[Run]) -> Answers:
    """Read from the journal which model calls were answered, and how many may have been cut off."""
    events = list(RunEvent.objects.filter(run__in=rows, type__in=_CALLS))
    answered = sum(
        event.usage.output_tokens
        for event in (decode(row.type, row.payload) for row in events)
        if isinstance(event, ModelAnswered)
    )
    cut = sum(row.type != ModelAnswered.type for row in events)
    # Whoever was stopped had one call in flight at most.
    cut += sum(row.status != RunStatus.SUCCEEDED for row in rows)
    return Answers(answered, cut)


def tokens(found: Answers) -> tuple[bool, str]:
    """Compare the journal's tokens with the server's, which also counts answers that were cut."""
    text = f"{found.tokens} completion tokens journaled, {found.counted} counted by the model's"
    rest = found.counted - found.tokens
    if not rest or not found.cut:
        return not rest and found.counted > 0, f"{text} server"
    calls = "call" if found.cut == 1 else "calls"
    text = f"{text} server; at most {found.cut} {calls} cut off"
    return 0 < rest <= found.cut * LONGEST_ANSWER, text


def _settled(found: Answers, counted_before: int) -> Answers:
    """Add the server's count: as soon as both agree, or once the server has had enough time."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        found = replace(found, counted=tokens_counted() - counted_before)
        if tokens(found)[0] or time.monotonic() > deadline:
            return found
        time.sleep(0.1)
