"""Members of workspaces and their roles."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models.constraints import one_of, unique
from heartbit_site.base.models.workspace import Workspace


class Role(models.TextChoices):
    """Roles of members; each includes the one before (``base.access``)."""

    VIEWER = "viewer", "Viewer: sees runs, chats, approvals and usage, and changes nothing"
    OPERATOR = "operator", "Operator: also starts and stops runs, chats, and approves tool calls"
    EDITOR = "editor", "Editor: also opens the admin, and changes agents, schedules and budgets"
    ADMIN = "admin", "Admin: also manages members, keys, accounts and webhooks"


class Membership(models.Model):
    """A person in a workspace. Superusers belong to all of them without a row."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(
        max_length=8,
        choices=Role.choices,
        default=Role.VIEWER,
        help_text="Permissions in the workspace.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["workspace", "user"]
        constraints = [
            unique("one_membership_each", "workspace", "user"),
            one_of("role", Role.values, name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace}"
