"""Which of the calls that wait are questions, and what form their answers have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.reads.pinned_tools import pinned_tool
from agents.reads.turns import definition_of
from agents.runtime.toolbox import offered_tools
from heartbit_site.base.errors import ConfigurationError
from tools import questions
from tools.catalogue import catalogue

if TYPE_CHECKING:
    from agents.models import ToolCall


def answer_schema(call: ToolCall) -> dict[str, Any] | None:
    """The JSON Schema of the answer that a waiting call asks a person for; None: it asks nothing.

    Args:
        call: It waits for a person; its run's version and agent are read.
    """
    known = pinned_tool(call)
    if known is None or known.answer_parameter is None:
        return None  # nearly all of them: nothing more has to be read
    run = call.run
    try:
        definition = definition_of(run.version)
    except ConfigurationError:
        return None  # a newer Heartbit wrote it, and knows how it is decided
    # A tool that has changed since it was published is not offered, and no answer would do.
    offer = offered_tools(
        definition, catalogue(run.workspace_id), is_child=run.parent_id is not None
    )
    if known.name not in offer.specs:
        return None
    return questions.form_of((call.approval_view or {}).get("arguments", {}))
