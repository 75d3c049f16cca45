"""A real journal, written through the database's own functions as a worker would."""

from __future__ import annotations

import atexit
import functools
import json
from typing import TYPE_CHECKING, Any

import psycopg
from django.conf import settings
from django.db import connection, transaction

from agents.choices import Placement
from agents.journal.events import (
    ApprovalRequested,
    CallWaiting,
    Event,
    ModelAnswered,
    ReviewRequested,
    RunFailed,
    RunSucceeded,
    ToolFinished,
    ToolStarted,
    encode,
)
from agents.llm.messages import AssistantMessage, ToolCall, Usage
from agents.models import Run, Wait
from agents.models import ToolCall as Call
from agents.runs.claims import GENERATION
from agents.runtime.recovery.control_session import LOCK_CLASS
from heartbit_site.base.ids import new_id
from tests.starts import start_run

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace

HOSTILE = "<script>alert('from a model')</script>"
MODEL = "openai:fake"
DIGEST = "d" * 64


def sql(statement: str, *parameters: Any) -> dict[str, Any]:
    """One statement, its first row by column."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
    return dict(zip(names, row, strict=True)) if row else {}


def holder() -> tuple[int, str]:
    """Return the number and name of a live worker that serves no queue.

    A test about dead workers may have marked this one as gone; then another is registered.
    """
    number, name = _registered()
    if not sql("SELECT 1 FROM agents_workerheartbeat WHERE id = %s AND left_at IS NULL", number):
        _registered.cache_clear()
        number, name = _registered()
    return number, name


@functools.cache
def _registered() -> tuple[int, str]:
    """Register this process as such a worker.

    It holds its lock until the process ends, as a worker does. Every sweeper of the installation,
    and other tests have some, declares whoever has no lock dead, and takes its runs, as soon as
    the database has been up for two leases.
    """
    name = "admin:1"
    session = psycopg.connect(settings.DATABASE_DIRECT_URL, autocommit=True)
    atexit.register(session.close)
    # Of this session, as the lock: a test's own transaction would take the row back.
    row = session.execute(
        "INSERT INTO agents_workerheartbeat (name, home, queues, slots, lease_seconds)"
        " VALUES (%s, %s, '[\"agents\"]', 5, 86400) RETURNING id",
        (name, Placement.FLEET.value),
    ).fetchone()
    assert row is not None
    session.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK_CLASS, row[0]))
    return row[0], name


class Held:
    """A run that a worker holds.

    A committed one must not be in a queue that a worker of the tests serves: that would be faster.
    """

    def __init__(self, run_id: UUID) -> None:
        self.id = run_id
        worker, name = holder()
        claimed = sql(
            "SELECT * FROM heartbit_claim("
            # It serves no queue: this run, whoever else waits.
            "%s, 'fleet', '{}', %s, %s, 'task', %s, '', %s)",
            *(run_id, worker, name, MODEL, GENERATION),
        )
        assert claimed["run_id"] == run_id
        self.token = claimed["lease_token"]

    def record(self, *events: Event) -> None:
        sql(
            "SELECT * FROM heartbit_record(%s, %s, 0, %s)",
            *(self.id, self.token, _json(*events)),
        )

    def finish(self, output: str) -> None:
        run = Run.objects.get(pk=self.id)
        done = sql(
            "SELECT * FROM heartbit_finish(%s, %s, %s, 'succeeded', %s, NULL, %s)",
            *(self.id, self.token, run.last_seq, output, _json(RunSucceeded(output))),
        )
        assert not done["moved"]

    def fail(self, message: str) -> None:
        run = Run.objects.get(pk=self.id)
        sql(
            "SELECT * FROM heartbit_finish(%s, %s, %s, 'failed', NULL, %s, %s)",
            *(self.id, self.token, run.last_seq, json.dumps({"message": message})),
            _json(RunFailed("internal", message)),
        )

    def ask(self, call_id: str, tool: str, arguments: dict[str, Any]) -> None:
        """Suspend the run until somebody decides this call."""
        asked = ApprovalRequested(
            *(call_id, tool, arguments, "at_most_once", DIGEST),
            reason=f"It asks before it uses {tool}.",
        )
        self.record(asked)
        run = Run.objects.get(pk=self.id)
        sql(
            "SELECT * FROM heartbit_suspend(%s, %s, %s, '[]', %s)",
            *(self.id, self.token, run.last_seq, json.dumps([asked.wait])),
        )

    def propose(self, asked: ReviewRequested) -> None:
        """Suspend the run until somebody reviews its result."""
        run = Run.objects.get(pk=self.id)
        sql(
            "SELECT * FROM heartbit_suspend(%s, %s, %s, %s, %s)",
            *(self.id, self.token, run.last_seq, _json(asked), json.dumps([asked.wait])),
        )

    def delegate(self, call_id: str, agent: str, task: str) -> UUID:
        """Suspend the run on one child; the child's id."""
        child = new_id()
        run = Run.objects.get(pk=self.id)
        children = [
            {"id": str(child), "agent": agent, "task": task}
            | {"call_id": call_id, "timeout_seconds": 60}
        ]
        events = _json(CallWaiting(call_id, (f"child:{child}",), runs=(str(child),)))
        sql(
            "SELECT * FROM heartbit_suspend(%s, %s, %s, %s, %s)",
            *(self.id, self.token, run.last_seq, events, json.dumps(children)),
        )
        return child


