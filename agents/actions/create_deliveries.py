"""Order the deliveries of a run's result before the run begins."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from agents.delivery.mail import new_message_id
from agents.delivery.targets import EmailTarget, Target
from agents.models import Delivery
from heartbit_site.base.models import Workspace


def create_deliveries(run_id: UUID, workspace: Workspace, targets: Sequence[Target]) -> None:
    """Order a run's result for each target; ``deliver_results`` sends it when the run has ended.

    Call this in the transaction that starts the run, so that no run lacks its deliveries. Repeated
    orders change nothing: a start repeated with the same idempotency key is delivered once.
    """
    orders = [
        Delivery(
            workspace=workspace,
            run_id=run_id,
            position=position,
            kind=target.kind,
            target=target.model_dump(),
            message_id=new_message_id() if isinstance(target, EmailTarget) else "",
        )
        for position, target in enumerate(targets)
    ]
    Delivery.objects.bulk_create(orders, ignore_conflicts=True)
