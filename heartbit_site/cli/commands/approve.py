"""`heartbit approve`."""

from __future__ import annotations

from enum import StrEnum

import typer

from heartbit_site.cli import options, remote_options
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.kinds import APPROVAL


class Scope(StrEnum):
    """Scope of a standing permission."""

    RUN = "run"
    AGENT = "agent"


RUN = typer.Argument(None, metavar="RUN", help="The run's id, or how it begins; none: all runs.")
CALL = typer.Argument(None, metavar="CALL", help="Decide this call, e.g. 1.0; none: all.")
YES = typer.Option(options.OFF, "--yes", "-y", help="Let it run as it was shown.")
EDIT = typer.Option(None, "--edit", metavar="JSON", help="Let it run with these arguments.")
ANSWER = typer.Option(
    None, "--answer", metavar="TEXT", help="Answer it, if it is a question: text, or JSON."
)
DENY = typer.Option(None, "--deny", metavar="REASON", help="Do not; the model reads why.")
ALWAYS = typer.Option(
    None, "--always", help="With --yes: such calls in this run, or of this agent, from now on."
)
UNTIL = typer.Option(
    None, "--until", metavar="WHEN", help="With --always: 2h, 3d, 2026-12-31; else for good."
)
DIGEST = typer.Option("", "--digest", help="Only the call that --json showed with it.")


def approve(
    run: str | None = RUN,
    call: str | None = CALL,
    *,
    yes: bool = YES,
    edit: str | None = EDIT,
    reply: str | None = ANSWER,
    deny: str | None = DENY,
    always: Scope | None = ALWAYS,
    until: str | None = UNTIL,
    digest: str = DIGEST,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Decide tool calls that wait for a person.

    Without a run it lists what waits. On a terminal it then asks, one call after the other.
    What an agent asks with ask_human is answered here as well.
    """
    from heartbit_site.cli import pending_calls
    from heartbit_site.cli.choices import ApproveOptions

    texts = (edit, reply, deny)
    if run is None and (yes or any(text is not None for text in texts)):
        raise CommandError("Name the run whose calls you decide: `heartbit approve` lists.", USAGE)
    order = ApproveOptions(
        yes=yes,
        edit=edit,
        answer=reply,
        deny=deny,
        always=always.value if always else None,
        until=until,
        digest=digest,
    )
    raise typer.Exit(pending_calls.answer(APPROVAL, run, call, order, url=url, as_json=as_json))


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(approve)
