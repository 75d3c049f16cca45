"""The JSON Schemas of tools' arguments, as an agent's runs are offered them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from agents.reads.versions import definition_of
from agents.runtime.toolbox import offered_tools
from heartbit_site.base.errors import ConfigurationError
from tools.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.models import Run
    from heartbit_site.base.models import Workspace
    from heartbit_site.base.toolspec import ToolSpec


class ToolSchemas:
    """Tools that each version of a workspace's agents offers its runs; read once a version."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[tuple[int, bool], Mapping[str, ToolSpec]] = {}

    def parameters(self, run: Run, tool: str) -> dict[str, Any] | None:
        """Return the JSON Schema of a tool's arguments; None: it changed after publication."""
        key = (run.version_id, run.parent_id is not None)
        if key not in self._known:
            self._known[key] = self._offered(run)
        spec = self._known[key].get(tool)
        return dict(spec.parameters) if spec is not None else None

    @cached_property
    def _tools(self) -> Mapping[str, ToolSpec]:
        return catalogue(self._workspace.pk)

    def _offered(self, run: Run) -> Mapping[str, ToolSpec]:
        try:
            definition = definition_of(run.version)
        except ConfigurationError:
            return {}  # a newer Heartbit wrote it, and knows what it offers
        return offered_tools(definition, self._tools, is_child=run.parent_id is not None).specs
