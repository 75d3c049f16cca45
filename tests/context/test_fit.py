"""What is sent keeps the task and the newest, never half of a call, and the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.context.apply import fit
from agents.context.groups import newest, split, without_thinking
from agents.context.strategy import (
    ImportantRecent,
    LastMessages,
    SlidingWindow,
    Strategy,
    Summarize,
    Unlimited,
)
from agents.context.tokens import estimate, estimate_all
from agents.llm.messages import (
    AssistantMessage,
    Message,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.context.conversations import Conversation, conversations, open_calls, threads

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITED: st.SearchStrategy[Strategy] = st.one_of(
    st.builds(SlidingWindow, st.integers(1, 4_000)),
    st.builds(LastMessages, st.integers(1, 40)),
    st.builds(ImportantRecent, st.integers(1, 4_000), st.integers(1, 12)),
)
ANY: st.SearchStrategy[Strategy] = LIMITED | st.sampled_from([Unlimited(), Summarize(1, 1)])


def spent(messages: Conversation, strategy: Strategy) -> int:
    return len(messages) if isinstance(strategy, LastMessages) else estimate_all(messages)


def budget(strategy: Strategy) -> int:
    match strategy:
        case LastMessages(count):
            return count
        case SlidingWindow(tokens) | ImportantRecent(tokens, _):
            return tokens
    raise AssertionError(strategy)


def least(messages: Conversation) -> Conversation:
    """What is always kept: the first message and the newest part."""
    groups = split(messages)
    index = newest(groups)
    kept = [message for group in groups[index:] for message in group]
    return messages if index == 0 else without_thinking((messages[0], *kept))


def in_order(part: Conversation, whole: Conversation) -> bool:
    rest: Iterator[Message] = iter(whole)
    return all(message in rest for message in part)


@given(conversations(), ANY)
@settings(max_examples=200)
def test_given_any_conversation_when_fitted_then_the_rules_hold(
    messages: Conversation, strategy: Strategy
) -> None:
    fitted = fit(messages, strategy)
    assert open_calls(fitted) == open_calls(messages)
    assert fitted[0] == messages[0]
    assert in_order(without_thinking(fitted), without_thinking(messages))
    assert in_order(without_thinking(least(messages)), without_thinking(fitted))
    assert fit(fitted, strategy) == fitted
    known = set(map(repr, split(without_thinking(messages))))
    assert all(repr(group) in known for group in split(without_thinking(fitted)))


@given(conversations(), LIMITED)
@settings(max_examples=200)
def test_given_a_budget_when_fitted_then_it_is_kept_or_only_the_least_is(
    messages: Conversation, strategy: Strategy
) -> None:
    fitted = fit(messages, strategy)
    if spent(least(messages), strategy) <= budget(strategy):
        assert spent(fitted, strategy) <= budget(strategy)
    else:
        assert without_thinking(fitted) == without_thinking(least(messages))


@given(conversations(), LIMITED)
@settings(max_examples=200)
def test_given_something_was_left_out_then_no_reasoning_is_sent(
    messages: Conversation, strategy: Strategy
) -> None:
    fitted = fit(messages, strategy)
    assert fitted == messages or fitted == without_thinking(fitted)
    if spent(messages, strategy) <= budget(strategy):
        assert fitted == messages


@given(conversations(), st.integers(1, 4_000))
@settings(max_examples=200)
def test_given_a_window_then_it_is_the_longest_run_of_newest_groups(
    messages: Conversation, tokens: int
) -> None:
    fitted = fit(messages, SlidingWindow(tokens))
    rest = fitted[1:]
    bare = without_thinking(messages)
    start = len(bare) - len(rest)
    assert without_thinking(rest) == bare[start:]
    groups = split(bare)
    index = len(groups) - len(split(rest))
    if index > 1 and estimate_all(fitted) <= tokens:
        assert estimate_all((*fitted, *groups[index - 1])) > tokens


@given(threads(), ANY)
@settings(max_examples=100)
def test_given_a_task_on_a_thread_when_fitted_then_it_stays_and_the_rules_hold(
    thread: tuple[Conversation, Message], strategy: Strategy
) -> None:
    messages, task = thread
    fitted = fit(messages, strategy, task=task)
    assert [message for message in fitted if message is task] == [task]
    assert open_calls(fitted) == open_calls(messages)
    assert fitted[0] == messages[0]
    assert in_order(without_thinking(fitted), without_thinking(messages))
    assert in_order(without_thinking(least(messages)), without_thinking(fitted))
    assert fit(fitted, strategy, task=task) == fitted


@given(threads(), LIMITED)
@settings(max_examples=100)
def test_given_a_task_on_a_thread_then_the_budget_is_kept_or_only_the_least_and_it_are(
    thread: tuple[Conversation, Message], strategy: Strategy
) -> None:
    messages, task = thread
    fitted = fit(messages, strategy, task=task)
    if spent(fitted, strategy) > budget(strategy):
        plain = without_thinking(least(messages))
        assert without_thinking(fitted) in (plain, with_task(messages, task))


def with_task(messages: Conversation, task: Message) -> Conversation:
    """The least that is kept of a thread: its first message, the task, and the newest part."""
    groups = split(messages)
    index = newest(groups)
    kept = [
        message
        for place, group in enumerate(groups)
        if place in (0, *range(index, len(groups))) or group[0] is task
        for message in group
    ]
    return without_thinking(tuple(kept))


def turn(number: int, content: str, text: str = "", *, is_error: bool = False) -> Conversation:
    call = ToolCall(f"c{number}", "search", "{}")
    return (
        AssistantMessage(text, (call,)),
        ToolMessage(call.id, call.name, content, is_error=is_error),
    )


TASK = UserMessage("task")
BULK = "x" * 400


def test_given_the_count_of_messages_then_the_first_is_among_them() -> None:
    messages = (TASK, *turn(1, "a"), *turn(2, "b"), *turn(3, "c"))
    assert fit(messages, LastMessages(5)) == (TASK, *turn(2, "b"), *turn(3, "c"))
    assert fit(messages, LastMessages(4)) == (TASK, *turn(3, "c"))
    assert fit(messages, LastMessages(1)) == (TASK, *turn(3, "c"))


@pytest.mark.parametrize(
    "strategy", [LastMessages(6), SlidingWindow(450), ImportantRecent(125, recent=2)]
)
def test_given_a_thread_and_many_turns_then_what_is_asked_now_is_sent(strategy: Strategy) -> None:
    said = [(UserMessage(f"old {n}"), AssistantMessage(f"answer {n}")) for n in range(5)]
    task = UserMessage("NOW: cancel order 7")
    work = [message for number in range(4) for message in turn(number, BULK)]
    messages = (*(message for pair in said for message in pair), task, *work)
    fitted = fit(messages, strategy, task=task)
    assert fitted[0] == said[0][0]
    assert task in fitted
    assert fitted[-1] == work[-1]
    assert len(fitted) < len(messages)
    assert task not in fit(messages, strategy), "without being told nobody would know"


def test_given_important_recent_then_words_and_failures_outlive_plain_results() -> None:
    steer = UserMessage("Only sources of this year, please." + BULK)
    failed = turn(2, "no such index" + BULK, is_error=True)
    answer = AssistantMessage("So far: nothing." + BULK)
    older = (*turn(1, BULK), answer, steer, *failed, *turn(3, BULK, "Why."), *turn(4, BULK))
    for kept in ((steer,), (steer, *failed), (answer, steer, *failed)):
        sent = (TASK, *kept, *turn(5, BULK))
        strategy = ImportantRecent(max_tokens=estimate_all(sent), recent=1)
        assert fit((TASK, *older, *turn(5, BULK)), strategy) == sent


def test_given_important_recent_when_all_recent_fit_then_they_come_before_what_matters() -> None:
    steer = UserMessage("y" * 400)
    messages = (TASK, steer, *turn(1, BULK), *turn(2, BULK), *turn(3, BULK))
    kept = (TASK, *turn(2, BULK), *turn(3, BULK))
    strategy = ImportantRecent(max_tokens=estimate_all(kept), recent=2)
    assert fit(messages, strategy) == kept


def test_given_steering_right_after_results_then_the_model_still_sees_them() -> None:
    steer = UserMessage("And hurry.")
    messages = (TASK, *turn(1, "a"), *turn(2, BULK), steer)
    assert fit(messages, SlidingWindow(1)) == (TASK, *turn(2, BULK), steer)


def test_given_reasoning_alone_is_too_much_then_only_reasoning_goes() -> None:
    thoughtful = AssistantMessage("a", thinking=(Thinking("anthropic", {"signature": BULK}),))
    messages = (TASK, thoughtful, UserMessage("more"))
    plain = (TASK, AssistantMessage("a"), UserMessage("more"))
    assert fit(messages, SlidingWindow(estimate_all(plain))) == plain


def test_given_nothing_may_be_left_out_then_reasoning_stays() -> None:
    thoughtful = AssistantMessage("", (ToolCall("c", "search", "{}"),), (Thinking("x", {}),))
    messages = (TASK, thoughtful, ToolMessage("c", "search", BULK))
    assert fit(messages, SlidingWindow(1)) == messages
    assert fit(messages, LastMessages(1)) == messages


def test_given_an_empty_conversation_then_nothing_is_sent() -> None:
    assert fit((), SlidingWindow(1)) == ()


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (UserMessage(""), 4),
        (UserMessage("four"), 5),
        (UserMessage("fives"), 6),
        (UserMessage("日本"), 6),  # two characters, six bytes
        (UserMessage("\ud800"), 5),  # a lone surrogate can be counted
        (AssistantMessage("", (ToolCall("abcd", "find", '{"q":"abc"}'),)), 4 + 8 + 1 + 1 + 3),
        (ToolMessage("abcd", "find", "result"), 4 + 1 + 1 + 2),
        (AssistantMessage("", (), (Thinking("x", {"a": "b"}),)), 4 + 3),
    ],
)
def test_given_a_message_then_its_estimate_counts_all_of_it(message: Message, tokens: int) -> None:
    assert estimate(message) == tokens
