"""Conversations of every valid form, and a judge of validity that knows nothing of groups."""

from __future__ import annotations

from hypothesis import strategies as st

from agents.llm.messages import (
    AssistantMessage,
    Message,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)

Conversation = tuple[Message, ...]

TEXT = st.integers(0, 600).map(lambda words: "word " * words)
THINKING = st.lists(
    st.builds(Thinking, st.just("anthropic"), st.fixed_dictionaries({"signature": TEXT})),
    max_size=1,
).map(tuple)


@st.composite
def conversations(draw: st.DrawFn, *, max_turns: int = 10) -> Conversation:
    """A task, then turns; calls in parallel, steering, and at times an end with open calls."""
    messages: list[Message] = [UserMessage(draw(TEXT))]
    turns = draw(st.integers(0, max_turns))
    for turn in range(turns):
        kind = draw(st.sampled_from(["calls", "calls", "calls", "answer", "user"]))
        if kind == "user":
            messages.append(UserMessage(draw(TEXT)))
        elif kind == "answer":
            messages.append(AssistantMessage(draw(TEXT), thinking=draw(THINKING)))
        else:
            messages += draw(_called(turn, last=turn == turns - 1))
    return tuple(messages)


@st.composite
def _called(draw: st.DrawFn, turn: int, *, last: bool) -> list[Message]:
    names = [f"{turn}.{index}" for index in range(draw(st.integers(1, 3)))]
    calls = tuple(ToolCall(name, "search", draw(st.just("{}") | TEXT)) for name in names)
    text = draw(st.just("") | TEXT)
    results: list[Message] = [
        ToolMessage(call.id, call.name, draw(TEXT), is_error=draw(st.booleans())) for call in calls
    ]
    if last and draw(st.booleans()):  # an open ending: some results are still to come
        results = results[: draw(st.integers(0, len(results)))]
        results += draw(st.just([]) | st.just([UserMessage("stop")]))
    return [AssistantMessage(text, calls, draw(THINKING)), *results]


@st.composite
def threads(draw: st.DrawFn) -> tuple[Conversation, Message]:
    """What was said in earlier runs, a run's own task, and what it has done: with that task."""
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, 4))):
        messages += [UserMessage(draw(TEXT)), AssistantMessage(draw(TEXT))]
    task, *work = draw(conversations(max_turns=6))
    return (*messages, task, *work), task


def open_calls(messages: Conversation) -> set[str]:
    """The calls without a result at the end; fails where the conversation is not valid."""
    waiting: set[str] = set()
    seen: set[str] = set()
    assert not messages or isinstance(messages[0], UserMessage)
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.call_id in waiting, "an orphan result"
            waiting.remove(message.call_id)
        elif isinstance(message, AssistantMessage):
            assert not waiting, "an orphan call"
            ids = {call.id for call in message.tool_calls}
            assert not ids & seen
            seen |= ids
            waiting |= ids
    return waiting
