"""Write the summary of a server's tool, which people read where a call waits for them."""

from __future__ import annotations

import json

from django.db import transaction

from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.call_summary import check_summary
from heartbit_site.base.errors import ConfigurationError, about
from heartbit_site.base.rights import require
from tools.models import CatalogueTool


@transaction.atomic
def summarize_tool(tool: CatalogueTool, summary: str, *, by: Actor) -> None:
    """Store the summary of a workspace's tool; the code of an installed tool declares its own.

    Args:
        tool: The tool.
        summary: See ``heartbit_site.base.call_summary``; empty: none.
        by: The person, who manages the workspace.

    Raises:
        ConfigurationError: A placeholder is no parameter, or the tool is the installation's.
    """
    if tool.workspace_id is None:
        raise ConfigurationError(
            f"The summary of {tool.name} is in its code: change the option `summary` of its @tool."
        )
    require(by, "workspace:manage", workspace_id=tool.workspace_id)
    text = summary.strip()
    with about("summary"):
        check_summary(text, json.loads(tool.definition.parameters), tool=tool.name)
    if text != tool.summary:
        tool.summary = text
        tool.save(update_fields=["summary"])
        record_on(by, "tool.summarize", tool, details={"summary": text})
