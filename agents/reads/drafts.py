"""Drafts of agents: the rows that hold them, and the stamp that reveals a second saver."""

from __future__ import annotations

from agents.models import Agent, AgentDraft


def draft_of(agent: Agent) -> AgentDraft | None:
    """Return an agent's draft, with its row; None: it has none."""
    drafts = AgentDraft.objects.select_related("row__current_version", "row__workspace")
    return drafts.filter(agent=agent).first()


def source_of(agent: Agent) -> Agent:
    """Return the row whose settings the next edit begins with: the draft's, or the agent's own."""
    draft = draft_of(agent)
    return agent if draft is None else draft.row


def stamp_of(agent: Agent) -> str:
    """Return a text that changes whenever the draft or the agent itself is saved."""
    draft = draft_of(agent)
    saved = "" if draft is None else draft.saved_at.isoformat()
    return f"{agent.updated_at.isoformat()} {saved}"
