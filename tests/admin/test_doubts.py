"""Calls of unknown outcome in the admin: counted, marked in the list, and logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from agents.actions.waits import resolve_call
from agents.choices import CallResolution, Placement
from agents.models import Decision
from heartbit_site.base.audit import Actor
from tests.admin import rows
from tests.doubtful import in_doubt

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/toolcall/"


def test_given_a_doubt_then_the_list_marks_it(browser: Client, workspace: Workspace) -> None:
    doubt, approval = in_doubt(workspace, home=Placement.FLEET), rows.asking(workspace)
    response = browser.get(LIST)
    text = response.content.decode()
    assert {doubt.pk, approval.pk} <= {row.pk for row in response.context["cl"].result_list}
    assert "Unknown outcome" in text
    resolve_call(doubt, CallResolution.SKIPPED, by=Actor("anna", "web"))
    assert doubt.pk not in {row.pk for row in browser.get(LIST).context["cl"].result_list}


@pytest.mark.parametrize("outcome", list(CallResolution))
def test_given_a_settled_call_then_the_log_of_decisions_says_how(
    browser: Client, workspace: Workspace, outcome: CallResolution
) -> None:
    call = in_doubt(workspace, home=Placement.FLEET)
    resolve_call(call, outcome, by=Actor("anna", "web"))
    made = Decision.objects.get(run=call.run_id)
    for url in ("changelist", "change"):
        arguments = [made.pk] if url == "change" else []
        listed = browser.get(reverse(f"admin:agents_decision_{url}", args=arguments))
        assert made.get_verdict_display() in listed.content.decode()
