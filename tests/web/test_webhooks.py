"""Webhooks out: signed, once, tried again, and only where they may go (S9)."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, connections
from django.urls import reverse
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from agents.actions.redeliver import ping_webhook, redeliver_webhook
from agents.actions.runs import cancel_run
from agents.actions.webhooks import (
    LEASE_SECONDS,
    deliver_webhooks,
    rotate_secret,
    save_webhook,
)
from agents.choices import Placement
from agents.delivery.sending import RETRY_AFTER
from agents.errors import DeliveryStateError
from agents.housekeeping.beat import BEAT_SCHEDULE
from agents.housekeeping.run_housekeeping import DELIVERIES_KEPT, prune_webhook_deliveries
from agents.llm.messages import ToolCall
from agents.models import Run, RunEvent, WebhookDelivery, WebhookEndpoint
from agents.runs.webhook_events import MOST_CHARACTERS, create_webhook_deliveries
from heartbit_site.base import queues
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import AuditEntry, Role
from heartbit_site.celery import app
from tests.admin import rows
from tests.api.server import Caller, key_for
from tests.clients import Client
from tests.starts import start_run
from tests.web.people import member
from tests.web.receiver import Receiver, Told, receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

transacted = pytest.mark.django_db
ENDINGS = ["run.succeeded", "run.failed", "run.cancelled", "run.quarantined"]
ALL = [*ENDINGS, "approval.requested", "quota.*"]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    with receiving() as opened:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{opened.port}"
        yield opened


@pytest.fixture
def alone(workspace: Workspace) -> Workspace:
    """The only workspace with webhooks, in the test's transaction."""
    WebhookEndpoint.objects.update(enabled=False)
    return workspace


def webhook(workspace: Workspace, url: str, events: list[str] | None = None) -> tuple[Any, str]:
    made = WebhookEndpoint(workspace=workspace, name="hook", url=url, events=events or ALL)
    secret = save_webhook(made, by=SYSTEM)
    assert secret is not None
    return made, secret


def succeeded(workspace: Workspace, output: str = "Because.") -> Run:
    held = rows.Held(start_run(workspace, "Why?", agent="writer", model=rows.MODEL))
    held.record(rows.answer(1, output))
    held.finish(output)
    return Run.objects.get(pk=held.id)


def read(told: Told, *secrets: str) -> Any:
    for secret in secrets:
        message = Webhook(secret).verify(told.body, told.headers)
    return message


def deliveries(endpoint: WebhookEndpoint) -> list[WebhookDelivery]:
    return list(WebhookDelivery.objects.filter(endpoint=endpoint).order_by("pk"))


def due(endpoint: WebhookEndpoint) -> None:
    """Let the time of the next attempt come."""
    WebhookDelivery.objects.filter(endpoint=endpoint).update(next_at=timezone.now())


# --- What is told, and how -----------------------------------------------------------------------


@transacted
def test_given_a_run_that_ends_then_it_is_told_once_and_signed(
    alone: Workspace, receiver: Receiver
) -> None:
    succeeded(alone)  # before the webhook: not told
    endpoint, secret = webhook(alone, receiver.url)
    run = succeeded(alone)
    assert [deliver_webhooks() for _ in range(3)] == [1, 0, 0]
    [told] = receiver.told
    message = read(told, secret)
    data = message["data"]
    assert (message["type"], data["run_id"], data["agent"]) == (
        "run.succeeded",
        str(run.pk),
        "writer",
    )
    assert (data["task"], data["output"], data["cut"]) == ("Why?", "Because.", False)
    assert data["usage"] == {"input_tokens": 100, "output_tokens": 20}
    assert (data["cost_usd"], data["error"], data["status"]) == ("0.0012", None, "succeeded")
    assert run.finished_at is not None
    assert run.finished_at - datetime.fromisoformat(message["timestamp"]) < timedelta(seconds=1)
    assert data["finished_at"][:19] == run.finished_at.isoformat()[:19]
    [row] = deliveries(endpoint)
    assert told.headers["webhook-id"] == row.message_id
    assert row.message_id.startswith("msg_")
    assert (row.status, row.attempts, row.response_code) == ("delivered", 1, 204)


