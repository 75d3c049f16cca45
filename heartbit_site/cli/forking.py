"""`heartbit runs fork`: what is asked, what a person is warned of, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.cli.json_option import json_object
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.output import note
from heartbit_site.cli.run_names import run_id_of
from heartbit_site.cli.submission import accepted
from heartbit_site.cli.turn_text import effects
from heartbit_site.contract.calls import SHOW_CALL
from heartbit_site.contract.turns import FORK_RUN, SHOW_TURN, ForkIn

if TYPE_CHECKING:
    from heartbit_site.cli.backend import Backend


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOptions:
    """Options of `heartbit runs fork`; None: not given."""

    run: str
    turn: int | None
    message: str
    task: str
    call: str
    arguments: str | None
    result: str | None
    version: int | None
    yes: bool

    def place(self) -> int:
        """Return the turn that is meant.

        Raises:
            CommandError: None is named, or another one than the call's.
        """
        own = self.call.partition(".")[0]
        if self.call and not own.isdecimal():
            raise CommandError(f"{self.call} is no call: they are named 2.0, for example.", USAGE)
        if self.turn is None and not self.call:
            raise CommandError(
                "Say from which turn: --turn 2 keeps two turns, --turn 0 the task alone.", USAGE
            )
        if self.call and self.turn not in (None, int(own)):
            raise CommandError(f"The call {self.call} belongs to turn {own}.", USAGE)
        return int(own) if self.turn is None else self.turn

    def body(self) -> ForkIn:
        """Return the fork that is asked for.

        Raises:
            CommandError: Something of it cannot be.
        """
        given = {
            "turn": self.place(),
            "message": self.message,
            "task": self.task,
            "call_id": self.call,
            "arguments": _json_object(self.arguments),
            "result": self.result,
            "version": self.version,
        }
        wanted = {name: value for name, value in given.items() if value not in ("", None)}
        return checked(ForkIn, wanted)


def fork(url: str | None, order: ForkOptions, *, follow: bool, as_json: bool, plain: bool) -> int:
    """Fork a run on the fleet, and print the new one's id or follow it."""
    backend, body = backend_for(url), order.body()
    confirm(backend, order, body.turn)
    run = backend.call(FORK_RUN, body, run_id=run_id_of(order.run))
    return accepted(backend, run, follow=follow, as_json=as_json, plain=plain)


def confirm(backend: Backend, order: ForkOptions, turn: int) -> None:
    """Ask before effects happen a second time.

    Raises:
        CommandError: The answer is no, or there is no terminal and --yes was not given.
    """
    if order.arguments is None or order.yes:
        return
    run_id = run_id_of(order.run)
    if turn:
        again = effects(backend.call(SHOW_TURN, run_id=run_id, number=turn).calls)
    else:  # the run is that call
        again = effects([backend.call(SHOW_CALL, run_id=run_id, call_id=order.call)])
    if not again:
        return
    what, they = (
        (f"All calls of turn {turn} run", "they do") if turn else ("The call runs", "it does")
    )
    note(f"{what} again, and what {they} outside happens again:")
    for line in again:
        note(f"  {line}")
    if not is_interactive():
        raise CommandError("Say --yes if that is meant.", USAGE)
    if not typer.confirm("Fork?", err=True):
        raise CommandError("Nothing was forked.")


def _json_object(text: str | None) -> dict[str, Any] | None:
    return None if text is None else json_object(text, "--arguments", '{"url": "..."}')
