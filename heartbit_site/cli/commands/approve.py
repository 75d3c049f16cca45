"""`heartbit approve`."""

from __future__ import annotations

from datetime import datetime

import typer

from heartbit_site.cli import options
from heartbit_site.cli.decisions import Answer, Approve, Choice, Deny, Edit, Scope
from heartbit_site.cli.errors import UsageError
from heartbit_site.cli.kinds import APPROVAL
from heartbit_site.cli.pending_calls import list_or_decide
from heartbit_site.cli.times import until as parse_until

CALL = typer.Argument(None, metavar="CALL", help="Decide this call, e.g. 1.0; none: all.")
YES = typer.Option(options.OFF, "--yes", "-y", help="Let it run as it was shown.")
EDIT = typer.Option(None, metavar="JSON", help="Let it run with these arguments.")
ANSWER = typer.Option(None, metavar="TEXT", help="Answer it, if it is a question: text, or JSON.")
DENY = typer.Option(None, metavar="REASON", help="Do not; the model reads why.")
ALWAYS = typer.Option(
    None, help="With --yes: such calls in this run, or of this agent, from now on."
)
UNTIL = typer.Option(None, metavar="WHEN", help="With --always: 2h, 3d, 2026-12-31; else for good.")
DIGEST = typer.Option("", help="Only the call that --json showed with it.")


def approve(
    run: str | None = options.ANY_RUN,
    call: str | None = CALL,
    *,
    yes: bool = YES,
    edit: str | None = EDIT,
    answer: str | None = ANSWER,
    deny: str | None = DENY,
    always: Scope | None = ALWAYS,
    until: str | None = UNTIL,
    digest: str = DIGEST,
) -> int:
    """Decide tool calls that wait for a person.

    Without a run it lists what waits. On a terminal it then asks, one call after the other.
    What an agent asks with ask_human is answered here as well.
    """
    choice = choice_of(yes=yes, edit=edit, answer=answer, deny=deny, always=always, until=until)
    return list_or_decide(APPROVAL, run, call, choice, digest=digest)


def choice_of(
    *,
    yes: bool = False,
    edit: str | None = None,
    answer: str | None = None,
    deny: str | None = None,
    always: Scope | None = None,
    until: str | None = None,
) -> Choice | None:
    """Return the choice that the options make; None: the person is asked.

    Raises:
        CommandError: The options contradict each other, or `until` is no moment to come.
    """
    if yes + sum(text is not None for text in (edit, answer, deny)) > 1:
        raise UsageError("Say one of --yes, --edit, --answer and --deny.")
    if always is None and until is not None:
        raise UsageError("--until goes with --always run or --always agent.")
    if always is not None and not yes:
        raise UsageError("--always goes with --yes.")
    if edit is not None:
        return Edit(edit)
    if answer is not None:
        return Answer(answer)
    if deny is not None:
        return Deny(deny)
    if not yes:
        return None
    return Approve(
        always, None if until is None else parse_until(until, datetime.now().astimezone())
    )
