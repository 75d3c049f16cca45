"""The inbox: groups, filters, decisions about several, one thumb on a phone, and taking back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from playwright.sync_api import Locator, Page, expect

from agents.actions.decide_call import deny_call
from agents.actions.waits import notify_approvers
from agents.admin.prompts import build_prompt
from agents.approvals.call_display import token_of
from agents.models import Decision, ToolCall
from heartbit_site.base.access import access_of_user
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError, ForbiddenError
from heartbit_site.base.models import AuditEntry
from heartbit_site.cli.approvals.kinds import question
from heartbit_site.cli.following.pending_calls import CALLS
from heartbit_site.doors.questions import open_questions
from heartbit_site.operations.approvals import list_approvals
from tests.clients import Client
from tests.fleet import wait_until
from tests.web import labels
from tests.web.people import member
from tests.web.waiting_calls import unserved
from tools.actions.summarize_tool import summarize_tool
from tools.definitions.catalogue import store
from tools.definitions.registry import definition_hash, registry
from tools.models import CatalogueTool

if TYPE_CHECKING:
    from django.core.mail import EmailMessage

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

BOB = Actor("bob", "web")
LEAST = 44  # pixels that a thumb hits
SUMMARY = "E-mail to ann@example.org: Your refund"
MAIL = {"to": ["ann@example.org"], "subject": "Your refund", "text": "Hello.\n" * 200}


def mail(workspace: Workspace, subject: str = "Your refund") -> ToolCall:
    return unserved(workspace, tool="send_email", arguments={**MAIL, "subject": subject})


def rows(page: Page) -> Locator:
    return page.get_by_role("navigation", name="What waits").get_by_role("button")


def decisions(workspace: Workspace) -> list[tuple[str, str]]:
    found = Decision.objects.filter(run__workspace=workspace).order_by("pk")
    return list(found.values_list("verdict", "decided_by"))


@pytest.fixture
def browser_of(workspace: Workspace) -> Any:
    """Logs somebody in, without a browser's window."""

    def logged_in(role: str = "operator", group: Group | None = None) -> Client:
        user = member(workspace, role)
        if group is not None:
            group.user_set.add(user)
        client = Client(headers={"host": "127.0.0.1"})
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return logged_in


class TestTheList:
    def test_calls_are_grouped_by_tool_and_agent_and_filtered(
        self, workspace: Workspace, browser_of: Any
    ) -> None:
        for subject in ("One", "Two"):
            mail(workspace, subject)
        unserved(workspace)
        client, address = browser_of(), f"/w/{workspace.slug}/inbox/"
        whole = client.get(address).content.decode()
        assert whole.count("<h2>") == 2
        assert "E-mail to ann@example.org: One" in whole
        assert 'aria-label="Choose all of send_email, researcher"' in whole
        filtered = client.get(f"{address}?tool=http_get").content.decode()
        assert "E-mail to" not in filtered
        assert "https://example.org/" in filtered
        assert "Nothing fits the filter" in client.get(f"{address}?agent=none").content.decode()

    def test_mine_leaves_out_what_others_are_asked(
        self, workspace: Workspace, browser_of: Any
    ) -> None:
        group = Group.objects.create(name=f"clerks-{workspace.slug}")
        call = mail(workspace)
        call.approval_view = {**(call.approval_view or {}), "group": group.name}
        call.save(update_fields=["approval_view"])
        address = f"/w/{workspace.slug}/inbox/?whose=mine"
        assert SUMMARY not in browser_of().get(address).content.decode()
        assert SUMMARY in browser_of(group=group).get(address).content.decode()

    def test_the_former_address_leads_to_the_inbox(
        self, workspace: Workspace, browser_of: Any
    ) -> None:
        answer = browser_of().get(f"/w/{workspace.slug}/approvals/?call=x/1.0")
        assert (answer.status_code, answer["Location"]) == (
            302,
            f"/w/{workspace.slug}/inbox/?call=x%2F1.0",
        )

    def test_the_notifications_worker_is_served(self, signed_in: Visitor) -> None:
        signed_in.go("inbox/")
        worker = signed_in.page.locator("#inbox").get_attribute("data-worker")
        answer = signed_in.context.request.get(f"{signed_in.url}{worker}")
        assert answer.ok
        assert "notificationclick" in answer.text()

    def test_what_a_model_wrote_is_text(self, workspace: Workspace, browser_of: Any) -> None:
        mail(workspace, '<script>"&\u202e')
        shown = browser_of().get(f"/w/{workspace.slug}/inbox/").content.decode()
        assert '<script>"' not in shown
        assert "\u202e" not in shown


