"""`heartbit usage`, `events`, `deliveries` and `inbox`, here and against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.admit import create_deliveries
from agents.actions.send_message import send_message
from agents.delivery.targets import check_targets
from agents.messaging.addresses import sender_of_person
from agents.models import Delivery
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.preview import preview
from heartbit_site.cli.terminal.errors import USAGE
from tests.starts import start_run
from tests.web.matrix_world import agent_of

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place

EVIL = "a\x1b[2Jb\u202ec"


@pytest.fixture
def clerk(workspace: Workspace) -> str:
    """An agent whose runs nobody takes."""
    return agent_of(workspace, "clerk").name


def test_usage_is_shown(place: Place, workspace: Workspace, clerk: str) -> None:
    start_run(workspace, "x", agent=clerk)
    shown = place("usage")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[0].startswith("Tier: none, ")
    assert [line.split("  ")[0] for line in lines[2:7]] == [
        *("WHAT", "runs today", "tokens this month", "cost this month", "runs at once"),
    ]
    assert any(line.startswith(clerk) for line in lines)
    found = place("usage", "--json").json
    assert found["tier"] is None
    assert found["runs_today"] == {
        "used": 1, "limit": None, "percent": None, "state": "unlimited",
    }  # fmt: skip
    assert found["usd_this_month"]["used"] == "0"
    assert found["agents"] == [
        {"agent": clerk, "runs": 1, "tokens": 0, "cost_usd": "0", "unpriced_calls": 0}
    ]


def test_deliveries_of_a_run_are_listed(place: Place, workspace: Workspace, clerk: str) -> None:
    run = start_run(workspace, "x", agent=clerk)
    targets = [{"kind": "email", "to": ["ann@example.org"]}, {"kind": "artifact", "name": "sales"}]
    create_deliveries(run, workspace, check_targets(workspace, targets))
    Delivery.objects.filter(run_id=run, kind="email").update(status="failed", error=EVIL)
    asked = ("deliveries", "--run", str(run))
    shown = place(*asked)
    assert (shown.code, shown.err) == (0, "")
    head, *rows = (line.split() for line in shown.out.splitlines())
    assert head == ["DELIVERY", "RUN", "STATUS", "ATTEMPTS", "WHERE", "PROBLEM"]
    assert [row[1:4] for row in rows] == [
        [str(run)[:18], "pending", "0"],
        [str(run)[:18], "failed", "0"],
    ]
    assert "\x1b" not in shown.out
    assert "artifact sales" in shown.out
    only = place(*asked, "--status", "failed", "--json").json
    assert set(only) == {"deliveries"}
    assert [row["target"]["to"] for row in only["deliveries"]] == [["ann@example.org"]]
    first = place("deliveries", "-n", "1", "--json").json
    assert (set(first), len(first["deliveries"])) == ({"deliveries"}, 1)
    wrong = place("deliveries", "--run", "x")
    assert (wrong.code, "at least 8" in wrong.err) == (USAGE, True)


def test_an_inbox_is_listed(place: Place, workspace: Workspace, clerk: str) -> None:
    sender = sender_of_person(workspace, SYSTEM)
    send_message(sender, clerk, "First.")
    send_message(sender, clerk, f"Second, {EVIL}.")
    shown = place("inbox", clerk)
    assert (shown.code, shown.err) == (0, "")
    _, *rows = shown.out.splitlines()
    assert "Second, " in rows[0]
    assert rows[1].endswith("First.")
    assert "\x1b" not in shown.out
    found = place("inbox", clerk, "--json").json
    assert [row["to"] for row in found["messages"]] == [f"agent:{clerk}"] * 2
    text = " ".join(["word"] * 200)
    one = str(send_message(sender, clerk, text).pk)
    newest = place("inbox", clerk, "-n", "1", "--json").json
    assert set(newest) == {"messages"}
    assert [row["text"] for row in newest["messages"]] == [preview(text)]
    assert place("inbox", clerk, one).out == f"{text}\n"
    assert place("inbox", clerk, one, "--json").json["text"] == text
    absent = place("inbox", clerk, "x")
    assert (absent.code, "no message 'x'" in absent.err) == (USAGE, True)
    assert place("inbox", "researcher").out == "Nobody has written to researcher yet.\n"
    nobody = place("inbox", "nobody")
    assert (nobody.code, nobody.out) == (2, ""), "no agent is called so"
    assert "There is no agent named 'nobody'" in nobody.err


def test_events_are_printed(place: Place, workspace: Workspace, clerk: str) -> None:
    run = start_run(workspace, "x", agent=clerk)
    sender = sender_of_person(workspace, SYSTEM)
    message = send_message(sender, clerk, "Hello.")
    shown = place("events", "--type", "run.*", "--agent", clerk)
    assert (shown.code, shown.err) == (0, "")
    [line] = shown.out.splitlines()
    assert line.split("  ", 1)[1] == f"run.queued           run:{run}  agent {clerk}"
    found = place("events", "-t", "run.queued", "-t", "message.*", "--json").lines
    assert [one["subject"] for one in found] == [f"run:{run}", f"message:{message.pk}"]
    assert [one["data"]["agent"] for one in found[:1]] == [clerk]
    rest = place("events", "--after", found[0]["id"], "--type", "message.*", "--json").lines
    assert rest == found[1:]
    none = place("events", "--after", found[1]["id"], "--type", "message.*")
    assert (none.code, none.out, none.err) == (0, "", "No such events.\n")
    for wrong in (("--type", "nothing"), ("--since", "soon"), ("--after", "x")):
        refused = place("events", *wrong)
        assert (refused.code, refused.out) == (USAGE, ""), refused.err
        assert len(refused.err.splitlines()) == 1, refused.err
        assert wrong[1] in refused.err
