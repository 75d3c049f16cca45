"""Read the outcome of a run and its sub-agents."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from agents.choices import RunStatus
from agents.models import BlackboardEntry, Run
from agents.reads.outcome import metrics_of
from heartbit_site.library.result import AnswerError, Event, Result, Usage

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.library.result import Status


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The rows of an ended run; the fields are ``Result``'s."""

    run: Run
    usage: Usage
    cost: Decimal | None
    blackboard: dict[str, Any]

    def result(self, events: list[Event], answer_type: type[BaseModel] | None) -> Result:
        """Return the program's view of the outcome.

        Raises:
            AnswerError: The answer does not validate as ``answer_type``.
        """
        run = self.run
        return Result(
            text=run.output or "",
            structured=_typed(run.structured, answer_type),
            status=cast("Status", run.status),
            error=_reason(run),
            run_id=run.pk,
            usage=self.usage,
            cost=self.cost,
            blackboard=self.blackboard,
            events=tuple(events),
        )


def read(run_id: UUID) -> RunOutcome:
    """Return the outcome of an ended run."""
    run = Run.objects.get(pk=run_id)
    metrics = metrics_of(run)
    usage = Usage(metrics.input_tokens, metrics.output_tokens)
    cost = None if metrics.cost_usd is None else Decimal(metrics.cost_usd)
    entries = BlackboardEntry.objects.filter(root_id=run_id).values_list("key", "value")
    return RunOutcome(run, usage, cost, dict(entries))


def _typed(structured: Any, answer_type: type[BaseModel] | None) -> Any:
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
