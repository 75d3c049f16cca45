"""The document about crash points, made from the data that the tests play.

python -m tests.chaos.crash_points.document > docs/architecture/crash-points.md
"""

from __future__ import annotations

import sys

from agents.choices import RunKind
from heartbit_site.base.toolspec import Effect
from tests.chaos.crash_points.table import (
    CALL_BOUNDARIES,
    SCRIPT_BOUNDARIES,
    TELL,
    WORDS,
    Case,
    Word,
    expected,
)
from tests.chaos.crashes.boundary import MEANING, Boundary

_HEAD = """\
# When a worker dies

The outcome of a run whose worker is killed at a given moment, for a tool of each
[effect class](durability.md#tools-the-effect-class-decides): for readers who want to know exactly
what can happen twice. Every cell below is a test: `make chaos ONLY=R2` kills a worker process at
that moment, once and twice, ten times each, and compares the run, its journal and the logs of the
effects outside of Heartbit. This page is generated from the same data
(`python -m tests.chaos.crash_points.document`); a test compares the two.

In every case another worker continues the run, within a lease and a sweep, and **the run
succeeds**. The cases differ in the number of effects, the end of the call, and whether the model is
called again:

* **1** means one effect; **1 + n** means one more for each of n crashes at that moment, all under
  the same idempotency key. A pure tool has no effect, so its executions are counted.
* Pure and transactional calls have no intent: for them "before the intent" means before the call
  begins, and "after the intent" when its function is called.
* A call is **ok**, or **uncertain** if it cannot be known whether it took effect.
* **+ n model calls**: the answer was in flight or not committed yet, so the model is called again.
  In all other rows the model is called exactly once for every answer.
"""

_DOUBT = """\
## When it is unknown whether a call took effect

If a worker dies between the intent and the result of an at-most-once call, the call is not
repeated automatically. The table above is for an agent whose `uncertain_calls` is `tell_model`: the
model reads that the outcome is unknown, and the run continues. All settings:

| `uncertain_calls` | a person's resolution | died before the act | died after the act | the call |
|---|---|---|---|---|
"""


_CALL = """\
## A run that is one tool call

A scheduled tool call has no model that could handle an uncertain call: **the run fails** if its
call ends as uncertain, and succeeds in every other case. A person can resolve the call as above.
"""


_SCRIPT = """\
## A call of a script

In [code mode](../howto/code-mode.md) a script of the model makes the call. The next worker
continues the script from its last snapshot. An uncertain call raises an exception in the script,
and the run succeeds.
"""


def text() -> str:
    """The whole document."""
    head = ["| the worker dies | " + " | ".join(effect.value for effect in Effect) + " |"]
    head.append("|---" * (len(Effect) + 1) + "|")
    rows = [_row(boundary, RunKind.AGENT) for boundary in Boundary]
    calls = [_row(boundary, RunKind.TOOL_CALL) for boundary in CALL_BOUNDARIES]
    doubt = "\n".join(_doubt(word) for word in (TELL, *WORDS))
    scripts = [_row(boundary, RunKind.AGENT) for boundary in SCRIPT_BOUNDARIES]
    parts = [_HEAD, *head, *rows, "", _DOUBT.rstrip("\n"), doubt, "", _CALL, *head, *calls, ""]
    parts += [_SCRIPT, *head, *scripts, ""]
    return "\n".join(parts)


def _row(boundary: Boundary, kind: RunKind) -> str:
    cells = (_cell(boundary, effect, kind) for effect in Effect)
    return f"| {MEANING[boundary]} | {' | '.join(cells)} |"


def _cell(boundary: Boundary, effect: Effect, kind: RunKind) -> str:
    once = expected(Case(boundary, effect, 1, kind=kind))
    twice = expected(Case(boundary, effect, 2, kind=kind))
    asked = ", + n model calls" if once.asked_again else ""
    return f"{_times(once.effects, twice.effects)}, {once.call}{asked}"


def _times(once: int, twice: int) -> str:
    return str(once) if once == twice else f"{once - 1} + n"


def _doubt(word: Word) -> str:
    before, after = (
        expected(Case(boundary, Effect.AT_MOST_ONCE, 1, word))
        for boundary in (Boundary.ACTING, Boundary.ACTED)
    )
    cells = (
        f"`{word.policy}`",
        word.said or "none",
        *(_effects(state.effects) for state in (before, after)),
        after.call,
    )
    return f"| {' | '.join(cells)} |"


def _effects(count: int) -> str:
    return "1 effect" if count == 1 else f"{count} effects"


if __name__ == "__main__":
    sys.stdout.write(text())
