"""Tools for agents at run time: a run tree's blackboard and folder, messages between agents."""

from __future__ import annotations

from agents.agent_tools.artifacts import read_artifact
from agents.agent_tools.blackboard import blackboard_list, blackboard_read, blackboard_write
from agents.agent_tools.folder import edit, glob, grep, patch, read, shell, write
from agents.agent_tools.messages import (
    ask_agent,
    read_messages,
    reply_to_message,
    send_message,
    start_agent,
)

__all__ = [
    "ask_agent",
    "blackboard_list",
    "blackboard_read",
    "blackboard_write",
    "edit",
    "glob",
    "grep",
    "patch",
    "read",
    "read_artifact",
    "read_messages",
    "reply_to_message",
    "send_message",
    "shell",
    "start_agent",
    "write",
]
