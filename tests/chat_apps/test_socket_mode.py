"""Socket Mode: a worker connects to Slack, acts on envelopes, acknowledges them and reconnects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.ask_in_chat import ask_in_chat
from agents.actions.chat_apps import save_chat_app
from agents.models import ChatApp, Decision
from heartbit_site.base.audit import SYSTEM
from tests.chat_apps.people import linked
from tests.chat_apps.slack_server import APP, click, command, submission, verbs_of
from tests.fleet import Worker, wait_until
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.chat_apps.slack_server import Slack


@pytest.fixture
def connected(app: ChatApp, slack: Slack) -> Iterator[Worker]:
    """A worker that is allowed to reach this Slack, and holds the app's connection."""
    save_chat_app(app, {"app_token": APP}, by=SYSTEM)
    allowed = {"HEARTBIT_HTTP_ALLOWLIST": slack.allowed}
    with Worker(queues="system", concurrency=4, environment=allowed) as worker:
        wait_until(lambda: slack.connections, what="it connects")
        yield worker


def envelope(number: int, payload: dict[str, Any]) -> dict[str, Any]:
    kind = "slash_commands" if "command" in payload else "interactive"
    return {
        "envelope_id": f"e{number}",
        "type": kind,
        "payload": payload,
        "accepts_response_payload": True,
    }


def test_clicks_and_dialogs_arrive_over_the_connection(
    app: ChatApp, slack: Slack, workspace: Workspace, connected: Worker
) -> None:
    ann = linked(app, "UANN")
    call = unserved(workspace)
    wait_until(lambda: slack.posted() or ask_in_chat(), what="it is asked")
    [message] = slack.posted()
    slack.envelopes.put(envelope(1, click(message, "deny", "UANN")))
    [view] = wait_until(lambda: slack.views, what="the dialog opens")
    slack.envelopes.put(envelope(2, submission(view, "UANN", "No.")))
    decision = wait_until(
        lambda: Decision.objects.filter(run=call.run_id).first(), what="it is decided"
    )
    assert (decision.user, decision.reason, decision.via) == (ann, "No.", "chat")
    wait_until(lambda: len(slack.acknowledged) == 2, what="both are acknowledged")
    assert slack.acknowledged[0] == {"envelope_id": "e1"}
    assert slack.acknowledged[1] == {
        "envelope_id": "e2",
        "payload": {"response_action": "clear"},
    }
    # The worker itself updates the message: the click has it look at once.
    wait_until(lambda: verbs_of(slack.posted()[0]) == ["open"], what="the message is closed")


def test_a_connection_that_slack_ends_is_opened_again_and_nothing_is_lost(
    app: ChatApp, slack: Slack, connected: Worker
) -> None:
    slack.envelopes.put(None)  # Slack refreshes connections every few hours
    slack.envelopes.put(envelope(7, command("", "UEVE")))
    wait_until(lambda: slack.acknowledged, what="the second connection acknowledges")
    assert slack.connections >= 2
    [said] = slack.acknowledged
    assert said["payload"]["response_type"] == "ephemeral"
    assert "is not known here" in said["payload"]["text"]


def test_an_envelope_that_a_killed_worker_left_decides_once(
    app: ChatApp, slack: Slack, workspace: Workspace, connected: Worker
) -> None:
    linked(app, "UANN")
    call = unserved(workspace)
    wait_until(lambda: slack.posted() or ask_in_chat(), what="it is asked")
    [message] = slack.posted()
    sent = envelope(1, click(message, "approve", "UANN"))
    slack.envelopes.put(sent)
    wait_until(lambda: slack.acknowledged, what="it is acknowledged")
    connected.kill()
    slack.envelopes.put(sent)  # as if the acknowledgement had been lost with the worker
    ChatApp.objects.filter(pk=app.pk).update(connected_until=None)  # its lease has run out
    connected.start()
    wait_until(lambda: len(slack.acknowledged) == 2, what="the next worker acknowledges it")
    assert Decision.objects.filter(run=call.run_id).count() == 1


def test_a_refused_token_is_said_and_an_app_without_one_is_not_connected(
    app: ChatApp, slack: Slack, connected: Worker
) -> None:
    save_chat_app(app, {"app_token": "xapp-another"}, by=SYSTEM)
    wait_until(
        lambda: "invalid_auth" in ChatApp.objects.get(pk=app.pk).last_error, what="it is refused"
    )
    save_chat_app(app, {"app_token": ""}, by=SYSTEM)
    wait_until(
        lambda: ChatApp.objects.get(pk=app.pk).connected_until is None, what="the lease ends"
    )
