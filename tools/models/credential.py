"""Credentials that tools use."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique
from heartbit_site.base.models.secret_text import SecretTextField


class Credential(models.Model):
    """A credential of a workspace, or of one person in it; written through ``actions``.

    Attributes:
        user: Its person, for whose runs alone it is used; null: the workspace's, for all runs.
        kind: Its type (``heartbit_site.base.credentials``).
        settings: Fields of the type that people may see.
        secret: The other fields as JSON, encrypted; read by ``tools.credentials.values`` alone.
        healthy: Result of the last check; null: none yet.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="credentials")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name="person",
        help_text="Only this person's runs use it. Empty: all runs of the workspace.",
    )
    name = models.CharField(max_length=64, help_text="Name for people, e.g. support mailbox.")
    kind = models.CharField("type", max_length=40)
    settings = models.JSONField(default=dict, blank=True)
    secret = SecretTextField()
    enabled = models.BooleanField(default=True, help_text="A disabled credential is not used.")
    healthy = models.BooleanField(null=True, editable=False)
    health_message = models.TextField(blank=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            unique("credential_name_once", "workspace", "user", "name", nulls_distinct=False)
        ]

    def __str__(self) -> str:
        return self.name
