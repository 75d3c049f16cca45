"""A link in a mail to a review: its person sees the result and decides, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone

from agents.actions.waits import notify_approvers, notify_escalation
from agents.approvals.call_display import token_of_review
from agents.models import Run, Wait
from agents.runs.overdue_waits import expire_waits
from tests.clients import Client
from tests.web.people import member
from tests.web.waiting_calls import unreviewed

if TYPE_CHECKING:
    from django.core.mail import EmailMessage

    from heartbit_site.base.models import Workspace

ESCALATED = "No one has decided in time, so you may decide as well."
pytestmark = pytest.mark.django_db


@pytest.fixture
def clerk(workspace: Workspace) -> User:
    user = member(workspace, "operator")
    user.email = f"{user.username}@example.org"
    user.save(update_fields=["email"])
    return user


@pytest.fixture
def nobody() -> Client:
    """A browser in which nobody is logged in."""
    return Client(headers={"host": "127.0.0.1"})


def link(wait: Wait, user: User) -> str:
    return f"/approve/{token_of_review(wait, user.pk)}/"


def test_the_mail_has_the_link_and_nothing_of_the_result(
    workspace: Workspace, clerk: User, mailoutbox: list[EmailMessage]
) -> None:
    wait = unreviewed(workspace, "The password is xyzzy.", by=f"person:{clerk.username}")
    member(workspace, "operator")  # who is not asked
    assert notify_approvers(wait.run_id) == 1
    [mail] = mailoutbox
    assert mail.to == [clerk.email]
    assert mail.subject == "researcher has a result for you to review"
    assert token_of_review(wait, clerk.pk).partition(":")[0] in mail.body
    assert "xyzzy" not in mail.body


def test_an_escalation_reminds_the_first_reviewers_and_asks_the_others(
    workspace: Workspace, clerk: User, mailoutbox: list[EmailMessage]
) -> None:
    wait = unreviewed(workspace, "Ten orders.", by=f"person:{clerk.username}")
    other = member(workspace, "operator")
    User.objects.filter(pk=other.pk).update(email=f"{other.username}@example.org")
    Wait.objects.filter(pk=wait.pk).update(escalated_at=timezone.now())
    assert notify_escalation(wait.pk) == 2
    said = {mail.to[0]: mail.body.splitlines()[0] for mail in mailoutbox}
    asked = "researcher has a result, which you review before it is delivered. "
    assert said == {
        clerk.email: f"{asked}No one has decided in time.",
        f"{other.username}@example.org": f"{asked}{ESCALATED}",
    }


def test_an_expired_review_is_not_said_to_be_reviewed(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    wait = unreviewed(workspace, "Ten orders.")
    Wait.objects.filter(pk=wait.pk).update(expires_at=timezone.now())
    assert expire_waits(100)
    late = nobody.get(link(wait, clerk))
    assert late.status_code == 409
    assert "No one reviewed the result in time." in late.content.decode()


@pytest.mark.parametrize(
    ("sent", "said", "answer"),
    [
        ({"decision": "approve"}, "Approved.", {"decision": "approve"}),
        (
            {"decision": "changes", "message": "Shorter."},
            "Sent to the agent.",
            {"decision": "changes", "message": "Shorter."},
        ),
        (
            {"decision": "edit", "result": "Mine."},
            "Approved as edited.",
            {"decision": "edit", "result": "Mine."},
        ),
    ],
)
def test_the_person_of_the_link_decides_once(
    workspace: Workspace,
    clerk: User,
    nobody: Client,
    sent: dict[str, str],
    said: str,
    answer: dict[str, str],
) -> None:
    wait = unreviewed(workspace, "Ten orders.")
    assert "Ten orders." in nobody.get(link(wait, clerk)).content.decode()
    assert said in nobody.post(link(wait, clerk), sent).content.decode()
    wait.refresh_from_db()
    assert wait.value is not None
    assert (wait.value["answer"], wait.value["by"]) == (answer, clerk.username)
    # Who only approves tells the run nothing.
    assert ("other_person" in wait.value) == (
        sent["decision"] != "approve"
        and Run.objects.get(pk=wait.run_id).started_user_id is not None
    )
    again = nobody.post(link(wait, clerk), sent)
    assert again.status_code == 409
    assert f" by {clerk.username}." in again.content.decode()


def test_a_decision_that_says_too_little_leaves_the_review_open(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    wait = unreviewed(workspace, "Ten orders.")
    for sent in ({"decision": "changes"}, {"decision": "edit", "result": " "}, {"decision": "x"}):
        assert nobody.post(link(wait, clerk), sent).status_code == 422
    wait.refresh_from_db()
    assert wait.resolved_at is None


def test_others_than_the_reviewers_are_refused(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    group = Group.objects.create(name=f"editors-{workspace.slug}")
    wait = unreviewed(workspace, "Ten orders.", by=f"group:{group.name}")
    refused = nobody.post(link(wait, clerk), {"decision": "approve"})
    assert (refused.status_code, group.name in refused.content.decode()) == (409, True)
    group.user_set.add(clerk)
    assert nobody.post(link(wait, clerk), {"decision": "approve"}).status_code == 200


def test_a_structured_result_is_edited_as_json(
    workspace: Workspace, clerk: User, nobody: Client
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wait = unreviewed(
        workspace, '{"n": 1}', structured={"n": 1}, response_schema=schema, can_continue=False
    )
    assert "Request changes" not in nobody.get(link(wait, clerk)).content.decode()
    for wrong in ('{"n": "two"}', "{"):
        sent = {"decision": "edit", "result": wrong}
        assert nobody.post(link(wait, clerk), sent).status_code == 422
    sent = {"decision": "edit", "result": '{"n": 2}'}
    assert nobody.post(link(wait, clerk), sent).status_code == 200
    wait.refresh_from_db()
    assert wait.value is not None
    assert wait.value["answer"]["result"] == {"n": 2}
