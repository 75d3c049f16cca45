"""Results for programs: by signed webhook, and kept as a file of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from agents.actions.deliver_results import deliver_results
from agents.actions.redeliver import redeliver_result
from agents.actions.webhooks import deliver_webhooks, remove_webhook, save_webhook
from agents.errors import DeliveryStateError
from agents.models import Delivery, Run, WebhookDelivery, WebhookEndpoint
from agents.reads.artifacts import file_name, find_artifact, produced_below
from agents.reads.outcome import result_of
from agents.runs.webhook_events import MOST_CHARACTERS
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Workspace
from tests.delivery.orders import ended, make_due, ordered, row_of

if TYPE_CHECKING:
    from tests.web.receiver import Receiver

pytestmark = pytest.mark.django_db
KEPT = {"kind": "artifact", "name": "sales"}


def hook(workspace: Workspace, receiver: Receiver) -> tuple[WebhookEndpoint, str]:
    """A webhook that is told of failures alone, and its secret."""
    made = WebhookEndpoint(
        workspace=workspace, name="hook", url=receiver.url, events=["run.failed"]
    )
    return made, save_webhook(made, by=SYSTEM) or ""


def to(endpoint: WebhookEndpoint) -> list[dict[str, Any]]:
    return [{"kind": "webhook", "endpoint": endpoint.pk}]


# --- Webhooks ------------------------------------------------------------------------------------


def test_given_a_webhook_as_target_then_it_is_told_once_and_signed(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, secret = hook(alone, receiver)
    run = ended(alone, to(endpoint))
    Run.objects.filter(pk=run.pk).update(structured={"total": 7})
    assert [deliver_results(), deliver_results()] == [0, 0], "it is with the webhooks now"
    assert row_of(run).status == "pending"
    assert [deliver_webhooks(), deliver_webhooks()] == [1, 0]
    assert [deliver_results(), deliver_results()] == [1, 0]
    [told] = receiver.told
    message = Webhook(secret).verify(told.body, told.headers)
    data = message["data"]
    assert (message["type"], data["run_id"], data["agent"]) == (
        "run.delivered",
        str(run.pk),
        "writer",
    )
    assert (data["status"], data["output"], data["structured"]) == (
        *("succeeded", "Because.", {"total": 7}),
    )
    assert (data["error"], data["cut"]) == (None, False)
    row = row_of(run)
    assert told.headers["webhook-id"] == row.message_id
    assert (row.status, row.attempts, row.error) == ("delivered", 1, "")
    assert row.delivered_at is not None


def test_given_a_run_that_failed_then_both_what_it_is_told_of_and_the_result_arrive(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, secret = hook(alone, receiver)
    ordered(alone, to(endpoint)).fail("The provider is away.")
    deliver_results()
    assert deliver_webhooks() == 2
    messages = [Webhook(secret).verify(told.body, told.headers) for told in receiver.told]
    assert sorted(one["type"] for one in messages) == ["run.delivered", "run.failed"]
    assert {one["data"]["error"]["message"] for one in messages} == {"The provider is away."}


def test_given_a_long_answer_then_it_is_cut_and_says_so(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = hook(alone, receiver)
    run = ended(alone, to(endpoint), output="ä" * (MOST_CHARACTERS + 1))
    Run.objects.filter(pk=run.pk).update(structured=["x" * MOST_CHARACTERS])
    deliver_results()
    data = WebhookDelivery.objects.get(endpoint=endpoint).payload["data"]
    assert (len(data["output"]), data["structured"], data["cut"]) == (MOST_CHARACTERS, None, True)


def test_given_a_receiver_that_refuses_then_the_log_says_what_and_it_is_tried_again(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = hook(alone, receiver)
    receiver.answers = [500, 410]
    run = ended(alone, to(endpoint))
    deliver_results()
    deliver_webhooks()
    assert deliver_results() == 0
    row = row_of(run)
    message = WebhookDelivery.objects.get(endpoint=endpoint)
    assert (row.status, row.attempts, row.error) == ("pending", 1, "It answered with HTTP 500.")
    assert row.next_at == message.next_at
    WebhookDelivery.objects.update(next_at=timezone.now())
    deliver_webhooks()
    assert deliver_results() == 0
    row = row_of(run)
    assert (row.status, row.attempts, row.error) == ("failed", 2, "It answered with HTTP 410.")
    with pytest.raises(DeliveryStateError, match="is disabled"):
        redeliver_result(row, by=SYSTEM)
    assert row_of(run).status == "failed"
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(enabled=True)
    redeliver_result(row_of(run), by=SYSTEM)
    assert deliver_webhooks() == 1
    assert deliver_results() == 1
    assert {told.headers["webhook-id"] for told in receiver.told} == {row.message_id}
    actions = AuditEntry.objects.filter(chain=alone.pk).order_by("number")
    assert list(actions.values_list("action", flat=True))[-2:] == [
        *("webhook.send_again", "delivery.send_again"),
    ]


def test_given_a_webhook_that_is_removed_then_it_is_given_up_and_says_so(
    alone: Workspace, receiver: Receiver
) -> None:
    before, _ = hook(alone, receiver)
    after, _ = hook(alone, receiver)
    first, second = ended(alone, to(before)), ended(alone, to(after))
    remove_webhook(before, by=SYSTEM)
    deliver_results()
    remove_webhook(after, by=SYSTEM)
    assert deliver_results() == 0
    for row in (row_of(first), row_of(second)):
        assert (row.status, row.error) == ("failed", "The webhook was removed before the delivery.")
    assert receiver.told == []


def test_given_a_message_whose_log_is_gone_then_sending_again_makes_a_new_one(
    alone: Workspace, receiver: Receiver
) -> None:
    endpoint, _ = hook(alone, receiver)
    run = ended(alone, to(endpoint))
    for step in (deliver_results, deliver_webhooks, deliver_results):
        step()
    WebhookDelivery.objects.all().delete()
    redeliver_result(row_of(run), by=SYSTEM)
    assert [deliver_results(), deliver_webhooks(), deliver_results()] == [0, 1, 1]
    assert len({told.headers["webhook-id"] for told in receiver.told}) == 2


def test_given_a_webhook_of_another_workspace_then_it_is_not_told(
    alone: Workspace, receiver: Receiver
) -> None:
    other = Workspace.objects.create(slug="elsewhere-of-hooks", name="elsewhere")
    theirs, _ = hook(other, receiver)
    own, _ = hook(alone, receiver)
    run = ended(alone, to(own))
    Delivery.objects.filter(run_id=run.pk).update(target=to(theirs)[0])
    assert deliver_results() == 0
    assert row_of(run).error == "The webhook was removed before the delivery."
    assert not WebhookDelivery.objects.filter(endpoint=theirs).exists()


# --- Files ---------------------------------------------------------------------------------------


def test_given_a_name_then_the_answer_is_a_file_of_the_run(alone: Workspace) -> None:
    text = "# Sales\n\n```python\nprint(7)\n```\n"
    run = ended(alone, [KEPT], output=text)
    assert deliver_results() == 1
    kept = find_artifact(run, "sales")
    assert (kept.kind, kept.content, file_name(kept)) == ("file", text, "sales.md")
    assert [one.artifact.name for one in produced_below(run)] == ["code-1", "sales"]
    assert [one.name for one in result_of(run).artifacts] == ["code-1", "sales"]
    assert row_of(run).status == "delivered"


def test_given_a_structured_answer_then_the_file_is_json(alone: Workspace) -> None:
    run = ended(alone, [KEPT])
    Run.objects.filter(pk=run.pk).update(structured={"total": 7})
    run.refresh_from_db()
    kept = find_artifact(run, "sales")
    assert (file_name(kept), kept.content) == ("sales.json", '{\n  "total": 7\n}')


def test_given_no_answer_then_there_is_no_file_and_the_log_says_so(alone: Workspace) -> None:
    held = ordered(alone, [KEPT])
    held.fail("The provider is away.")
    assert deliver_results() == 0
    row = row_of(held.id)
    assert row.status == "failed"
    assert row.error == (
        "The run ended without an answer that could be kept: The provider is away."
    )
    assert produced_below(Run.objects.get(pk=held.id)) == []
    make_due(held.id)
    assert deliver_results() == 0
