"""Who started a run, in the admin: runs made there, and the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from agents.models import Agent, Run
from heartbit_site.base.audit import Actor
from tests.admin import rows
from tests.starts import start_run

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

SENT = {"_form_submitted": "True"}
NAME = "root-of-tests"


def test_given_run_now_then_the_run_is_of_whoever_clicked(
    browser: Client, workspace: Workspace
) -> None:
    me = (NAME, User.objects.get(username=NAME).pk)
    agent = Agent.objects.get(workspace=workspace, name="writer")
    browser.post(
        reverse("admin:agents_agent_start", args=[agent.pk]),
        {"task": "Write.", "model": rows.MODEL, **SENT},
    )
    started = Run.objects.get(workspace=workspace)
    assert (started.started_by, started.started_user_id) == me


def test_given_a_name_then_the_list_shows_it_and_the_search_finds_it(
    browser: Client, workspace: Workspace
) -> None:
    by = Actor("<b>mara</b> at a terminal", "terminal")
    run = start_run(workspace, "Write.", agent="writer", by=by)
    start_run(workspace, "Write.", agent="writer")
    page = reverse("admin:agents_run_changelist")
    shown = "&lt;b&gt;mara&lt;/b&gt; at a terminal"
    found = browser.get(page, {"q": "mara"})
    assert {row.pk for row in found.context["cl"].result_list} == {run}
    assert shown in found.content.decode()
