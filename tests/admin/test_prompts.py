"""The prompts of the admin's pages, as they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.admin import prompts
from tests.admin import rows
from tests.clients import Client
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

PROMPTS = "/admin/agents/toolcall/prompts/"


def test_given_waiting_calls_then_no_more_are_read_than_are_looked_at(
    workspace: Workspace,
) -> None:
    call = rows.asking(workspace)
    browser = Client(headers={"host": "localhost"})  # a member of this workspace only
    browser.force_login(member(workspace), backend="django.contrib.auth.backends.ModelBackend")
    with CaptureQueriesContext(connection) as asked:
        begun = browser.get(PROMPTS, {"after": "0"}).context["prompts"]
    assert call.pk in {prompt.call.pk for prompt in begun.shown}
    reads = [one["sql"] for one in asked if "heartbit_is_asked" in one["sql"]]
    assert reads
    assert all(f"LIMIT {prompts._LOOKED_AT}" in one for one in reads)
    opened = browser.get(PROMPTS).context["prompts"]
    assert opened.shown == []
    assert opened.newest > 0
    dismissed = {"after": "0", "dismissed": str(call.pk)}
    assert browser.get(PROMPTS, dismissed).context["prompts"].shown == []
