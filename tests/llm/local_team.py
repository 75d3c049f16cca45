"""What an orchestrator has to supply so that a team of the tiny model works every time."""

from __future__ import annotations

import json

from agents.llm.messages import AssistantMessage, Message, ToolCall, ToolDefinition, UserMessage

from .support import CLOCK

AGENTS = ("researcher", "analyst", "writer")
ENDINGS = ("Give facts.", "Give reasons.", "Write a short answer.")
LEAD = (
    "You are the orchestrator of a team: researcher, analyst, writer. "
    "Give each team member one task, then write the final answer."
)
ANSWER = "You are one of a small team. Answer in two or three sentences."
_BLACKBOARD = ToolDefinition(
    "blackboard_write",
    "Write to the team's blackboard.",
    {"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "string"}}},
)
OTHER_TOOLS = (_BLACKBOARD, CLOCK)


def delegate_tool() -> ToolDefinition:
    task = {
        "type": "object",
        "properties": {
            "agent": {"enum": list(AGENTS)},
            "task": {"type": "string", "minLength": 20, "maxLength": 140},
        },
        "required": ["agent", "task"],
        "additionalProperties": False,
    }
    tasks = {"type": "array", "minItems": 3, "maxItems": 3, "items": task}
    parameters = {"type": "object", "properties": {"tasks": tasks}, "required": ["tasks"]}
    return ToolDefinition("delegate_task", "give each team member a task", parameters)


def _worked(question: str) -> tuple[Message, ...]:
    tasks = [
        {"agent": agent, "task": f"{question} {ending}"}
        for agent, ending in zip(AGENTS, ENDINGS, strict=True)
    ]
    call = ToolCall("example", "delegate_task", json.dumps({"tasks": tasks}))
    return (UserMessage(question), AssistantMessage(tool_calls=(call,)))


# Two examples: with one, the model copies its tasks; with two it sees that the question is copied.
EXAMPLES = _worked("Why is sleep important for learning?") + _worked("How do boats float?")
