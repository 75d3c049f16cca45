"""The model of a run that is one tool call: it says what it was told, without any language model.

A scheduled tool call is a run like any other, so its arguments are validated, people are asked for
their approval, and it is journaled and recovered. Only its answers come from here: the first one
calls the tool, the second one is what the tool returned.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agents.llm.adapters.scripted import Reply, ScriptedModel
from agents.llm.errors import RequestRejectedError
from agents.llm.messages import ChatRequest, ToolCall, ToolMessage, Usage, UserMessage

if TYPE_CHECKING:
    from agents.llm.protocol import ChatModel

#: ``provider:model`` of such a run; no provider has that name, so nobody can give it to an agent.
DICTATED: Final = "dictated:call"


def dictation(tool: str, arguments: dict[str, object]) -> str:
    """The task of a run that calls a tool."""
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


def dictated_model() -> ChatModel:
    """A model for one run; its task is a ``dictation``."""
    return ScriptedModel(_reply, name=DICTATED)


def _reply(request: ChatRequest) -> Reply:
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        if last.is_error:
            raise RequestRejectedError(f"The tool {last.name} failed: {last.content}")
        return Reply(text=last.content, usage=Usage())
    first = next(one for one in request.messages if isinstance(one, UserMessage))
    call = json.loads(first.text)
    asked = ToolCall("call_0", call["tool"], json.dumps(call["arguments"], ensure_ascii=False))
    return Reply(tool_calls=(asked,), usage=Usage())
