"""The fake model provider, playing the parts of the shop's agents.

It is ``agents.llm.testing.wire_server``, whose directives follow from what was asked (``PARTS``):
the tasks in the pictures read as people write them.
"""

from __future__ import annotations

import json
from typing import Any

from agents.llm.testing import wire_server
from agents.llm.testing.conversation import Conversation, read_conversation
from tests.web.shots.parts import PARTS


def acted(body: dict[str, Any]) -> Conversation:
    """Read a request with the directives that belong to its texts."""
    text = json.dumps(body.get("messages", []))
    messages = json.loads(text)
    for message in messages:
        if message.get("role") == "user":
            message["content"] = _directed(message["content"])
    return read_conversation({**body, "messages": messages})


def _directed(content: Any) -> Any:
    if isinstance(content, list):
        return [
            {**block, "text": _directed(block["text"])} if "text" in block else block
            for block in content
        ]
    found = [directives for start, directives in PARTS.items() if start in content]
    return content + " ".join(found)


if __name__ == "__main__":
    vars(wire_server)["read_conversation"] = acted
    wire_server.main()
