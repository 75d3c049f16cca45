"""Deliveries: results on their way to somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Query, Router

from agents.actions.send_delivery_again import send_delivery_again
from agents.errors import DeliveryNotFoundError, RunNotFoundError
from agents.models import Delivery
from agents.querysets import id_range
from heartbit_site.api import delivery_outputs as forms
from heartbit_site.api.auth import READ_RUNS, WRITE_RUNS, access_of, workspace_of
from heartbit_site.api.delivery_outputs import ResultDeliveriesOut, ResultDeliveryOut
from heartbit_site.api.openapi import answers
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import page, row_id

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace

router = Router(tags=["runs"])

OfRun = Annotated[
    Word | None, Query(description="A run's id, or how it begins (at least 8 characters).")
]
InState = Annotated[Literal["pending", "delivered", "failed"] | None, Query()]


@router.get(
    "/deliveries", auth=READ_RUNS, response=answers(ResultDeliveriesOut), summary="List deliveries"
)
async def deliveries(
    request: HttpRequest,
    *,
    cursor: Cursor = None,
    limit: Limit = USUAL,
    run: OfRun = None,
    status: InState = None,
) -> Any:
    """Where results went and go, the newest first; those of archived runs for 30 days."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = Delivery.objects.filter(workspace=workspace)
        if run is not None:
            rows = rows.filter(run_id__range=_span(run))
        if status is not None:
            rows = rows.filter(status=status)
        found, following = page(rows, "-pk", cursor, limit)
        return {"deliveries": [forms.result_delivery(row) for row in found], "next": following}

    return await orm.in_thread(read)


@router.post(
    "/deliveries/{delivery}/again",
    auth=WRITE_RUNS,
    response=answers(ResultDeliveryOut, 409),
    summary="Send a result again",
)
async def again(request: HttpRequest, delivery: Word) -> Any:
    """Under the same id; 409 while it is on its way, or its webhook is disabled.

    A mail that some addresses got already goes to the others; one that arrived goes to all.
    """
    access = access_of(request)

    def send() -> dict[str, Any]:
        row = _find(access.workspace, delivery)
        send_delivery_again(row, by=actor_of(access))
        return forms.result_delivery(row)

    return await orm.in_thread(send)


def _span(run: str) -> tuple[UUID, UUID]:
    span = id_range(run)
    if span is None:
        raise RunNotFoundError(
            "No run's id begins so: it has at least 8 hexadecimal digits, as GET /runs shows them."
        )
    return span


def _find(workspace: Workspace, delivery: str) -> Delivery:
    rows = Delivery.objects.filter(workspace=workspace, pk=row_id(delivery))
    row = rows.select_related("workspace").first()
    if row is None:
        raise DeliveryNotFoundError("There is no such delivery here: GET /deliveries lists them.")
    return row
