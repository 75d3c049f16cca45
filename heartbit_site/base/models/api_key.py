"""API keys for programs."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.db import models
from django.utils import timezone

from heartbit_site.base.models.workspace import Workspace


class ApiKey(models.Model):
    """Access to one workspace within scopes; created by ``actions.create_api_key``.

    The key is displayed once and not stored: the row has the digest of its random part.

    Attributes:
        user: Creator; the key is valid while the account is active. Null: created by a command.
        prefix: Public part of the key, for the lookup.
        hash: SHA-256 of the secret part, in hex. The secret has 256 random bits, so a fast hash
            is safe against guessing.
        scopes: Names of ``base.scopes.SCOPES``.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.CASCADE,
        related_name="api_keys",
        verbose_name="created by",
    )
    name = models.CharField(max_length=100, help_text="Name in lists, e.g. nightly import.")
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    hash = models.CharField(max_length=64, editable=False)
    scopes = models.JSONField(default=list, help_text="Permissions of the key.")
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="Time of expiry. Empty: never."
    )
    revoked_at = models.DateTimeField(null=True, editable=False)
    last_used_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="Time of the last use, to the minute. Empty: never used.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        verbose_name = "API key"
        verbose_name_plural = "API keys"

    def __str__(self) -> str:
        return f"{self.name} ({self.beginning})"

    @property
    def beginning(self) -> str:
        """Public beginning of the key."""
        return f"hb_{self.prefix}"

    @property
    def state(self) -> Literal["active", "expired", "revoked"]:
        """State of the key by revocation and expiry."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expired else "active"

    @property
    def expired(self) -> bool:
        """True after the time of expiry."""
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def usable(self) -> bool:
        """True while neither revoked nor expired, and its creator's account is active."""
        left = self.user is not None and not self.user.is_active
        return self.revoked_at is None and not self.expired and not left
