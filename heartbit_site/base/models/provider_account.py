"""A workspace's own account with a provider of language models."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from heartbit_site.base.models.secret_text import SecretTextField
from heartbit_site.base.models.workspace import Workspace
from heartbit_site.base.web_url import split_web_url


def check_base_url(url: str) -> None:
    """Validate a base URL; unlike Django's own check, accept hosts like ``http://gateway:4000``.

    Raises:
        ValidationError: The URL is not valid, or has a password, a query or a fragment.
    """
    parts = split_web_url(url)
    if parts is None or not url.isascii() or " " in url:
        raise ValidationError("Write it like https://host/v1.")
    if "@" in parts.netloc:
        raise ValidationError("Leave name and password out; the key has a field of its own.")
    if parts.query or parts.fragment:
        raise ValidationError("Leave out what begins with ? or #; the path is enough.")


class ProviderAccount(models.Model):
    """A provider's key with its rate limits; written through ``actions.save_provider_account``.

    Attributes:
        provider: Name in the provider table of the agents app.
        secret: Encrypted key, read by ``heartbit_site.base.secrets`` alone.
        healthy: Result of the last health check; null: none yet.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="provider_accounts"
    )
    provider = models.CharField(max_length=40)
    label = models.CharField(
        max_length=100, blank=True, help_text="Name among several accounts, e.g. production."
    )
    secret = SecretTextField()
    key_hint = models.CharField(
        "key", max_length=4, blank=True, editable=False, help_text="The key's last characters."
    )
    base_url = models.CharField(
        "base URL",
        max_length=300,
        blank=True,
        validators=[check_base_url],
        help_text=(
            "URL of the API, e.g. https://gateway.example/v1. Empty: the provider's own URL. "
            "A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST."
        ),
    )
    requests_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Model calls per minute of all workers together. Empty: no limit.",
    )
    tokens_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Tokens per minute, read and written, of all workers together. Empty: no limit.",
    )
    enabled = models.BooleanField(
        default=True, help_text="An enabled account's key replaces the environment's."
    )
    healthy = models.BooleanField(null=True, editable=False)
    health_message = models.TextField(blank=True, editable=False)
    latency_ms = models.PositiveIntegerField(null=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["workspace", "provider", "-enabled", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "provider"],
                condition=Q(enabled=True),
                name="account_one_enabled",
                violation_error_message=(
                    "The workspace already has an enabled account with this provider; disable "
                    "that one first."
                ),
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider} ({self.label})" if self.label else self.provider