class TestSeveral:
    def test_given_chosen_calls_when_confirmed_then_each_is_decided_with_its_own_digest(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        calls = [mail(workspace, subject) for subject in ("One", "Two")]
        other = unserved(workspace)
        page = signed_in.page
        signed_in.go("inbox/")
        page.get_by_role("checkbox", name="Choose all of send_email").check()
        page.get_by_role("button", name="Deny chosen").click()
        expect(page.get_by_role("heading", name="Deny 2 calls?")).to_be_visible()
        expect(page.locator(".named li")).to_contain_text([": One", ": Two"])
        assert decisions(workspace) == []
        deny_call(calls[1], digest=calls[1].digest, by=BOB, reason="")
        page.get_by_label("Why not?").fill("Not today.")
        page.get_by_role("button", name="Deny 2 calls").click()
        expect(page.get_by_role("heading", name="1 denied, 1 not")).to_be_visible()
        refused = page.locator(".named li", has_text=": Two")
        expect(refused.get_by_role("alert")).to_contain_text("already denied by bob")
        decision = Decision.objects.get(run=calls[0].run)
        assert (decision.verdict, decision.digest, decision.reason, decision.via) == (
            *("denied", calls[0].digest),
            *("Not today.", "web"),
        )
        assert not Decision.objects.filter(run=other.run).exists()

    @pytest.mark.parametrize("wrong", ["digest", "verdict", "none", "many", "viewer", "shape"])
    def test_given_a_wrong_choice_when_sent_then_nothing_is_decided(
        self, workspace: Workspace, browser_of: Any, wrong: str
    ) -> None:
        call = mail(workspace)
        choice = f"{call.run_id}/{call.call_id}/{call.digest}"
        sent: dict[str, Any] = {"call": [choice], "verdict": "approve", "sure": "1"}
        match wrong:
            case "digest":
                sent["call"] = [choice[:-64] + "e" * 64]
            case "verdict":
                sent["verdict"] = "edit"
            case "none":
                sent["call"] = []
            case "many":
                sent["call"] = [f"{choice}{number}" for number in range(101)]
            case "shape":
                sent["call"] = ["x", "//", "\u202e/1/2"]
        client = browser_of("viewer" if wrong == "viewer" else "operator")
        answer = client.post(f"/w/{workspace.slug}/inbox/decide/", sent)
        expected = {"viewer": 403, "verdict": 422, "none": 422, "many": 422}
        assert answer.status_code == expected.get(wrong, 200)
        assert decisions(workspace) == []


class TestTakingBack:
    def test_given_a_decision_when_taken_back_then_it_was_never_sent(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        mail(workspace, "One")
        mail(workspace, "Two")
        page = signed_in.page
        page.clock.install()
        signed_in.go("inbox/")
        expect(page).to_have_title(f"(2) Inbox · {workspace.name} · Heartbit")
        page.keyboard.press("a")
        expect(rows(page)).to_have_count(1)
        expect(rows(page)).to_be_focused()  # the next one
        expect(page).to_have_title(f"(1) Inbox · {workspace.name} · Heartbit")
        page.keyboard.press("u")
        expect(rows(page)).to_have_count(2)
        page.clock.run_for(6_000)
        expect(page.get_by_role("article")).to_contain_text(": One")
        assert decisions(workspace) == []

    def test_given_two_decisions_then_the_first_is_sent_at_once_and_the_second_in_five_seconds(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        mail(workspace, "One")
        mail(workspace, "Two")
        page = signed_in.page
        page.clock.install()
        signed_in.go("inbox/")
        page.keyboard.press("a")
        expect(rows(page)).to_have_count(1)
        page.keyboard.press("a")
        wait_until(lambda: decisions(workspace), what="the first is decided")
        assert len(decisions(workspace)) == 1
        page.clock.run_for(5_100)
        wait_until(lambda: len(decisions(workspace)) == 2, what="the second is decided")
        expect(page.get_by_text(labels.NOTHING_WAITS)).to_be_visible()

    def test_given_a_decision_when_the_page_is_left_then_it_is_sent(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        mail(workspace)
        page = signed_in.page
        page.clock.install()
        signed_in.go("inbox/")
        page.keyboard.press("a")
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        signed_in.go("usage/")
        wait_until(lambda: decisions(workspace), what="it is decided")
        assert [verdict for verdict, _ in decisions(workspace)] == ["approved"]

    def test_given_somebody_quicker_when_it_is_sent_then_the_card_comes_back_and_says_who(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        call = mail(workspace)
        page = signed_in.page
        signed_in.expect("409")
        page.clock.install()
        signed_in.go("inbox/")
        page.keyboard.press("a")
        expect(rows(page)).to_have_count(0)
        deny_call(call, digest=call.digest, by=BOB, reason="")
        page.clock.run_for(5_100)
        expect(page.get_by_role("article").get_by_role("alert").first).to_contain_text(
            "Denied by bob"
        )


class TestOnAPhone:
    def test_a_card_fills_the_screen_with_its_buttons_in_reach_and_a_swipe_shows_the_next(
        self, visitors: Visitors, workspace: Workspace
    ) -> None:
        mail(workspace, "One")
        mail(workspace, "Two")
        phone = visitors(user=member(workspace, "operator"), width=390, height=844)
        page = phone.page
        phone.go("inbox/")
        card = page.get_by_role("article")
        expect(card).to_be_hidden()
        rows(page).first.click()
        expect(card).to_contain_text(": One")
        expect(rows(page).first).to_be_hidden()
        for name in ("Approve", "Edit", "Deny"):
            box = card.get_by_role("button", name=name, exact=True).bounding_box()
            assert box is not None
            assert box["height"] >= LEAST
            assert box["y"] + box["height"] <= 844
        swipe(page, -120)
        expect(card).to_contain_text(": Two")
        swipe(page, 120)
        expect(card).to_contain_text(": One")

        approve = card.get_by_role("button", name="Approve", exact=True)
        approve.click()
        expect(card).to_contain_text(": Two")
        undo = page.get_by_role("button", name="Undo").bounding_box()
        below = card.get_by_role("button", name="Approve", exact=True).bounding_box()
        assert undo is not None
        assert below is not None
        assert undo["height"] >= LEAST
        assert undo["y"] >= below["y"] + below["height"]  # it covers no button
        page.go_back()
        expect(card).to_be_hidden()
        expect(rows(page)).to_have_count(1)


def swipe(page: Page, by: int) -> None:
    """Draw a finger over the card."""
    session = page.context.new_cdp_session(page)
    start: dict[str, Any] = {"x": 195, "y": 300}
    ends = [
        ("touchStart", [start]),
        ("touchMove", [{"x": 195 + by, "y": 305}]),
        ("touchEnd", []),
    ]
    for kind, points in ends:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.detach()


class TestSummaries:
    """The sentence about a call, wherever it waits."""

    def test_a_card_begins_with_it_and_the_api_has_it(
        self, signed_in: Visitor, caller: Caller, workspace: Workspace
    ) -> None:
        call = mail(workspace)
        [asked] = caller.get("/approvals").json()["calls"]
        assert asked["summary"] == SUMMARY
        for path in ("inbox/", f"runs/{call.run_id}/"):
            signed_in.go(path)
            expect(signed_in.page.locator("article.asked .question")).to_have_text(SUMMARY)

    def test_mails_links_prompts_and_the_terminal_have_it(
        self, workspace: Workspace, mailoutbox: list[EmailMessage]
    ) -> None:
        user = member(workspace, "operator")
        user.email = "ann@example.org"
        user.save()
        call = mail(workspace, "See https://bad.example/")
        said = "E-mail to ann@example.org: See https://bad.example/"
        assert notify_approvers(call.run_id) == 1
        body = mailoutbox[0].body
        assert "Call: E-mail to ann@example.org: See https[://]bad.example/\n" in body
        link = Client(headers={"host": "127.0.0.1"}).get(f"/approve/{token_of(call, user.pk)}/")
        assert said in link.content.decode()
        assert build_prompt(call).summary == said
        access = access_of_user(user, workspace.slug)
        [asked] = list_approvals(access).calls
        assert f"send_email {said}"[:60] in str(CALLS.columns["TOOL"](asked))
        assert any(said in line for line in question(asked, 120))
        [open_question] = open_questions(access, call.run_id)
        assert open_question.text.startswith(f"{said}\n\n")

    def test_people_write_that_of_a_server_s_tool_and_a_wrong_one_is_refused_in_a_sentence(
        self, workspace: Workspace
    ) -> None:
        store([registry["http_get"]])
        digest = definition_hash(registry["http_get"])
        tool = CatalogueTool.objects.create(
            workspace=workspace, name="shop_read", definition_id=digest, origin="mcp"
        )
        boss, viewer = (
            Actor(one.username, "admin", one.pk, access_of_user(one, workspace.slug))
            for one in (member(workspace, "admin"), member(workspace, "viewer"))
        )
        with pytest.raises(ConfigurationError, match=r"names \{page\}, which is no parameter"):
            summarize_tool(tool, "Read {page}", by=boss)
        with pytest.raises(ForbiddenError):
            summarize_tool(tool, "Read {url}", by=viewer)
        summarize_tool(tool, " Read {url} ", by=boss)
        entry = AuditEntry.objects.get(workspace=workspace, action="tool.summarize")
        assert entry.details == {"summary": "Read {url}"}
        call = unserved(workspace, tool="shop_read", arguments={"url": "https://a.example/"})
        assert build_prompt(call).summary == "Read https://a.example/"
        with pytest.raises(ConfigurationError, match="is in its code"):
            summarize_tool(CatalogueTool(name="send_email"), "x", by=boss)


class TestWhoLooks:
    def test_given_two_people_at_one_call_then_each_sees_the_other_until_they_leave(
        self, signed_in: Visitor, visitors: Visitors, workspace: Workspace
    ) -> None:
        first, _ = mail(workspace, "One"), mail(workspace, "Two")
        grace = member(workspace)
        other = visitors(user=grace)
        signed_in.go(f"inbox/?call={first.run_id}/")
        looking = signed_in.page.locator("#looking")
        expect(signed_in.page.locator("article.asked")).to_be_visible()
        expect(looking).to_be_empty()
        other.go(f"inbox/?call={first.run_id}/")
        expect(looking).to_have_text(f"{grace.username} looks at it too", timeout=20_000)
        expect(other.page.locator("#looking")).to_contain_text("looks at it too")
        rows(other.page).filter(has_text="Two").click()
        expect(other.page.locator("#looking")).to_be_empty()
        expect(looking).to_be_empty(timeout=30_000)
