"""Save and remove the alerts of a workspace."""

from __future__ import annotations

from decimal import Decimal

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from agents.choices import Comparison, HealthFigure
from agents.models import WorkspaceAlert
from agents.models.workspace_alert import LONGEST_WINDOW
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError, ConflictError, about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require

MOST = 50  # alerts of a workspace
MOST_ADDRESSES = 10


@transaction.atomic
def save_alert(alert: WorkspaceAlert, *, by: Actor) -> None:
    """Validate and write an alert; a changed one is evaluated afresh, without a notice of its end.

    Args:
        alert: New or changed row.
        by: Author, for the audit.

    Raises:
        ConfigurationError: A value is not valid; the error names its field.
        ConflictError: The workspace has 50 alerts.
    """
    require(by, "agents:write", workspace_id=alert.workspace_id)
    _check(alert)
    is_new = alert._state.adding
    if is_new:
        Workspace.objects.select_for_update(no_key=True).get(pk=alert.workspace_id)
        if WorkspaceAlert.objects.filter(workspace=alert.workspace_id).count() >= MOST:
            raise ConflictError(
                f"The workspace has {MOST} alerts, which is the limit: remove one first."
            )
    alert.raised_at = alert.value = None
    alert.save()
    details = {"window_minutes": alert.window_minutes, "enabled": alert.enabled}
    record_on(by, "alert.create" if is_new else "alert.change", alert, details=details)


@transaction.atomic
def remove_alert(alert: WorkspaceAlert, *, by: Actor) -> None:
    """Delete an alert; a breach of it ends without a notice."""
    require(by, "agents:write", workspace_id=alert.workspace_id)
    WorkspaceAlert.objects.filter(pk=alert.pk).delete()
    record_on(by, "alert.remove", alert)


def _check(alert: WorkspaceAlert) -> None:
    with about("figure"):
        if alert.figure not in HealthFigure.values:
            raise ConfigurationError(f"Choose a figure: {', '.join(HealthFigure.values)}.")
    with about("comparison"):
        if alert.comparison not in Comparison.values:
            raise ConfigurationError("Choose above or below.")
    with about("threshold"):
        if not 0 <= alert.threshold < Decimal(10**10):
            raise ConfigurationError("The threshold must be 0 or more, with at most ten digits.")
    with about("window_minutes"):
        if not 5 <= alert.window_minutes <= LONGEST_WINDOW:
            raise ConfigurationError(
                f"The window must be 5 to {LONGEST_WINDOW:,} minutes, which are seven days."
            )
    with about("mail_to"):
        alert.mail_to = ", ".join(_addresses(alert.mail_to))


def _addresses(text: str) -> list[str]:
    found = list(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    for one in found:
        try:
            validate_email(one)
        except ValidationError:
            raise ConfigurationError(
                f"{one[:60]!r} is not an e-mail address: write it like ada@example.org."
            ) from None
    if len(found) > MOST_ADDRESSES:
        raise ConfigurationError(f"An alert has at most {MOST_ADDRESSES} addresses.")
    return found
