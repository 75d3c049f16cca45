"""A call of unknown outcome: its worker died after the intent, and the run asks a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models.functions import Now

from agents.choices import Placement
from agents.journal.events import Event, ModelAnswered, OutcomeRequested, ToolStarted, encode
from agents.llm.messages import AssistantMessage, Usage
from agents.llm.messages import ToolCall as Asked
from agents.models import Run, ToolCall, WorkerHeartbeat
from agents.runs.claims import GENERATION
from tests.starts import start_run

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace

TOOL = "http_request"
ARGUMENTS = {"method": "POST", "url": "http://127.0.0.1:9/"}


def in_doubt(
    workspace: Workspace,
    task: str = "[[text: Done.]]",
    *,
    arguments: dict[str, Any] | None = None,
    home: Placement = Placement.LOCAL,
    asked: bool = True,
) -> ToolCall:
    """The call 1.0 of a run that nobody works on; nobody has to be asked about it yet."""
    run_id = start_run(workspace, task, agent="researcher", home=home, model="openai:fake")
    token, seq = _claim(run_id, home)
    given = json.dumps(ARGUMENTS if arguments is None else arguments)
    message = AssistantMessage("", (Asked("c1", TOOL, given),))
    answered = ModelAnswered(1, message, Usage(10, 2), "stop", "openai:fake")
    _sql(
        "SELECT * FROM heartbit_record(%s, %s, %s, %s)",
        *(run_id, token, seq, _json(answered, ToolStarted("1.0", "at_most_once"))),
    )
    if asked:
        question = OutcomeRequested("1.0", TOOL, 1)
        seq = Run.objects.get(pk=run_id).last_seq
        _sql(
            "SELECT * FROM heartbit_suspend(%s, %s, %s, %s, %s)",
            *(run_id, token, seq, _json(question), json.dumps([question.wait])),
        )
    WorkerHeartbeat.objects.filter(name=_worker(run_id)).update(left_at=Now())
    return ToolCall.objects.select_related("run").get(run=run_id)


def _worker(run_id: UUID) -> str:
    return f"dead:{run_id.hex[-8:]}"


def _claim(run_id: UUID, home: Placement) -> tuple[Any, ...]:
    name = _worker(run_id)
    row = WorkerHeartbeat.objects.create(name=name, home=home, lease_seconds=3600)
    return _sql(
        "SELECT lease_token, last_seq FROM heartbit_claim(p_run => %s, p_home => %s,"
        " p_queues => '{}', p_worker => %s, p_worker_name => %s, p_task_id => '',"
        " p_default_model => 'openai:fake', p_knows => %s)",
        *(run_id, home.value, row.pk, name, GENERATION),
    )


def _sql(statement: str, *parameters: Any) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        found: tuple[Any, ...] = cursor.fetchone()
    return found


def _json(*events: Event) -> str:
    return json.dumps([encode(event) for event in events])
