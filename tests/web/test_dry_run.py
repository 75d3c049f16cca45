"""A call tried before it is approved (E6): what it would change is shown, and nothing is kept."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from playwright.sync_api import expect

from agents.actions.dry_run_call import dry_run_call
from agents.actions.fleet import pause_work, resume_work
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.dry_runs import rollback_run as threads
from agents.dry_runs.tables import is_secret
from agents.errors import (
    CallClosedError,
    DryRunStoppedError,
    DryRunUnavailableError,
    InvalidEditError,
)
from agents.limits.pauses import PauseTarget
from agents.models import Agent, BlackboardEntry, Run, ToolBinding, ToolCall
from agents.models.pause import PauseKind
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import AuditEntry
from tests.api.server import Caller, key_for
from tests.fleet import wait_until
from tests.web import books, labels
from tests.web.books import nothing_is_kept, shop, waiting
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from agents.dry_runs.changes_view import DryRunOut, TableChangeOut
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker
    from tests.web.visitor import Visitor

__all__ = ["nothing_is_kept", "shop"]

ANN = Actor("ann", "web")


def tried(call: ToolCall, arguments: dict[str, Any] | None = None) -> DryRunOut:
    text = None if arguments is None else json.dumps(arguments)
    return dry_run_call(call, digest=call.digest, by=ANN, arguments=text)


def changes(
    table: TableChangeOut,
) -> list[tuple[str, str, dict[str, tuple[str | None, str | None]]]]:
    """The rows of a table as (kind, key, {column: (old, new)})."""
    return [
        (
            row.kind,
            "/".join(str(part.value.text) for part in row.key),
            {
                one.column: (one.old.text if one.old else None, one.new.text if one.new else None)
                for one in row.columns
            },
        )
        for row in table.rows
    ]


class TestWhatItShows:
    def test_given_a_tool_that_adds_changes_and_removes_rows_when_tried_then_each_is_shown(
        self, workspace: Workspace
    ) -> None:
        call = waiting(
            workspace,
            "INSERT INTO book_customer VALUES (4, 'Dee', 'sk-dee')",
            "INSERT INTO \"book order %s\" VALUES ('EU', 3, 5, 4), ('EU', 4, 6, 4)",
            'UPDATE "book order %s" SET amount = amount + 1 WHERE number IN (1, 4)',
            "DELETE FROM \"book order %s\" WHERE region = 'US' OR number = 3",
        )
        found = tried(call)
        assert (found.status, found.result) == ("ok", f"done as {call.run_id}:{call.call_id}")
        assert (found.refused, found.more_tables) == ("", 0)
        orders, customers = found.tables
        assert (orders.table, customers.table) == ("book order %s", "book_customer")
        assert changes(orders) == [
            ("updated", "EU/1", {"amount": ("10", "11")}),
            (
                "inserted",
                "EU/4",
                {
                    "region": (None, "EU"),
                    "number": (None, "4"),
                    "amount": (None, "7"),
                    "customer": (None, "4"),
                },
            ),
            (
                "deleted",
                "US/1",
                {
                    "region": ("US", None),
                    "number": ("1", None),
                    "amount": ("30", None),
                    "customer": ("2", None),
                },
            ),
        ]
        assert [kind for kind, *_ in changes(customers)] == ["inserted"]

    def test_given_a_row_that_was_locked_when_it_is_removed_in_a_savepoint_then_it_is_shown(
        self, workspace: Workspace
    ) -> None:
        call = waiting(
            workspace,
            "SELECT 1 FROM book_customer WHERE id = 3 FOR KEY SHARE",
            "DELETE FROM book_customer WHERE id = 3",
        )
        [customers] = tried(call).tables
        assert [(kind, key) for kind, key, _ in changes(customers)] == [("deleted", "3")]

    def test_given_a_changed_key_when_tried_then_one_row_is_gone_and_another_is_new(
        self, workspace: Workspace
    ) -> None:
        call = waiting(workspace, 'UPDATE "book order %s" SET number = 9 WHERE number = 2')
        [orders] = tried(call).tables
        assert [(kind, key) for kind, key, _ in changes(orders)] == [
            ("inserted", "EU/9"),
            ("deleted", "EU/2"),
        ]

    def test_given_what_comes_to_nothing_when_tried_then_nothing_is_shown(
        self, workspace: Workspace
    ) -> None:
        found = tried(
            waiting(
                workspace,
                "UPDATE book_customer SET name = name",
                "INSERT INTO book_customer VALUES (5, 'Eve', '')",
                "DELETE FROM book_customer WHERE id = 5",
            )
        )
        assert (found.status, found.tables) == ("ok", [])

    def test_given_others_who_write_meanwhile_when_tried_then_theirs_is_not_shown(
        self, workspace: Workspace
    ) -> None:
        call = waiting(
            workspace,
            "INSERT INTO book_customer VALUES (2000, 'Flo', '')",
            elsewhere="INSERT INTO book_customer SELECT generate_series(1000, 1099), 'Gus', '';"
            "UPDATE book_customer SET name = 'Anna' WHERE id = 1",
        )
        [customers] = tried(call).tables
        books.run("DELETE FROM book_customer WHERE id >= 1000")
        books.run("UPDATE book_customer SET name = 'Ann' WHERE id = 1")
        assert [(kind, key) for kind, key, _ in changes(customers)] == [("inserted", "2000")]
        assert customers.more == 0

    def test_given_a_column_called_like_a_secret_when_tried_then_its_values_stay_hidden(
        self, workspace: Workspace
    ) -> None:
        call = waiting(
            workspace,
            "UPDATE book_customer SET api_key = 'sk-new' || id WHERE id = 1",
            "DELETE FROM book_customer WHERE id = 3",
        )
        found = tried(call)
        [customers] = found.tables
        assert customers.rows[0].columns[0].column == "api_key"
        assert customers.rows[0].columns[0].new is not None
        assert customers.rows[0].columns[0].new.hidden
        assert "sk-" not in json.dumps(found.model_dump()["tables"])
        hidden = ("password", "apiKey", "API_KEY", "access_token", "clientSecret", "key")
        assert all(is_secret("shop_user", name) for name in hidden)
        assert not any(is_secret("shop_user", name) for name in ("monkey", "name", "keyboard"))

    def test_given_a_large_table_when_tried_then_its_changed_rows_are_found_in_time(
        self, workspace: Workspace
    ) -> None:
        """To compare all its rows before and after would take seconds (ADR 0022)."""
        books.run("CREATE TABLE book_entry (id bigint PRIMARY KEY, line text)")
        books.run(
            "INSERT INTO book_entry SELECT n, repeat('x', 100) FROM generate_series(1, 3e5) n"
        )
        try:
            found = tried(
                waiting(
                    workspace,
                    "UPDATE book_entry SET line = 'y' WHERE id = 7",
                    "DELETE FROM book_entry WHERE id = 8",
                )
            )
        finally:
            books.run("DROP TABLE book_entry")
        [entries] = found.tables
        assert [(kind, key) for kind, key, _ in changes(entries)] == [
            ("updated", "7"),
            ("deleted", "8"),
        ]

    def test_given_very_much_when_tried_then_it_is_cut_and_said(self, workspace: Workspace) -> None:
        call = waiting(
            workspace,
            "INSERT INTO book_customer SELECT n, repeat('x', 1000) FROM generate_series(10, 79) n",
            "DELETE FROM book_customer WHERE id < 4",
        )
        [customers] = tried(call).tables
        assert (len(customers.rows), customers.more) == (50, 23)
        name = customers.rows[0].columns[1].new
        assert name is not None
        assert (len(name.text or ""), name.more) == (200, 800)

    @pytest.mark.parametrize(
        ("statement", "words"),
        [
            ("INSERT INTO book_log VALUES ('a'), ('b')", "no primary key. Counted: 2 inserted"),
            ("TRUNCATE book_log", "truncates, alters, creates or drops"),
            ("DROP TABLE book_log", "truncates, alters, creates or drops"),
            ("UPDATE base_workspace SET name = name WHERE id = -1", ""),
            ("UPDATE agents_agent SET description = 'x' WHERE name = 'clerk'", "Heartbit's own"),
        ],
    )
    def test_given_rows_that_cannot_be_shown_when_tried_then_it_says_why(
        self, workspace: Workspace, statement: str, words: str
    ) -> None:
        found = tried(waiting(workspace, statement)).tables
        assert [table.rows for table in found] == [[]] * bool(words)
        assert all(words in table.note for table in found)

    def test_given_a_tool_that_fails_when_tried_then_the_model_s_answer_is_shown(
        self, workspace: Workspace
    ) -> None:
        call = waiting(workspace, "DELETE FROM book_customer", fail="The books are closed.")
        found = tried(call)
        assert (found.status, found.result) == ("error", "ValueError: The books are closed.")
        assert found.tables == []

    def test_given_a_broken_reference_when_tried_then_it_says_that_it_would_not_be_kept(
        self, workspace: Workspace
    ) -> None:
        found = tried(waiting(workspace, "INSERT INTO \"book order %s\" VALUES ('EU', 7, 1, 99)"))
        assert found.status == "ok"
        assert "violates foreign key constraint" in found.refused
        assert [kind for kind, *_ in changes(found.tables[0])] == ["inserted"]


class TestWhatItRefuses:
    @pytest.mark.parametrize("how", ["in the database", "by itself"])
    def test_given_a_slow_tool_when_tried_then_it_is_stopped(
        self, workspace: Workspace, how: str
    ) -> None:
        statements = ["DELETE FROM book_log", "SELECT pg_sleep(60)"]
        if how == "by itself":
            call = waiting(workspace, statements[0], seconds=books.SECONDS + 1)
        else:
            call = waiting(workspace, *statements)
        with pytest.raises(DryRunStoppedError, match="did not finish within 3 s"):
            tried(call)

    def test_given_a_row_that_somebody_holds_when_tried_then_it_does_not_wait_for_them(
        self, workspace: Workspace
    ) -> None:
        call = waiting(workspace, "UPDATE book_customer SET name = 'x' WHERE id = 2")
        with books.session() as other:
            other.execute("BEGIN")
            other.execute("SELECT 1 FROM book_customer WHERE id = 2 FOR UPDATE")
            with pytest.raises(DryRunStoppedError, match="another transaction holds"):
                tried(call)
            other.execute("ROLLBACK")

    def test_given_a_tool_that_sends_a_request_when_tried_then_nothing_is_sent(
        self, workspace: Workspace
    ) -> None:
        found = tried(waiting(workspace, request="https://example.org/"))
        assert (found.status, found.result) == (
            "error",
            "DryRunUnavailableError: A dry run sends no requests: they could not be undone.",
        )

    def test_given_a_tool_of_another_class_when_tried_then_it_is_not_run(
        self, workspace: Workspace
    ) -> None:
        with pytest.raises(DryRunUnavailableError, match="http_get is pure, not transactional"):
            tried(unserved(workspace))

    def test_given_a_call_that_does_not_wait_when_tried_then_it_is_not_run(
        self, workspace: Workspace
    ) -> None:
        call = waiting(workspace, "DELETE FROM book_customer")
        with pytest.raises(CallClosedError, match="was shown"):
            dry_run_call(call, digest="0" * 64, by=ANN)
        cancel_run(workspace, call.run_id, reason="enough")
        with pytest.raises(CallClosedError, match="not wait"):
            tried(call)
        assert not AuditEntry.objects.filter(workspace=workspace, action="approval.dry_run")

    def test_given_a_group_when_somebody_else_tries_then_they_may_not(
        self, workspace: Workspace
    ) -> None:
        call = waiting(workspace, "DELETE FROM book_log")
        group = Group.objects.create(name=f"clerks-{workspace.slug}")
        call.approval_view = {**(call.approval_view or {}), "group": group.name}
        call.save()
        with pytest.raises(DryRunUnavailableError, match="or try it: sign in as one"):
            tried(call)
        clerk = member(workspace, "operator")
        group.user_set.add(clerk)
        found = dry_run_call(call, digest=call.digest, by=Actor("c", "web", clerk.pk))
        assert found.status == "ok"

    def test_given_a_stopped_tool_when_tried_then_it_is_not_run(self, workspace: Workspace) -> None:
        call = waiting(workspace, "DELETE FROM book_log")
        held = PauseTarget(PauseKind.TOOL, workspace=workspace, tool=call.tool)
        pause_work(held, by=SYSTEM, reason="a leak")
        with pytest.raises(
            DryRunUnavailableError, match=r"was stopped by Heartbit \(a leak\): it cannot"
        ):
            tried(call)
        assert not AuditEntry.objects.filter(workspace=workspace, action="approval.dry_run")
        resume_work(held, by=SYSTEM)
        assert tried(call).status == "ok"

    def test_given_several_people_are_needed_when_edited_then_it_is_tried_only_as_it_is(
        self, workspace: Workspace
    ) -> None:
        call = waiting(workspace, "DELETE FROM book_log")
        call.approval_view = {**(call.approval_view or {}), "needed": 2}
        call.save()
        with pytest.raises(DryRunUnavailableError, match="only as it is"):
            tried(call, {"statements": []})
        assert tried(call).status == "ok"

    async def test_given_dry_runs_that_do_not_end_when_more_are_asked_for_then_nobody_waits(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(threads, "PATIENCE_SECONDS", 0.1)
        gate, left = threading.Event(), threading.Semaphore(0)

        def stuck() -> DryRunOut:
            gate.wait(30)
            left.release()
            raise AssertionError("nobody hears of it")

        for _ in range(threads.AT_ONCE):
            with pytest.raises(DryRunStoppedError, match="not finish"):
                await threads.in_time(stuck)
        with pytest.raises(DryRunStoppedError, match="dry runs are running"):
            await threads.in_time(stuck)
        gate.set()
        assert all(left.acquire(timeout=10) for _ in range(threads.AT_ONCE))


def test_given_edited_arguments_when_tried_then_they_are_what_runs_and_it_is_audited(
    workspace: Workspace,
) -> None:
    call = waiting(workspace, "DELETE FROM book_customer")
    found = tried(call, {"statements": ["INSERT INTO book_customer VALUES (8, 'Hal', '')"]})
    assert [kind for kind, *_ in changes(found.tables[0])] == ["inserted"]
    with pytest.raises(InvalidEditError, match="not valid"):
        tried(call, {"statement": "x"})
    [entry] = AuditEntry.objects.filter(workspace=workspace, action="approval.dry_run")
    assert (entry.actor, entry.via, entry.target, entry.label) == (
        *("ann", "web", f"run:{call.run_id}", "bookkeeping"),
    )
    assert entry.details["call"] == call.call_id
    assert entry.details["digest"] == call.digest != entry.details["runs"]


WRITE = '[[calls: blackboard_write {"key": "plan", "value": "<b>Ship it.</b>"}]] [[text: Done.]]'


def asked_of(caller: Caller, workspace: Workspace, task: str) -> dict[str, Any]:
    """A call of a run of the fleet that waits, as GET /approvals shows it."""
    row = Agent.objects.create(
        workspace=workspace, name="solo", system_prompt="Be brief.", approval="always"
    )
    for tool in ("blackboard_write", "calculate"):
        ToolBinding.objects.create(agent=row, tool=tool)
    publish_agent(row)
    run = caller.submit(task, agent="solo")["id"]
    found = wait_until(
        lambda: [one for one in caller.get("/approvals").json()["calls"] if one["run_id"] == run],
        what="it waits",
    )
    assert isinstance(found[0], dict)
    return found[0]


def address(asked: dict[str, Any]) -> str:
    return f"/runs/{asked['run_id']}/calls/{asked['call_id']}/dry-run"


def test_given_a_waiting_call_when_tried_over_the_api_then_it_waits_on_and_runs_once_approved(
    site: WebServer, caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    asked = asked_of(caller, workspace, WRITE)
    answer = caller.post(address(asked), {"digest": asked["digest"]})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["status"], found["result"]) == ("ok", "Wrote 'plan'.")
    [table] = found["tables"]
    assert table["table"] == "agents_blackboardentry"
    [row] = table["rows"]
    values = {one["column"]: one["new"]["text"] for one in row["columns"]}
    assert (row["kind"], values["key"], values["author"]) == ("inserted", "plan", "solo")
    assert not BlackboardEntry.objects.filter(root_id=asked["run_id"]).exists()
    edited = {"digest": asked["digest"], "arguments": {"key": "k", "value": "v"}}
    assert caller.post(address(asked), edited).json()["result"] == "Wrote 'k'."

    narrow = Caller(site, key_for(workspace, ["runs:read", "agents:read"]))
    with narrow.http:
        assert narrow.post(address(asked), {"digest": asked["digest"]}).status_code == 403
    decision = f"/runs/{asked['run_id']}/calls/{asked['call_id']}/decision"
    caller.post(decision, {"digest": asked["digest"], "verdict": "approve"})
    caller.ended(asked["run_id"])
    assert BlackboardEntry.objects.get(root_id=asked["run_id"]).value == "<b>Ship it.</b>"
    late = caller.post(address(asked), {"digest": asked["digest"]})
    assert (late.status_code, late.json()["code"]) == (409, "call_closed")


def test_given_a_call_of_another_class_when_tried_over_the_api_then_it_is_a_problem(
    caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    asked = asked_of(caller, workspace, '[[calls: calculate {"expression": "6*7"}]] [[text: 42.]]')
    answer = caller.post(address(asked), {"digest": asked["digest"]})
    assert (answer.status_code, answer.json()["code"]) == (422, "dry_run_unavailable")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "calculate is pure" in answer.json()["detail"]


def test_given_a_waiting_call_when_tried_by_key_then_its_row_is_shown_and_nothing_is_kept(
    signed_in: Visitor, caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    asked = asked_of(caller, workspace, WRITE)
    page = signed_in.page
    signed_in.go("inbox/")
    button = page.get_by_role("button", name="without keeping it")
    expect(button).to_be_visible()
    page.keyboard.press("t")
    table = page.get_by_role("table", name="agents_blackboardentry")
    expect(table.get_by_role("row")).to_have_count(2)
    expect(table.get_by_role("row").last).to_contain_text("+inserted")
    expect(table).to_contain_text("<b>Ship it.</b>")
    expect(page.get_by_text("Wrote 'plan'.")).to_be_visible()
    assert not BlackboardEntry.objects.filter(root_id=asked["run_id"]).exists()

    page.keyboard.press("e")
    page.get_by_label("value (JSON)", exact=True).fill('"Wait."')
    page.get_by_role("button", name=labels.REVIEW).click()
    page.get_by_role("button", name="Try these without keeping it").click()
    expect(table).to_contain_text("Wait.")
    assert Run.objects.get(pk=asked["run_id"]).status == "waiting"


def test_given_a_call_of_another_class_when_shown_then_it_cannot_be_tried(
    signed_in: Visitor, caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    asked_of(caller, workspace, '[[calls: calculate {"expression": "6*7"}]] [[text: 42.]]')
    signed_in.go("inbox/")
    expect(signed_in.page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    expect(signed_in.page.get_by_role("button", name="Try it")).to_have_count(0)
