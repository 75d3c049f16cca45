"""`heartbit answer`."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.backend.chosen import backend, print_all
from heartbit_site.cli.backend.protocol import checked
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import CommandError, UsageError
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.cli.terminal.table import Table, print_done
from heartbit_site.contract.waits import ANSWER_WAIT, LIST_WAITS, AnswerIn, WaitOut

RUN = common.argument("RUN", "The run's id, or how it begins; none: list all.", None)
ANSWER = common.argument(
    "ANSWER", "The answer as JSON, null to decline; none: list the run's.", None
)
WAIT = common.option("KEY", "Answer this one of several waits of the run.")


def answer(run: str | None = RUN, text: str | None = ANSWER, *, wait: str = WAIT) -> int:
    """List and answer other waits of runs.

    That is what waits for a person and is no tool call to approve or resolve. Without an answer it
    is listed.
    """
    if run is None or text is None:
        return print_all(LIST_WAITS, WAITS, run=run)
    try:
        body = checked(AnswerIn, {"answer": parse_untrusted_json(text)})
    except UntrustedJSONError as error:
        raise UsageError(f"The answer is no JSON: {error}") from error
    server = backend()
    open_waits = server.every(LIST_WAITS, run=run).waits
    named = [one for one in open_waits if wait in ("", one.key)]
    if not named:
        raise CommandError(f"Nothing waits for an answer in run {one_line(run)[:36]}.")
    if len(named) > 1:
        names = ", ".join(one_line(f"{one.key} of run {one.run_id}") for one in named)
        raise UsageError(f"Several waits are open: name one with --wait: {names}.")
    [chosen] = named
    answered = server.call(ANSWER_WAIT, body, run_id=chosen.run_id, key=chosen.key)
    sentence = f"Answered: {one_line(chosen.label)} of {one_line(chosen.agent)}."
    return print_done(answered, sentence)


WAITS: Final = Table.of(
    WaitOut,
    "RUN WAIT=key FOR=label AGENT TOOL QUESTION=question:300",
    none="Nothing waits for an answer.",
    RUN=lambda wait: wait.run_id[: common.SHORT_ID],
)
