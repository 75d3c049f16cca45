"""Heartbit from Python: teams of agents in this process, on the same engine and journal.

Usage::

    from heartbit_site.library import Heartbit, tool

    answer = Heartbit().agent("writer", "You write.").run("Why are bees important?")
    print(answer.text)

The guide: docs/howto/library.md. Nothing here needs Django to be set up first.
"""

from __future__ import annotations

from heartbit_site.base.toolspec import Answer, Effect, ToolContext, tool
from heartbit_site.library.approvals import Approval, Approve, Deny, Edit
from heartbit_site.library.builder import Heartbit
from heartbit_site.library.conversation import Conversation
from heartbit_site.library.fleet import Fleet
from heartbit_site.library.fleet_run import FleetRun
from heartbit_site.library.language_model import LanguageModel
from heartbit_site.library.result import AnswerError, Event, Result, RunFailedError, Usage
from heartbit_site.library.tool_sources import bind
from heartbit_site.remote.errors import RequestRefusedError, ServerError

__all__ = [
    "Answer",
    "AnswerError",
    "Approval",
    "Approve",
    "Conversation",
    "Deny",
    "Edit",
    "Effect",
    "Event",
    "Fleet",
    "FleetRun",
    "Heartbit",
    "LanguageModel",
    "RequestRefusedError",
    "Result",
    "RunFailedError",
    "ServerError",
    "ToolContext",
    "Usage",
    "bind",
    "tool",
]
