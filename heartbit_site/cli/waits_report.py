"""Results of `heartbit answer`. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.output import one_line, write, write_view
from heartbit_site.cli.table import print_table
from heartbit_site.contract.waits import ANSWER_WAIT, LIST_WAITS, AnswerIn

if TYPE_CHECKING:
    from heartbit_site.contract.waits import WaitOut

COLUMNS: Final = ("RUN", "WAIT", "FOR", "AGENT", "TOOL")
SHORT_ID: Final = 18  # of a run's: its milliseconds and what tells their runs apart


def list_all(url: str | None, run: str | None, *, as_json: bool) -> int:
    """List what waits for an answer, of one run or of all."""
    found = backend_for(url).every(LIST_WAITS, run=run)
    if as_json:
        write_view(found)
    elif not found.waits:
        write("Nothing waits for an answer.")
    else:
        print_table(COLUMNS, [_cells(wait) for wait in found.waits])
    return OK


def answer(url: str | None, run: str, text: str, key: str, *, as_json: bool) -> int:
    """Answer the wait of a run.

    Raises:
        CommandError: The answer is no JSON, nothing waits there, or several do and none is named.
    """
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise CommandError(f"The answer is no JSON: {error}", USAGE) from error
    backend = backend_for(url)
    found = [one for one in backend.every(LIST_WAITS, run=run).waits if key in ("", one.key)]
    if not found:
        raise CommandError(f"Nothing waits for an answer in run {one_line(run)[:36]}.")
    if len(found) > 1:
        names = ", ".join(one_line(f"{one.key} of run {one.run_id}") for one in found)
        raise CommandError(f"Several waits are open: name one with --wait: {names}.", USAGE)
    wait = found[0]
    body = checked(AnswerIn, {"answer": value})
    answered = backend.call(ANSWER_WAIT, body, run_id=wait.run_id, key=wait.key)
    if as_json:
        write_view(answered)
    else:
        write(f"Answered: {one_line(wait.label)} of {one_line(wait.agent)}.")
    return OK


def _cells(wait: WaitOut) -> tuple[str, ...]:
    tool = one_line(wait.tool)
    return (wait.run_id[:SHORT_ID], one_line(wait.key), one_line(wait.label), wait.agent, tool)
