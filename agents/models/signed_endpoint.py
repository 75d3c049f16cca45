"""Common columns of endpoints that exchange signed messages."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from heartbit_site.base import secrets
from heartbit_site.base.models.secret_text import SecretTextField


class SignedEndpoint(models.Model):
    """An endpoint with a secret for signatures (Standard Webhooks).

    Attributes:
        secret: The encrypted ``whsec_...``; the previous secret is also valid until
            ``previous_secret_expires_at``.
    """

    secret = SecretTextField()
    previous_secret = SecretTextField()
    previous_secret_expires_at = models.DateTimeField(null=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        abstract = True

    def valid_secrets(self, now: datetime) -> list[str]:
        """Return the secrets that are valid at a time, the newest first.

        Raises:
            SecretError: A secret cannot be decrypted.
        """
        columns = ["secret"]
        if self.previous_secret_expires_at is not None and self.previous_secret_expires_at > now:
            columns.append("previous_secret")
        return [secret for column in columns if (secret := secrets.reveal(self, column))]
