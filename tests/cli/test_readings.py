"""`heartbit usage`, `deliveries` and `messages`, here and against a server."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from agents.actions.order_deliveries import order_deliveries
from agents.actions.send_message import send_message
from agents.actions.start_run import start_run
from agents.delivery.targets import check_targets
from agents.messaging.addresses import sender_of_person
from agents.models import Agent, Delivery
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.preview import preview
from heartbit_site.cli.errors import USAGE
from heartbit_site.first_start import default_workspace
from tests.cli.test_remote import afar
from tests.web.matrix_world import agent_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.test_remote import Afar
    from tests.command import Command

__all__ = ["afar"]

EVIL = "a\x1b[2Jb\u202ec"


@pytest.fixture
def clerk(database: None) -> Iterator[str]:
    """An agent of the default workspace whose runs nobody takes."""
    row = agent_of(default_workspace(), f"clerk-{secrets.token_hex(3)}")
    yield row.name
    Agent.objects.filter(pk=row.pk).update(enabled=False)


def test_usage_is_shown_alike_here_and_there(heartbit: Command, afar: Afar, clerk: str) -> None:
    start_run(default_workspace(), "x", agent=clerk)
    here, there = (command("usage") for command in (heartbit, afar))
    assert (here.code, here.err) == (0, "")
    assert here.out == there.out
    lines = here.out.splitlines()
    assert lines[0].startswith("Tier: none, ")
    assert [line.split("  ")[0] for line in lines[2:7]] == [
        *("WHAT", "runs today", "tokens this month", "cost this month", "runs at once"),
    ]
    assert any(line.startswith(clerk) for line in lines)
    found = heartbit("usage", "--json").json
    assert found == afar("usage", "--json").json
    assert found["runs_today"]["used"] >= 1


def test_deliveries_of_a_run_are_listed_alike_here_and_there(
    heartbit: Command, afar: Afar, clerk: str
) -> None:
    workspace = default_workspace()
    run = start_run(workspace, "x", agent=clerk)
    targets = [{"kind": "email", "to": ["ann@example.org"]}, {"kind": "artifact", "name": "sales"}]
    order_deliveries(run, workspace, check_targets(workspace, targets))
    Delivery.objects.filter(run_id=run, kind="email").update(status="failed", error=EVIL)
    asked = ("deliveries", "--run", str(run))
    here, there = (command(*asked) for command in (heartbit, afar))
    assert (here.code, here.out) == (0, there.out)
    head, *rows = (line.split() for line in here.out.splitlines())
    assert head == ["DELIVERY", "RUN", "STATUS", "ATTEMPTS", "WHERE", "PROBLEM"]
    assert [row[1:4] for row in rows] == [
        [str(run)[:18], "pending", "0"],
        [str(run)[:18], "failed", "0"],
    ]
    assert "\x1b" not in here.out
    assert "artifact sales" in here.out
    only = heartbit(*asked, "--status", "failed", "--json").json
    assert only == afar(*asked, "--status", "failed", "--json").json
    assert [row["target"]["to"] for row in only["deliveries"]] == [["ann@example.org"]]
    assert len(heartbit("deliveries", "-n", "1", "--json").json["deliveries"]) == 1
    wrong = heartbit("deliveries", "--run", "x")
    assert (wrong.code, "at least 8" in wrong.err) == (2, True)


def test_an_inbox_is_listed_alike_here_and_there(heartbit: Command, afar: Afar, clerk: str) -> None:
    sender = sender_of_person(default_workspace(), SYSTEM)
    send_message(sender, clerk, "First.")
    send_message(sender, clerk, f"Second, {EVIL}.")
    here, there = (command("messages", clerk) for command in (heartbit, afar))
    assert (here.code, here.out) == (0, there.out)
    _, *rows = here.out.splitlines()
    assert "Second, " in rows[0]
    assert rows[1].endswith("First.")
    assert "\x1b" not in here.out
    found = heartbit("messages", clerk, "--json").json
    assert found == afar("messages", clerk, "--json").json
    assert [row["to"] for row in found["messages"]] == [f"agent:{clerk}"] * 2
    text = " ".join(["word"] * 200)
    one = str(send_message(sender, clerk, text).pk)
    assert heartbit("messages", clerk, "--json").json["messages"][0]["text"] == preview(text)
    for command in (heartbit, afar):
        assert command("messages", clerk, one).out == f"{text}\n"
        assert command("messages", clerk, one, "--json").json["text"] == text
        absent = command("messages", clerk, "x")
        assert (absent.code, "no message 'x'" in absent.err) == (USAGE, True)
    assert heartbit("messages", "nobody").out == "Nobody has written to nobody yet.\n"