@transacted
def test_given_a_message_when_any_bit_is_flipped_then_it_does_not_verify(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, secret = webhook(alone, receiver.url)
    ping_webhook(endpoint, by=SYSTEM)
    assert deliver_webhooks() == 1
    [told] = receiver.told
    assert read(told, secret)["type"] == "ping"
    for bit in range(8 * len(told.body)):
        flipped = bytearray(told.body)
        flipped[bit // 8] ^= 1 << bit % 8
        # The verifier of the library reads text; bytes that are none it refuses as such.
        with pytest.raises((WebhookVerificationError, UnicodeDecodeError)):
            read(Told(told.headers, bytes(flipped)), secret)


@transacted
def test_given_a_sub_agent_s_call_that_waits_then_its_root_is_told_of(
    alone: Workspace, receiver: Receiver
) -> None:
    _, secret = webhook(alone, receiver.url, ["approval.requested"])
    root = start_run(alone, "Why?", model=rows.MODEL)
    held = rows.Held(root)
    held.record(rows.answer(1, "", ToolCall("x", "delegate_task", "{}")))
    child = rows.Held(held.delegate("1.0", "researcher", "Look it up."))
    child.record(rows.answer(1, "", ToolCall("y", "http_get", '{"url": "x"}')))
    child.ask("1.0", "http_get", {"url": "x"})
    assert deliver_webhooks() == 1
    assert deliver_webhooks() == 0
    data = read(receiver.told[0], secret)["data"]
    assert (data["run_id"], data["status"]) == (str(root), "waiting")
    call = data["call"]
    assert (call["run_id"], call["call_id"], call["tool"]) == (str(child.id), "1.0", "http_get")
    assert call["agent"] == "researcher"


@transacted
def test_given_a_long_output_then_it_is_cut_and_says_so(
    alone: Workspace, receiver: Receiver
) -> None:
    _, secret = webhook(alone, receiver.url)
    succeeded(alone, "ä" * (MOST_CHARACTERS + 1))
    assert deliver_webhooks() == 1
    data = read(receiver.told[0], secret)["data"]
    assert (data["output"], data["cut"]) == ("ä" * MOST_CHARACTERS, True)


@transacted
def test_given_a_new_secret_then_both_sign_for_a_day(alone: Workspace, receiver: Receiver) -> None:
    endpoint, former = webhook(alone, receiver.url)
    secret = rotate_secret(endpoint, by=SYSTEM)
    assert secret.startswith("whsec_")
    assert secret != former
    ping_webhook(endpoint, by=SYSTEM)
    deliver_webhooks()
    read(receiver.told[0], secret, former)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(previous_secret_expires_at=timezone.now())
    ping_webhook(endpoint, by=SYSTEM)
    deliver_webhooks()
    read(receiver.told[1], secret)
    with pytest.raises(WebhookVerificationError):
        read(receiver.told[1], former)
    kept = json.dumps(list(AuditEntry.objects.filter(workspace=alone).values("details")))
    assert secret[6:] not in kept
    endpoint.refresh_from_db()
    assert secret[6:] not in endpoint.secret + endpoint.previous_secret


# --- Once ----------------------------------------------------------------------------------------


def test_given_looks_at_once_then_each_run_is_told_of_once(
    workspace: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = webhook(workspace, receiver.url)
    ids = [start_run(workspace, str(n), agent="writer", home=Placement.LOCAL) for n in range(20)]
    ready, failed = threading.Barrier(2), []

    def look() -> None:
        try:
            ready.wait()
            for _ in range(8):
                deliver_webhooks()
        except Exception as error:  # noqa: BLE001  told by the assertion below
            failed.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for run_id in ids:
        cancel_run(workspace, run_id, reason="no")
    for thread in threads:
        thread.join()
    for _ in range(10):  # 8 go to one endpoint at a time
        deliver_webhooks()
    assert failed == []
    told = [json.loads(one.body)["data"]["run_id"] for one in receiver.told]
    assert sorted(told) == sorted(str(run_id) for run_id in ids)
    assert {row.status for row in deliveries(endpoint)} == {"delivered"}
    endpoint.delete()


@transacted
def test_given_a_process_that_died_while_sending_then_the_message_is_due_again(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = webhook(alone, receiver.url)
    row = ping_webhook(endpoint, by=SYSTEM)
    rest = timezone.now() + timedelta(seconds=LEASE_SECONDS)
    WebhookDelivery.objects.filter(pk=row.pk).update(attempts=1, next_at=rest)  # it had claimed it
    assert deliver_webhooks() == 0
    due(endpoint)
    assert deliver_webhooks() == 1
    row.refresh_from_db()
    assert (row.status, row.attempts) == ("delivered", 2)


@transacted
def test_given_a_long_pause_then_a_look_goes_back_a_day_and_no_further(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = webhook(alone, receiver.url)
    ends = "run.succeeded"
    late, lost = succeeded(alone), succeeded(alone)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger refuses it
        for run, hours in ((late, 23), (lost, 25)):
            RunEvent.objects.filter(run=run.pk, type=ends).update(
                at=timezone.now() - timedelta(hours=hours)
            )
        cursor.execute("SET LOCAL session_replication_role = origin")
    longest = timezone.now() - timedelta(hours=48)
    endpoint.events_from = endpoint.read_from = longest
    endpoint.save(update_fields=["events_from", "read_from"])
    assert create_webhook_deliveries(endpoint) == 1
    assert [row.run_id for row in deliveries(endpoint)] == [late.pk]


@transacted
def test_given_patterns_then_what_they_select_is_sent(alone: Workspace, receiver: Receiver) -> None:
    _, secret = webhook(alone, receiver.url, ["run.s*"])
    succeeded(alone)
    deliver_webhooks()
    told = [read(one, secret) for one in receiver.told]
    told.sort(key=lambda one: one["timestamp"])
    assert [one["type"] for one in told] == ["run.started", "run.succeeded"]
    assert told[0]["subject"] == f"run:{told[0]['data']['run_id']}"


# --- What goes wrong -----------------------------------------------------------------------------


@transacted
def test_given_an_error_then_a_success_then_it_is_tried_again_with_the_same_message(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, secret = webhook(alone, receiver.url)
    receiver.answers = [500, 302]
    succeeded(alone)
    assert deliver_webhooks() == 0
    [row] = deliveries(endpoint)
    assert (row.status, row.response_code) == ("pending", 500)
    assert row.error == "It answered with HTTP 500."
    assert timedelta(seconds=50) < row.next_at - timezone.now() <= RETRY_AFTER[0]
    assert deliver_webhooks() == 0
    assert len(receiver.told) == 1, "not before its time"
    due(endpoint)
    deliver_webhooks()
    row.refresh_from_db()
    assert row.error == "It answered with HTTP 302 (redirects are not followed)."
    due(endpoint)
    assert deliver_webhooks() == 1
    row.refresh_from_db()
    assert (row.status, row.attempts, row.error) == ("delivered", 3, "")
    assert len({(told.headers["webhook-id"], told.body) for told in receiver.told}) == 1
    for told in receiver.told:
        read(told, secret)


@transacted
def test_given_a_receiver_that_never_takes_it_then_it_is_given_up_and_sent_again_on_demand(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = webhook(alone, receiver.url)
    row = ping_webhook(endpoint, by=SYSTEM)
    receiver.answers = [500] * 7
    waited = []
    for _ in range(7):
        due(endpoint)
        now = timezone.now()
        deliver_webhooks()
        row.refresh_from_db()
        waited.append(round((row.next_at - now).total_seconds()))
    assert waited[:6] == [int(wait.total_seconds()) for wait in RETRY_AFTER]
    assert (row.status, row.attempts) == ("failed", 7)
    due(endpoint)
    assert deliver_webhooks() == 0
    row = WebhookDelivery.objects.select_related("endpoint__workspace").get(pk=row.pk)
    redeliver_webhook(row, by=SYSTEM)
    with pytest.raises(DeliveryStateError, match="its way"):
        redeliver_webhook(row, by=SYSTEM)
    assert deliver_webhooks() == 1
    assert {told.headers["webhook-id"] for told in receiver.told} == {row.message_id}


@transacted
def test_given_a_private_address_then_it_is_refused_unless_the_operator_lets(
    alone: Workspace, receiver: Receiver, settings: Settings
) -> None:
    endpoint, _ = webhook(alone, receiver.url)
    ping_webhook(endpoint, by=SYSTEM)
    settings.HEARTBIT_HTTP_ALLOWLIST = ""
    assert deliver_webhooks() == 0
    assert receiver.told == []
    [row] = deliveries(endpoint)
    assert "HEARTBIT_HTTP_ALLOWLIST" in row.error
    assert row.response_code is None
    settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{receiver.port}"
    due(endpoint)
    assert deliver_webhooks() == 1


@transacted
def test_given_a_disabled_webhook_then_nothing_is_noted_or_sent(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = webhook(alone, receiver.url)
    ping_webhook(endpoint, by=SYSTEM)
    endpoint.enabled = False
    save_webhook(endpoint, by=SYSTEM)
    succeeded(alone)
    assert deliver_webhooks() == 0
    with pytest.raises(DeliveryStateError, match="is disabled"):
        ping_webhook(endpoint, by=SYSTEM)
    endpoint.enabled = True
    save_webhook(endpoint, by=SYSTEM)
    assert deliver_webhooks() == 1, "the ping that was due"
    assert [row.event for row in deliveries(endpoint)] == ["ping"]


@transacted
def test_given_an_answer_of_410_then_the_webhook_is_disabled(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = webhook(alone, receiver.url)
    receiver.answers = [410]
    ping_webhook(endpoint, by=SYSTEM)
    deliver_webhooks()
    endpoint.refresh_from_db()
    assert not endpoint.enabled
    assert "410" in endpoint.disabled_reason
    assert deliveries(endpoint)[0].status == "failed"
    entry = AuditEntry.objects.filter(workspace=alone).latest("id")
    assert (entry.action, entry.via) == ("webhook.disable", "system")


@transacted
def test_given_what_no_webhook_can_be_then_it_is_refused(alone: Workspace) -> None:
    for url in ("ftp://x.example/", "https://a:b@x.example/", "https://x.example/#a", "x"):
        with pytest.raises(ConfigurationError, match="The webhook URL is not valid"):
            webhook(alone, url)
    with pytest.raises(ConfigurationError, match=r"'run\.exploded' selects no event"):
        webhook(alone, "https://x.example/", ["run.exploded"])
    assert not WebhookEndpoint.objects.filter(workspace=alone).exists()


@transacted
def test_given_no_event_then_a_webhook_is_for_results_alone(alone: Workspace) -> None:
    made = WebhookEndpoint(workspace=alone, name="results", url="https://x.example/")
    assert save_webhook(made, by=SYSTEM)
    assert made.events == []


# --- Around it -----------------------------------------------------------------------------------


@transacted
def test_given_the_beat_then_it_rings_every_five_seconds_and_old_rows_go(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = webhook(alone, receiver.url)
    ping_webhook(endpoint, by=SYSTEM)
    entry = BEAT_SCHEDULE["heartbit-deliver-webhooks"]
    app.loader.import_default_modules()
    assert (entry["task"], entry["schedule"]) == (queues.DELIVER_WEBHOOKS, 5)
    assert app.tasks[queues.DELIVER_WEBHOOKS]() == 1
    assert prune_webhook_deliveries() == 0
    old = timezone.now() - DELIVERIES_KEPT - timedelta(minutes=1)
    WebhookDelivery.objects.filter(endpoint=endpoint).update(created_at=old)
    assert prune_webhook_deliveries() == 1


def test_given_the_api_then_webhooks_are_made_changed_and_removed(
    site: WebServer, workspace: Workspace
) -> None:
    caller = Caller(site, key_for(workspace))
    with caller.http:
        given = {"name": "tickets", "url": "https://127.0.0.1/x", "events": ["run.failed"]}
        made = caller.post("/webhooks", given).json()
        assert made["secret"].startswith("whsec_")
        [listed] = caller.get("/webhooks").json()["webhooks"]
        assert listed == {name: value for name, value in made.items() if name != "secret"}
        path = f"/webhooks/{made['id']}"
        assert caller.post(f"{path}/rotate-secret").json()["secret"] != made["secret"]
        changed = caller.http.patch(path, json={"events": ["run.failed", "run.cancelled"]}).json()
        assert changed["events"] == ["run.cancelled", "run.failed"]
        first, second = (caller.post(f"{path}/ping").json() for _ in range(2))
        page = caller.get(f"{path}/deliveries", limit=1).json()
        assert [row["id"] for row in page["deliveries"]] == [second["id"]]
        rest = caller.get(f"{path}/deliveries", cursor=page["next_cursor"]).json()
        assert [row["id"] for row in rest["deliveries"]] == [first["id"]]
        again = caller.post(f"{path}/deliveries/{first['id']}/redeliver")
        assert (again.status_code, again.json()["code"]) == (409, "delivery_state")
        wrong = caller.post("/webhooks", {**given, "url": "ftp://x"})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "configuration")
        assert caller.http.delete(path).status_code == 204
        assert caller.get(f"{path}/deliveries").json()["code"] == "webhook_not_found"
    actions = AuditEntry.objects.filter(chain=workspace.pk).order_by("number")
    assert [row.action for row in actions if row.action.startswith("webhook.")] == [
        *("webhook.create", "webhook.rotate", "webhook.change"),
        *("webhook.ping", "webhook.ping", "webhook.remove"),
    ]


@transacted
def test_given_the_admin_then_a_secret_is_shown_once(alone: Workspace, receiver: Receiver) -> None:
    client = Client(headers={"host": "localhost"})
    user = member(alone, Role.ADMIN)
    user.is_staff = True
    user.save()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    data = {"workspace": alone.pk, "name": "hook", "url": receiver.url, "events": ENDINGS}
    place = "admin:agents_webhookendpoint"
    shown = client.post(reverse(f"{place}_add"), data | {"enabled": "on"}, follow=True)
    [secret] = re.findall(r"whsec_[A-Za-z0-9+/=]+", shown.content.decode())
    made = WebhookEndpoint.objects.get(workspace=alone)
    page = reverse(f"{place}_change", args=[made.pk])
    assert "whsec_" not in client.get(page).content.decode()
    sent = {"_form_submitted": "True"}
    client.post(reverse(f"{place}_ping", args=[made.pk]), sent)
    assert deliver_webhooks() == 1
    read(receiver.told[0], secret)
    client.post(reverse(f"{place}_rotate", args=[made.pk]), sent)
    [renewed] = re.findall(r"whsec_[A-Za-z0-9+/=]+", client.get(page).content.decode())
    [row] = deliveries(made)
    client.post(reverse("admin:agents_webhookdelivery_again", args=[row.pk]), sent)
    assert deliver_webhooks() == 1
    read(receiver.told[1], secret, renewed)
    client.post(reverse(f"{place}_delete", args=[made.pk]), {"post": "yes"})
    assert not WebhookEndpoint.objects.filter(workspace=alone).exists()
    actions = AuditEntry.objects.filter(chain=alone.pk).order_by("number")
    assert list(actions.values_list("action", flat=True)) == [
        *("webhook.create", "webhook.ping", "webhook.rotate"),
        *("webhook.send_again", "webhook.remove"),
    ]
