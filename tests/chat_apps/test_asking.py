"""Members are asked in Slack what waits for them, and their clicks decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.actions.ask_in_chat import ask_in_chat
from agents.models import ChatQuestion, Decision
from tests.chat_apps.people import linked, send
from tests.chat_apps.slack_server import click, verbs_of
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from agents.models import ChatApp
    from heartbit_site.base.models import Workspace
    from tests.chat_apps.slack_server import Slack


def test_a_call_is_asked_once_and_a_click_decides_it(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    ann = linked(app, "UANN")
    call = unserved(workspace)
    assert ask_in_chat() == 1
    assert ask_in_chat() == 0
    [message] = slack.posted()
    assert message["channel"] == "DANN"
    assert message["text"] == "researcher asks before it uses http_get."
    assert verbs_of(message) == ["approve", "deny", "open"]
    assert send(app, click(message, "approve", "UANN")) == {}
    decision = Decision.objects.get(run=call.run_id)
    assert (decision.verdict, decision.user, decision.via) == ("approved", ann, "chat")
    assert (decision.decided_by, decision.digest) == (ann.username, call.digest)
    assert ask_in_chat() == 1
    [message] = slack.posted()
    assert message["text"].endswith(f"Approved by {ann.username}: http_get.")
    assert verbs_of(message) == ["open"]
    assert "example.org" not in str(message)
    assert ask_in_chat() == 0
    assert ChatQuestion.objects.get(app=app).status == "delivered"
