"""Calls that wait for a person, in the admin: the list that leads to them, and grants."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.urls import reverse

from agents.actions.decide_call import Always, approve_call, deny_call
from agents.actions.run_request import start_conversation
from agents.actions.runs import cancel_run
from agents.admin.prompts import waiting_calls
from agents.models import Decision, Grant, ToolCall
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Membership, Workspace
from tests.admin import rows
from tests.askers import TRIP, question
from tests.clients import Client
from tests.starts import post_message

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/toolcall/"
ANNA = Actor("anna", "web")
EVIL = {
    "url": f"https://example.org/{rows.HOSTILE}",
    "name": "txt.\u202eexe\u200b",
    "na\u200bme": {"escape": "\x1b[2J"},
}


def page(call: ToolCall) -> str:
    return reverse("web:run", args=[call.run.workspace.slug, call.run_id])


def told(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


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


def others(call: ToolCall) -> str:
    """The ids of other waiting calls, as a page sends those that it is to prompt for no more."""
    every = waiting_calls().exclude(pk=call.pk).values_list("pk", flat=True)
    return ",".join(map(str, every))


class TestTheList:
    def test_hostile_arguments_are_visible_and_harmless(
        self, browser: Client, workspace: Workspace
    ) -> None:
        rows.asking(workspace, arguments=EVIL)
        text = browser.get(LIST).content.decode()
        assert rows.HOSTILE not in text
        assert "&lt;script&gt;alert" in text
        for hidden in "\u202e\u200b\x1b":
            assert hidden not in text

    def test_a_prompt_marks_what_arguments_hide(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call = rows.asking(workspace, arguments=EVIL)
        text = browser.get(f"{LIST}prompts/", {"after": "0", "dismissed": others(call)})
        shown = text.content.decode()
        assert rows.HOSTILE not in shown
        assert "txt.<mark>\\u202e</mark>exe<mark>\\u200b</mark>" in shown
        assert "Hidden characters in the arguments: 3." in shown

    def test_a_prompt_of_a_question_leads_to_where_it_is_answered(
        self, browser: Client, workspace: Workspace
    ) -> None:
        call = question(workspace, f"Which \u202e? {rows.HOSTILE}", TRIP)
        answer = browser.get(f"{LIST}prompts/", {"after": "0", "dismissed": others(call)})
        text = answer.content.decode()
        assert "asker asks a person" in text
        assert "Which <mark>\\u202e</mark>? &lt;script&gt;" in text
        assert f'href="{page(call)}">Open and answer' in text
        assert 'data-act="approve"' not in text
        [prompt] = answer.context["prompts"].shown
        names = [argument.name[0].text for argument in prompt.display.arguments]
        assert names == ["question"], "the form is said where it is answered"

    def test_the_list_has_every_workspaces_calls_the_oldest_first(
        self, browser: Client, workspace: Workspace
    ) -> None:
        first, second = rows.asking(workspace), rows.asking(workspace, "writer")
        response = browser.get(LIST)
        listed = [call.pk for call in response.context["cl"].result_list]
        assert [pk for pk in listed if pk in (first.pk, second.pk)] == [first.pk, second.pk]
        link = reverse("admin:agents_toolcall_change", args=[first.pk])
        assert f'href="{page(first)}"' in response.content.decode()
        assert browser.get(link).headers["location"] == page(first)
        approve_call(first, digest=first.digest, by=ANNA)
        cancel_run(workspace, second.run_id, reason="enough")
        listed = [call.pk for call in browser.get(LIST).context["cl"].result_list]
        assert not {first.pk, second.pk} & set(listed)
        assert browser.get(link).headers["location"] == page(first), "decided meanwhile"

    def test_a_member_is_led_to_the_inbox_and_somebody_of_nowhere_sees_nothing(
        self, workspace: Workspace
    ) -> None:
        call = rows.asking(workspace)
        reader = person(workspace, "viewer")
        assert reader.get(LIST).headers["location"] == f"/w/{workspace.slug}/inbox/"
        blind = stranger("view_run", "change_run", "add_decision")
        assert str(call.run_id) not in blind.get(LIST).content.decode()
        led = blind.get(reverse("admin:agents_toolcall_change", args=[call.pk]))
        assert led.status_code == 403


def test_a_reason_is_shown_in_the_log_of_decisions_and_never_run(
    browser: Client, workspace: Workspace
) -> None:
    call = rows.asking(workspace)
    deny_call(call, digest=call.digest, by=ANNA, reason=f"Too risky. {rows.HOSTILE}")
    made = Decision.objects.get(run=call.run_id)
    text = browser.get(reverse("admin:agents_decision_change", args=[made.pk])).content.decode()
    assert "Too risky. &lt;script&gt;" in text
    assert rows.HOSTILE not in text
    assert f'href="{page(call)}"' in text


class TestPermissions:
    def grant(self, workspace: Workspace) -> Grant:
        call = rows.asking(workspace)
        approve_call(call, digest=call.digest, by=ANNA, always=Always("agent"))
        return Grant.objects.get(workspace=workspace)

    def test_one_is_revoked_from_its_page(self, browser: Client, workspace: Workspace) -> None:
        grant = self.grant(workspace)
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
        grant = self.grant(workspace)
        chosen = {"action": "revoke_chosen", "_selected_action": [grant.pk]}
        assert "1 grant revoked." in told(browser.post("/admin/agents/grant/", chosen))
        grant.refresh_from_db()
        assert grant.revoked_at is not None

    def test_revoking_needs_the_permission(self, workspace: Workspace) -> None:
        grant = self.grant(workspace)
        reader = person(workspace, "viewer")
        url = reverse("admin:agents_grant_revoke", args=[grant.pk])
        assert reader.post(url, {"_form_submitted": "True"}).status_code == 403
        chosen = {"action": "revoke_chosen", "_selected_action": [grant.pk]}
        reader.post("/admin/agents/grant/", chosen)
        grant.refresh_from_db()
        assert grant.revoked_at is None


def test_a_conversation_shows_its_runs(browser: Client, workspace: Workspace) -> None:
    thread = start_conversation(workspace, agent="writer", title="Haiku")
    posted = post_message(thread, f"Write one. {rows.HOSTILE}")
    url = reverse("admin:agents_conversation_change", args=[thread.pk])
    text = browser.get(url).content.decode()
    run = reverse("web:run", args=[workspace.slug, posted.run_id])
    assert f'href="{run}"' in text
    assert "Write one. &lt;script&gt;" in text
