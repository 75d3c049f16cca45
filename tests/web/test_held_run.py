"""The page of a run that is held since a restore, and its release there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection

from agents.choices import Placement
from agents.models import Run, RunEvent
from tests.clients import Client
from tests.starts import serve_nobody, start_run
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from heartbit_site.base.models import Workspace


def execute_at(home: Placement, run: UUID) -> None:
    with connection.cursor() as cursor:  # past the triggers, as a restore is
        cursor.execute("SET session_replication_role = replica")
        Run.objects.filter(pk=run).update(home=home)
        cursor.execute("SET session_replication_role = DEFAULT")


@pytest.fixture
def held(workspace: Workspace) -> Iterator[Run]:
    serve_nobody(workspace)
    run = start_run(workspace, "Pay the invoice.", agent="writer")
    execute_at(Placement.RESTORED, run)
    yield Run.objects.get(pk=run)
    execute_at(Placement.FLEET, run)  # an installation with held runs is not sound


@pytest.mark.parametrize(("role", "answer"), [("operator", 302), ("viewer", 403)])
def test_who_may_change_runs_releases_it(held: Run, role: str, answer: int) -> None:
    client = Client(headers={"host": "localhost"})
    person = member(held.workspace, role)
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    path, offered = f"/w/{held.workspace.slug}/runs/{held.pk}/", answer == 302
    page = client.get(path).content.decode()
    assert ("in the backup from which everything was restored" in page) is True
    assert ("Release it" in page) is offered
    for _ in range(2):  # the second finds it released, and shows the page
        assert client.post(path, {"do": "release"}).status_code == answer
    held.refresh_from_db()
    assert held.home == (Placement.FLEET if offered else Placement.RESTORED)
    assert RunEvent.objects.filter(run=held, type="run.released").count() == int(offered)
    assert "Release it" not in client.get(path).content.decode()


@pytest.mark.parametrize("sent", [{}, {"do": ""}, {"do": "discard"}])
def test_another_action_than_its_release_is_refused(held: Run, sent: dict[str, str]) -> None:
    client = Client(headers={"host": "localhost"})
    person = member(held.workspace, "operator")
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    refused = client.post(f"/w/{held.workspace.slug}/runs/{held.pk}/", sent)
    assert refused.status_code == 400
    assert "this page knows release." in refused.content.decode()
    held.refresh_from_db()
    assert held.home == Placement.RESTORED
