"""A form that names an action which its page does not have is refused, and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Agent, Run, WorkspaceAlert
from heartbit_site.base.audit import SYSTEM
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Schedule
from tests.clients import Client
from tests.starts import serve_nobody, start_run
from tests.web.people import person
from tools.models import Credential

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    """A superuser, who may do everything on every page."""
    client = Client(headers={"host": "localhost"})
    who = person("root-of-unknown-actions", operator=True)
    client.force_login(who, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.mark.parametrize("do", ["", "destroy"])
@pytest.mark.parametrize(
    "page",
    ["account/", "credentials/", "runs/", "health/alerts/", "health/fleet/", "agents/writer/"],
)
def test_it_is_refused(workspace: Workspace, client: Client, page: str, do: str) -> None:
    serve_nobody(workspace)
    run = start_run(workspace, "Stay.", agent="writer")
    own = Credential.objects.create(
        workspace=workspace,
        user_id=int(client.session["_auth_user_id"]),
        name="mailbox",
        kind="bearer",
    )
    given = {"do": do, "id": str(own.pk), "run": str(run), "name": "x", "word": "everything"}
    refused = client.post(f"/w/{workspace.slug}/{page}", given)
    assert refused.status_code == 400
    said = refused.content.decode()
    assert "this page knows" in said
    assert do in said
    assert Credential.objects.filter(pk=own.pk).exists()
    assert not Run.objects.get(pk=run).cancel_requested
    assert not WorkspaceAlert.objects.filter(workspace=workspace).exists()
    assert not Agent.objects.filter(workspace=workspace, origin="draft").exists()


def test_a_schedule_stays_as_it_is(workspace: Workspace, client: Client) -> None:
    writer = Agent.objects.get(workspace=workspace, name="writer")
    row = Schedule(workspace=workspace, agent=writer, name="daily", task="x", cron="0 9 * * *")
    save_schedule(row, by=SYSTEM)
    for page, given in ((f"schedules/{row.pk}/", {}), ("schedules/", {"id": str(row.pk)})):
        refused = client.post(f"/w/{workspace.slug}/{page}", {"do": "destroy", **given})
        assert refused.status_code == 400
    row.refresh_from_db()
    assert row.enabled
