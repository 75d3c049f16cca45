"""Answer schemas of the waiting calls that are questions."""

from __future__ import annotations

from typing import Any

from agents.models import ToolCall
from agents.reads.pinned_tools import pinned_tool
from agents.reads.versions import definition_of
from agents.runtime.toolset.offer import offered_tools
from heartbit_site.base.errors import ConfigurationError
from tools.calls import questions
from tools.definitions.catalogue import catalogue


def answer_schema(call: ToolCall) -> dict[str, Any] | None:
    """Return the JSON Schema of the answer to a waiting call; None: it is not a question.

    Args:
        call: A call that waits for a person; its run's version and agent are read.
    """
    known = pinned_tool(call)
    if known is None or known.answer_parameter is None:
        return None  # the usual case, decided without another query
    run = call.run
    try:
        definition = definition_of(run.version)
    except ConfigurationError:
        return None  # written by a newer Heartbit, which can decide it
    # A tool that has changed since publication is not offered, so no answer would be valid.
    offer = offered_tools(
        definition, catalogue(run.workspace_id), is_child=run.parent_id is not None
    )
    if known.name not in offer.specs:
        return None
    return questions.form_of((call.approval_view or {}).get("arguments", {}))
