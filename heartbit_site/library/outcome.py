"""Read the outcome of a run and its sub-agents."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from agents.choices import RunStatus
from agents.models import BlackboardEntry, Run
from agents.reads.outcome import metrics_of
from heartbit_site.library.result import AnswerError, Result, Usage

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.library.result import Status


def read(run_id: UUID) -> Result:
    """Return the result of an ended run, without its events."""
    run = Run.objects.get(pk=run_id)
    metrics = metrics_of(run)
    entries = BlackboardEntry.objects.filter(root_id=run_id).values_list("key", "value")
    return Result(
        text=run.output or "",
        structured=run.structured,
        status=cast("Status", run.status),
        error=_reason(run),
        run_id=run.pk,
        usage=Usage(metrics.input_tokens, metrics.output_tokens),
        cost=None if metrics.cost_usd is None else Decimal(metrics.cost_usd),
        blackboard=dict(entries),
        events=(),
    )


def typed(structured: Any, answer_type: type[BaseModel] | None) -> Any:
    """Return a structured answer as an instance of the program's class, if it gave one.

    Raises:
        AnswerError: The answer does not validate as ``answer_type``.
    """
    if answer_type is None or structured is None:
        return structured
    try:
        return answer_type.model_validate(structured)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise AnswerError(
            f"The answer fits the schema of {answer_type.__name__}, but not the class: "
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}."
        ) from error


def _reason(run: Run) -> str:
    if run.status == RunStatus.SUCCEEDED:
        return ""
    if run.status == RunStatus.CANCELLED:
        return "The run was cancelled."
    message = run.error.get("message") if isinstance(run.error, dict) else None
    return str(message or f"The run is {run.status}; `heartbit status {run.pk}` shows its journal.")
