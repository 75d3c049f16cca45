"""The audit: append-only, chained, and every edit behind its back is noticed (S14)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.db import Error, connection, transaction

from heartbit_site.base.audit import SYSTEM, Actor, chain_heads, record, verify
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.cli.backend.local import LocalBackend
from heartbit_site.cli.commands.audit import print_chains
from heartbit_site.cli.terminal.output import INVOCATION
from heartbit_site.contract.audit import VERIFY_ALL_AUDITS
from tests.api.server import Caller, key_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.api.server import WebServer

#: Each column of a row, with another value.
EDITS = {
    "chain": "chain + 1000000",
    "number": "number + 100",
    "at": "at + interval '1 microsecond'",
    "actor": "'Mallory'",
    "user_id": "4711",
    "via": "'system'",
    "action": "'member.add '",
    "target": "target || ' '",
    "label": "label || 'x'",
    "details": '\'{"role": "admin"}\'',
    "previous": "repeat('0', 64)",
    "hash": "repeat('0', 64)",
    "workspace_id": "NULL",
}


@pytest.fixture
def chain(workspace: Workspace) -> list[AuditEntry]:
    for number in range(5):
        actor = Actor(f"ada {number}", "api")
        details = {"role": "viewer", "n": number, "ü": [1.5, None]}
        record(actor, "member.add", workspace=workspace, target="user:1", details=details)
    return list(AuditEntry.objects.filter(chain=workspace.pk).order_by("number"))


@pytest.fixture
def intruder(chain: list[AuditEntry]) -> Iterator[Any]:
    """A cursor of somebody for whom triggers do not work; what they did is undone at the end."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor
        transaction.set_rollback(True)


def test_given_entries_then_they_are_numbered_and_chained(
    chain: list[AuditEntry], workspace: Workspace
) -> None:
    assert [entry.number for entry in chain] == [1, 2, 3, 4, 5]
    assert [entry.previous for entry in chain] == ["", *(entry.hash for entry in chain[:-1])]
    assert verify(workspace) == []
    (tip,) = chain_heads(workspace)
    assert (tip.number, tip.hash) == (5, chain[-1].hash)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE base_auditentry SET label = 'x' WHERE id = %s",
        "DELETE FROM base_auditentry WHERE id = %s",
    ],
)
def test_given_an_ordinary_change_then_the_database_refuses_it(
    chain: list[AuditEntry], statement: str
) -> None:
    refused = pytest.raises(Error, match="append-only")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, [chain[2].pk])
    assert AuditEntry.objects.get(pk=chain[2].pk).hash == chain[2].hash


def test_given_a_deleted_workspace_then_its_audit_stays(workspace: Workspace) -> None:
    gone = Workspace.objects.create(slug=f"{workspace.slug}-gone", name="gone")
    record(SYSTEM, "workspace.create", workspace=gone)
    number = gone.pk
    gone.delete()
    assert AuditEntry.objects.filter(chain=number).count() == 1
    assert not [found for found in verify() if found.workspace_id == number]


@pytest.mark.parametrize("position", [0, 2, 4])
@pytest.mark.parametrize("column", EDITS)
def test_given_an_edit_of_one_column_by_a_superuser_then_it_is_detected(
    intruder: Any, chain: list[AuditEntry], column: str, position: int
) -> None:
    assert verify() == [], "it held before"
    statement = f"UPDATE base_auditentry SET {column} = {EDITS[column]} WHERE id = %s"  # noqa: S608
    intruder.execute(statement, [chain[position].pk])
    assert intruder.rowcount == 1
    assert verify() != []


@pytest.mark.parametrize("position", [0, 1, 3])
def test_given_a_row_taken_out_by_a_superuser_then_it_is_detected(
    intruder: Any, chain: list[AuditEntry], workspace: Workspace, position: int
) -> None:
    intruder.execute("DELETE FROM base_auditentry WHERE id = %s", [chain[position].pk])
    (found,) = verify(workspace)
    assert (found.number, found.problem) == (position + 2, "an entry before it is missing")


def test_given_a_row_that_was_hashed_anew_then_the_next_one_shows_it(
    intruder: Any, chain: list[AuditEntry], workspace: Workspace
) -> None:
    intruder.execute("UPDATE base_auditentry SET actor = 'Mallory' WHERE id = %s", [chain[1].pk])
    intruder.execute(
        "UPDATE base_auditentry e SET hash = audit_hash(e) WHERE id = %s", [chain[1].pk]
    )
    (found,) = verify(workspace)
    assert (found.number, found.problem) == (3, "the entry before it was changed")


def test_given_a_cut_end_then_the_printed_tip_differs(
    intruder: Any, chain: list[AuditEntry], workspace: Workspace
) -> None:
    before = chain_heads(workspace)
    intruder.execute("DELETE FROM base_auditentry WHERE id = %s", [chain[4].pk])
    assert verify(workspace) == [], "a shorter chain holds"
    assert chain_heads(workspace) != before


def test_given_a_break_then_the_command_says_where_and_fails(
    intruder: Any,
    chain: list[AuditEntry],
    workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(INVOCATION, "as_json", True)
    assert print_chains(LocalBackend().call(VERIFY_ALL_AUDITS)) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["valid"] is True
    intruder.execute("UPDATE base_auditentry SET actor = 'Mallory' WHERE id = %s", [chain[1].pk])
    monkeypatch.setattr(INVOCATION, "as_json", False)
    assert print_chains(LocalBackend().call(VERIFY_ALL_AUDITS)) == 1
    said = capsys.readouterr()
    assert (
        f"The audit of {workspace.slug} does not hold from entry 2 on: it was changed." in said.err
    )
    assert chain[4].hash in said.out


def test_given_entries_when_asked_over_the_api_then_pages_and_filters_hold(
    site: WebServer, chain: list[AuditEntry], workspace: Workspace
) -> None:
    record(SYSTEM, "agent.stop", workspace=workspace, target="agent:1", label="writer")
    with Caller(site, key_for(workspace)).http as http:  # which is an entry too
        first = http.get("/audit", params={"limit": 4, "action": "member"}).json()
        assert [row["number"] for row in first["entries"]] == [5, 4, 3, 2]
        rest = http.get(
            "/audit", params={"cursor": first["next_cursor"], "action": "member"}
        ).json()
        assert ([row["number"] for row in rest["entries"]], rest["next_cursor"]) == ([1], None)
        (stop,) = http.get("/audit", params={"target": "agent:1"}).json()["entries"]
        assert (stop["action"], stop["actor"], stop["label"]) == (
            "agent.stop",
            "Heartbit",
            "writer",
        )
        (one,) = http.get("/audit", params={"actor": "ada 3"}).json()["entries"]
        assert one["details"] == {"role": "viewer", "n": 3, "ü": [1.5, None]}
        since = http.get("/audit", params={"since": one["at"], "until": stop["at"]}).json()
        assert [row["number"] for row in since["entries"]] == [5, 4]
        held = http.get("/audit/verify").json()
        assert (held["valid"], held["last_number"], held["problem"]) == (True, 7, None)
