"""The fake model provider, playing the scripted model of ``tests.evals.conversations``.

It is ``agents.llm.testing.wire_server``: the directives follow from what was said, so that what
the runs' texts say is what people say.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from agents.llm.testing import wire_server
from agents.llm.testing.conversation import Conversation, read_conversation
from tests.evals.conversations import CROWDS_FROM, build_conversations, build_crowds

if TYPE_CHECKING:
    from tests.evals.scripted import Proposed, Session

#: The name of the model is the number of its conversation.
_SESSIONS: Final = {
    (str(number), session.text): session
    for number, script in (
        *enumerate(build_conversations()),
        *enumerate(build_crowds(), CROWDS_FROM),
    )
    for session in script.sessions
}


def answered(body: dict[str, Any]) -> Conversation:
    """Read a request with the directives that belong to its texts."""
    messages = [
        {**one, "content": _directed(str(body["model"]), one["content"])}
        if one.get("role") == "user"
        else one
        for one in body.get("messages", [])
    ]
    return read_conversation({**body, "messages": messages})


def _directed(model: str, content: Any) -> Any:
    if not isinstance(content, str):
        return content
    if content.startswith('{"date":'):
        return _extracted(model, content)
    session = _SESSIONS.get((model, content))
    return content if session is None else _directives(session)


def _directives(session: Session) -> str:
    calls = f"[[calls: {session.tool} {{}}]] " if session.tool else ""
    return f"{calls}[[text: {session.answer}]]"


def _extracted(model: str, block: str) -> str:
    """Return the lines that an extraction was sent, with the answer in place of what is new."""
    rows = [json.loads(line) for line in block.splitlines()]
    shown = {row["text"]: row["memory"] for row in rows if "memory" in row}
    for row in rows:
        session = _SESSIONS.get((model, row["text"])) if row.get("new") else None
        if session is not None:
            answer = {"memories": [_proposal(one, shown) for one in session.proposed]}
            row["text"] = f"[[extract: {json.dumps(answer)} ]]"
    return "\n".join(json.dumps(row) for row in rows)


def _proposal(one: Proposed, shown: dict[str, int]) -> dict[str, Any]:
    replaces = shown.get(one.replaces, 0) if isinstance(one.replaces, str) else one.replaces
    return {
        "text": one.text,
        "category": "fact",
        "importance": 5,
        "line": one.line,
        "quote": one.quote,
        "replaces": replaces,
        "reason": "said otherwise" if replaces else "",
    }


if __name__ == "__main__":
    vars(wire_server)["read_conversation"] = answered
    wire_server.main()
