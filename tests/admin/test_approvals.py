"""Calls that wait for a person: shown whole, decided from their forms, by who may."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents import dispatch
from agents.actions.cancel_run import cancel_run
from agents.actions.decide_call import Decider, deny_call
from agents.actions.post_message import post_message, start_conversation
from agents.actions.steer_run import steer_run
from agents.choices import RunStatus
from agents.events import ContextSummarized, ModelDelayed, ToolFinished
from agents.live.changes import notify
from agents.llm.messages import Usage
from agents.models import Decision, Grant, Run, ToolCall
from heartbit_site.base.audit import Actor
from heartbit_site.base.effect_text import describe_effect
from heartbit_site.base.models import Membership, Workspace
from heartbit_site.base.toolspec import Effect
from tests.admin import rows

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/toolcall/"
EVIL = {
    "url": f"https://example.org/{rows.HOSTILE}",
    "name": "txt.\u202eexe\u200b",
    "na\u200bme": {"escape": "\x1b[2J"},
}


def page(call: ToolCall) -> str:
    return reverse("admin:agents_run_change", args=[call.run_id])


def send(browser: Client, call: ToolCall, verdict: str, **fields: str) -> Any:
    url = reverse("admin:agents_run_decide", args=[call.run_id, call.pk])
    return browser.post(url, {"verdict": verdict, "digest": call.digest} | fields)


def told(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def decision(call: ToolCall) -> Decision:
    return Decision.objects.get(run=call.run_id, call_id=call.call_id)


def person(workspace: Workspace, role: str) -> Client:
    user = User.objects.create(username="reader-of-tests", is_staff=True)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client


def stranger(*permissions: str) -> Client:
    """Somebody with Django's permissions who belongs to no workspace."""
    user = User.objects.create(username="stranger-of-tests", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client


class TestWhatIsShown:
    def test_all_of_the_call(self, browser: Client, workspace: Workspace) -> None:
        call = rows.asking(workspace, arguments={"url": "https://a.example/", "retries": 3})
        text = browser.get(page(call)).content.decode()
        for said in (
            "http_get waits for approval",
            "https://a.example/",
            "retries",
            describe_effect(Effect.AT_MOST_ONCE),
            "It asks before it uses http_get.",
            f'value="{call.digest}"',
            "Always allow",
        ):
            assert said in text, said
        assert 'hx-trigger="every' not in text, "nothing moves under the pointer"

    def test_hostile_arguments_are_visible_and_harmless(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call = rows.asking(workspace, arguments=EVIL)
        for url in (page(call), LIST):
            text = browser.get(url).content.decode()
            assert rows.HOSTILE not in text, url
            assert "&lt;script&gt;alert" in text, url
            for hidden in "\u202e\u200b\x1b":
                assert hidden not in text, url
        text = browser.get(page(call)).content.decode()
        assert "txt.<mark>\\u202e</mark>exe<mark>\\u200b</mark>" in text
        assert "Hidden characters in the arguments: 3." in text
        card = browser.get(page(call)).context["page"].cards[0]
        assert json.loads(card.editable) == EVIL, "unedited, it would mean the same"

    def test_the_roots_page_shows_what_a_sub_agent_waits_for(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call = rows.asking(workspace)
        root = Run.objects.get(pk=rows.asking(workspace, "writer").run_id)
        Run.objects.filter(pk=call.run_id).update(parent=root, root=root)
        shown = browser.get(reverse("admin:agents_run_change", args=[root.pk])).context["page"]
        assert {card.row.run_id: card.is_here for card in shown.cards} == {
            root.pk: True,
            call.run_id: False,
        }
        call.run.refresh_from_db()
        below = browser.get(page(call)).context["page"]
        assert [card.row.pk for card in below.cards] == [call.pk]

    def test_the_list_has_every_workspaces_calls_the_oldest_first(
        self, browser: Client, workspace: Workspace
    ) -> None:
        first, second = rows.asking(workspace), rows.asking(workspace, "writer")
        response = browser.get(LIST)
        listed = [call.pk for call in response.context["cl"].result_list]
        assert [pk for pk in listed if pk in (first.pk, second.pk)] == [first.pk, second.pk]
        link = reverse("admin:agents_toolcall_change", args=[first.pk])
        assert f'href="{link}"' in response.content.decode()
        assert browser.get(link).headers["location"] == f"{page(first)}#call-{first.pk}"
        send(browser, first, "approve")
        cancel_run(workspace, second.run_id, reason="enough")
        listed = [call.pk for call in browser.get(LIST).context["cl"].result_list]
        assert not {first.pk, second.pk} & set(listed)
        assert browser.get(link).headers["location"].startswith(page(first)), "decided meanwhile"

    def test_sidebar_and_dashboard_count_them(self, browser: Client, workspace: Workspace) -> None:
        index = reverse("admin:index")
        before = browser.get(index).context["dashboard"].waiting
        rows.asking(workspace)
        response = browser.get(index)
        assert response.context["dashboard"].waiting == before + 1
        sidebar = response.content.decode().partition(f'href="{LIST}"')[2].partition("</a>")[0]
        assert str(before + 1) in sidebar


class TestDecisions:
    def test_approve(
        self, browser: Client, workspace: Workspace, django_capture_on_commit_callbacks: Any
    ) -> None:
        call = rows.asking(workspace)
        with django_capture_on_commit_callbacks() as rung:
            response = send(browser, call, "approve")
        assert response.headers["location"] == page(call)
        assert "http_get (1.0) was approved." in told(response)
        made = decision(call)
        assert (made.verdict, made.via, made.decided_by) == ("approved", "admin", "root-of-tests")
        assert made.user == User.objects.get(username="root-of-tests")
        call.run.refresh_from_db()
        assert call.run.status == RunStatus.QUEUED
        assert [one.func for one in rung] == [dispatch.ring, notify], "fleet and pages are told"
        text = browser.get(page(call)).content.decode()
        assert "Approved by root-of-tests (admin)" in text
        assert "Approved by root-of-tests: http_get (1.0)" in text

    def test_deny_with_a_reason(self, browser: Client, workspace: Workspace) -> None:
        call = rows.asking(workspace)
        send(browser, call, "deny", reason=f"Too risky. {rows.HOSTILE}")
        made = decision(call)
        assert (made.verdict, made.reason) == ("denied", f"Too risky. {rows.HOSTILE}")
        for url in (page(call), reverse("admin:agents_decision_change", args=[made.pk])):
            text = browser.get(url).content.decode()
            assert "Too risky. &lt;script&gt;" in text
            assert rows.HOSTILE not in text

    def test_edit(self, browser: Client, workspace: Workspace) -> None:
        call = rows.asking(workspace)
        send(browser, call, "edit", arguments='{"url": "https://other.example/"}')
        made = decision(call)
        assert made.verdict == "edited"
        assert made.arguments == '{"url": "https://other.example/"}'
        assert made.runs_digest != made.digest == call.digest
        assert "Approved with other arguments by root-of-tests: http_get (1.0)" in (
            browser.get(page(call)).content.decode()
        )

    @pytest.mark.parametrize("arguments", ['{"url": 7}', "{", "[]"])
    def test_an_edit_that_does_not_fit_is_asked_for_again(
        self, browser: Client, workspace: Workspace, arguments: str
    ) -> None:
        call = rows.asking(workspace)
        response = send(browser, call, "edit", arguments=arguments)
        assert response.status_code == 200
        [card] = response.context["page"].cards
        assert card.refused.problem
        assert card.editable == arguments, "what was written is still there"
        assert "Nothing was decided." in response.content.decode()
        assert not Decision.objects.filter(run=call.run_id).exists()

    @pytest.mark.parametrize("scope", ["run", "agent"])
    def test_always_allow(self, browser: Client, workspace: Workspace, scope: str) -> None:
        call = rows.asking(workspace)
        until = timezone.localtime() + timedelta(days=1)
        send(browser, call, "always", scope=scope, until=f"{until:%Y-%m-%dT%H:%M}")
        made = decision(call)
        assert made.grant is not None
        assert made.grant.root_id == (call.run_id if scope == "run" else None)
        assert made.grant.expires_at == until.replace(second=0, microsecond=0)
        text = browser.get(page(call)).content.decode()
        assert f"and grant {made.grant.pk} given" in text

    def test_what_else_waits_goes_on_by_that_permission(
        self, browser: Client, workspace: Workspace
    ) -> None:
        first, second = rows.asking(workspace), rows.asking(workspace)
        send(browser, first, "always", scope="agent", until="")
        made = decision(second)
        assert (made.via, made.decided_by) == ("grant", "root-of-tests")
        assert f"by grant {made.grant_id}" in browser.get(page(second)).content.decode()

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"scope": ""}, "Choose whether it is for this run or for the agent."),
            ({"scope": "run", "until": "2001-01-01T10:00"}, "choose a later time"),
            ({"scope": "run", "until": "tomorrow"}, "as a date and a time"),
        ],
    )
    def test_half_a_permission_is_none(
        self, browser: Client, workspace: Workspace, fields: dict[str, str], said: str
    ) -> None:
        call = rows.asking(workspace)
        assert said in send(browser, call, "always", **fields).content.decode()
        assert not Grant.objects.filter(workspace=workspace).exists()

    def test_who_comes_second_is_told_who_was_first(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call = rows.asking(workspace)
        deny_call(call, digest=call.digest, by=Decider("anna", "terminal"), reason="no")
        response = send(browser, call, "approve")
        assert response.headers["location"] == page(call)
        assert told(response) == "The call was already denied by anna."
        assert decision(call).decided_by == "anna"

    def test_what_is_not_what_was_shown_is_not_approved(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call = rows.asking(workspace)
        assert "was shown" in told(send(browser, call, "approve", digest="e" * 64))
        assert not Decision.objects.filter(run=call.run_id).exists()

    def test_a_call_of_another_tree_is_not_found(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call, other = rows.asking(workspace), rows.asking(workspace)
        url = reverse("admin:agents_run_decide", args=[other.run_id, call.pk])
        response = browser.post(url, {"verdict": "approve", "digest": call.digest})
        assert response.status_code == 404


class TestWhoMay:
    def test_who_may_only_look_has_no_buttons(self, workspace: Workspace) -> None:
        reader = person(workspace, "viewer")
        call = rows.asking(workspace)
        text = reader.get(page(call)).content.decode()
        assert "https://example.org/" in text
        assert "Approve" not in text
        assert "needs the role of an operator" in text
        assert reader.get(LIST).status_code == 200
        for verdict in ("approve", "deny", "edit", "always"):
            assert send(reader, call, verdict, arguments="{}", scope="run").status_code == 403
        assert not Decision.objects.filter(run=call.run_id).exists()

    def test_who_may_decide_need_not_be_a_superuser(self, workspace: Workspace) -> None:
        call = rows.asking(workspace)
        assert send(person(workspace, "operator"), call, "approve").status_code == 302
        assert decision(call).decided_by == "reader-of-tests"

    def test_who_may_not_see_the_run_decides_nothing(self, workspace: Workspace) -> None:
        call = rows.asking(workspace)
        blind = stranger("view_run", "change_run", "add_decision")
        assert send(blind, call, "approve").status_code == 403
        assert f"call-{call.pk}" not in blind.get(LIST).content.decode()

    def test_a_form_of_another_site_decides_nothing(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call = rows.asking(workspace)
        strict = Client(headers={"host": "localhost"}, enforce_csrf_checks=True)
        strict.force_login(User.objects.get(username="root-of-tests"))
        assert send(strict, call, "approve").status_code == 403
        shown = strict.get(page(call))
        token = str(shown.context["csrf_token"])
        assert send(strict, call, "approve", csrfmiddlewaretoken=token).status_code == 302

    def test_a_link_decides_nothing(self, browser: Client, workspace: Workspace) -> None:
        call = rows.asking(workspace)
        url = reverse("admin:agents_run_decide", args=[call.run_id, call.pk])
        response = browser.get(f"{url}?verdict=approve&digest={call.digest}")
        assert response.headers["location"] == page(call)
        assert not Decision.objects.filter(run=call.run_id).exists()


class TestPermissions:
    def grant(self, browser: Client, workspace: Workspace) -> Grant:
        send(browser, rows.asking(workspace), "always", scope="agent", until="")
        return Grant.objects.get(workspace=workspace)

    def test_one_is_revoked_from_its_page(self, browser: Client, workspace: Workspace) -> None:
        grant = self.grant(browser, workspace)
        shown = reverse("admin:agents_grant_change", args=[grant.pk])
        url = reverse("admin:agents_grant_revoke", args=[grant.pk])
        assert f'hx-get="{url}"' in browser.get(shown).content.decode()
        browser.post(url, {"_form_submitted": "True"})
        grant.refresh_from_db()
        assert grant.revoked_at is not None
        text = browser.get(shown).content.decode()
        assert "Revoked" in text
        assert url not in text

    def test_chosen_ones_are_revoked_from_the_list(
        self, browser: Client, workspace: Workspace
    ) -> None:
        grant = self.grant(browser, workspace)
        chosen = {"action": "revoke_chosen", "_selected_action": [grant.pk]}
        assert "1 grant revoked." in told(browser.post("/admin/agents/grant/", chosen))
        grant.refresh_from_db()
        assert grant.revoked_at is not None

    def test_revoking_needs_the_permission(self, browser: Client, workspace: Workspace) -> None:
        grant = self.grant(browser, workspace)
        reader = person(workspace, "viewer")
        url = reverse("admin:agents_grant_revoke", args=[grant.pk])
        assert reader.post(url, {"_form_submitted": "True"}).status_code == 403
        chosen = {"action": "revoke_chosen", "_selected_action": [grant.pk]}
        reader.post("/admin/agents/grant/", chosen)
        grant.refresh_from_db()
        assert grant.revoked_at is None


def test_the_journal_says_what_happens_around_a_call(browser: Client, workspace: Workspace) -> None:
    run_id = rows.asking(workspace).run_id
    run = Run.objects.get(pk=run_id)
    steer_run(run, "Use the mirror.", by=Actor("anna", "web"))
    send(browser, ToolCall.objects.get(run=run), "approve")
    held = rows.Held(run_id)
    held.record(
        ToolFinished("1.0", "ok", "found", "at_most_once", 5, grant=7),
        ModelDelayed(2, "timer:1", "The provider is busy.", 90.0),
        ContextSummarized(2, 4, "They looked it up.", Usage(10, 2), rows.MODEL, 12, "0.1"),
    )
    text = browser.get(page(ToolCall.objects.get(run=run))).content.decode()
    for said in (
        "Asks for approval of http_get (1.0)",
        "Told by anna",
        "Use the mirror.",
        "5 ms, by standing permission 7",
        "Is paused for 1 min 30 s",
        "The provider is busy.",
        "Summed up 3 earlier messages",
        "They looked it up.",
    ):
        assert said in text, said


def test_a_structured_answer_and_a_long_task_are_shown_as_json(
    browser: Client, workspace: Workspace
) -> None:
    run_id = rows.asking(workspace).run_id
    answer = {"verdict": rows.HOSTILE}
    Run.objects.filter(pk=run_id).update(structured=answer, payload={"action": "review"})
    text = browser.get(reverse("admin:agents_run_change", args=[run_id])).content.decode()
    assert "{\n  &quot;verdict&quot;: &quot;&lt;script&gt;" in text
    assert "&quot;action&quot;: &quot;review&quot;" in text


def test_a_conversation_shows_its_runs(browser: Client, workspace: Workspace) -> None:
    thread = start_conversation(workspace, agent="writer", title="Haiku")
    posted = post_message(thread, f"Write one. {rows.HOSTILE}")
    url = reverse("admin:agents_conversation_change", args=[thread.pk])
    text = browser.get(url).content.decode()
    assert f'href="{reverse("admin:agents_run_change", args=[posted.run_id])}"' in text
    assert "Write one. &lt;script&gt;" in text
    run = browser.get(reverse("admin:agents_run_change", args=[posted.run_id])).content.decode()
    assert f'href="{url}"' in run
    assert "Haiku" in run
