"""Results of `heartbit answer`. No Django."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.output import one_line
from heartbit_site.cli.run_names import SHORT_ID
from heartbit_site.cli.table import Table, print_done, print_list
from heartbit_site.contract.waits import ANSWER_WAIT, LIST_WAITS, AnswerIn, WaitOut

WAITS: Final = Table[WaitOut](
    {
        "RUN": lambda wait: wait.run_id[:SHORT_ID],
        "WAIT": lambda wait: wait.key,
        "FOR": lambda wait: wait.label,
        "AGENT": lambda wait: wait.agent,
        "TOOL": lambda wait: wait.tool,
    }
)


def list_all(url: str | None, run: str | None, *, as_json: bool) -> int:
    """List what waits for an answer, of one run or of all."""
    found = backend_for(url).every(LIST_WAITS, run=run)
    none = "Nothing waits for an answer."
    return print_list(found, WAITS.of(found.waits), none=none, as_json=as_json)


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
    sentence = f"Answered: {one_line(wait.label)} of {one_line(wait.agent)}."
    return print_done(answered, sentence, as_json=as_json)
