"""What a run's page has of its past: turns, forks, decisions, deliveries, and who may do what."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from playwright.sync_api import expect

from agents.actions.decide_call import Always, approve_call
from agents.actions.run_request import start_conversation
from agents.choices import CallResolution
from agents.models import Agent, Decision, Delivery, Run, RunEvent, ToolCall
from heartbit_site.base.audit import Actor
from heartbit_site.base.markdown import LONGEST
from heartbit_site.base.models import Workspace
from tests.admin import rows
from tests.doubtful import in_doubt
from tests.operation.test_quarantine import quarantined
from tests.starts import post_message, start_run
from tests.web import labels
from tests.web.people import member, person
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

pytestmark = pytest.mark.usefixtures("unserved_agents")
ANNA = Actor("anna", "terminal")


@pytest.fixture
def unserved_agents(workspace: Workspace) -> None:
    """Agents on a queue that no worker serves: the rows are made by hand."""
    Agent.objects.filter(workspace=workspace).update(queue="by-hand")


@pytest.fixture
def tree(workspace: Workspace, unserved_agents: None) -> tuple[Run, Run]:
    return rows.tree(workspace)


def turn(visitor: Visitor, number: int) -> Locator:
    return visitor.page.get_by_label(f"Turn {number}", exact=True)


def fact(visitor: Visitor, name: str) -> Locator:
    term = visitor.page.locator("dl.facts dt", has_text=re.compile(f"^{name}$"))
    return term.locator("xpath=following-sibling::dd[1]")


class TestTurns:
    def test_given_a_turn_then_what_was_sent_is_shown_and_nothing_of_it_runs(
        self, signed_in: Visitor, tree: tuple[Run, Run]
    ) -> None:
        root, child = tree
        signed_in.go(f"runs/{root.pk}/#{child.pk}/turns/2")
        expect(turn(signed_in, 2)).to_be_focused()
        turn(signed_in, 2).get_by_role("button", name=labels.SENT).click()
        sent = turn(signed_in, 2).locator(".sent")
        for said in ("System", "Look it up.", "Result of http_request", rows.HOSTILE):
            expect(sent).to_contain_text(said)
        expect(sent).to_contain_text("researcher, version 1")
        expect(sent).to_contain_text(re.compile("Longest answer.*,[0-9]{3} tokens"))
        expect(sent).to_contain_text(re.compile("Ended with.*(tool calls|a complete answer)"))
        expect(sent.locator("script")).to_have_count(0)
        sent.get_by_text("http_get", exact=True).click()
        expect(sent.get_by_label("Parameters of http_get")).to_contain_text('"url"')

    def test_given_a_call_of_a_sub_agent_then_it_leads_to_where_the_work_was_done(
        self, signed_in: Visitor, tree: tuple[Run, Run]
    ) -> None:
        root, child = tree
        signed_in.go(f"runs/{root.pk}/")
        signed_in.page.locator(".call summary").click()
        link = signed_in.page.locator(".call").get_by_role("link", name="researcher")
        expect(link).to_have_attribute("href", f"#{child.pk}")

    def test_given_a_turn_of_a_viewer_then_they_read_it_and_cannot_fork(
        self, visitors: Visitors, workspace: Workspace, tree: tuple[Run, Run]
    ) -> None:
        visitor = visitors(user=member(workspace, "viewer"))
        visitor.go(f"runs/{tree[0].pk}/")
        turn(visitor, 1).get_by_role("button", name=labels.SENT).click()
        expect(turn(visitor, 1).locator(".sent")).to_contain_text("Why?")
        expect(visitor.page.get_by_role("button", name="Fork")).to_have_count(0)


class TestForks:
    def test_given_another_result_when_forked_from_a_turn_then_both_runs_name_each_other(
        self, signed_in: Visitor, tree: tuple[Run, Run]
    ) -> None:
        root, page = tree[0], signed_in.page
        signed_in.go(f"runs/{root.pk}/")
        turn(signed_in, 1).get_by_role("button", name=labels.FORK).click()
        form = turn(signed_in, 1).locator("form")
        form.get_by_label(labels.STEER).fill("Be nice.")
        result = form.get_by_label("Result of 1.0 delegate_task")
        expect(result).to_have_value("researcher: found")
        result.fill("Nothing was found.")
        form.get_by_role("button", name="Fork", exact=True).click()
        page.wait_for_url(lambda address: str(root.pk) not in address)
        fork = Run.objects.get(forked_from=root)
        expect(page.locator(".turns")).to_contain_text("Forked from another run after turn 1 by")
        expect(page.locator(".turns")).to_contain_text("Be nice.")
        assert ToolCall.objects.get(run=fork).result == "Nothing was found."
        fact(signed_in, "Begun with").get_by_role("link").click()
        expect(fact(signed_in, "Forks")).to_contain_text("after turn 1")

    def test_given_a_fork_that_makes_no_sense_then_it_says_why_and_keeps_what_was_written(
        self, signed_in: Visitor, tree: tuple[Run, Run]
    ) -> None:
        root, child = tree
        page = signed_in.page
        signed_in.expect("422")
        signed_in.go(f"runs/{child.pk}/")
        turn(signed_in, 1).get_by_role("button", name=labels.FORK).click()
        form = page.locator("form.playground")
        form.get_by_label("Task").fill("Another one")
        expect(form).to_contain_text("run again, with their external effects: 1.0 http_request.")
        for written, why in (("{", "are not JSON"), ("[]", "have to be a JSON object")):
            form.get_by_label("Arguments of 1.0").fill(written)
            form.get_by_role("button", name="Fork", exact=True).click()
            expect(form.get_by_role("alert")).to_contain_text(why)
            expect(form.get_by_label("Arguments of 1.0")).to_have_value(written)
        form.get_by_label("Result of 1.0").fill("Another, too")
        form.get_by_role("button", name="Fork", exact=True).click()
        expect(form.get_by_role("alert").last).to_contain_text("Change one thing of one call")
        expect(form.get_by_label("Task")).to_have_value("Another one")
        signed_in.go(f"runs/{root.pk}/")
        turn(signed_in, 2).get_by_role("button", name=labels.FORK).click()
        form.get_by_role("button", name="Fork", exact=True).click()
        expect(form.get_by_role("alert")).to_contain_text("Turn 2 ended the run")
        assert not Run.objects.filter(forked_from__in=[root, child]).exists()


class TestFacts:
    def test_given_a_run_then_its_facts_are_told(
        self, signed_in: Visitor, tree: tuple[Run, Run]
    ) -> None:
        root, _ = tree
        Run.objects.filter(pk=root.pk).update(payload={"action": "review"}, crashes=2)
        signed_in.go(f"runs/{root.pk}/")
        for name, value in (
            ("Agent", "orchestrator, version 1"),
            ("Executed by", "fleet"),
            ("Started", re.compile(r"^\d.* later$")),
            ("Finished", re.compile(r"^\d.* later$")),
            ("Worker crashes", "2"),
        ):
            expect(fact(signed_in, name)).to_have_text(value)
        signed_in.page.get_by_text("As it was sent").click()
        expect(signed_in.page.get_by_label("The task as it was sent")).to_contain_text("review")
        signed_in.page.get_by_role("link", name="researcher succeeded").click()
        expect(fact(signed_in, "Cost")).to_have_text("$0.0012 and calls without a price")
        expect(signed_in.page.get_by_text("As it was sent")).to_be_hidden()

    def test_given_a_run_of_a_conversation_then_it_leads_there(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        thread = start_conversation(workspace, agent="writer", title="Haiku")
        posted = post_message(thread, "Write one.")
        signed_in.go(f"runs/{posted.run_id}/")
        fact(signed_in, "Conversation").get_by_role("link").click()
        expect(signed_in.page.get_by_role("heading", name="Haiku")).to_be_visible()

    def test_given_an_answer_longer_than_is_rendered_then_it_says_so(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        run = start_run(workspace, "Count.", agent="writer", model=rows.MODEL)
        held = rows.Held(run)
        held.record(rows.answer(1, "x" * (LONGEST + 5)))
        held.finish("x" * (LONGEST + 5))
        signed_in.go(f"runs/{run}/")
        expect(signed_in.page.locator(".answer")).to_contain_text("Its last 5 characters are left")

    def test_given_an_event_of_a_newer_heartbit_then_it_is_shown_as_it_is(
        self, signed_in: Visitor, tree: tuple[Run, Run]
    ) -> None:
        root, _ = tree
        seq = root.last_seq + 1
        RunEvent.objects.create(run=root, seq=seq, type="run.teleported", payload={"to": "Mars"})
        with connection.cursor() as cursor:
            cursor.execute("UPDATE agents_run SET last_seq = %s WHERE id = %s", [seq, root.pk])
        signed_in.go(f"runs/{root.pk}/#{root.pk}/journal")
        signed_in.page.locator(".event", has_text="run.teleported").click()
        expect(signed_in.page.locator(".event-detail")).to_contain_text('"to": "Mars"')
        expect(signed_in.page.locator(".answer")).to_contain_text("Because.")


class TestTheJournal:
    def test_given_a_run_then_its_events_are_told_in_words(
        self, signed_in: Visitor, tree: tuple[Run, Run]
    ) -> None:
        _, child = tree
        signed_in.go(f"runs/{child.pk}/#{child.pk}/journal")
        events = signed_in.page.locator(".event")
        expect(events.first).to_contain_text("Accepted for researcher")
        for said in ("About to run http_request", "uncertain", "Look it up."):
            expect(events.filter(has_text=said).first).to_be_visible()
        events.filter(has_text="tool.finished").click()
        expect(signed_in.page.locator(".event-detail")).to_contain_text("at_most_once")


class TestDecisions:
    def test_given_an_edited_call_that_was_settled_then_both_decisions_are_shown(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        call = in_doubt(workspace, arguments={"url": f"https://a.example/{rows.HOSTILE}\u202e"})
        Decision.objects.create(
            run=call.run, call_id="1.0", wait_key="approval:1.0", digest="d" * 64,
            executed_digest="e" * 64, verdict="edited", decided_by="bert", via="terminal",
            arguments='{"url": "https://edited.example/"}',
        )  # fmt: skip
        page = signed_in.page
        signed_in.go(f"runs/{call.run_id}/")
        card = page.locator("article.asked")
        expect(card).to_contain_text("Outcome unknown")
        expect(card).to_contain_text("https://edited.example/")
        card.get_by_role("button", name="Confirm").click()
        card.get_by_label(labels.OUTCOME).fill("Code 200.")
        card.locator("form").get_by_role("button", name="Confirm").click()
        page.locator(".call summary").click()
        decided = page.locator(".call-inside")
        expect(decided).to_contain_text("Approved with other arguments by bert (terminal)")
        expect(decided).to_contain_text(re.compile(r"Confirmed by \S+ \(web\)"))
        expect(decided.get_by_label("Arguments of http_request")).to_contain_text("\\u202e")
        assert (
            Decision.objects.get(run=call.run, verdict=CallResolution.CONFIRMED).reason
            == "Code 200."
        )

    def test_given_a_standing_permission_then_the_calls_say_which(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        first, second = unserved(workspace), unserved(workspace)
        approve_call(first, digest=first.digest, by=ANNA, always=Always("agent"))
        grant = Decision.objects.get(run=first.run).grant_id
        for call, said in (
            (first, f"Standing permission {grant} was given with it."),
            (second, f"Standing permission {grant} allows it."),
        ):
            signed_in.go(f"runs/{call.run_id}/")
            signed_in.page.locator(".call summary").click()
            expect(signed_in.page.locator(".call-inside")).to_contain_text(said)

    def test_given_a_sub_agent_that_waits_then_the_page_at_the_top_asks_and_leads_there(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        call = unserved(workspace)
        root = Run.objects.get(pk=rows.asking(workspace, "writer").run_id)
        Run.objects.filter(pk=call.run_id).update(parent=root, root=root)
        signed_in.go(f"runs/{root.pk}/")
        cards = signed_in.page.locator("article.asked")
        expect(cards).to_have_count(2)
        cards.get_by_role("link", name="Open the sub-agent").click()
        expect(signed_in.page).to_have_url(re.compile(f"#{call.run_id}$"))
        expect(signed_in.page.get_by_role("heading", level=1)).to_have_text("researcher")


class TestDeliveries:
    def test_given_a_result_that_did_not_arrive_then_it_says_why_and_is_sent_again(
        self, visitors: Visitors, workspace: Workspace, tree: tuple[Run, Run]
    ) -> None:
        row = Delivery.objects.create(
            workspace=workspace, run_id=tree[0].pk, position=0, kind="email", status="failed",
            target={"kind": "email", "to": ["ada@example.org"]}, attempts=1, error="550 <b>no</b>",
        )  # fmt: skip
        viewer, operator = (
            visitors(user=member(workspace, role)) for role in ("viewer", "operator")
        )
        for visitor in (viewer, operator):
            visitor.go(f"runs/{tree[0].pk}/")
            card = visitor.page.get_by_role("region", name="Deliveries")
            for said in ("ada@example.org", "Failed", "550 <b>no</b>"):
                expect(card).to_contain_text(said)
        again = viewer.page.get_by_role("button", name="Send again")
        expect(again).to_have_count(0)
        again = operator.page.get_by_role("button", name="Send again to ada@example.org")
        again.click()
        expect(again).to_have_count(0)
        row.refresh_from_db()
        assert row.status == "pending"


class TestQuarantine:
    @pytest.mark.parametrize(
        ("button", "label", "status"),
        [
            ("Discard it", "Discard it", "cancelled"),
            (labels.RESUME, labels.RESUME, "queued"),
            ("Retry", "Retry", "cancelled"),
        ],
    )
    def test_given_a_run_in_quarantine_then_it_is_settled_from_its_page(
        self, visitors: Visitors, workspace: Workspace, button: str, label: str, status: str
    ) -> None:
        run = quarantined(workspace)
        visitor = visitors(user=member(workspace, "operator"))
        visitor.go(f"runs/{run.pk}/")
        buttons = visitor.page.locator("header.head .actions")
        expect(buttons.get_by_role("button", name="Cancel")).to_have_count(0)
        buttons.get_by_role("button", name=button).click()
        visitor.page.get_by_role("dialog").get_by_role("button", name=label).click()
        expect(visitor.page.get_by_role("dialog")).to_have_count(0)
        run.refresh_from_db()
        assert run.status == status
        assert Run.objects.filter(forked_from=run).exists() == (button == "Retry")

    def test_given_a_viewer_then_a_run_in_quarantine_is_theirs_to_read(
        self, visitors: Visitors, workspace: Workspace
    ) -> None:
        run = quarantined(workspace)
        visitor = visitors(user=member(workspace, "viewer"))
        visitor.go(f"runs/{run.pk}/")
        expect(visitor.page.locator(".head .pill")).to_have_text("Quarantined")
        expect(visitor.page.locator("header.head .actions button")).to_have_count(0)


def test_given_a_role_then_every_operation_of_the_page_is_bounded_by_it(
    visitors: Visitors, workspace: Workspace
) -> None:
    call = unserved(workspace)
    run = f"/api/v1/runs/{call.run_id}"
    asked: dict[str, dict[str, Any]] = {
        f"{run}/calls/1.0/decision": {"digest": call.digest, "verdict": "approve"},
        f"{run}/fork": {"turn": 1},
        f"{run}/steer": {"text": "Hurry."},
        f"{run}/cancel": {},
        f"{run}/retry": {},
        f"{run}/unquarantine": {},
        f"{run}/discard": {},
    }
    visitor = visitors(user=member(workspace, "viewer"))
    visitor.expect("403")
    visitor.go(f"runs/{call.run_id}/")
    answers = visitor.page.evaluate(
        """async (asked) => {
          const { workspace, csrf } = document.body.dataset;
          const headers = {
            "Heartbit-Workspace": workspace, "X-CSRFToken": csrf,
            "Content-Type": "application/json",
          };
          const sent = Object.entries(asked).map(
            ([path, body]) => fetch(path, { method: "POST", headers, body }));
          return (await Promise.all(sent)).map(({ status }) => status);
        }""",
        {path: json.dumps(body) for path, body in asked.items()},
    )
    assert set(answers) == {403}
    assert not Decision.objects.filter(run=call.run).exists()
    assert Run.objects.get(pk=call.run_id).status == "waiting"


def test_given_staff_of_elsewhere_then_the_page_does_not_exist_and_for_superusers_it_does(
    visitors: Visitors, workspace: Workspace
) -> None:
    call = unserved(workspace)
    other = Workspace.objects.create(slug=f"else-{workspace.slug}", name="Elsewhere")
    stranger = member(other, "admin")
    User.objects.filter(pk=stranger.pk).update(is_staff=True)
    for user, status in ((stranger, 404), (person(operator=True), 200)):
        visitor = visitors(user=user)
        visitor.expect("404")
        answer = visitor.go(f"runs/{call.run_id}/")
        assert answer is not None
        assert answer.status == status
        turn = visitor.page.request.get(
            f"{visitor.url}/api/v1/runs/{call.run_id}/turns/1",
            headers={"Heartbit-Workspace": workspace.slug},
        )
        assert turn.status == status
