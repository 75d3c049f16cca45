"""Outcomes of firings, read from their runs and deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Case, OuterRef, QuerySet, Subquery, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, NullIf

from agents.choices import DeliveryStatus
from agents.models import Delivery, Run

if TYPE_CHECKING:
    from scheduling.models import Firing

#: Order of a run's delivery statuses, the most important first.
_GRAVITY = Case(
    When(status=DeliveryStatus.FAILED, then=Value(0)),
    When(status=DeliveryStatus.PENDING, then=Value(1)),
    default=Value(2),
)


def with_outcomes(firings: QuerySet[Firing]) -> QuerySet[Any]:
    """Annotate firings with ``run_status``, ``delivery_status`` and ``reason``, in the same query.

    ``run_status`` is null without a run, or when the run is archived. ``delivery_status`` is failed
    if any delivery failed, else pending if any is, else delivered; null when the run delivers
    nothing. ``reason`` is the firing's note, or else the error of its run.
    """
    runs = Run.objects.filter(pk=OuterRef("run_id"))
    error = runs.values(message=KeyTextTransform("message", "error"))
    deliveries = Delivery.objects.filter(run_id=OuterRef("run_id")).order_by(_GRAVITY, "id")
    return firings.annotate(
        run_status=Subquery(runs.values("status")[:1]),
        delivery_status=Subquery(deliveries.values("status")[:1]),
        reason=Coalesce(
            NullIf("note", Value("")),
            Subquery(error[:1]),
            Value(""),
            output_field=TextField(),
        ),
    )
