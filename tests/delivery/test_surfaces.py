"""Deliveries as people, programs, the clock and the housekeeping meet them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from agents.actions.deliver_results import deliver_results
from agents.housekeeping.beat import BEAT_SCHEDULE
from agents.housekeeping.run_housekeeping import DELIVERIES_KEPT, prune_result_deliveries
from agents.models import Delivery
from heartbit_site.base import queues
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import AuditEntry, Role, Workspace
from heartbit_site.celery import app
from tests.api.server import Caller, key_for
from tests.clients import Client
from tests.delivery.orders import ADA, TO_ADA, ended, order, row_of
from tests.web.people import member

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from tests.api.server import WebServer
    from tests.mailbox import Mailbox

transacted = pytest.mark.django_db
PLACE = "admin:agents_delivery"


def staff(workspace: Workspace, role: str) -> tuple[Client, User]:
    """A browser in the admin, and whose it is."""
    client = Client(headers={"host": "localhost"})
    user = member(workspace, role)
    user.is_staff = True
    user.save()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client, user


def test_given_the_api_then_deliveries_are_listed_by_run_and_sent_again(
    site: WebServer, alone: Workspace, mailbox: Mailbox
) -> None:
    first, second = new_id(), new_id()
    order(alone, first, TO_ADA, {"kind": "artifact", "name": "sales"})
    order(alone, second, TO_ADA)
    deliver_results()  # the runs are gone: all are given up
    caller = Caller(site, key_for(alone))
    with caller.http:
        listed = caller.get("/deliveries").json()["deliveries"]
        assert [row["run_id"] for row in listed] == [str(second), str(first), str(first)]
        assert {row["status"] for row in listed} == {"failed"}
        artifact, mail = caller.get("/deliveries", run=str(first)).json()["deliveries"]
        assert (artifact["kind"], artifact["target"]["name"]) == ("artifact", "sales")
        assert (mail["kind"], mail["target"]["to"], mail["attempts"]) == ("email", [ADA], 1)
        assert "archived" in mail["error"]
        assert mail["message_id"].startswith("<")
        assert mail["next_at"] is None
        assert caller.get("/deliveries", status="pending").json()["deliveries"] == []
        wrong = caller.get("/deliveries", run="xyz")
        assert (wrong.status_code, wrong.json()["code"]) == (404, "run_not_found")
        again = caller.post(f"/deliveries/{mail['id']}/redeliver")
        assert (again.status_code, again.json()["status"]) == (200, "pending")
        assert again.json()["message_id"] == mail["message_id"]
        twice = caller.post(f"/deliveries/{mail['id']}/redeliver")
        assert (twice.status_code, twice.json()["code"]) == (409, "delivery_state")
        absent = caller.post("/deliveries/x/redeliver")
        assert (absent.status_code, absent.json()["code"]) == (404, "delivery_not_found")
    [entry] = AuditEntry.objects.filter(chain=alone.pk, action="delivery.send_again")
    assert (entry.via, entry.target) == ("api", f"delivery:{mail['id']}")
    assert entry.details == {"run": str(first), "kind": "email"}


def test_given_how_a_run_s_id_begins_and_a_status_then_those_deliveries_alone_are_listed(
    site: WebServer, workspace: Workspace
) -> None:
    end = uuid4().hex[8:]
    runs = {name: UUID(f"{name * 8}{end}") for name in "ab"}
    rows = [("a", "delivered"), ("a", "failed"), ("b", "failed")]
    for position, (name, status) in enumerate(rows):
        Delivery.objects.create(
            workspace=workspace, run_id=runs[name], position=position, kind="email",
            target=TO_ADA, status=status,
        )  # fmt: skip
    caller = Caller(site, key_for(workspace, ["runs:read"]))
    with caller.http:

        def listed(**query: str) -> list[tuple[str, str]]:
            found = caller.get("/deliveries", **query).json()["deliveries"]
            return [(row["run_id"], row["status"]) for row in found]

        a, b = (str(run) for run in runs.values())
        assert (
            listed(run="a" * 8) == listed(run=f" {a.upper()}") == [(a, "failed"), (a, "delivered")]
        )
        assert listed(run="b" * 8, status="failed") == [(b, "failed")]
        assert listed(run="b" * 8, status="delivered") == listed(run="c" * 8) == []
        assert listed(status="failed") == [(b, "failed"), (a, "failed")]
        for short in ("a" * 7, "a" * 33, "g" * 8, ""):
            refused = caller.get("/deliveries", run=short)
            assert (refused.status_code, refused.json()["code"]) == (404, "run_not_found"), short
        assert caller.get("/deliveries", status="sent").status_code == 422


@transacted
def test_given_the_admin_then_a_result_is_found_read_and_sent_again(
    alone: Workspace, mailbox: Mailbox
) -> None:
    mailbox.answers = {ADA: ["550 <b>no</b>"]}
    run = ended(alone)
    deliver_results()
    row = row_of(run)
    client, user = staff(alone, Role.OPERATOR)
    for query in ({"status": "failed"}, {"kind": "email"}, {"q": str(run.pk)}):
        listed = client.get(reverse(f"{PLACE}_changelist"), query).content.decode()
        assert ADA in listed
        assert "550 &lt;b&gt;no&lt;/b&gt;" in listed
    other = {"q": str(new_id())}
    assert ADA not in client.get(reverse(f"{PLACE}_changelist"), other).content.decode()
    page = client.get(reverse(f"{PLACE}_change", args=[row.pk])).content.decode()
    assert reverse("web:run", args=[alone.slug, run.pk]) in page
    assert "Send again" in page
    client.post(reverse(f"{PLACE}_again", args=[row.pk]), {"_form_submitted": "True"})
    assert row_of(run).status == "pending"
    assert (
        "Send again" not in client.get(reverse(f"{PLACE}_change", args=[row.pk])).content.decode()
    )
    assert deliver_results() == 1
    [entry] = AuditEntry.objects.filter(chain=alone.pk, action="delivery.send_again")
    assert (entry.actor, entry.via) == (user.username, "admin")


@transacted
def test_given_a_member_of_another_workspace_then_there_is_nothing_for_them(
    alone: Workspace, mailbox: Mailbox
) -> None:
    other = Workspace.objects.create(slug="elsewhere-of-pages", name="elsewhere")
    run = ended(alone)
    deliver_results()
    row = row_of(run)
    stranger, _ = staff(other, Role.ADMIN)
    viewer, _ = staff(alone, Role.VIEWER)
    assert ADA not in stranger.get(reverse(f"{PLACE}_changelist")).content.decode()
    assert stranger.get(reverse(f"{PLACE}_change", args=[row.pk])).status_code == 302
    assert ADA in viewer.get(reverse(f"{PLACE}_change", args=[row.pk])).content.decode()
    for client in (stranger, viewer):
        client.post(reverse(f"{PLACE}_again", args=[row.pk]), {"_form_submitted": "True"})
        assert row_of(run).status == "delivered"


@transacted
def test_given_the_beat_then_it_rings_every_five_seconds_for_the_task(
    alone: Workspace, mailbox: Mailbox
) -> None:
    ended(alone)
    entry = BEAT_SCHEDULE["heartbit-deliver-results"]
    app.loader.import_default_modules()
    assert (entry["task"], entry["schedule"]) == (queues.DELIVER_RESULTS, 5)
    assert app.tasks[queues.DELIVER_RESULTS]() == 1


@transacted
def test_given_old_rows_then_those_of_runs_that_are_gone_are_forgotten(
    alone: Workspace, mailbox: Mailbox
) -> None:
    there, gone, pending = ended(alone), new_id(), new_id()
    order(alone, gone, TO_ADA)
    deliver_results()
    order(alone, pending, TO_ADA)
    assert prune_result_deliveries() == 0, "they are young"
    Delivery.objects.update(created_at=timezone.now() - DELIVERIES_KEPT - timedelta(minutes=1))
    assert prune_result_deliveries() == 1
    left = set(Delivery.objects.values_list("run_id", flat=True))
    assert left == {there.pk, pending}
