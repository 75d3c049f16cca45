"""Pages of what signs messages with a secret: channels and webhooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html

from agents.actions.webhooks import rotate_secret
from agents.models import Channel, WebhookEndpoint
from heartbit_site.admin.actions import DialogForm, dialog
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, format_datetime
from heartbit_site.admin.saved_by_verb import VerbAdmin

S = TypeVar("S", Channel, WebhookEndpoint)


class SigningAdmin(VerbAdmin[S]):
    """Rows with a secret that is shown once and can be rotated.

    Attributes:
        remove: The verb that deletes a row.
    """

    remove: ClassVar[Callable[..., None]]

    workspace_path = "workspace"
    needs: ClassVar = dict.fromkeys(
        ("view", "add", "change", "delete", "rotate"), "workspace:manage"
    )
    fixed = ("workspace",)
    list_select_related = ("workspace", "created_by")
    sortable_by = ()
    actions = ()
    actions_detail: tuple[str, ...] = ("rotate",)

    both_until = Column[Any](
        "previous secret valid until", lambda row: format_datetime(row.previous_secret_expires_at)
    )

    def save_secret(self, request: HttpRequest, row: S, form: Any) -> str | None:
        """Save the row with its verb, and return a new row's secret."""
        raise NotImplementedError

    def save_row(self, request: HttpRequest, row: S, form: Any) -> None:
        """Save the row, and show a new row's secret, this once."""
        if row._state.adding:
            row.created_by_id = request.user.pk
        secret = self.save_secret(request, row, form)
        if secret is not None:
            self.show_secret(request, secret)

    def remove_row(self, request: HttpRequest, row: S) -> None:
        """Delete the row with its verb."""
        type(self).remove(row, by=actor_of(request))

    @dialog(
        "Rotate secret",
        "For 24 hours the previous secret is valid as well, then the new one alone.",
        icon="key",
        permission="rotate",
    )
    def rotate(self, request: HttpRequest, row: S, form: DialogForm) -> None:
        """Make a new secret, and show it."""
        self.show_secret(request, rotate_secret(row, by=actor_of(request)))

    def show_secret(self, request: HttpRequest, secret: str) -> None:
        """Show a new secret, this once."""
        text = "Copy the secret now, it is not shown again: <code>{}</code>"
        messages.warning(request, format_html(text, secret))
