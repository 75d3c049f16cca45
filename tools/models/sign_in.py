"""Sign-ins that have begun, and whose people have not come back yet."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.secret_text import SecretTextField
from tools.models.mcp_server import McpServer


class PendingSignIn(models.Model):
    """A sign-in at an MCP server that waits for its person; used once.

    Attributes:
        state_hash: SHA-256 of the state that the answer repeats.
        session_hash: SHA-256 of the browser session that may finish it.
        started_by: Person of that session.
        is_shared: True if the workspace signs in, and not the person.
        plan: ``SignInPlan`` as JSON, encrypted.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="+")
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    is_shared = models.BooleanField(default=False)
    state_hash = models.CharField(max_length=64, unique=True)
    session_hash = models.CharField(max_length=64)
    plan = SecretTextField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "pending sign-in"

    def __str__(self) -> str:
        return f"sign-in at {self.server_id}"
