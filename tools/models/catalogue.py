"""The catalogue: current definition and origin of each tool name."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.call_summary import MOST_TEMPLATE
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique
from tools.models.mcp_server import McpServer


class ToolDefinition(models.Model):
    """Pinned definition of a tool; the database refuses updates.

    The columns are those covered by ``definition_hash`` of ``tools.definitions.registry``: equal
    definitions of two packages or workspaces share a row.

    Attributes:
        parameters: JSON Schema as text: ``jsonb`` would lose the order of the arguments.
        answer_parameter: Parameter filled by a person's answer; empty: there is none.
        request: The request that a call makes (``tools.openapi.operations``); null: other tools.
    """

    hash = models.CharField(max_length=64, primary_key=True)
    name = models.CharField(max_length=64)
    description = models.TextField()
    parameters = models.TextField()
    effect = models.CharField(max_length=16)
    answer_parameter = models.TextField(blank=True, default="")
    request = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name", "created_at"]

    def __str__(self) -> str:
        return f"{self.name} {self.hash[:12]}"


class CatalogueTool(models.Model):
    """A tool that agents can be given, in one workspace or in all.

    The row of a workspace wins over the installation's of the same name.

    Attributes:
        workspace: Workspace of the tool; null: the installation's tool, for all workspaces.
        enabled: False if agents cannot be given the tool. Published versions keep the tool; calls
            are stopped by ``agents.limits.pauses``.
        origin: Registration source (``heartbit_site.base.toolspec.Origin``).
        source: Module, or package with its version.
        labels: Flow of its data (``heartbit_site.base.toolspec.Label``).
        credentials: Credentials that it asks for: {parameter, kinds, optional} each.
        summary: Sentence about a call (``heartbit_site.base.call_summary``): the code's, or for a
            server's tool a person's; empty: none.
        server: The MCP server that has the tool, which goes with it; null for other origins.
        remote_name: The tool's name at that server.
        pending: What the server offers now, where that differs from ``definition`` and no person
            has accepted it yet: calls are refused until then.
    """

    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.CASCADE, related_name="tools"
    )
    name = models.CharField(max_length=64)
    definition = models.ForeignKey(ToolDefinition, on_delete=models.PROTECT)
    enabled = models.BooleanField(default=True, db_default=True)
    origin = models.CharField(max_length=16)
    source = models.TextField(blank=True, default="")
    credentials = models.JSONField(blank=True, default=list)
    labels = models.JSONField(
        blank=True, default=list, db_default=models.Value([], models.JSONField())
    )
    summary = models.CharField(
        max_length=MOST_TEMPLATE, blank=True, default="", db_default="",
        help_text="Sentence about a call, with its arguments in braces: Refund {amount} EUR. "
        "People read it where a call waits for them.",
    )  # fmt: skip
    server = models.ForeignKey(
        McpServer, null=True, blank=True, on_delete=models.CASCADE, related_name="tools"
    )
    remote_name = models.CharField(max_length=128, blank=True, default="", db_default="")
    pending = models.ForeignKey(
        ToolDefinition, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["name"]
        verbose_name = "tool"
        constraints = [unique("catalogue_name_once", "workspace", "name", nulls_distinct=False)]

    def __str__(self) -> str:
        return self.name
