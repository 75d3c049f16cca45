"""An event of another version of Heartbit is told as it is, and changes nothing of its run."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from agents.journal.events import RunCreated, encode
from agents.live.json_lines import to_json_line
from agents.live.tree_view import TreeView
from agents.live.updates import RunUpdate, Unreadable, encoded, happened, readable
from agents.models import Run, RunEvent

A = UUID(int=10)


@pytest.mark.parametrize(
    ("kind", "payload"), [("run.teleported", {"to": "Mars"}), ("run.created", {"planet": "Mars"})]
)
def test_an_unknown_event_has_its_place_in_the_lines_and_the_view_stays(
    kind: str, payload: dict[str, str]
) -> None:
    tree = TreeView()
    tree.apply(RunUpdate(Run(pk=A, agent="w", task="T")))
    before = tree.runs[A].snapshot()
    row = RunEvent(run_id=A, seq=1, type=kind, payload=payload, at=datetime.now(UTC))
    update = happened(row)
    assert tree.apply(update) == {}
    assert tree.apply(update) is None, "it is known by now"
    line = to_json_line(update, tree.runs[A])
    assert (line["event"], line["payload"], line["seq"]) == (kind, payload, 1)
    assert line["title"].lower() == kind
    assert {**tree.runs[A].snapshot(), "run": None} == {**before, "run": None}


def test_a_known_event_is_read_and_written_as_ever() -> None:
    stored = encode(RunCreated("T", "w"))
    event = readable(kind=stored["type"], payload=stored["payload"])
    assert not isinstance(event, Unreadable)
    assert encoded(event) == stored
