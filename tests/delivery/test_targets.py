"""Whereto results may go: what is written is checked, and refused with one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from agents.delivery.targets import (
    ArtifactTarget,
    EmailTarget,
    WebhookTarget,
    check_targets,
    describe_targets,
    read_targets,
    target_of,
)
from agents.errors import InvalidTargetsError
from agents.models import WebhookEndpoint
from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db
MAIL = {"kind": "email", "to": ["ada@example.org"]}


@pytest.fixture
def endpoint(workspace: Workspace) -> WebhookEndpoint:
    return WebhookEndpoint.objects.create(workspace=workspace, name="hook", url="https://x.example")


def test_given_one_of_each_then_they_are_read_and_kept_as_they_were(
    workspace: Workspace, endpoint: WebhookEndpoint
) -> None:
    given = [
        MAIL | {"subject": "Umsätze 📈", "in_reply_to": "<a@b>", "references": ["<x@y>", "<a@b>"]},
        {"kind": "webhook", "endpoint": endpoint.pk},
        {"kind": "artifact", "name": "sales-report"},
    ]
    mail, webhook, artifact = check_targets(workspace, given)
    assert isinstance(mail, EmailTarget)
    assert (mail.to, mail.attach, mail.subject) == (["ada@example.org"], True, "Umsätze 📈")
    assert webhook == WebhookTarget(endpoint=endpoint.pk)
    assert artifact == ArtifactTarget(name="sales-report")
    assert [target_of(one.model_dump()) for one in (mail, webhook, artifact)] == [
        *(mail, webhook, artifact)
    ]
    [told] = describe_targets([[one.model_dump() for one in (mail, webhook, artifact)]])
    assert told == ["ada@example.org", "webhook hook", "artifact sales-report"]
    endpoint.delete()
    assert describe_targets([[webhook.model_dump()]]) == [[f"removed webhook {webhook.endpoint}"]]


def test_given_an_address_twice_then_it_is_written_to_once(workspace: Workspace) -> None:
    [mail] = check_targets(workspace, [{"kind": "email", "to": ["a@b.org", "c@d.org", "a@b.org"]}])
    assert isinstance(mail, EmailTarget)
    assert mail.to == ["a@b.org", "c@d.org"]


def test_given_a_webhook_twice_then_it_is_delivered_to_once(
    workspace: Workspace, endpoint: WebhookEndpoint
) -> None:
    twice = [{"kind": "webhook", "endpoint": endpoint.pk}] * 2
    found = check_targets(workspace, [twice[0], MAIL, twice[1]])
    assert [one.kind for one in found] == ["webhook", "email"]
    assert found == read_targets([twice[0], MAIL, twice[1]]), "also of those that are stored"


WRONG: list[tuple[Any, str]] = [
    ({"kind": "email"}, "Deliveries must be a list of objects, each with a kind: email, webhook"),
    ("x", "Deliveries must be a list"),
    ([MAIL] * 21, "There are too many deliveries: at most 20."),
    (["x"], "Delivery 1 must be an object whose kind is one of email, webhook, artifact, drive."),
    ([{"to": ["a@b.org"]}], "Delivery 1 must be an object whose kind is one of"),
    ([MAIL, {"kind": "pigeon"}], "Delivery 2 must be an object whose kind is one of"),
    ([{"kind": "email"}], "Delivery 1 (email) needs the field 'to'."),
    ([MAIL | {"cc": []}], "Delivery 1 (email) has no field 'cc': use kind, to, subject,"),
    ([MAIL | {"to": []}], "Delivery 1 (email): 'to' is not right: list should have at least 1"),
    ([MAIL | {"to": ["a@b.org"] * 21}], "Delivery 1 (email): 'to' is not right: list should have"),
    (
        [MAIL | {"to": ["Ada <a@b.org>"]}],
        "Delivery 1 (email): entry 1 of 'to' is not an e-mail address: write",
    ),
    (
        [MAIL | {"to": ["a@b.org", "x"]}],
        "Delivery 1 (email): entry 2 of 'to' is not an e-mail address",
    ),
    ([MAIL | {"to": ["a@b.org\n"]}], "entry 1 of 'to' is not an e-mail address"),
    ([MAIL | {"to": ["a@b.org\r\nBcc: e@evil.org"]}], "entry 1 of 'to' is not an e-mail address"),
    ([MAIL | {"to": ['"a\x01b"@b.org']}], "entry 1 of 'to' is not an e-mail address"),
    ([MAIL | {"subject": "a\r\nBcc: e@evil.org"}], "'subject' must be one line without control"),
    ([MAIL | {"subject": "a\u2028b"}], "'subject' must be one line"),
    ([MAIL | {"subject": 7}], "Delivery 1 (email): 'subject' is not right"),
    ([MAIL | {"attach": "yes"}], "Delivery 1 (email): 'attach' is not right"),
    ([MAIL | {"in_reply_to": "<a@b>\r\nBcc: e@evil.org"}], "'in_reply_to' is not right"),
    ([MAIL | {"references": ["a@b"]}], "entry 1 of 'references' is not right"),
    ([{"kind": "webhook", "endpoint": True}], "Delivery 1 (webhook): 'endpoint' is not right"),
    ([{"kind": "webhook", "endpoint": 2**63}], "Delivery 1 (webhook): 'endpoint' is not right"),
    ([{"kind": "webhook", "endpoint": 2**62}], f"The workspace has no webhook {2**62} to deliver"),
    ([{"kind": "drive", "file": "../x"}], "Delivery 1 (drive): 'file' is not a valid file name"),
    (
        [{"kind": "drive", "file": "{day}.md"}],
        "'file' has {day}: use {date}, {time}, {agent}, {run}",
    ),
    ([{"kind": "artifact", "name": "../x"}], "Delivery 1 (artifact): 'name' takes up to 64 lower-"),
    ([{"kind": "artifact", "name": "Weekly"}], "letters, digits, - and _; begin with a letter or"),
    ([{"kind": "artifact", "name": "code-1"}], "'name' is reserved for a run's own artifacts"),
    (
        [{"kind": "artifact", "name": "a"}] * 2,
        "Two deliveries store the answer as the artifact 'a'",
    ),
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=[said[:50] for _, said in WRONG])
def test_given_what_is_no_target_then_one_sentence_says_which_and_why(
    workspace: Workspace, given: Any, said: str
) -> None:
    with pytest.raises(InvalidTargetsError) as refused:
        check_targets(workspace, given)
    sentence = str(refused.value)
    assert said in sentence
    assert sentence.endswith(".")
    assert sentence.isprintable()


def test_given_a_webhook_of_another_workspace_then_there_is_none(
    workspace: Workspace, endpoint: WebhookEndpoint
) -> None:
    other = Workspace.objects.create(slug="elsewhere-of-targets", name="elsewhere")
    with pytest.raises(InvalidTargetsError, match=f"has no webhook {endpoint.pk} to deliver to"):
        check_targets(other, [{"kind": "webhook", "endpoint": endpoint.pk}])


def test_given_a_checked_list_whose_webhook_is_gone_then_it_can_still_be_read() -> None:
    assert read_targets([{"kind": "webhook", "endpoint": 2**62}]) == (
        WebhookTarget(endpoint=2**62),
    )
    with pytest.raises(InvalidTargetsError, match="no field 'cc'"):
        read_targets([MAIL | {"cc": []}])
