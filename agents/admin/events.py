"""The journal for people: each event as a line with what matters of its payload."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agents import events
from agents.admin.words import beginning
from agents.live.said import Said
from agents.live.words import say
from heartbit_site.base.amounts import duration
from heartbit_site.base.visible_text import readable_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from agents.models import RunEvent

_PREVIEW = 1_200  # characters; the whole text is in the payload below it


@dataclass(frozen=True, slots=True)
class Line:
    """One event of the journal, ready to be shown.

    Attributes:
        since: How long after the run was accepted; empty for what a fork copied.
        turn: The number of the turn that it answers, if it does.
    """

    seq: int
    type: str
    at: datetime
    since: str
    said: Said
    payload: str
    turn: int = 0


def line(row: RunEvent, *, began: datetime, name_of: Callable[[str], str]) -> Line:
    """Make an event readable.

    Args:
        row: The event.
        began: When the run was accepted; times are shown from there.
        name_of: Names a tool call of the run, by its id.
    """
    try:
        said = say(events.decode(row.type, row.payload), name_of)
    except (KeyError, ValidationError):  # written by another version of Heartbit
        said = Said(row.type, icon="help")
    said = replace(said, text=beginning(said.text, _PREVIEW))
    since = f"+{duration(row.at - began)}" if row.at >= began else ""
    turn = row.payload.get("turn", 0) if row.type == events.ModelAnswered.type else 0
    return Line(row.seq, row.type, row.at, since, said, readable_json(row.payload), turn)
