"""Columns and action that the two logs of deliveries share: results and webhook messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse

from agents.admin import formatting
from agents.choices import DeliveryStatus
from agents.models import Delivery, WebhookDelivery
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import ReadOnlyAdmin
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.utils.safestring import SafeString

D = TypeVar("D", Delivery, WebhookDelivery)


class DeliveryLog(ReadOnlyAdmin[D]):
    """Deliveries with their state; one that is not pending can be sent again."""

    sortable_by = ()
    actions_detail = ("again",)

    @admin.display(description="state")
    def state(self, delivery: D) -> SafeString:
        """Return the delivery's status."""
        return formatting.delivery_pill(delivery.status)

    @admin.display(description="created")
    def created(self, delivery: D) -> str:
        """Return the time at which the delivery was created."""
        return formatting.clock(delivery.created_at)

    @admin.display(description="next attempt")
    def next_attempt(self, delivery: D) -> str:
        """Return the time of the next attempt, if there is one."""
        pending = delivery.status == DeliveryStatus.PENDING
        return formatting.format_datetime(delivery.next_at) if pending else "-"

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Return the actions; a pending delivery cannot be sent again."""
        offered: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        delivery = self.get_object(request, object_id)
        over = delivery is not None and delivery.status != DeliveryStatus.PENDING
        return offered if over else []

    def redeliver(
        self, request: HttpRequest, object_id: str, verb: Callable[..., object]
    ) -> HttpResponse:
        """Send the delivery again with its verb, and show the page again."""
        delivery = self.get_object(request, object_id)
        if delivery is not None:
            try:
                verb(delivery, by=actor_of(request))
                messages.success(request, "It goes out within seconds.")
            except HeartbitError as error:
                messages.error(request, str(error))
        return HttpResponse(headers={"HX-Refresh": "true"})
