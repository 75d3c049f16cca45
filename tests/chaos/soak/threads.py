"""Whose request it was: the model server knows a conversation only by its first message. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.chaos.records import Asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.chaos.records import Run


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of a conversation: from when it is asked for, after so many answers before it."""

    name: str
    since: float
    before: int


def attributed(asked: Sequence[Asked], threads: Sequence[Sequence[Run]]) -> tuple[Asked, ...]:
    """The requests with the names and turns of the runs that made them.

    One run of a conversation works at a time, so a request is the last started one's. What came
    late would look like a repeat of the next run's, which is not excused.
    """
    parts = {thread[0].name: _parts(thread) for thread in threads if thread}
    return tuple(_owned(each, parts[each.run]) if each.run in parts else each for each in asked)


def _parts(thread: Sequence[Run]) -> list[_Part]:
    parts, before = [], 0
    for run in thread:
        starts = (event.at for event in run.events if event.type == "run.started")
        since = next(starts, None)
        if since is not None:
            parts.append(_Part(run.name, since, before))
        before += run.status == "succeeded"
    return parts


def _owned(asked: Asked, parts: Sequence[_Part]) -> Asked:
    owner = next((part for part in reversed(parts) if part.since <= asked.at), None)
    if owner is None:
        return asked
    return Asked(owner.name, asked.turn - owner.before, asked.at)
