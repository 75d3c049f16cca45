"""Events of a workspace, and of a run's journal."""

from __future__ import annotations

import dataclasses
from typing import Final

import agents.workflows.events
from agents.journal.events import EVENTS
from agents.system_events.types import EVENTS as SYSTEM_EVENTS
from tests.reference.markdown import table

_HEAD: Final = """# Events

## Events of a workspace

One stream for [programs and terminals](../howto/events.md), and what [webhooks](../howto/webhooks.md) send.
`run.*` concerns runs without those of their sub-agents.

"""
_JOURNAL: Final = """
## Events of a run

A run's journal, as `GET /runs/{id}/events` streams it: each event has `seq`, its number in the run, and a
`payload` with these fields.

"""

assert agents.workflows.events, "it registers events too"


def page() -> str:
    """Return the page."""
    known = table("event, meaning", ([f"`{name}`", text] for name, text in SYSTEM_EVENTS.items()))
    journal = (
        [f"`{name}`", (kind.__doc__ or "").split("\n\n")[0], _fields(kind)]
        for name, kind in sorted(EVENTS.items())
        if kind.__module__.startswith("agents.")
    )
    return f"{_HEAD}{known}{_JOURNAL}{table('event, meaning, payload', journal)}"


def _fields(kind: type) -> str:
    return ", ".join(f"`{one.name}`" for one in dataclasses.fields(kind))
