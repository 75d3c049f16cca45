"""What a fault of a model provider is, and what the run has to do then; and its usual kinds. Pure.

``sees`` is the exact sentence, in which ``MODEL`` stands for ``provider:model`` and ``HOST`` for
the host and port it was looked for at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RETRIES = 2  # the agent's max_retries in this scenario
DEADLINE = 30  # its timeout_seconds where a mode does not say
GRACE_SECONDS = 5.0

Where = Literal["provider", "closed", "garbage"]
ANSWER = "All is well."
STOPPED = "Stopped after working {} s (timeout_seconds of faulty)."

ONCE = "the call, from its beginning"
ALL = "the call, max_retries times"
NOTHING = "nothing"
TOLD = "nothing: the model reads the reason, and the run continues"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One fault.

    Attributes:
        name: Of its script in ``replies``.
        fault: What the provider does.
        does: What the run does.
        sees: What a person sees: why it failed, what the tool call's line says, or the answer.
        retried: What is done again.
        ends: The run's last status; ``kind`` of its error when it failed.
        calls: Requests the server gets, all turns together; None: as many as fit into the time.
        answers: Answers that the journal of a failed run holds.
        effects: Tool calls that act.
        told: Whether ``sees`` is a tool call's result.
        deadline: The agent's ``timeout_seconds``.
        wait: Seconds that the provider asked for, to be waited out.
        suspended: Whether the run waits for them without a worker.
        where: Where the model is looked for.
        attempts: The agent's ``max_retries``.
    """

    name: str
    fault: str
    does: str
    sees: str
    retried: str
    ends: Literal["succeeded", "failed"] = "succeeded"
    kind: str = ""
    calls: int | None = 1
    answers: int = 0
    effects: int = 0
    told: bool = False
    deadline: int = DEADLINE
    wait: float = 0.0
    suspended: bool = False
    where: Where = "provider"
    attempts: int = RETRIES

    @property
    def longest(self) -> float:
        """Seconds after which a run of the mode has to have ended."""
        waits = self.wait * 1.1 + 1.0 if self.suspended else 0.0
        return self.deadline + GRACE_SECONDS + waits


def passing(name: str, fault: str, *, does: str = "tries again and succeeds") -> Mode:
    """Once, then well."""
    return Mode(name=name, fault=fault, does=does, sees=ANSWER, retried=ONCE, calls=2)


def lasting(name: str, fault: str, sees: str, *, where: Where = "provider") -> Mode:
    """For ever, and worth trying again."""
    calls = 1 + RETRIES if where == "provider" else 0
    does = "tries again, then fails"
    return Mode(
        name=name,
        fault=fault,
        does=does,
        sees=sees,
        retried=ALL,
        ends="failed",
        kind="model",
        calls=calls,
        where=where,
    )


def final(name: str, fault: str, sees: str) -> Mode:
    """Nothing that another try could change."""
    return Mode(
        name=name,
        fault=fault,
        does="fails at once",
        sees=sees,
        retried=NOTHING,
        ends="failed",
        kind="model",
    )


def endless(name: str, fault: str, *, deadline: int = 3) -> Mode:
    """Only the run's own time ends it."""
    return Mode(
        name=name,
        fault=fault,
        does="stops at its timeout_seconds",
        sees=STOPPED.format(deadline),
        retried=NOTHING,
        ends="failed",
        kind="limit",
        deadline=deadline,
    )


def odd(name: str, fault: str, does: str, *, sees: str = "All is well.") -> Mode:
    """An answer with something strange in it that does no harm."""
    return Mode(name=name, fault=fault, does=does, sees=sees, retried=NOTHING)


def unserved(name: str, fault: str, sees: str) -> Mode:
    """A tool call that does not run."""
    return Mode(
        name=name,
        fault=fault,
        does="does not run the tool, and continues",
        sees=sees,
        retried=TOLD,
        calls=2,
        told=True,
    )


def served(name: str, fault: str, does: str, *, effects: int, calls: int = 2) -> Mode:
    """Tool calls that run."""
    retried = NOTHING if calls == 2 else ONCE
    return Mode(
        name=name,
        fault=fault,
        does=does,
        sees="Done.",
        retried=retried,
        calls=calls,
        effects=effects,
    )
