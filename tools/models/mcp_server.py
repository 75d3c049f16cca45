"""MCP servers of a workspace, and sign-ins there that have begun."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique
from heartbit_site.base.models.secret_text import SecretTextField
from tools.server_spec import SETTINGS, McpServerSpec

#: A refresh whose process gave no sign of life for so long has ended with it.
_SILENT: Final = timedelta(seconds=15)


_EMPTY_LIST: Final = models.Value([], models.JSONField())
_EMPTY_OBJECT: Final = models.Value({}, models.JSONField())


def _help(name: str) -> str:
    return McpServerSpec.model_fields[name].description or ""


class McpServerQuerySet(models.QuerySet["McpServer"]):
    """Queries of servers."""

    def counted(self) -> Self:
        """Add the numbers of the servers' tools and of the changes that wait for consent."""
        return self.defer("document", "offered").annotate(
            tool_count=models.Count("tools", distinct=True),
            pending_count=models.Count("tools__pending"),
        )


class McpServer(models.Model):
    """An MCP server whose tools a workspace's agents can be given; written through ``actions``.

    Attributes:
        command: Name of an entry of ``HEARTBIT_MCP_COMMANDS``, for a server that is a process.
        credential: Name of the credential that requests carry; the person behind the call may have
            one of their own under this name. Empty: none. With ``sign_in``, of the OAuth app.
        openapi: Address of an API's OpenAPI document; empty: ``document`` has its text, as JSON.
        offered: Operations of that document, from which ``operations`` are picked.
        facts: What the server last said about itself: protocol, name, version.
        needs_refresh: True once the server announced that its tools changed.
        refresh_ok: Result of the last refresh; null: none yet.
        refresh_beat_at: Last heartbeat of the active refresh; null if none is active.
        refresh_progress: Progress of that refresh, for people.
    """

    class Transport(models.TextChoices):
        """Transport of a server."""

        HTTP = "http", "HTTP (Streamable HTTP)"
        STDIO = "stdio", "A program on the workers (stdio)"
        OPENAPI = "openapi", "An API with an OpenAPI document"

    class Protocol(models.TextChoices):
        """Protocol of a server."""

        MCP = "mcp", "MCP: a server of tools"
        A2A = "a2a", "A2A: a remote agent"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="mcp_servers")
    name = models.CharField(max_length=24, help_text=_help("name"))
    transport = models.CharField(max_length=8, choices=Transport, default=Transport.HTTP)
    protocol = models.CharField(
        max_length=8,
        choices=Protocol,
        default=Protocol.MCP,
        db_default=Protocol.MCP,
        help_text=_help("protocol"),
    )
    url = models.CharField("URL", max_length=500, blank=True, help_text=_help("url"))
    command = models.CharField("program", max_length=64, blank=True, help_text=_help("command"))
    credential = models.CharField(max_length=64, blank=True, help_text=_help("credential"))
    sign_in = models.BooleanField(
        "people sign in", default=False, db_default=False, help_text=_help("sign_in")
    )
    trusted = models.BooleanField(default=False, help_text=_help("trusted"))
    private_data = models.BooleanField(
        "holds private data", default=True, db_default=True, help_text=_help("private_data")
    )
    shared = models.BooleanField(
        "shared with outsiders", default=False, db_default=False, help_text=_help("shared")
    )
    openapi = models.CharField(
        "OpenAPI document", max_length=500, blank=True, default="", db_default="",
        help_text=_help("openapi"),
    )  # fmt: skip
    document = models.TextField(
        "document", blank=True, default="", db_default="", help_text=_help("document")
    )
    operations = models.JSONField(
        default=list, blank=True, db_default=_EMPTY_LIST, help_text=_help("operations")
    )
    effects = models.JSONField(
        default=dict, blank=True, db_default=_EMPTY_OBJECT, help_text=_help("effects")
    )
    idempotency_header = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text=_help("idempotency_header")
    )
    offered = models.JSONField(default=list, blank=True, db_default=_EMPTY_LIST, editable=False)
    timeout_seconds = models.PositiveSmallIntegerField(
        "timeout", default=60, help_text=_help("timeout_seconds")
    )
    enabled = models.BooleanField(default=True, help_text=_help("enabled"))
    facts = models.JSONField(default=dict, blank=True, editable=False)
    needs_refresh = models.BooleanField(default=False, editable=False)
    refreshed_at = models.DateTimeField(null=True, editable=False)
    refresh_ok = models.BooleanField(null=True, editable=False)
    refresh_message = models.TextField(blank=True, editable=False)
    refresh_beat_at = models.DateTimeField(null=True, editable=False)
    refresh_progress = models.TextField(blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = McpServerQuerySet.as_manager()

    class Meta:
        verbose_name = "MCP server"
        ordering = ["name"]
        constraints = [unique("mcp_server_name_once", "workspace", "name")]

    def __str__(self) -> str:
        return self.name

    def settings(self) -> dict[str, Any]:
        """Return its settings by name, as ``McpServerSpec`` has them."""
        return {name: getattr(self, name) for name in ("name", *SETTINGS)}

    @property
    def connect_url(self) -> str:
        """URL of the page where people sign in to the server; empty if they do not."""
        if not self.sign_in:
            return ""
        return f"{settings.HEARTBIT_PUBLIC_URL}/w/{self.workspace.slug}/connect/{self.name}/"

    @property
    def state(self) -> str:
        """State of its tools, in a word; pending changes only with ``counted``."""
        if self.is_refreshing:
            return "refreshing"
        if self.refresh_beat_at is not None:
            return "interrupted"
        if self.refresh_ok is None:
            return "not read yet"
        if not self.refresh_ok:
            return "failed"
        if getattr(self, "pending_count", 0):
            return "changed"
        return "to be refreshed" if self.needs_refresh else "read"

    @property
    def is_refreshing(self) -> bool:
        """True while a process reads the server's tools."""
        beat = self.refresh_beat_at
        return beat is not None and timezone.now() - beat < _SILENT


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
