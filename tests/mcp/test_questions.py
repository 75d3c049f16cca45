"""Questions of servers that a person can be asked, and those that are declined."""

from __future__ import annotations

import json
from typing import Any

import mcp_types
import pytest

from heartbit_site.base.suspensions import QuestionReply
from tools.mcp import questions
from tools.mcp.errors import McpError

FORM = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}
STATE = json.dumps({"name": "a", "state": "s"})


def result(*params: Any, state: str = "s") -> mcp_types.InputRequiredResult:
    asked: Any = {"abc"[n]: mcp_types.ElicitRequest(params=one) for n, one in enumerate(params)}
    return mcp_types.InputRequiredResult(input_requests=asked, request_state=state)


def form(message: str = "Which size?", **schema: Any) -> mcp_types.ElicitRequestFormParams:
    return mcp_types.ElicitRequestFormParams(message=message, requested_schema=FORM | schema)


def test_one_form_is_asked_and_its_state_kept() -> None:
    found = questions.question(result(form()), "shop")
    assert found is not None
    assert (found.text, found.form) == ("The MCP server shop asks: Which size?", FORM)
    assert found.state == STATE


def test_an_address_several_questions_or_an_empty_form_are_not_asked() -> None:
    url = mcp_types.ElicitRequestURLParams(
        message="Pay", url="https://x.example", elicitation_id="1"
    )
    for each in (result(url), result(form(), form()), result(), result(form(properties={}))):
        assert questions.question(each, "shop") is None


def test_more_than_a_journal_keeps_is_refused() -> None:
    with pytest.raises(McpError, match="too large to store"):
        questions.question(result(form(), state="x" * 200_000), "shop")
    long = questions.question(result(form("x" * 10_000)), "shop")
    assert long is not None
    assert len(long.text) < 2_100


@pytest.mark.parametrize(
    ("status", "value", "action"),
    [
        ("answered", {"size": "large"}, "accept"),
        ("answered", None, "decline"),
        ("expired", None, "cancel"),
    ],
)
def test_a_reply_is_sent_with_the_state(status: str, value: Any, action: str) -> None:
    responses, state = questions.responses(QuestionReply(1, STATE, status, value))
    assert responses is not None
    assert (responses["a"].action, responses["a"].content, state) == (action, value, "s")
    assert questions.responses(None) == (None, None)


def test_questions_in_the_middle_of_a_call_leave_one_sentence() -> None:
    declined = questions.Declined()
    assert questions.with_declined("result", declined) == "result"
    declined.add("Which size?")
    text = questions.with_declined("result", declined)
    assert text.startswith("result\n[Heartbit: ")
    assert text.endswith("the request was declined: Which size?]")
    for _ in range(41):
        declined.add("x" * 1_000_000)
    text = questions.with_declined("result", declined)
    assert text.endswith("the request was declined: Which size? (42 questions in all)]")
