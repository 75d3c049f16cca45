"""`heartbit runs fork`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from uuid import UUID

import typer

from heartbit_site.cli.backend.chosen import backend_for
from heartbit_site.cli.backend.protocol import Backend, checked
from heartbit_site.cli.following.streams import accepted
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import json_object
from heartbit_site.cli.options.shared import with_groups
from heartbit_site.cli.terminal.errors import CommandError, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.output import INVOCATION, note
from heartbit_site.cli.views.turn_text import effects
from heartbit_site.contract.calls import SHOW_CALL
from heartbit_site.contract.turns import FORK_RUN, SHOW_TURN, ForkIn

YES = common.flag("--yes -y", "Do not ask before effects happen again.")
LOCAL = common.flag("--local", "Run it in this process instead of on the fleet.")


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """Options for the new run, by the names that the REST API has for them."""

    turn: int | None = common.option(
        "--turn -t N", "The last turn that is kept; 0: only the task.", None, min=0
    )
    message: str = common.option("TEXT", "Add this message to the next model call.")
    task: str = common.option("TEXT", "Replace the task.")
    call_id: str = common.option("--call CALL", "A call of the turn, e.g. 2.0.")
    arguments: str | None = common.option(
        "JSON", "Replace the call's arguments: all calls of the turn run again.", None
    )
    result: str | None = common.option("TEXT", "Replace the result: nothing runs again.", None)
    version: int | None = common.option("NUMBER", "Use another version of the agent.", None, min=1)
    state: str | None = common.option("JSON", "Replace values of the workflow's state.", None)

    def body(self) -> ForkIn:
        """Return the request.

        Raises:
            CommandError: It would be refused.
        """
        given = asdict(self) | {"turn": last_turn(self.turn, self.call_id)}
        if self.arguments is not None:
            given["arguments"] = json_object(self.arguments, "--arguments", '{"url": "..."}')
        if self.state is not None:
            given["state"] = json_object(self.state, "--state", '{"rounds": 0}')
        return checked(
            ForkIn, {name: value for name, value in given.items() if value not in ("", None)}
        )


@with_groups
def fork(
    run: str = common.RUN,
    *,
    changes: ForkOptions,
    yes: bool = YES,
    local: bool = LOCAL,
    watch: bool = common.WATCH,
    plain: bool = common.PLAIN,
) -> int:
    """Start a new run that continues from a turn of another, with your changes.

    Work before that turn's end is not repeated. With --arguments the turn's calls run
    again, with their external effects.
    """
    if local and INVOCATION.url:
        raise UsageError("--local is this process, --url another machine: choose one.")
    body = changes.body()
    server = backend_for("" if local else INVOCATION.url)
    confirm(server, common.run_id_of(run), body, yes=yes)
    if not local:
        forked = server.call(FORK_RUN, body, run_id=common.run_id_of(run))
        return accepted(server, forked, watch=watch, plain=plain)
    from agents.choices import Placement
    from heartbit_site.cli.backend.local import LocalBackend
    from heartbit_site.cli.following.local_runs import stay_here
    from heartbit_site.operations import turns

    access = LocalBackend().access

    def start() -> UUID:
        return turns.fork(access, run, body, home=Placement.LOCAL).run_id

    return stay_here(access.workspace, start, plain=plain)


def last_turn(turn: int | None, call: str) -> int:
    """Return the turn that is forked from: the named one, or that of the call.

    Raises:
        CommandError: None is named, or another one than the call's.
    """
    own = call.partition(".")[0]
    if call and not own.isdecimal():
        raise UsageError(f"{call} is no call: they are named 2.0, for example.")
    if turn is None and not call:
        raise UsageError("Say from which turn: --turn 2 keeps two turns, --turn 0 the task alone.")
    if call and turn not in (None, int(own)):
        raise UsageError(f"The call {call} belongs to turn {own}.")
    return int(own) if turn is None else turn


def confirm(server: Backend, run_id: str, body: ForkIn, *, yes: bool = False) -> None:
    """Ask before effects happen a second time.

    Raises:
        CommandError: The answer is no, or there is no terminal and --yes was not given.
    """
    if body.arguments is None or yes:
        return
    turn = body.turn
    if turn:
        again = effects(server.call(SHOW_TURN, run_id=run_id, number=turn).calls)
    else:  # the run is that call
        again = effects([server.call(SHOW_CALL, run_id=run_id, call_id=body.call_id)])
    if not again:
        return
    what, they = (
        (f"All calls of turn {turn} run", "they do") if turn else ("The call runs", "it does")
    )
    note(f"{what} again, and what {they} outside happens again:")
    for line in again:
        note(f"  {line}")
    if not is_interactive():
        raise UsageError("Say --yes if that is meant.")
    if not typer.confirm("Fork?", err=True):
        raise CommandError("Nothing was forked.")
