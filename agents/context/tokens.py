"""Token estimates for messages, the same for every provider.

Tokenizers differ by provider and are not all available, so the count is a rule of thumb: one token
per four UTF-8 bytes (English text has about four characters a token; other scripts have more bytes
and more tokens a character), plus a few tokens of overhead per message and per call. Use it for
budgets, not for bills: those come from the provider's usage.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from agents.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage

BYTES_PER_TOKEN = 4
MESSAGE_OVERHEAD = 4  # role and separators
IMAGE = 1_500  # of a usual size; a large one costs less than twice as many
CALL_OVERHEAD = 8  # the structure around a name and its arguments


def estimate(message: Message) -> int:
    """Estimate the tokens of a message, including call arguments and reasoning."""
    match message:
        case UserMessage(text, images):
            return MESSAGE_OVERHEAD + of_text(text) + IMAGE * len(images)
        case ToolMessage(call_id, name, content, images=images):
            texts = of_text(call_id) + of_text(name) + of_text(content)
            return MESSAGE_OVERHEAD + texts + IMAGE * len(images)
        case AssistantMessage(text, calls, thinking):
            tokens = MESSAGE_OVERHEAD + of_text(text)
            for call in calls:
                tokens += CALL_OVERHEAD + of_text(call.id)
                tokens += of_text(call.name) + of_text(call.arguments)
            return tokens + sum(of_text(json.dumps(block.block)) for block in thinking)


def estimate_all(messages: Iterable[Message]) -> int:
    """Estimate the total tokens of some messages."""
    return sum(map(estimate, messages))


def of_text(text: str) -> int:
    """Estimate the tokens of a text, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)
