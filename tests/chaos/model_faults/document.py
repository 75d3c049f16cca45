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

What a run does when its provider refuses, stalls, breaks off or answers with nonsense: look here
when a run failed because of its model. Every line below is a test: `make chaos ONLY=R15` runs it in
the dialects of OpenAI and Anthropic, with the HTTP client for providers from the environment and
with the guarded one for addresses that users entered, and in part on a worker process. This page is
generated from the same data (`python -m tests.chaos.model_faults.document`); a test compares the
two.

Six rules explain nearly all lines:

1. **Only a complete answer counts.** An answer is complete once the provider has sent the reason
   why it ends: `finish_reason`, or `stop_reason` in Anthropic's dialect. The usage and the end mark
   (`[DONE]`, `message_stop`) may be missing: tokens are then estimated. Without a reason the answer
   was cut off: its streamed text is discarded, its tool calls are not run, and it is not journaled.
2. **Transient faults are retried**, `max_retries` times, after a random pause whose upper bound
   starts at `retry_base_delay_ms`, doubles with each retry, and exceeds neither
   `retry_max_delay_ms` nor 10 s; or after the pause that the provider names. Permanent faults, and
   answers that are too large, are not retried.
3. **A long pause holds no worker.** Pauses up to 10 s are waited in the worker. For longer ones the
   run is `waiting` on a timer, for at most an hour at a time; earlier attempts still count.
4. **An invalid tool call goes back to the model.** The tool does not run; the model gets the reason
   as the call's result, and the run continues.
5. **An empty answer is not a success.** The model is asked for an answer twice more. After that, or
   at once if it reached the limit of its answer or refused, the run fails with this reason. Empty
   answers are not part of later requests. Text between `<think>` and `</think>` is not an answer.
6. **`timeout_seconds` ends everything**, at most {grace:g} s late. Waiting without a worker does
   not count towards it.

In the sentences, MODEL is `provider:model`, HOST is the provider's address, KEY is the source of
its key, and the text in brackets is the provider's message.
"""

_ROUTES = """\
## Two remarks

* Accounts with their own base URL use the guarded client. It requests gzip and unpacks it within
  its size limit, so a compressed stream is not a fault there. Neither client follows redirects: a
  prompt is sent only to the configured address.
* Token counts that are negative or not numbers are counted as 0, and absurd ones as
  2,147,483,647, the most the ledger holds. If both are 0 or missing, they are estimated from the
  texts. A limit of tokens a minute is charged at most one minute's worth for a call, whatever the
  provider says.
"""


def text() -> str:
    """The whole document."""
    rows = [_row(mode) for mode in (*MODES, CUT)]
    table = "\n".join(
        ["| fault | the run | a person sees | repeated |", "|---|---|---|---|", *rows]
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
