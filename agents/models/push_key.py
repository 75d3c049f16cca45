"""The key pair by which push services know this installation (VAPID, RFC 8292)."""

from __future__ import annotations

from typing import Final

from django.db import models

from heartbit_site.base.models.secret_text import SecretTextField


class PushKey(models.Model):
    """The installation's only key; browsers take messages of no other, so it is never replaced.

    Attributes:
        public: Public point in base64url, as browsers want it.
        private: Private key in PEM, encrypted.
    """

    workspace_id: Final = 0  # what binds the secret: it belongs to no workspace

    public = models.CharField(max_length=100)
    private = SecretTextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"push key {self.public[:12]}"
