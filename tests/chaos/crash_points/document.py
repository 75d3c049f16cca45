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

What comes of a run whose worker is killed at a given moment, for a tool of each
[effect class](durability.md). Every cell below is a test: `make chaos ONLY=R2` kills a worker
process there, once and twice, ten times each, and compares the run, its journal and the ledgers of
what happened outside. This page is made from the same data
(`python -m tests.chaos.crash_points.document`); a test compares the two.

In every case another worker goes on, within a lease and a sweep, and **the run succeeds**. What
differs is how often the tool took effect, how the call ends, and whether the model is asked again:

* **1** means one effect; **1 + n** one more for each of the n deaths at that moment, all under the
  same idempotency key. A pure tool has no effect, so its executions are counted.
* A pure or a transactional call has no intent; "before the intent" is before it is begun, "after"
  it when its function is called.
* A call is **ok**, or **uncertain** when nobody can know whether it took effect.
* **+ n model calls**: the answer was on its way, or not committed yet, so it is asked for again. In
  all other rows every answer is asked for exactly once.
"""

_DOUBT = """\
## When it is unknown whether a call took effect

An at-most-once tool whose worker dies between the intent and the result is not repeated by
itself. The table above shows an agent whose `uncertain_calls` is `tell_model`: the model is
told, and the run goes on. All of them:

| `uncertain_calls` | what a person says | died before the act | died after the act | the call |
|---|---|---|---|---|
"""


_CALL = """\
## A run that is one tool call

A scheduled tool call has no model that could be told of an uncertain call: **the run fails** if its
call ends as uncertain, and succeeds in every other case. A person's word counts as above.
"""


_SCRIPT = """\
## A call of a script

In [code mode](../howto/code-mode.md) a script of the model makes the call. The worker that follows
takes the script from its last snapshot; a call whose effect is uncertain raises in the script, and
the run succeeds.
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
        word.said or "is not asked",
        *(_effects(state.effects) for state in (before, after)),
        after.call,
    )
    return f"| {' | '.join(cells)} |"


def _effects(count: int) -> str:
    return "1 effect" if count == 1 else f"{count} effects"


if __name__ == "__main__":
    sys.stdout.write(text())
