"""The form of a scripted conversation, with what its model proposes and what is known after it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proposed:
    """A memory that the scripted model proposes.

    Attributes:
        quote: Words that it says it quotes, which may be said nowhere.
        right: True if it should be stored.
        line: Number of the quoted line.
        replaces: Text of the memory to replace, if the model is shown it; or a guessed number.
    """

    text: str
    quote: str
    right: bool = True
    line: int = 1
    replaces: str | int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """A run: what a person says, the agent's answer, and what a model makes of both.

    Attributes:
        person: Index of the person, 0 or 1.
        tool: Name of a tool that the agent calls first; empty: none.
        is_late: True if memories are extracted from it only after the next session.
    """

    text: str
    proposed: tuple[Proposed, ...] = ()
    answer: str = "Noted."
    person: int = 0
    tool: str = ""
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Scripted:
    """Sessions of one or two persons with an agent.

    Attributes:
        kind: What it shows.
        known: Memories of the first person before.
        after: Persons and the texts that should be known of them, without ``known``.
        superseded: Pairs of a text and the one that should have taken its place.
        is_thread: True if the sessions are runs of one conversation of Heartbit.
    """

    kind: str
    sessions: tuple[Session, ...]
    after: frozenset[tuple[int, str]]
    known: tuple[str, ...] = ()
    superseded: tuple[tuple[str, str], ...] = ()
    is_thread: bool = False
