"""Calls that somebody else decides while a page shows them: it says so, and keeps an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.actions.decide_call import approve_call, deny_call, edit_call
from agents.actions.runs import cancel_run
from agents.actions.waits import resolve_call
from agents.approvals.questions import load_question_state
from agents.choices import CallResolution
from agents.models import Decision, ToolCall, Wait
from heartbit_site.base.audit import Actor
from tests.admin import rows
from tests.doubtful import in_doubt
from tests.web import labels
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from heartbit_site.base.models import Workspace
    from tests.web.visitor import Visitor

BOB = Actor("bob", "web")


def page_of(visitor: Visitor, call: ToolCall, place: str) -> None:
    visitor.go("inbox/" if place == "inbox" else f"runs/{call.run_id}/")


@pytest.mark.parametrize("place", ["inbox", "run"])
class TestOnThePage:
    def test_given_a_call_when_somebody_else_denies_it_then_its_card_says_who(
        self, signed_in: Visitor, workspace: Workspace, place: str
    ) -> None:
        call = unserved(workspace)
        page_of(signed_in, call, place)
        card = signed_in.page.locator("article.asked")
        expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
        deny_call(call, digest=call.digest, by=BOB, reason="Not today.")
        expect(card.get_by_role("alert").first).to_contain_text("Denied by bob at ")
        expect(card.get_by_role("alert").first).to_contain_text("Not today.")
        expect(card.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
        card.get_by_role("button", name="Dismiss").click()
        expect(card).to_have_count(0)

    def test_given_an_edit_under_way_when_somebody_else_approves_then_it_is_kept_and_stale(
        self, signed_in: Visitor, workspace: Workspace, place: str
    ) -> None:
        call = unserved(workspace)
        page_of(signed_in, call, place)
        card = signed_in.page.locator("article.asked")
        card.get_by_role("button", name="Edit").click()
        field = card.get_by_label("url")
        field.fill("https://mine.example/")
        approve_call(call, digest=call.digest, by=BOB)
        expect(card.get_by_role("alert").first).to_contain_text("Approved by bob")
        expect(field).to_have_value("https://mine.example/")
        expect(card.get_by_role("button", name=labels.REVIEW)).to_be_disabled()
        assert Decision.objects.get(run=call.run).decided_by == "bob"

    def test_given_a_run_when_it_is_cancelled_then_its_call_says_by_whom(
        self, signed_in: Visitor, workspace: Workspace, place: str
    ) -> None:
        call = unserved(workspace)
        page_of(signed_in, call, place)
        card = signed_in.page.locator("article.asked")
        expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
        cancel_run(workspace, call.run_id, reason="cancelled by eve", by=Actor("eve", "web"))
        expect(card.get_by_role("alert").first).to_contain_text("Cancelled by eve")


def test_given_an_edit_when_its_sender_is_too_late_then_it_is_kept(
    signed_in: Visitor, workspace: Workspace
) -> None:
    call = unserved(workspace)
    page = signed_in.page
    signed_in.expect("409")
    # The page hears of nothing, so that only the server's refusal can tell it.
    page.route_web_socket("**/ws/**", lambda _: None)
    signed_in.go("inbox/")
    card = page.locator("article.asked")
    card.get_by_role("button", name="Edit").click()
    card.get_by_label("url").fill("https://mine.example/")
    card.get_by_role("button", name=labels.REVIEW).click()
    approve_call(call, digest=call.digest, by=BOB)
    card.get_by_role("button", name="these changes").click()
    expect(card.get_by_role("alert").first).to_contain_text("Approved by bob")
    expect(card.get_by_role("row", name="url")).to_contain_text("https://mine.example/")
    expect(card.get_by_role("button", name="these changes")).to_be_disabled()


def test_given_a_failed_look_at_a_decided_call_then_its_card_looks_again(
    signed_in: Visitor, workspace: Workspace
) -> None:
    call = unserved(workspace)
    failed: list[str] = []
    signed_in.expect("503")

    def fail_once(route: Route) -> None:
        if failed:
            route.continue_()
        else:
            failed.append(route.request.url)
            route.fulfill(status=503, json={"detail": "Try again."})

    signed_in.page.route("**/decision?*", fail_once)
    signed_in.go("inbox/")
    card = signed_in.page.locator("article.asked")
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    deny_call(call, digest=call.digest, by=BOB, reason="")
    expect(card.get_by_role("alert").first).to_contain_text("Denied by bob")
    assert failed


class TestState:
    def test_given_each_way_to_close_a_call_then_its_state_names_it(
        self, workspace: Workspace
    ) -> None:
        def state(call: ToolCall, question: str = "") -> tuple[str, str]:
            fresh = ToolCall.objects.select_related("run").get(pk=call.pk)
            found = load_question_state(fresh, digest=call.digest, question=question)
            return found.state, found.by

        call = unserved(workspace)
        assert state(call) == ("open", "")
        edit_call(call, digest=call.digest, by=BOB, arguments='{"url": "https://b.example/"}')
        assert state(call) == ("edited", "bob")

        late = unserved(workspace)
        Wait.objects.filter(run=late.run).update(expires_at="2000-01-01T00:00:00Z")
        assert state(late) == ("expired", "")
        key = Wait.objects.get(run=late.run).key
        assert rows.sql("SELECT * FROM heartbit_expire_asked(%s, %s)", late.run_id, key)["done"]
        assert state(late) == ("expired", "")

        doubtful = in_doubt(workspace)
        key = Wait.objects.get(run=doubtful.run, kind="outcome").key
        assert state(doubtful, key) == ("open", "")
        resolve_call(doubtful, CallResolution.SKIPPED, by=BOB)
        assert state(doubtful, key) == ("skipped", "bob")

        other = unserved(workspace)
        ToolCall.objects.filter(pk=other.pk).update(digest="e" * 64)
        assert state(other) == ("closed", "")
