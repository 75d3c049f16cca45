"""`heartbit resolve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from heartbit_site.cli import options
from heartbit_site.cli.decisions import Settle
from heartbit_site.cli.errors import UsageError
from heartbit_site.cli.kinds import OUTCOME
from heartbit_site.cli.pending_calls import list_or_decide

if TYPE_CHECKING:
    from heartbit_site.cli.decisions import Outcome

CALL = typer.Argument(None, metavar="CALL", help="Resolve this call of the run, e.g. 1.0.")
RETRY = typer.Option(
    options.OFF, "--retry", help="Make the call again: its effect may happen twice."
)
CONFIRM = typer.Option(options.OFF, "--confirm", help="Record that the call took effect.")
RESULT = typer.Option(None, metavar="TEXT", help="With --confirm: result that the model reads.")
SKIP = typer.Option(
    options.OFF, "--skip", help="Leave the call; the model reads that its outcome is unknown."
)


def resolve(
    run: str | None = options.ANY_RUN,
    call: str | None = CALL,
    *,
    retry: bool = RETRY,
    confirm: bool = CONFIRM,
    result: str | None = RESULT,
    skip: bool = SKIP,
) -> int:
    """Resolve tool calls whose worker died while they ran.

    Without a run it lists them. On a terminal it then asks, one call after the other.
    """
    choice = choice_of(retry=retry, confirm=confirm, result=result, skip=skip)
    return list_or_decide(OUTCOME, run, call, choice)


def choice_of(
    *, retry: bool = False, confirm: bool = False, result: str | None = None, skip: bool = False
) -> Settle | None:
    """Return the choice that the options make; None: the person is asked.

    Raises:
        CommandError: The options contradict each other.
    """
    said: dict[Outcome, bool] = {"retry": retry, "confirm": confirm, "skip": skip}
    chosen = [outcome for outcome, is_said in said.items() if is_said]
    if len(chosen) > 1:
        raise UsageError("Say one of --retry, --confirm and --skip.")
    if result is not None and not confirm:
        raise UsageError("--result goes with --confirm.")
    return Settle(chosen[0], result or "") if chosen else None
