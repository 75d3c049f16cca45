"""MCP servers of a workspace."""

from __future__ import annotations

from django.db import models

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique


class McpServer(models.Model):
    """An MCP server whose tools a workspace's agents can be given; written through ``actions``.

    Attributes:
        command: Name of an entry of ``HEARTBIT_MCP_COMMANDS``, for a server that is a process.
        credential: Name of the credential that requests carry; the person behind the call may have
            one of their own under this name. Empty: none.
        facts: What the server last said about itself: protocol, name, version.
        needs_refresh: True once the server said that its tools changed.
        refresh_ok: Result of the last refresh; null: none yet.
    """

    class Transport(models.TextChoices):
        """Way to reach a server."""

        HTTP = "http", "HTTP (Streamable HTTP)"
        STDIO = "stdio", "A program on the workers (stdio)"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="mcp_servers")
    name = models.CharField(
        max_length=24,
        help_text="Its tools' names begin with it. Lower-case letters, digits and underscores.",
    )
    transport = models.CharField(max_length=8, choices=Transport, default=Transport.HTTP)
    url = models.CharField(
        "URL",
        max_length=500,
        blank=True,
        help_text="For HTTP, e.g. https://mcp.example.com/mcp. A host that is not public has to be "
        "in HEARTBIT_HTTP_ALLOWLIST.",
    )
    command = models.CharField(
        max_length=64,
        blank=True,
        help_text="For a program: its name in HEARTBIT_MCP_COMMANDS, which an administrator sets.",
    )
    credential = models.CharField(
        max_length=64,
        blank=True,
        help_text="Name of a credential for this URL (bearer token, API key, name and password, "
        "or OAuth client). A person's own credential of this name is used for their runs. "
        "Empty: none.",
    )
    trusted = models.BooleanField(
        default=False,
        help_text="Believe the server's hints that a tool only reads, or may be repeated. Without "
        "it every call counts as one that has an effect.",
    )
    timeout_seconds = models.PositiveSmallIntegerField(
        "timeout", default=60, help_text="Seconds that one call may take, 1 to 600."
    )
    enabled = models.BooleanField(
        default=True, help_text="Calls of a disabled server's tools are refused."
    )
    facts = models.JSONField(default=dict, blank=True, editable=False)
    needs_refresh = models.BooleanField(default=False, editable=False)
    refreshed_at = models.DateTimeField(null=True, editable=False)
    refresh_ok = models.BooleanField(null=True, editable=False)
    refresh_message = models.TextField(blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "MCP server"
        ordering = ["name"]
        constraints = [unique("mcp_server_name_once", "workspace", "name")]

    def __str__(self) -> str:
        return self.name
