"""A model message that ends a run, and one that does not."""

from __future__ import annotations

import pytest

from agents.llm.messages import AssistantMessage, ToolCall
from agents.loop.final_answer import build_ending
from agents.output import respond
from tests.loop.test_limits import DEFINITION

STRICT = DEFINITION.model_copy(update={"response_schema": {"type": "object"}})
RESPOND = ToolCall("a", respond.NAME, '{"total": 1}')


@pytest.mark.parametrize(
    ("message", "structured"),
    [
        (AssistantMessage(tool_calls=(RESPOND,)), {"total": 1}),
        (AssistantMessage(text='{"total": 1}'), {"total": 1}),
        (AssistantMessage(tool_calls=(ToolCall("a", "calculate", '{"total": 1}'),)), None),
        (AssistantMessage(tool_calls=(RESPOND, ToolCall("b", "calculate", "{}"))), None),
        (AssistantMessage(text=" "), None),
    ],
)
def test_an_answer_that_fits_the_schema_ends_the_run_and_another_tools_call_does_not(
    message: AssistantMessage, structured: dict[str, int] | None
) -> None:
    ending = build_ending(STRICT, message, "stop")
    assert (ending and ending.structured) == structured
