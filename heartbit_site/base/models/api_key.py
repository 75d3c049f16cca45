"""API keys, which programs use instead of a person's login."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.db import models
from django.utils import timezone

from heartbit_site.base.models.workspace import Workspace


class ApiKey(models.Model):
    """Access to one workspace, within scopes; created by ``actions.create_api_key``.

    The key itself is shown once and kept nowhere: only the digest of its random part is stored.

    Attributes:
        user: The owner; the key ends with the person's account. Null when a command created it.
        prefix: The key's public part, by which it is found.
        hash: SHA-256 of the secret part, in hex. The secret has 256 random bits, so it cannot be
            guessed and needs no slow hash.
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
        verbose_name="made by",
    )
    name = models.CharField(max_length=100, help_text="Purpose, e.g. nightly import.")
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    hash = models.CharField(max_length=64, editable=False)
    scopes = models.JSONField(default=list, help_text="Rights of the key.")
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="The key is refused from then on. Empty: never."
    )
    revoked_at = models.DateTimeField(null=True, editable=False)
    last_used_at = models.DateTimeField(
        null=True, editable=False, help_text="Exact to the minute. Empty: never used."
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
        """The part of the key that may be shown."""
        return f"hb_{self.prefix}"

    @property
    def state(self) -> Literal["active", "expired", "revoked"]:
        """The state of the key; a revoked key stays revoked after it expires."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expired else "active"

    @property
    def expired(self) -> bool:
        """True once the key has expired."""
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def usable(self) -> bool:
        """True while the key opens its workspace; it ends with its owner's account."""
        left = self.user is not None and not self.user.is_active
        return self.revoked_at is None and not self.expired and not left

    def allows(self, scope: str) -> bool:
        """Return True if the key has a scope."""
        return scope in self.scopes
