"""What has to come of a run whose worker dies at a boundary: the promise, as data. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from agents.choices import RunKind
from heartbit_site.base.toolspec import Effect
from tests.chaos.crashes.boundary import Boundary

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Passed once by any run: what made it pass is committed.
_ONCE = frozenset(
    {
        Boundary.ANSWER_JOURNALED,
        Boundary.RESULT_JOURNALED,
        Boundary.SUSPENDED,
        Boundary.FINISHED,
    }
)
_IN_DOUBT = frozenset({Boundary.ACTING, Boundary.ACTED})
#: What a run passes that is one tool call and waits for nothing.
CALL_BOUNDARIES = (
    Boundary.CLAIMED,
    Boundary.INTENDING,
    Boundary.ACTING,
    Boundary.ACTED,
    Boundary.RESULT_JOURNALED,
    Boundary.FINISHING,
    Boundary.FINISHED,
)
#: What a call of a script passes. The intent follows the entry of the script's calls at once.
SCRIPT_BOUNDARIES = (
    Boundary.ANSWER_JOURNALED,
    Boundary.INTENDING,
    Boundary.ACTING,
    Boundary.ACTED,
    Boundary.RESULT_JOURNALED,
)
#: In the covering cases.
_TWICE = frozenset({4, 7, 10})
_REPEATS = frozenset({Effect.PURE, Effect.IDEMPOTENT})


@dataclass(frozen=True, slots=True)
class Word:
    """What follows when nobody can know whether an at-most-once call took effect.

    Attributes:
        policy: The agent's ``uncertain_calls``.
        said: What a person says when the policy is to ask; empty: nobody is asked.
    """

    policy: str
    said: str = ""


TELL = Word("tell_model")
WORDS = (
    Word("ask_human", "retried"),
    Word("ask_human", "confirmed"),
    Word("ask_human", "skipped"),
    Word("retry"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One run: where its worker dies, what tool it uses, how many workers die, and its kind.

    Attributes:
        in_script: Whether a script of the model makes the call.
    """

    boundary: Boundary
    effect: Effect
    deaths: int
    word: Word = TELL
    kind: RunKind = RunKind.AGENT
    in_script: bool = False

    @property
    def in_doubt(self) -> bool:
        """Whether it becomes unknown if the call took effect."""
        return self.effect is Effect.AT_MOST_ONCE and self.boundary in _IN_DOUBT

    @property
    def passed_once(self) -> bool:
        """Whether no later slice passes the boundary again."""
        return self.boundary in _ONCE or (self.in_doubt and self.word.policy != "retry")

    @property
    def plan(self) -> tuple[Boundary, ...]:
        """Where workers die, in this order."""
        if self.deaths == 1:
            return (self.boundary,)
        return (Boundary.CLAIMED if self.passed_once else self.boundary, self.boundary)


@dataclass(frozen=True, slots=True)
class State:
    """How a run ended, as far as it was promised.

    Attributes:
        run: Its status.
        call: Its tool call's status.
        effects: How often the tool took effect, or for a pure one, was executed.
        keys: Under how many idempotency keys.
        asked_again: Model calls beyond one for each turn.
        questions: How often a person was asked what became of the call.
    """

    run: str
    call: str
    effects: int
    keys: int
    asked_again: int
    questions: int = 0


def expected(case: Case) -> State:
    """The one state a case may end in."""
    here = sum(boundary == case.boundary for boundary in case.plan)
    is_call = case.kind is RunKind.TOOL_CALL
    asks = not is_call and case.boundary in (Boundary.ANSWERED, Boundary.FINISHING)
    again = here if asks else 0
    effects = _effects(case, here)
    asked = case.in_doubt and case.word.policy == "ask_human"
    call = _call(case)
    return State(
        run="failed" if is_call and call != "ok" else "succeeded",
        call=call,
        effects=effects,
        keys=min(effects, 1),
        asked_again=again,
        questions=int(asked),
    )


def _call(case: Case) -> str:
    told = case.word.policy == "tell_model" or case.word.said == "skipped"
    return "uncertain" if case.in_doubt and told else "ok"


def _effects(case: Case, deaths: int) -> int:
    acted = case.boundary is Boundary.ACTED
    if case.in_doubt:
        repeated = case.word.policy == "retry" or case.word.said == "retried"
        return (deaths if acted else 0) + repeated
    return 1 + (deaths if acted and case.effect in _REPEATS else 0)


def cases() -> Iterator[Case]:
    """Every kind, boundary, class and number of deaths; if it matters, every word about doubt."""
    kinds = {RunKind.AGENT: tuple(Boundary), RunKind.TOOL_CALL: CALL_BOUNDARIES}
    for kind, boundaries in kinds.items():
        for boundary, effect, deaths in product(boundaries, Effect, (1, 2)):
            case = Case(boundary, effect, deaths, kind=kind)
            yield case
            if case.in_doubt:
                for word in WORDS:
                    yield replace(case, word=word)
    for boundary, effect, deaths in product(SCRIPT_BOUNDARIES, Effect, (1, 2)):
        yield Case(boundary, effect, deaths, in_script=True)


def covering() -> Iterator[Case]:
    """Each kind's boundaries, each class, each number of deaths, and all doubt, in few cases."""
    for number, boundary in enumerate(Boundary):
        effect = tuple(Effect)[number % len(Effect)]
        # Two deaths without any progress would make it a suspect, tried alone: that takes longer.
        yield Case(boundary, effect, 2 if number in _TWICE else 1)
    yield Case(Boundary.ACTED, Effect.IDEMPOTENT, 1)
    yield Case(Boundary.ACTING, Effect.AT_MOST_ONCE, 1)
    for word in WORDS:
        yield Case(Boundary.ACTED, Effect.AT_MOST_ONCE, 1, word)
    for number, boundary in enumerate(CALL_BOUNDARIES):
        effect = tuple(Effect)[number % len(Effect)]
        yield Case(boundary, effect, 1, kind=RunKind.TOOL_CALL)
    yield Case(Boundary.ACTING, Effect.AT_MOST_ONCE, 1, kind=RunKind.TOOL_CALL)
    for number, boundary in enumerate(SCRIPT_BOUNDARIES):
        effect = tuple(Effect)[number % len(Effect)]
        yield Case(boundary, effect, 1, in_script=True)
    yield Case(Boundary.ACTED, Effect.AT_MOST_ONCE, 1, in_script=True)
