"""Formats of statuses, times and amounts on the admin's pages."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from django.utils import timezone
from django.utils.safestring import SafeString

from agents.choices import DeliveryStatus, RunStatus
from agents.models import Run
from heartbit_site.admin.columns import Tone, pill
from heartbit_site.base.amounts import counted, duration, money

RUN_TONES: dict[str, Tone] = {
    RunStatus.QUEUED: "",
    RunStatus.RUNNING: "info",
    RunStatus.WAITING: "primary",
    RunStatus.SUCCEEDED: "success",
    RunStatus.FAILED: "danger",
    RunStatus.CANCELLED: "warning",
    RunStatus.QUARANTINED: "danger",
}
DELIVERY_TONES: dict[str, Tone] = {
    DeliveryStatus.PENDING: "info",
    DeliveryStatus.DELIVERED: "success",
    DeliveryStatus.FAILED: "danger",
}
AGENT_TONES: dict[str, Tone] = {
    "idle": "",
    "busy": "info",
    "error": "danger",
    "stopped": "warning",
}


def run_pill(status: str) -> SafeString:
    """Return a run's status as a label."""
    return pill(str(RunStatus(status).label), tone=RUN_TONES[status])


def agent_pill(state: str) -> SafeString:
    """Return an agent's state as a label."""
    return pill(state.capitalize(), tone=AGENT_TONES[state])


def cost(usd: Decimal, calls: int, unpriced: int) -> str:
    """Return the known cost of model calls, and how many of them have no known price."""
    if calls and unpriced == calls:
        return "cost unknown"
    rest = f" + {counted(unpriced, 'call')} without a price" if unpriced else ""
    return f"{money(usd)}{rest}"


def short_id(run_id: UUID) -> str:
    """Return the end of a run's id: ids of one second begin alike."""
    return str(run_id)[-8:]


def run_duration(run: Run) -> str:
    """Return a run's duration, until now if it has not ended; waiting in the queue counts."""
    return duration((run.finished_at or timezone.now()) - run.created_at)


def tokens(read: int, written: int) -> str:
    """Tokens read and written."""
    return f"{read:,} in · {written:,} out"
