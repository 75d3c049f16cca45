"""The document about model faults, made from the data that the tests play.

python -m tests.chaos.model_faults.document > docs/architecture/model-faults.md
"""

from __future__ import annotations

import sys

from tests.chaos.model_faults.mode import GRACE_SECONDS, Mode
from tests.chaos.model_faults.modes import CUT, MODES

_SHOWN_CHARACTERS = 200

_HEAD = """\
# When a model provider misbehaves

What a run does when its provider refuses, stalls, breaks off or answers with nonsense. Every line
below is a test: `make chaos ONLY=R15` plays it in both dialects, through the client for providers
from the environment and through the guarded one for addresses that somebody typed in, and a part of
it on a worker process. This page is made from the same data
(`python -m tests.chaos.model_faults.document`); a test compares the two.

Six rules explain nearly all of it:

1. **An answer is whole or it is nothing.** It counts once the provider has said why it ends: with
   `finish_reason`, or `stop_reason` in Anthropic's dialect. What may follow, the usage and the end
   mark (`[DONE]`, `message_stop`), may be missing: tokens are then estimated. Without a reason the
   answer was cut off, whatever else has come. What streamed of it is void, its tool calls are not
   run, and the journal never sees it.
2. **What may pass is tried again**, `max_retries` times, after a random pause whose upper
   bound starts at `retry_base_delay_ms`, doubles with each retry, and exceeds neither
   `retry_max_delay_ms` nor 10 s; or after the pause that the provider names. What another try
   cannot change, and an answer that is too large, is not.
3. **A long pause holds no worker.** Up to 10 s are waited in place. For longer ones the run is
   `waiting` on a timer, for at most an hour at a time; the attempts before it count after it.
4. **A tool call that makes no sense is the model's to mend.** It gets the reason as the call's
   result and is asked on; the tool does not run.
5. **An empty answer is no success.** The model is asked for an answer twice more; then, or at once
   if it had reached the limit of its answer or refused, the run fails and says so. No later request
   repeats an empty answer. Thoughts between `<think>` and `</think>` are no answer.
6. **`timeout_seconds` ends everything**, at most {grace:g} s late. Waiting without a worker does
   not count towards it.

In the sentences, MODEL is `provider:model`, HOST where it was looked for, KEY where its key came
from, and what stands in brackets is what the provider said.
"""

_ROUTES = """\
## Two remarks

* An account with a base URL of its own goes through the guarded client. That one asks for gzip and
  unpacks it within its size limit, so a compressed stream is no fault there. No redirect is
  followed on either way: a prompt goes where it was sent, or nowhere.
* Token counts that are negative or not numbers are counted as 0, and absurd ones as
  2,147,483,647, the most the ledger holds. If both are 0 or missing, they are estimated from the
  texts. A limit of tokens a minute is charged at most one minute's worth for a call, whatever the
  provider says.
"""


def text() -> str:
    """The whole document."""
    rows = [_row(mode) for mode in (*MODES, CUT)]
    table = "\n".join(
        ["| fault | the run | a person sees | is done again |", "|---|---|---|---|", *rows]
    )
    return "\n".join([_HEAD.format(grace=GRACE_SECONDS), table, "", _ROUTES])


def _row(mode: Mode) -> str:
    cells = (mode.fault, f"{mode.does} ({_end(mode)})", _seen(mode), mode.retried)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _end(mode: Mode) -> str:
    return f"failed: {mode.kind}" if mode.kind else mode.ends


def _seen(mode: Mode) -> str:
    said = " ".join(mode.sees.split())
    if len(said) > _SHOWN_CHARACTERS and not mode.kind:
        return "the answer"
    if mode.told:
        return f"at the tool call: “{said}”"
    if mode.kind:
        return f"“{said}”"
    return "the answer"


if __name__ == "__main__":
    sys.stdout.write(text())
