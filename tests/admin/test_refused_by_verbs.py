"""Refusals of verbs, shown in the form that asked, or as a message above the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.urls import reverse

from agents.actions import webhooks as verb
from agents.models import WebhookDelivery, WebhookEndpoint
from heartbit_site.base.actions.members import save_member
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Membership, Role, Workspace
from tests.admin.forms import filled_undrawn

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db

ADD = "/admin/agents/webhookendpoint/add/"


@pytest.fixture
def bare(db: None) -> Workspace:
    return Workspace.objects.create(slug="bare-of-webhooks", name="Bare")


def test_given_one_webhook_too_many_then_the_form_says_so_and_nothing_is_written(
    browser: Client, bare: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "MOST", 0)
    data = {"workspace": bare.pk, "name": "tickets", "url": "https://example.org/in"}
    sent = filled_undrawn(browser, ADD) | data | {"events": ["run.failed"]}
    response = browser.post(ADD, sent)
    assert response.status_code == 200
    assert "the most" in str(response.context["adminform"].form.non_field_errors())
    assert not WebhookEndpoint.objects.filter(workspace=bare).exists()


def test_given_a_disabled_webhook_then_a_test_event_is_refused_with_a_message(
    browser: Client, bare: Workspace
) -> None:
    endpoint = WebhookEndpoint(
        workspace=bare, name="tickets", url="https://example.org/in", events=["run.failed"]
    )
    verb.save_webhook(endpoint, by=SYSTEM)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(enabled=False)
    url = reverse("admin:agents_webhookendpoint_ping", args=[endpoint.pk])
    response = browser.post(url, {"_form_submitted": "True"})
    assert response.headers["HX-Refresh"] == "true"
    said = [str(message) for message in get_messages(response.wsgi_request)]
    assert said == ["The webhook tickets is disabled: enable it first."]
    assert not WebhookDelivery.objects.filter(endpoint=endpoint).exists()


def test_given_a_row_that_is_gone_then_its_button_leads_to_the_list(browser: Client) -> None:
    url = reverse("admin:agents_webhookendpoint_ping", args=[10**9])
    response = browser.post(url, {"_form_submitted": "True"})
    assert response.headers["HX-Redirect"] == reverse("admin:agents_webhookendpoint_changelist")
    said = [str(message) for message in get_messages(response.wsgi_request)]
    assert said == ["It does not exist any more."]


def test_of_rows_chosen_together_all_are_deleted_or_none(browser: Client, bare: Workspace) -> None:
    people = [User.objects.create(username=f"{name}-of-tests") for name in ("ann", "bob")]
    members = [save_member(bare, user, Role.ADMIN, by=SYSTEM) for user in people]
    listed = reverse("admin:base_membership_changelist")
    chosen = [member.pk for member in members]
    data = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}
    response = browser.post(listed, data)
    assert (response.status_code, response.headers["Location"]) == (302, listed)
    [said] = [str(message) for message in get_messages(response.wsgi_request)]
    assert "bare-of-webhooks" in said
    assert Membership.objects.filter(workspace=bare).count() == 2
    assert not AuditEntry.objects.filter(workspace=bare, action="member.remove").exists()
    browser.post(listed, data | {"_selected_action": chosen[:1]})
    assert AuditEntry.objects.filter(workspace=bare, action="member.remove").count() == 1
    assert list(Membership.objects.filter(workspace=bare)) == members[1:]
