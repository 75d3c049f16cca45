"""Refusal of pictures for runs that cannot see them."""

from __future__ import annotations

from agents.errors import UnseenPicturesError
from agents.llm.providers import sees_images
from agents.models import Agent
from agents.runtime.providers.preflight import models_of


def refuse_unseen(agent: Agent, model: str) -> None:
    """Raise if an agent's own model reads text alone; a fallback gets remarks in place of pictures.

    Args:
        agent: The agent.
        model: ``provider:model`` of the run; empty: the agent's.

    Raises:
        UnseenPicturesError: It does, or the agent is a workflow.
    """
    if agent.kind != "agent":
        raise UnseenPicturesError(
            f"Pictures are for agents: {agent.name} is a workflow, which reads text and data."
        )
    name = next(models_of(agent, model), "")
    if name and not sees_images(name):
        raise UnseenPicturesError(
            f"{agent.name} cannot see pictures, because {name} reads text alone: leave them out, "
            "or name a model that sees."
        )
