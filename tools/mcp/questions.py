"""Questions of MCP servers to a person (elicitation).

Newer servers end the call with their question and are called again with the reply, so the run
stores the question. Older servers ask in the middle of a call, which would have to stay open.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import mcp_types

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema
from heartbit_site.base.suspensions import Question, QuestionReply
from heartbit_site.base.untrusted import clean_json, clean_text
from tools.mcp.errors import McpError

DECLINED: Final = mcp_types.ElicitResult(action="decline")
#: Limits of a question in the journal.
MOST_CHARACTERS: Final = 2_000
MOST_FORM_CHARACTERS: Final = 20_000
MOST_STATE_CHARACTERS: Final = 100_000
#: Maximum questions in the middle of one call; characters recorded of one.
MOST_DECLINED: Final = 100
MOST_NOTED: Final = 500


def question(result: mcp_types.InputRequiredResult, server: str) -> Question | None:
    """Return the question to a person; None if it cannot be a single form.

    Raises:
        McpError: The server's state or form is too large to be stored.
    """
    requests = result.input_requests or {}
    if len(requests) != 1:
        return None
    [(name, request)] = requests.items()
    params = request.params
    if not isinstance(params, mcp_types.ElicitRequestFormParams):
        return None
    form: Any = clean_json(params.requested_schema)
    if not _is_form(form):
        return None
    state = json.dumps({"name": name, "state": result.request_state})
    if len(state) > MOST_STATE_CHARACTERS or len(json.dumps(form)) > MOST_FORM_CHARACTERS:
        raise McpError(f"The MCP server {server} sent a question that is too large to store.")
    text = clean_text(params.message)[:MOST_CHARACTERS]
    return Question(f"The MCP server {server} asks: {text}", form, clean_text(state))


def responses(reply: QuestionReply | None) -> tuple[dict[str, Any] | None, str | None]:
    """Return the responses and the state for repeating a call."""
    if reply is None:
        return None, None
    kept = json.loads(reply.state)
    if isinstance(reply.value, dict):
        answer = mcp_types.ElicitResult(action="accept", content=reply.value)
    else:
        answer = DECLINED if reply.status == "answered" else mcp_types.ElicitResult(action="cancel")
    return {kept["name"]: answer}, kept["state"]


@dataclass(slots=True)
class Declined:
    """Questions that were declined during a call: the beginning of the first, and their number."""

    message: str = ""
    count: int = 0

    def add(self, message: str) -> None:
        """Record a question."""
        if not self.count:
            self.message = message[:MOST_NOTED]
        self.count += 1


def with_declined(text: str, declined: Declined) -> str:
    """Return a result with a sentence about the questions that were declined during the call."""
    if not declined.count:
        return text
    more = f" ({declined.count} questions in all)" if declined.count > 1 else ""
    return (
        f"{text}\n[Heartbit: the server requested input from a person in the middle of the call, "
        "which its protocol version cannot suspend; the request was declined: "
        f"{declined.message}{more}]"
    )


def _is_form(form: Any) -> bool:
    if not isinstance(form, dict) or form.get("type") != "object" or not form.get("properties"):
        return False
    try:
        check_schema(form)
    except ConfigurationError:
        return False
    return True
