"""What the demo's journal has to show, and whether it does."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx
from django.conf import settings

from agents.choices import TERMINAL
from agents.events import ModelAnswered, RunStarted, decode
from agents.models import Run, RunEvent
from agents.querysets import events_after, tree
from heartbit_site.cli import errors
from heartbit_site.cli.output import note, seconds
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from datetime import datetime

SUB_AGENTS: Final = 3
COUNTER: Final = "llamacpp:tokens_predicted_total"
SETTLE_SECONDS: Final = 3.0  # the server counts a request when it lets go of it


@dataclass(frozen=True, slots=True)
class Work:
    """When one sub-agent worked, and as which Celery tasks."""

    began: datetime
    ended: datetime
    tasks: frozenset[str]


def tokens_counted() -> int:
    """Completion tokens that the local model's server has counted since it started."""
    url = settings.ENVIRONMENT.state.model_url()
    text = httpx.get(f"{url}/metrics", timeout=5, trust_env=False).raise_for_status().text
    for line in text.splitlines():
        if line.startswith(f"{COUNTER} "):
            return round(float(line.split()[1]))
    raise errors.CommandError(f"The model's server has no counter {COUNTER} at {url}/metrics.")


def verdict(idempotency_key: str, counted_before: int) -> int:
    """Print what the journal shows; 0 when it is what it should be."""
    run = Run.objects.get(workspace=default_workspace(), idempotency_key=idempotency_key)
    rows = tree(run.root_id)
    work = [_work(child) for child in rows if child.parent_id == run.pk and child.finished_at]
    findings = [overlap(work), tasks(work), _tokens(rows, counted_before)]
    note(f"Journal of run {run.pk}:")
    for good, text in findings:
        note(f"  {'ok ' if good else 'BAD'} {text}")
    everything = all(good for good, _ in findings) and all(row.status in TERMINAL for row in rows)
    return errors.OK if everything else errors.FAILED


def _work(run: Run) -> Work:
    events = events_after(run.pk, 0)
    started = [event for event in events if event.type == RunStarted.type]
    tasks = frozenset(str(event.payload["task_id"]) for event in started)
    return Work(started[0].at, events[-1].at, tasks)


def overlap(work: list[Work]) -> tuple[bool, str]:
    """Whether three sub-agents were at work at one moment, which is when the last of them began."""
    for last in sorted(work, key=lambda one: one.began):
        others = [one for one in work if one.began <= last.began < one.ended]
        if len(others) >= SUB_AGENTS:
            together = (min(one.ended for one in others) - last.began).total_seconds()
            return True, f"{len(others)} sub-agents worked at the same time for {seconds(together)}"
    return False, f"of {len(work)} sub-agents, no {SUB_AGENTS} worked at the same time"


def tasks(work: list[Work]) -> tuple[bool, str]:
    """Whether no two sub-agents shared a Celery task."""
    distinct = frozenset().union(*(one.tasks for one in work))
    apart = len(distinct) == sum(len(one.tasks) for one in work) >= SUB_AGENTS
    return apart, f"{len(distinct)} different Celery tasks executed them"


def _tokens(rows: list[Run], counted_before: int) -> tuple[bool, str]:
    answers = RunEvent.objects.filter(run__in=rows, type=ModelAnswered.type)
    journaled = 0
    for row in answers:
        event = decode(row.type, row.payload)
        if isinstance(event, ModelAnswered):
            journaled += event.usage.output_tokens
    deadline = time.monotonic() + SETTLE_SECONDS
    while (counted := tokens_counted() - counted_before) != journaled:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    text = f"{journaled} completion tokens journaled, {counted} counted by the model's server"
    return journaled == counted > 0, text
