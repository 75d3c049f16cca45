"""Runs that tests start, by the one way that every door takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions import fork_run as forking
from agents.actions.admit import Admitted, admit
from agents.actions.run_request import RunRequest, call_of
from agents.models import Agent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from agents.models import Conversation, Run
    from heartbit_site.base.models import Workspace


def serve_nobody(workspace: Workspace, *names: str) -> None:
    """Put agents (all, unless named) on a queue that no worker serves, so that runs stay queued.

    A worker of another file's tests may still be there, and would serve them.
    """
    agents = Agent.objects.filter(workspace=workspace)
    (agents.filter(name__in=names) if names else agents).update(queue="nobodys")


def start_run(workspace: Workspace, task: str, **more: Any) -> UUID:
    """Start a run and return its id."""
    return admit(RunRequest(workspace, task, **more)).run_id


def post_message(conversation: Conversation, text: str, **more: Any) -> Admitted:
    """Give a message to a conversation's agent."""
    return admit(RunRequest(conversation.workspace, text, conversation=conversation, **more))


def start_tool_call(
    workspace: Workspace, tool: str, arguments: Mapping[str, object], **more: Any
) -> UUID:
    """Start a run that consists of a call, and return its id."""
    return admit(RunRequest(workspace, call=call_of(tool, arguments), **more)).run_id


def fork_run(source: Run, turn: int, **more: Any) -> UUID:
    """Fork a run, and return the new one's id."""
    return forking.fork_run(source, turn, **more).run_id
