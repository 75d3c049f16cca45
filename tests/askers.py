"""Agents that ask people, and the scripts of their models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding, ToolCall
from tests.admin import rows

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

COLOUR = {"enum": ["red", "green"]}
TRIP = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["to", "days"],
    "additionalProperties": False,
}


def asker(workspace: Workspace, queue: str = "agents") -> Agent:
    """A published agent that may ask people, and needs nobody's approval for anything."""
    row = Agent.objects.create(workspace=workspace, name="asker", system_prompt="Ask.", queue=queue)
    ToolBinding.objects.create(agent=row, tool="ask_human")
    publish_agent(row)
    return row


def script(question: str, form: dict[str, Any] | None = None) -> str:
    """A task whose model asks, and is done when it was answered."""
    arguments = json.dumps({"question": question} | ({"form": form} if form else {}))
    return f"[[calls: ask_human {arguments}]] [[text: Done.]] [[run: {uuid4()}]]"


def question(
    workspace: Workspace, text: str = "Which colour?", form: dict[str, Any] | None = None
) -> ToolCall:
    """A question that waits, of a run on a queue that no worker serves."""
    asker(workspace, queue="nobodys")
    arguments = {"question": text, "form": form}
    made = rows.asking(workspace, "asker", tool="ask_human", arguments=arguments)
    return ToolCall.objects.select_related("run__workspace", "run__version__agent").get(pk=made.pk)
