"""The catalogue: current definition and origin of each tool name."""

from __future__ import annotations

from django.db import models

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique
from tools.models.definition import ToolDefinition


class CatalogueTool(models.Model):
    """A tool that agents can be given, in one workspace or in all.

    The row of a workspace wins over the installation's of the same name.

    Attributes:
        workspace: Workspace of the tool; null: the installation's tool, for all workspaces.
        enabled: False if agents cannot be given the tool. Published versions keep the tool; calls
            are stopped by ``agents.limits.pauses``.
        origin: Registration source (``heartbit_site.base.toolspec.Origin``).
        source: Module, or package with its version.
        credentials: Credentials that it asks for: {parameter, kinds, optional} each.
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

    class Meta:
        ordering = ["name"]
        verbose_name = "tool"
        constraints = [unique("catalogue_name_once", "workspace", "name", nulls_distinct=False)]

    def __str__(self) -> str:
        return self.name
