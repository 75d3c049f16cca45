"""`heartbit answer`."""

from __future__ import annotations

from typing import Final

import typer

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.backend.checked import checked
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import CommandError, UsageError
from heartbit_site.cli.terminal.output import TEXT_WIDTH, one_line
from heartbit_site.cli.terminal.table import Table, print_done, print_list
from heartbit_site.contract.waits import ANSWER_WAIT, LIST_WAITS, AnswerIn, WaitOut

RUN = typer.Argument(None, metavar="RUN", help="The run's id, or how it begins; none: list all.")
ANSWER = typer.Argument(
    None, metavar="ANSWER", help="The answer as JSON, null to decline; none: list the run's."
)
WAIT = typer.Option("", metavar="KEY", help="Answer this one of several waits of the run.")


def answer(run: str | None = RUN, text: str | None = ANSWER, *, wait: str = WAIT) -> int:
    """List and answer other waits of runs.

    That is what waits for a person and is no tool call to approve or resolve. Without an answer it
    is listed.
    """
    if run is None or text is None:
        return print_list(backend().every(LIST_WAITS, run=run), WAITS)
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


WAITS: Final = Table[WaitOut](
    {
        "RUN": lambda wait: wait.run_id[: common.SHORT_ID],
        "WAIT": lambda wait: wait.key,
        "FOR": lambda wait: wait.label,
        "AGENT": lambda wait: wait.agent,
        "TOOL": lambda wait: wait.tool,
        "QUESTION": lambda wait: one_line(wait.question, TEXT_WIDTH),
    },
    none="Nothing waits for an answer.",
)
