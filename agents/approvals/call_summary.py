"""Summary of a waiting call: one sentence, the same on every surface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.models import ToolCall
from agents.querysets import shown_tool
from heartbit_site.base.call_summary import summarize
from heartbit_site.base.toolspec import ToolSpec
from tools.definitions.catalogue import catalogue


def summarize_call(
    call: ToolCall, arguments: Mapping[str, Any], known: Mapping[str, ToolSpec] | None = None
) -> str:
    """Return a call's summary: plain, untrusted text; empty: its tool declares none.

    Args:
        call: The call, with its run.
        arguments: The arguments that are shown.
        known: The catalogue of the run's workspace; None: it is read.
    """
    spec = (catalogue(call.run.workspace_id) if known is None else known).get(shown_tool(call))
    return summarize(spec.summary, arguments) if spec is not None else ""