def hold(workspace: Workspace, task: str, **options: Any) -> Held:
    """Start a run and hold it, before a worker of the installation may see it."""
    with transaction.atomic():
        return Held(start_run(workspace, task, model=MODEL, **options))


def answer(turn: int, text: str = "", *calls: ToolCall, cost: str | None = "0.0012") -> Event:
    usage = Usage(input_tokens=100, output_tokens=20)
    message = AssistantMessage(text, calls)
    return ModelAnswered(turn, message, usage, "stop", MODEL, 42, cost)


def tree(workspace: Workspace) -> tuple[Run, Run]:
    """An orchestrator's run that waited for a researcher, whose model and tool were hostile."""
    held = hold(workspace, f"Why? {HOSTILE}")
    root = held.id
    held.record(answer(1, "", ToolCall("x", "delegate_task", '{"tasks": []}')))
    child = held.delegate("1.0", "researcher", "Look it up.")
    work = Held(child)
    work.record(answer(1, HOSTILE, ToolCall("y", "http_request", f'{{"url": "{HOSTILE}"}}')))
    work.record(ToolStarted("1.0", "at_most_once"))
    work.record(ToolFinished("1.0", "uncertain", HOSTILE, "at_most_once", 7))
    work.record(answer(2, f"Found {HOSTILE}", cost=None))
    work.finish(f"Found {HOSTILE}")
    again = Held(root)
    again.record(ToolFinished("1.0", "ok", "researcher: found", "pure", 5))
    again.record(answer(2, "Because."))
    again.finish("Because.")
    return Run.objects.get(pk=root), Run.objects.get(pk=child)


def asking(
    workspace: Workspace,
    agent: str = "researcher",
    *,
    tool: str = "http_get",
    arguments: dict[str, Any] | None = None,
) -> Call:
    """A run that waits until somebody decides its first call."""
    given = {"url": "https://example.org/"} if arguments is None else arguments
    held = hold(workspace, "Look it up.", agent=agent)
    held.record(answer(1, "", ToolCall("x", tool, json.dumps(given))))
    held.ask("1.0", tool, given)
    return Call.objects.select_related("run__version__agent").get(run=held.id)


def reviewing(workspace: Workspace, text: str, agent: str = "researcher", **review: Any) -> Wait:
    """A run that waits until somebody reviews its result."""
    held = hold(workspace, "Report.", agent=agent)
    held.record(answer(1, text))
    held.propose(ReviewRequested(1, text, **{"by": "anyone", **review}))
    return Wait.objects.select_related("run__workspace").get(run=held.id)


def _json(*events: Event) -> str:
    return json.dumps([encode(event) for event in events])
