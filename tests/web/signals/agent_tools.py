"""A kind of wait that a person ends with a word, and the tool that waits for it."""

from __future__ import annotations

from agents.journal.waits import ANSWER, WaitKind, register
from heartbit_site.base.suspensions import Suspension, WaitOutcome
from heartbit_site.base.toolspec import Effect, tool

SIGNAL = register(
    WaitKind("signal", "Signal", "a signal", ANSWER, answer={"type": "string", "minLength": 2})
)


def received(outcomes: tuple[WaitOutcome, ...]) -> str:
    value = outcomes[0].value
    return f"The signal is {value['answer']}." if value["status"] == "answered" else "None came."


@tool(effect=Effect.PURE, resume=received)
async def await_signal(track: int, seconds: float = 3600) -> Suspension:
    """Wait for the signal of a track."""
    return Suspension((), seconds, kind=SIGNAL.name)


@tool(effect=Effect.PURE, resume=received)
async def misuse() -> Suspension:
    """Wait for a decision that nobody is asked for."""
    return Suspension((), 60, kind="approval")
