"""Deliveries of results."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from agents.actions.redeliver import redeliver_result as redeliver
from agents.delivery.targets import describe_target, with_webhook_names
from agents.errors import DeliveryNotFoundError, RunNotFoundError
from agents.models import Delivery
from agents.querysets import id_range
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.contract.deliveries import ResultDeliveriesOut, ResultDeliveryOut, Status
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, list_page, row_id

OfRun = Annotated[
    Word | None, Field(description="A run's id, or the beginning of it (at least 8 characters).")
]


def list_deliveries(
    access: Access,
    *,
    cursor: Cursor = None,
    limit: Limit = USUAL,
    run: OfRun = None,
    status: Status | None = None,
) -> ResultDeliveriesOut:
    """Return deliveries of results, newest first; those of archived runs are kept for 30 days."""
    rows = with_webhook_names(Delivery.objects.filter(workspace=access.workspace))
    if run is not None:
        rows = rows.filter(run_id__range=_span(run))
    if status is not None:
        rows = rows.filter(status=status)
    return list_page(ResultDeliveriesOut, rows, "-pk", cursor, limit, _view)


def redeliver_result(access: Access, delivery: Word) -> ResultDeliveryOut:
    """Deliver a result again under its id; 409 while it is pending, or its webhook is disabled.

    A mail that only some addresses received is sent to the others; one that all received is sent to
    all.
    """
    rows = with_webhook_names(
        Delivery.objects.filter(workspace=access.workspace, pk=row_id(delivery))
    )
    missing = DeliveryNotFoundError(
        "The workspace has no such delivery.", remedy=Remedy("deliveries.list_deliveries")
    )
    row = find_row(rows.select_related("workspace"), missing)
    redeliver(row, by=actor_of(access))
    return _view(row)


def _view(row: Any) -> ResultDeliveryOut:
    return ResultDeliveryOut.of(row, recipient=describe_target(row.target, row.webhook_name))


def _span(run: str) -> tuple[UUID, UUID]:
    span = id_range(run)
    if span is None:
        raise RunNotFoundError(
            "No run id begins like this: give at least 8 hexadecimal digits.",
            remedy=Remedy("runs.list_runs", "shows them"),
        )
    return span
