"""A conversation falls into groups that are never taken apart."""

from __future__ import annotations

from hypothesis import given, settings

from agents.context.groups import first_user, newest, split
from agents.llm.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from tests.context.conversations import Conversation, conversations, open_calls

TASK = UserMessage("task")
CALLS = AssistantMessage("", (ToolCall("a", "search", "{}"), ToolCall("b", "search", "{}")))
RESULTS = (ToolMessage("a", "search", "1"), ToolMessage("b", "search", "2"))
ANSWER = AssistantMessage("done")
STEER = UserMessage("steer")


def test_given_every_kind_of_message_then_a_call_stays_with_its_results() -> None:
    groups = split((TASK, CALLS, *RESULTS, STEER, ANSWER))
    assert groups == ((TASK,), (CALLS, *RESULTS), (STEER,), (ANSWER,))


def test_given_steering_between_results_then_the_group_reaches_to_the_last_result() -> None:
    assert split((TASK, CALLS, RESULTS[0], STEER, RESULTS[1], STEER, ANSWER)) == (
        (TASK,),
        (CALLS, RESULTS[0], STEER, RESULTS[1]),
        (STEER,),
        (ANSWER,),
    )


def test_given_no_message_then_there_is_no_group() -> None:
    assert split(()) == ()
    assert newest(()) == 0
    assert first_user(()) is None


def test_given_steering_after_results_then_the_results_are_newest_too() -> None:
    assert newest(split((TASK, ANSWER, CALLS, *RESULTS, STEER, STEER))) == 2


def test_given_a_question_after_an_answer_then_the_question_alone_is_newest() -> None:
    assert newest(split((TASK, ANSWER, STEER))) == 2


@given(conversations())
@settings(max_examples=200)
def test_given_any_conversation_then_groups_are_a_partition_and_each_is_complete(
    messages: Conversation,
) -> None:
    groups = split(messages)
    assert tuple(message for group in groups for message in group) == messages
    for group in groups[:-1]:
        if not isinstance(group[0], UserMessage):
            assert not open_calls((TASK, *group)) or group == groups[newest(groups)]
