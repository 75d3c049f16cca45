"""Members are asked in Slack what waits for them, and their clicks decide it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import Group
from django.db.models.functions import Now

from agents.actions.ask_in_chat import ask_in_chat
from agents.actions.chat_apps import save_chat_app
from agents.actions.decide_call import approve_call
from agents.models import ChatAccount, ChatApp, ChatQuestion, Decision, Run, ToolCall, Wait
from agents.runs.sql_functions import call_function
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import AuditEntry, Membership
from tests.askers import COLOUR, question
from tests.chat_apps.people import linked, send
from tests.chat_apps.slack_server import BOT, SECRET, button_of, click, submission, verbs_of
from tests.conftest import new_workspace
from tests.web.waiting_calls import unreviewed, unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.chat_apps.slack_server import Slack
    from tests.teams import Team

ANNA = Actor("anna", "terminal")


def in_channel(app: ChatApp) -> None:
    app.place = "C0OPS"
    save_chat_app(app, {}, by=SYSTEM)


def due_again(app: ChatApp) -> None:
    ChatQuestion.objects.filter(app=app).update(next_at=Now())


def test_a_call_is_asked_once_and_a_click_decides_it(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    ann = linked(app, "UANN")
    call = unserved(workspace)
    title = "researcher asks before it uses http_get."
    shown = {**(call.approval_view or {}), "reason": f"{title} It uses the credential chat."}
    ToolCall.objects.filter(pk=call.pk).update(approval_view=shown)
    assert ask_in_chat() == 1
    assert ask_in_chat() == 0
    [message] = slack.posted()
    assert message["channel"] == "DANN"
    assert message["text"] == title
    assert "*Reason:* It uses the credential chat." in str(message["blocks"])
    assert verbs_of(message) == ["approve", "deny", "open"]
    assert button_of(message, "open")["url"].endswith(f"/w/{workspace.slug}/inbox/")
    assert send(app, click(message, "approve", "UANN")) == {}
    decision = Decision.objects.get(run=call.run_id)
    assert (decision.verdict, decision.user, decision.via) == ("approved", ann, "chat")
    assert (decision.decided_by, decision.digest) == (ann.username, call.digest)
    entry = AuditEntry.objects.get(workspace=workspace, action="approval.approve")
    assert (entry.actor, entry.via, entry.user_id) == (ann.username, "chat", ann.pk)
    assert ask_in_chat() == 1
    [message] = slack.posted()
    assert message["text"].endswith(f"Approved by {ann.username}: http_get.")
    assert verbs_of(message) == ["open"]
    assert "example.org" not in str(message)  # what was asked is not kept there
    assert ask_in_chat() == 0
    assert ChatQuestion.objects.get(app=app).status == "delivered"


def test_a_denial_asks_for_a_reason_that_the_model_reads(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    call = unserved(workspace)
    ask_in_chat()
    [message] = slack.posted()
    assert send(app, click(message, "deny", "UANN")) == {}
    assert not Decision.objects.filter(run=call.run_id).exists()
    [view] = slack.views
    said = send(app, submission(view, "UANN", "Not today."))
    assert said == {"response_action": "clear"}
    decision = Decision.objects.get(run=call.run_id)
    assert (decision.verdict, decision.reason) == ("denied", "Not today.")


def test_a_question_is_answered_in_a_dialog_once_the_answer_fits(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    call = question(workspace, "Which <colour>?", COLOUR)
    ask_in_chat()
    [message] = slack.posted()
    assert message["text"] == "asker asks you a question."
    assert "Which <colour>?" in str(message)  # literal text, which Slack does not parse
    assert verbs_of(message) == ["answer", "decline", "open"]
    send(app, click(message, "answer", "UANN"))
    [view] = slack.views
    wrong = send(app, submission(view, "UANN", "a smell"))
    assert wrong["response_action"] == "errors"
    assert wrong["errors"]["text"].startswith("The answer does not fit")
    right = COLOUR["enum"][0]
    assert send(app, submission(view, "UANN", right)) == {"response_action": "clear"}
    decision = Decision.objects.get(run=call.run_id)
    assert decision.verdict == "answered"
    assert json.loads(decision.arguments or "")["answer"] == right


@pytest.mark.parametrize(
    ("verb", "text", "answer", "said"),
    [
        ("approve", None, {"decision": "approve"}, "Result approved by"),
        ("changes", "Shorter.", {"decision": "changes", "message": "Shorter."}, "Changes of"),
        ("reject", "", {"decision": "reject"}, "Result rejected by"),
    ],
)
def test_a_result_is_reviewed(
    app: ChatApp,
    slack: Slack,
    workspace: Workspace,
    verb: str,
    text: str | None,
    answer: dict[str, str],
    said: str,
) -> None:
    linked(app, "UANN")
    wait = unreviewed(workspace, "Ten orders.")
    ask_in_chat()
    [message] = slack.posted()
    assert "Ten orders." in str(message)
    assert send(app, click(message, verb, "UANN")) == {}
    if text is not None:
        send(app, submission(slack.views[0], "UANN", text))
    wait.refresh_from_db()
    assert wait.value is not None
    assert wait.value["answer"] == answer
    ask_in_chat()
    assert said in slack.posted()[0]["text"]


def test_what_is_decided_elsewhere_is_shown_and_a_late_click_is_refused(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    linked(app, "UBEN")
    call = unserved(workspace)
    assert ask_in_chat() == 2
    before = slack.posted()
    approve_call(call, digest=call.digest, by=ANNA)
    assert send(app, click(before[0], "approve", "UANN")) == {}  # before the message is updated
    [whisper] = slack.whispers
    assert (whisper["user"], whisper["text"]) == ("UANN", "Approved by anna: http_get.")
    assert Decision.objects.filter(run=call.run_id).count() == 1
    ask_in_chat()
    assert [verbs_of(one) for one in slack.posted()] == [["open"], ["open"]]


def test_a_dialog_that_is_sent_too_late_says_who_was_quicker(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    call = unserved(workspace)
    ask_in_chat()
    send(app, click(slack.posted()[0], "deny", "UANN"))
    approve_call(call, digest=call.digest, by=ANNA)
    said = send(app, submission(slack.views[0], "UANN", "No."))
    assert said["errors"] == {"text": "Approved by anna: http_get."}


def test_a_cancelled_run_closes_its_messages(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    call = unserved(workspace)
    ask_in_chat()
    call_function("SELECT heartbit_cancel(%s, %s)", [call.run_id, "Enough."])
    [asked] = slack.posted()
    ask_in_chat()
    assert verbs_of(slack.posted()[0]) == ["open"]
    send(app, click(asked, "approve", "UANN"))
    assert not Decision.objects.filter(run=call.run_id, via="chat").exists()


def test_a_click_on_what_was_not_shown_is_refused(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    call = unserved(workspace)
    ask_in_chat()
    [message] = slack.posted()
    wait, _, digest = button_of(message, "approve")["value"].partition("|")
    for value in (f"{wait}|{'0' * 64}", f"{wait}|", f"9999999999|{digest}", "x|y", ""):
        send(app, click(message, "approve", "UANN", value=value))
    # A verb that the card does not offer decides nothing either.
    send(app, click(message, "approve", "UANN", action_id="continue"))
    assert not Decision.objects.filter(run=call.run_id).exists()


def test_a_click_decides_nothing_of_another_workspace(
    app: ChatApp, slack: Slack, workspace: Workspace, team: Team
) -> None:
    ann = linked(app, "UANN")
    other = new_workspace()
    team.copy_to(other)
    Membership.objects.create(user=ann, workspace=other, role="admin")
    unserved(workspace)
    call = unserved(other)
    ask_in_chat()
    [message] = slack.posted()
    value = f"{Wait.objects.get(run=call.run_id).pk}|{call.digest}"
    send(app, click(message, "approve", "UANN", value=value))
    assert not Decision.objects.filter(run=call.run_id).exists()
    assert "is deleted: nothing can be decided" in slack.whispers[-1]["text"]


def test_an_account_that_is_not_linked_decides_nothing_and_is_told_how_to_be(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    in_channel(app)
    call = unserved(workspace)
    assert ask_in_chat() == 1
    [message] = slack.posted()
    assert message["channel"] == "C0OPS"
    for verb in ("approve", "deny"):
        send(app, click(message, verb, "USTRANGER"))
    assert not slack.views
    assert {one["user"] for one in slack.whispers} == {"USTRANGER"}
    assert "linked to no member of Heartbit" in slack.whispers[0]["text"]
    assert not Decision.objects.filter(run=call.run_id).exists()
    linked(app, "UANN")
    send(app, click(message, "approve", "UANN"))
    assert Decision.objects.filter(run=call.run_id).count() == 1


def test_rights_are_those_of_the_member_now(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    in_channel(app)
    ann = linked(app, "UANN")
    call = unserved(workspace)
    ask_in_chat()
    [message] = slack.posted()
    Membership.objects.filter(user=ann).update(role="viewer")
    send(app, click(message, "approve", "UANN"))
    assert "role of operator" in slack.whispers[-1]["text"]
    Membership.objects.filter(user=ann).delete()
    send(app, click(message, "approve", "UANN"))
    assert "linked to no member" in slack.whispers[-1]["text"]
    Membership.objects.create(user=ann, workspace=workspace, role="operator")
    ann.is_active = False
    ann.save()
    send(app, click(message, "approve", "UANN"))
    assert "linked to no member" in slack.whispers[-1]["text"]
    assert not Decision.objects.filter(run=call.run_id).exists()


def test_only_the_asked_group_gets_messages_and_decides(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    ann, _ = linked(app, "UANN"), linked(app, "UBEN")
    group = Group.objects.create(name=f"treasurers-{workspace.slug}")
    group.user_set.add(ann)
    call = unserved(workspace)
    shown = ToolCall.objects.get(pk=call.pk).approval_view
    assert shown is not None
    ToolCall.objects.filter(pk=call.pk).update(approval_view={**shown, "group": group.name})
    assert ask_in_chat() == 1
    [message] = slack.posted()
    assert message["channel"] == "DANN"
    send(app, click(message, "approve", "UBEN"))
    assert group.name in slack.whispers[-1]["text"]
    assert not Decision.objects.filter(run=call.run_id).exists()


def test_what_a_model_wrote_mentions_no_one_and_links_nowhere(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    hostile = "<!channel> <https://evil.example|Approved> &lt;!here&gt; \u202e ```*x*"
    unserved(workspace, arguments={"url": hostile})
    Run.objects.filter(workspace=workspace).update(task=hostile)
    ask_in_chat()
    [message] = slack.posted()
    for block in message["blocks"]:
        if block["type"] == "section":
            assert block["text"]["verbatim"] is True
            assert "<" not in block["text"]["text"]
    [literal] = [one for one in message["blocks"] if one["type"] == "rich_text"]
    [text] = literal["elements"][0]["elements"]
    assert text["type"] == "text"
    assert "<!channel>" in text["text"]
    assert "\u202e" not in text["text"]
    assert "<" not in message["text"]
    assert message["unfurl_links"] is False


def test_what_is_too_long_to_be_shown_whole_has_no_buttons(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    call = unserved(workspace, arguments={"url": "a" * 7_000})
    unserved(workspace, arguments={"url": "b" * 9_000})
    assert ask_in_chat() == 2
    whole, cut = sorted(slack.posted(), key=lambda one: "bbb" in str(one))
    assert verbs_of(whole) == ["approve", "deny", "open"]
    assert verbs_of(cut) == ["open"]
    assert "too long for a chat" in str(cut)
    # Nor does a forged button decide it.
    wait = Wait.objects.exclude(run=call.run_id).filter(run__workspace=workspace).get()
    other = ToolCall.objects.get(run=wait.run_id)
    send(app, click(whole, "approve", "UANN", value=f"{wait.pk}|{other.digest}"))
    assert not Decision.objects.filter(run=wait.run_id).exists()


def test_slack_is_asked_again_later_and_a_refused_token_is_said(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    unserved(workspace)
    slack.faults["chat.postMessage"] = [503, 429, "invalid_auth"]
    assert ask_in_chat() == 0
    row = ChatQuestion.objects.get(app=app)
    assert (row.status, row.attempts) == ("pending", 1)
    due_again(app)
    assert ask_in_chat() == 0
    row.refresh_from_db()
    assert (row.status, row.attempts) == ("pending", 1)  # Slack's word is no failed attempt
    due_again(app)
    assert ask_in_chat() == 0
    row.refresh_from_db()
    app.refresh_from_db()
    assert row.status == "failed"
    assert app.last_error == "Slack refused chat.postMessage: invalid_auth."
    assert BOT not in app.last_error + row.error


def test_a_message_that_a_crash_follows_is_sent_again_and_both_close(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    """Slack has no idempotency key: at least once, and no copy decides a second time."""
    linked(app, "UANN")
    call = unserved(workspace)
    ask_in_chat()
    ChatQuestion.objects.filter(app=app).update(place="", message="", attempts=1)  # not noted
    due_again(app)
    assert ask_in_chat() == 1
    first, second = slack.posted()
    send(app, click(second, "approve", "UANN"))
    ask_in_chat()
    assert verbs_of(slack.posted()[1]) == ["open"]
    send(app, click(first, "approve", "UANN"))
    assert verbs_of(slack.posted()[0]) == ["open"]
    assert Decision.objects.filter(run=call.run_id).count() == 1


def test_what_waited_before_is_not_asked_and_a_disabled_app_asks_nothing(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    app.enabled = False
    save_chat_app(app, {}, by=SYSTEM)
    unserved(workspace)
    assert ask_in_chat() == 0
    app.enabled = True
    save_chat_app(app, {}, by=SYSTEM)
    assert ask_in_chat() == 0
    unserved(workspace)
    assert ask_in_chat() == 1


def test_without_a_way_in_the_messages_have_a_link_alone(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    save_chat_app(app, {"signing_secret": ""}, by=SYSTEM)
    unserved(workspace)
    ask_in_chat()
    assert verbs_of(slack.posted()[0]) == ["open"]
    save_chat_app(app, {"signing_secret": SECRET}, by=SYSTEM)


def test_a_wait_that_ends_before_it_was_asked_is_never_sent(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    linked(app, "UANN")
    call = unserved(workspace)
    slack.faults["conversations.open"] = [503]
    ask_in_chat()
    approve_call(call, digest=call.digest, by=ANNA)
    due_again(app)
    assert ask_in_chat() == 0
    assert slack.posted() == []
    assert ChatQuestion.objects.get(app=app).status == "delivered"


def test_an_approval_that_is_not_the_last_counts_and_the_message_stays(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    in_channel(app)
    linked(app, "UANN")
    linked(app, "UBEN")
    call = unserved(workspace)
    shown = call.approval_view
    assert shown is not None
    ToolCall.objects.filter(pk=call.pk).update(approval_view={**shown, "needed": 2})
    ask_in_chat()
    [message] = slack.posted()
    assert "2 people" in str(message)
    send(app, click(message, "approve", "UANN"))
    assert "needs more people" in slack.whispers[-1]["text"]
    send(app, click(message, "approve", "UANN"))
    assert "approved the call already" in slack.whispers[-1]["text"]
    assert ask_in_chat() == 0
    send(app, click(message, "approve", "UBEN"))
    assert Decision.objects.filter(run=call.run_id, verdict="approved").count() == 1


def test_a_message_to_a_member_who_has_left_is_closed_too(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    ann = linked(app, "UANN")
    call = unserved(workspace)
    ask_in_chat()
    Membership.objects.filter(user=ann).delete()
    ChatAccount.objects.filter(app=app).update(external_id="")  # and unlinked
    unserved(workspace)
    approve_call(call, digest=call.digest, by=ANNA)
    assert ask_in_chat() == 1
    [message] = slack.posted()
    assert verbs_of(message) == ["open"]


def test_a_decision_in_a_chat_ends_with_its_account(app: ChatApp, workspace: Workspace) -> None:
    """Of such a decision no person is left: it is not one that never had an account."""
    query = "SELECT heartbit_may_decide(NULL, %s, %s, '{}')"
    assert call_function(query, ["chat", workspace.pk]) is False
    assert call_function(query, ["terminal", workspace.pk]) is True
