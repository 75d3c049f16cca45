"""Tools for agents at run time: the blackboard of a run tree, and messages between agents."""

from __future__ import annotations

from agents.agent_tools import blackboard, messages

__all__ = ["blackboard", "messages"]
