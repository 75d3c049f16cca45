"""Tools for agents at run time: a run tree's blackboard and folder, state, skills, messages."""

from __future__ import annotations

from agents.agent_tools.artifacts import read_artifact
from agents.agent_tools.blackboard import blackboard_list, blackboard_read, blackboard_write
from agents.agent_tools.folder import edit, glob, grep, keep_file, patch, read, shell, write
from agents.agent_tools.messages import (
    ask_agent,
    read_messages,
    reply_to_message,
    send_message,
    start_agent,
)
from agents.agent_tools.skills import load_skill, read_skill_file
from agents.agent_tools.state import state_delete, state_exists, state_get, state_set

__all__ = [
    "ask_agent",
    "blackboard_list",
    "blackboard_read",
    "blackboard_write",
    "edit",
    "glob",
    "grep",
    "keep_file",
    "load_skill",
    "patch",
    "read",
    "read_artifact",
    "read_messages",
    "read_skill_file",
    "reply_to_message",
    "send_message",
    "shell",
    "start_agent",
    "state_delete",
    "state_exists",
    "state_get",
    "state_set",
    "write",
]
