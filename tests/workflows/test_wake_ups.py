"""Conformance case 2: a workflow's and its children's wake-ups are lost, doubled or late."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.db.models import F
from redis import Redis

from agents.choices import RunStatus
from agents.models import Run, RunEvent
from agents.runs import wake_messages
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.workflows.test_fleet import ENVIRONMENT, is_over, known, publish_graph

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from heartbit_site.base.models import Workspace

__all__ = ["known"]
pytestmark = pytest.mark.usefixtures("database")
CHILDREN = ("one", "two", "three")
COPIES = 5


def publish(workspace: Workspace) -> tuple[str, str]:
    """Publish a workflow and the one that three of its nodes run; return their queues."""
    outer, inner = (f"{name}-{secrets.token_hex(4)}" for name in ("outer", "inner"))
    trace = {"function": "leave_trace"}
    traces = {"traces": {"merge": "add", "initial": 0}}  # leave_trace counts there
    publish_graph(workspace, name="inner", queue=inner, state=traces, nodes={"a": trace}, start="a")
    child = {"workflow": "inner", "task": "{{ input }}"}
    publish_graph(
        workspace,
        name="outer",
        queue=outer,
        state=traces,
        nodes=dict.fromkeys(CHILDREN, child) | {"after": trace},
        start=list(CHILDREN),
        edges=[{"from": list(CHILDREN), "to": "after", "message": "{{ input }}"}],
    )
    return outer, inner


def disturb(queue: str, runs: Iterable[Run], how: str) -> None:
    """Take the messages of a queue that nobody serves away, or send more of them."""
    runs = list(runs)
    assert {run.status for run in runs} == {RunStatus.QUEUED}
    with Redis.from_url(settings.REDIS_URL) as valkey:
        assert valkey.llen(queue), "the runs have been woken"
        if how == "lost":
            valkey.delete(queue)
            # The workers need not wait here until they doubt that a message arrives.
            earlier = F("woken_at") - timedelta(minutes=1)
            Run.objects.filter(pk__in=[run.pk for run in runs]).update(woken_at=earlier)
        else:
            for run in [*runs] * COPIES:
                wake_messages.wake_run(run.pk, queue=queue)


def length(*queues: str) -> int:
    with Redis.from_url(settings.REDIS_URL) as valkey:
        return sum(int(valkey.llen(queue)) for queue in queues)


@pytest.mark.parametrize("how", ["lost", "doubled"])
def test_it_ends_as_if_each_had_come_once(workspace: Workspace, tmp_path: Path, how: str) -> None:
    outer, inner = publish(workspace)
    run = Run.objects.get(pk=start_run(workspace, str(tmp_path), agent="outer"))
    children = Run.objects.filter(parent=run)

    def has(status: RunStatus) -> bool:
        return Run.objects.filter(pk=run.pk, status=status).exists()

    disturb(outer, [run], how)
    with Worker(queues=outer, environment=ENVIRONMENT):
        wait_until(lambda: has(RunStatus.WAITING) and length(inner))
    disturb(inner, children, how)
    with Worker(queues=inner, environment=ENVIRONMENT):
        wait_until(lambda: has(RunStatus.QUEUED) and length(outer))
    run.refresh_from_db()
    disturb(outer, [run], how)
    with Worker(queues=f"{outer},{inner}", environment=ENVIRONMENT):
        wait_until(lambda: is_over(run))
        ended = list(RunEvent.objects.filter(run__root=run).order_by("run", "seq"))
        wake_messages.wake_run(run.pk, queue=outer)
        for child in children:
            wake_messages.wake_run(child.pk, queue=inner)
        wait_until(lambda: not length(outer, inner))
    # The worker has left, so it has done what the late messages asked for: nothing.
    assert list(RunEvent.objects.filter(run__root=run).order_by("run", "seq")) == ended
    run.refresh_from_db()
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, str(tmp_path)), run.error
    started = [event.run_id for event in ended if event.type == "run.started"]
    assert sorted(started) == sorted([run.pk, run.pk, *(child.pk for child in children)])
    keys = {f"{child.pk}:0.0" for child in children} | {f"{run.pk}:1.0"}
    traces = (tmp_path / "traces").read_text().splitlines()
    assert (len(traces), set(traces)) == (4, keys)
