"""A run whose last answers were empty is asked on from where something was said."""

from __future__ import annotations

import pytest

from agents.llm.messages import AssistantMessage, UserMessage
from agents.loop.empty_answers import ANSWER, retry_conversation

SAID = (UserMessage("Hello."), AssistantMessage(text="Yes?"), UserMessage("Count to three."))
EMPTY = AssistantMessage(text=" ")


@pytest.mark.parametrize("silences", [1, 2])
def test_only_the_silence_at_the_end_is_left_out(silences: int) -> None:
    assert retry_conversation((*SAID, *[EMPTY] * silences)) == (*SAID, UserMessage(ANSWER))


def test_a_conversation_without_silence_stays_as_it_is() -> None:
    assert retry_conversation(SAID) is SAID
