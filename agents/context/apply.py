"""Application of a context strategy to a conversation. Pure, linear in the conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agents.context.groups import (
    Group,
    first_user,
    has_calls,
    newest,
    split,
    without_thinking,
)
from agents.context.strategy import (
    ImportantRecent,
    LastMessages,
    SlidingWindow,
    Strategy,
    Summarize,
    Unlimited,
)
from agents.context.tokens import estimate
from agents.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage


def fit(
    messages: tuple[Message, ...], strategy: Strategy, *, task: Message | None = None
) -> tuple[Message, ...]:
    """Return the messages to send, in order.

    A conversation that fits is returned unchanged. Otherwise reasoning is dropped first (its
    signature is valid only after unchanged messages), then whole groups. The first user message,
    ``task`` and the newest part (see ``groups.newest``) stay even if they alone exceed the budget.
    ``task`` is one of the messages: the present request in a conversation of many runs. Idempotent.
    For ``Summarize`` see ``agents.context.summary``: nothing is dropped here.
    """
    match strategy:
        case Unlimited() | Summarize():
            return messages
        case LastMessages(count):
            return _within(messages, count, lambda _: 1, recent=None, task=task)
        case SlidingWindow(max_tokens):
            return _within(messages, max_tokens, estimate, recent=None, task=task)
        case ImportantRecent(max_tokens, recent):
            return _within(messages, max_tokens, estimate, recent=recent, task=task)


def importance(group: Group) -> int:
    """Return the rank of an older group; higher ranks are kept longer.

    4: a user's message. 3: calls of which one failed, so that the model does not repeat it. 2: an
    answer. 1: calls with a text that explains them. 0: calls without text, which can be repeated.
    """
    head = group[0]
    if isinstance(head, UserMessage):
        return 4
    if any(isinstance(message, ToolMessage) and message.is_error for message in group):
        return 3
    if not has_calls(group):
        return 2
    return 1 if isinstance(head, AssistantMessage) and head.text.strip() else 0


def _within(
    messages: tuple[Message, ...],
    budget: int,
    size: Callable[[Message], int],
    *,
    recent: int | None,
    task: Message | None,
) -> tuple[Message, ...]:
    """Return the messages that fit into a budget.

    Args:
        messages: The conversation.
        budget: Limit on the sum of sizes.
        size: Size of one message.
        recent: Number of newest groups to keep before the most important older ones; ``None``: only
            the newest groups, without a gap.
        task: A message that stays.
    """
    whole = len(messages)
    if recent is None:
        messages = _reachable(messages, budget, size, task)
    if sum(map(size, messages)) <= budget:
        return messages
    bare = without_thinking(messages)
    groups = split(bare)
    sizes = [sum(map(size, group)) for group in groups]
    kept = set(range(newest(groups), len(groups)))
    first = first_user(groups)
    if first is not None:
        kept.add(first)
    kept.update(index for index, group in enumerate(groups) if group[0] is task)
    room = budget - sum(sizes[index] for index in kept)
    older = [index for index in reversed(range(len(groups))) if index not in kept]
    border = 0 if recent is None else len(groups) - recent
    room = _fill(kept, room, sizes, (index for index in older if index >= border))
    if recent is not None:
        _gather(kept, room, sizes, groups, older)
    if len(kept) == len(groups) and len(messages) == whole and sum(sizes) > budget:
        return messages  # every group must stay, and they do not fit even without reasoning
    return tuple(message for index in sorted(kept) for message in groups[index])


def _reachable(
    messages: tuple[Message, ...],
    budget: int,
    size: Callable[[Message], int],
    task: Message | None,
) -> tuple[Message, ...]:
    """Drop messages too old for any window of this budget, except those that always stay.

    So the cost of turn 1,000 depends on the window, not on the whole conversation.
    """
    if not messages or not isinstance(messages[0], UserMessage):
        return messages
    for index in range(len(messages) - 1, 0, -1):
        message = messages[index]
        budget -= size(without_thinking((message,))[0])
        # Every assistant message begins a group, so no group is split here.
        if budget < 0 and isinstance(message, AssistantMessage):
            kept = (each for each in messages[1:index] if each is task)
            return (messages[0], *kept, *messages[index:])
    return messages


def _fill(kept: set[int], room: int, sizes: list[int], order: Iterable[int]) -> int:
    """Keep groups up to the first that does not fit; return the room that is left."""
    for index in order:
        if sizes[index] > room:
            break
        kept.add(index)
        room -= sizes[index]
    return room


def _gather(
    kept: set[int], room: int, sizes: list[int], groups: tuple[Group, ...], older: list[int]
) -> None:
    """Keep the most important groups that fit, newer before older at equal rank."""
    for index in sorted(older, key=lambda index: -importance(groups[index])):
        if index not in kept and sizes[index] <= room:
            kept.add(index)
            room -= sizes[index]
