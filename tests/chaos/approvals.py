"""What a decision allows, compared with what then happened. Pure, like the checker that uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.chaos.records import Call, Decided, Effect, Run

#: What an edit adds to the name of an effect.
EDITED = "~edited"
#: The ends of a call that ran, or whose worker died while it did.
RAN = frozenset({"ok", "uncertain"})


def origin(op: str) -> str:
    """The effect the model asked for, whatever a person made of it."""
    return op.partition("~")[0]


def broken(
    run: Run, call: Call, decided: Sequence[Decided], effects: Sequence[Effect]
) -> list[str]:
    """Each way in which a call did not follow its decision.

    Args:
        run: The call's run.
        call: It has an effect outside.
        decided: What was decided about it.
        effects: What happened of it, with whatever arguments.
    """
    if not call.guarded:
        faults = ["was decided although nobody was to be asked"] if decided else []
        return faults + _others(call.op, effects)
    if not decided:
        ran = bool(effects) or call.status in RAN
        return ["was executed without a decision"] if ran else []
    if len(decided) > 1:
        return [f"was decided {len(decided)} times"]
    return list(_against(run, call, decided[0], effects))


def _against(run: Run, call: Call, word: Decided, effects: Sequence[Effect]) -> Iterator[str]:
    if word.verdict == "denied":
        if effects or call.status in RAN:
            yield "was executed although it was denied"
        return
    yield from _others(word.op, effects)
    if any(effect.at < word.at for effect in effects):
        yield "was executed before it was decided"
    if run.status == "succeeded" and call.status not in RAN:
        yield f"is {call.status} although it was {word.verdict} and its run succeeded"


def _others(op: str, effects: Sequence[Effect]) -> list[str]:
    return [f"was executed as {effect.op}, not as {op}" for effect in effects if effect.op != op]
