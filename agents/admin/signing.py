"""Pages of what signs messages with a secret: channels and webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django.contrib import admin, messages
from django.utils.html import format_html

from agents.admin import formatting
from agents.models import Channel, WebhookEndpoint
from heartbit_site.base.admin.themed import ModelAdmin

if TYPE_CHECKING:
    from django.http import HttpRequest

S = TypeVar("S", Channel, WebhookEndpoint)


class SigningAdmin(ModelAdmin[S]):
    """Rows with a secret that is shown once and can be rotated."""

    workspace_path = "workspace"
    verbs_record = frozenset({"add", "change", "delete"})
    needs: ClassVar[dict[str, str]] = dict.fromkeys(
        ("view", "add", "change", "delete", "rotate"), "workspace:manage"
    )
    list_display_links = ("what",)
    list_select_related = ("workspace", "created_by")
    sortable_by = ()
    actions = ()

    @admin.display(description="previous secret valid until")
    def both_until(self, row: S) -> str:
        """Return the end of the time in which both secrets are valid."""
        return (
            formatting.format_datetime(row.previous_secret_expires_at)
            if row.previous_secret_expires_at
            else "-"
        )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what is deleted; the log goes with its row, but not by itself."""
        found, counts, _, protected = super().get_deleted_objects(objs, request)
        return found, counts, set(), protected

    def show_secret(self, request: HttpRequest, secret: str) -> None:
        """Show a new secret, this once."""
        text = "Copy the secret now, it is not shown again: <code>{}</code>"
        messages.warning(request, format_html(text, secret))
