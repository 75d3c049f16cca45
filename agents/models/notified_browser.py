"""Browsers that people let notify them of what waits, without an open tab (Web Push)."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.choices import DeliveryStatus
from agents.models.attempted import Attempted
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique
from heartbit_site.base.models.secret_text import SecretTextField

MOST_CHARACTERS = 1_000


class NotifiedBrowser(Attempted):
    """A browser of a member, notified through its push service; ``actions.notified_browsers``.

    Pending while a notification is due; ``delivered_at`` is the time of the last one.

    Attributes:
        endpoint: URL at the push service. Who knows it can send, but not read or write a message.
        public: The browser's public point, in base64url.
        secret: The browser's secret of 16 bytes, in base64url, encrypted.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    endpoint = models.CharField(max_length=MOST_CHARACTERS)
    public = models.CharField(max_length=100)
    secret = SecretTextField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            unique("notified_browser_once", "workspace", "endpoint"),
            one_of("status", DeliveryStatus.values, name="notified_browser_status_known"),
        ]
        indexes = [index("notified_browser_due", "next_at", where=Q(status=DeliveryStatus.PENDING))]

    def __str__(self) -> str:
        return f"{self.service} of {self.user}"

    @property
    def service(self) -> str:
        """Host of the push service, which tells browsers apart a little."""
        return urlsplit(self.endpoint).hostname or ""
