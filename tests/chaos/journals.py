"""The journals of a scenario's runs, out of Postgres."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from agents import models
from agents.querysets import events_after
from tests.chaos.records import Call, Event, Records, Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from uuid import UUID

#: The agent whose calls with an effect wait for a person.
CAREFUL = "careful"
_NAME = re.compile(r"\[\[run: ([^\]]+)\]\]")
_OP = re.compile(r'"op":\s*"([^"]+)"')


def read(ids: Sequence[UUID]) -> tuple[Run, ...]:
    """These runs with their journals and calls."""
    return tuple(map(_run, models.Run.objects.filter(pk__in=ids).order_by("created_at", "pk")))


def dump(records: Records, path: Path) -> None:
    """Keep everything that was judged."""
    path.write_text(json.dumps(asdict(records), indent=1))


def _run(run: models.Run) -> Run:
    name = _NAME.search(run.task)
    return Run(
        id=str(run.pk),
        name=name[1] if name else str(run.pk),
        status=run.status,
        events=tuple(
            Event(event.seq, event.type, event.at.timestamp(), event.payload)
            for event in events_after(run.pk, 0)
        ),
        calls=tuple(_call(call, guarded=run.agent == CAREFUL) for call in run.calls.all()),
    )


def _call(call: models.ToolCall, *, guarded: bool) -> Call:
    """A call; whether it is guarded follows from the scenario, not from what the product says."""
    op = op_of(call)
    return Call(call.call_id, call.tool, call.effect, call.status, op, guarded and bool(op))


def op_of(call: models.ToolCall) -> str:
    """The name of the effect that the model asked for; empty for a call without one."""
    op = _OP.search(call.arguments)
    return op[1] if op else ""
