"""Results by mail, over a real SMTP server: once, tried again, and with nothing slipped in."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from datetime import timedelta
from email.header import decode_header, make_header
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from django.db import connections
from django.utils import timezone

from agents.actions.admit import create_deliveries
from agents.actions.deliver_results import LEASE_SECONDS, deliver_results
from agents.actions.redeliver import redeliver_result
from agents.actions.runs import cancel_run
from agents.choices import Placement
from agents.delivery.report import html_of, report_of
from agents.delivery.sending import RETRY_AFTER
from agents.delivery.targets import EmailTarget
from agents.errors import DeliveryStateError
from agents.models import Delivery, Run
from heartbit_site.base.audit import BY_SCHEDULE, SYSTEM
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from tests.delivery.orders import ADA, TO_ADA, ended, make_due, order, ordered, row_of
from tests.mailbox import receiving_mail
from tests.security.payloads import CORPUS
from tests.starts import start_run

if TYPE_CHECKING:
    from email.message import Message

    from pytest_django.fixtures import Settings

    from tests.mailbox import Mailbox

transacted = pytest.mark.django_db
EVE = "eve@example.org"
TO_BOTH = {"kind": "email", "to": [ADA, EVE]}
ANSWER = """# Sales

| Region | Total |
|---|---|
| Höhe | **7** |

```python
print("42 °C")\t# a < b
```
"""


def said(mail: Message, kind: str) -> str:
    """The first part of a kind that is not attached, as text."""
    for part in mail.walk():
        if part.get_content_type() == kind and part.get_filename() is None:
            return content(part).decode()
    raise AssertionError(f"no {kind}")


def content(part: Message) -> bytes:
    found = part.get_payload(decode=True)
    assert isinstance(found, bytes)
    return found


def attached(mail: Message) -> dict[str, bytes]:
    return {name: content(part) for part in mail.walk() if (name := part.get_filename())}


def subject(mail: Message) -> str:
    return " ".join(str(make_header(decode_header(mail["Subject"]))).split())


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


# --- What arrives --------------------------------------------------------------------------------


@transacted
def test_given_a_run_of_a_schedule_then_its_mail_is_called_as_the_schedule(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone, output=ANSWER)
    Run.objects.filter(pk=run.pk).update(started_by=f"{BY_SCHEDULE}Monday sales report")
    assert deliver_results() == 1
    [mail] = mailbox.mails
    assert subject(mail) == "Monday sales report"


@transacted
def test_given_a_run_that_succeeds_then_a_mail_with_its_answer_arrives_once(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone, output=ANSWER)
    assert [deliver_results() for _ in range(3)] == [1, 0, 0]
    [mail] = mailbox.mails
    row = row_of(run)
    assert mailbox.taken_for == [ADA]
    assert (mail["To"], mail["From"]) == (ADA, "Heartbit <agents@heartbit.example>")
    assert subject(mail) == "writer: Why?"
    assert mail["Message-ID"] == row.message_id
    assert row.message_id.endswith("@heartbit.example>")
    assert (mail["Auto-Submitted"], mail["X-Heartbit-Run"]) == ("auto-generated", str(run.pk))
    assert mail["In-Reply-To"] is None
    plain, html = said(mail, "text/plain"), said(mail, "text/html")
    assert plain.replace("\r\n", "\n").startswith(ANSWER.strip())
    assert f"/w/{alone.slug}/runs/{run.pk}/" in plain
    assert "<strong>7</strong>" in html
    assert "Höhe" in html
    assert attached(mail) == {
        "report.md": ANSWER.encode(),
        "code-1.py": 'print("42 °C")\t# a < b\n'.encode(),
    }
    assert (row.status, row.attempts, row.error, row.recipient_results) == (
        "delivered",
        1,
        "",
        {ADA: ""},
    )
    assert row.delivered_at is not None


@transacted
def test_given_a_run_that_fails_then_its_mail_says_why(alone: Workspace, mailbox: Mailbox) -> None:
    held = ordered(alone)
    held.fail("The provider <openai> is away.")
    assert deliver_results() == 1
    [mail] = mailbox.mails
    assert said(mail, "text/plain").startswith("The provider <openai> is away.")
    assert "Failed" in said(mail, "text/plain")
    assert "The provider &lt;openai&gt; is away." in said(mail, "text/html")
    assert attached(mail) == {}


@transacted
def test_given_a_run_that_is_cancelled_then_its_mail_says_so(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run_id = start_run(alone, "Why?", agent="writer")
    order(alone, run_id, TO_ADA)
    assert deliver_results() == 0, "it has not ended"
    assert (row_of(run_id).status, row_of(run_id).attempts) == ("pending", 0)
    cancel_run(alone, run_id, reason="no")
    assert deliver_results() == 1
    assert "Cancelled" in said(mailbox.mails[0], "text/plain")


@transacted
def test_given_a_structured_answer_then_it_is_shown_as_json_and_attached(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone)
    Run.objects.filter(pk=run.pk).update(structured={"total": 7, "note": "```"})
    assert deliver_results() == 1
    [mail] = mailbox.mails
    assert "````json" in said(mail, "text/plain")
    assert '"total": 7' in said(mail, "text/html").replace("&quot;", '"')
    assert set(attached(mail)) == {"report.md", "data.json"}
    assert b'"total": 7' in attached(mail)["data.json"]


@transacted
def test_given_no_answer_then_the_mail_says_so(alone: Workspace, mailbox: Mailbox) -> None:
    ended(alone, output="")
    assert deliver_results() == 1
    assert said(mailbox.mails[0], "text/plain").startswith("The run ended without an answer.")
    assert "ended without an answer" in said(mailbox.mails[0], "text/html")


@transacted
def test_given_a_thread_then_the_mail_joins_it(alone: Workspace, mailbox: Mailbox) -> None:
    thread = {"in_reply_to": "<2@x.org>", "references": ["<1@x.org>", "<2@x.org>"]}
    ended(alone, [TO_ADA | thread | {"subject": "Re: Umsätze", "attach": False}])
    ended(alone, [TO_ADA | {"in_reply_to": "<3@x.org>"}])
    assert deliver_results() == 2
    first, second = mailbox.mails
    assert (first["In-Reply-To"], first["References"]) == ("<2@x.org>", "<1@x.org> <2@x.org>")
    assert (subject(first), attached(first)) == ("Re: Umsätze", {})
    assert (second["In-Reply-To"], second["References"]) == ("<3@x.org>", "<3@x.org>")


@transacted
def test_given_more_than_a_mail_may_carry_then_it_is_left_out_and_said(
    alone: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.delivery.report.MOST_ATTACHED", 100)
    monkeypatch.setattr("agents.delivery.report.LONGEST", 60)
    ended(alone, output=f"```sh\necho\n```\n\n```python\n{'x' * 99}\n```\n")
    assert deliver_results() == 1
    [mail] = mailbox.mails
    assert attached(mail) == {"code-1.sh": b"echo\n"}
    plain = said(mail, "text/plain").replace("\r\n", "\n")
    assert "Not attached, because all files together may have 100 bytes: report.md (" in plain
    assert "code-2.py (100 bytes). The run's page has them." in plain
    assert "characters are left out here: the run's page has the whole answer." in plain
    assert "x" * 99 not in plain
    assert "Not attached" in said(mail, "text/html")


# --- Nothing slips in ----------------------------------------------------------------------------


class Seen(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag


FRAME = {
    *("html", "head", "meta", "title", "body", "table", "tbody", "tr", "td", "th", "thead"),
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "a", "span", "code", "pre", "ul", "ol", "li"),
    *("blockquote", "hr", "em", "strong", "s", "br"),
}
ATTRIBUTES = {
    *("style", "dir", "role", "width", "cellpadding", "cellspacing", "border", "align", "lang"),
    *("charset", "name", "content", "href", "title", "rel", "target", "start"),
}


@transacted
def test_given_whatever_a_model_writes_then_the_page_of_a_mail_fetches_and_runs_nothing(
    alone: Workspace,
) -> None:
    run = ended(alone)
    report = report_of(run, attach=False)
    for text in [*CORPUS, '[a](https://x.example "<p onmouseover=hit()><td style=x>")']:
        one = replace(report, answer=text, problem=text, title=text)
        elements = Seen(html_of(one)).elements
        assert [element for element, _ in elements].count("meta") == 3, text
        for element, attributes in elements:
            assert element in FRAME, text
            assert set(attributes) <= ATTRIBUTES, text
            assert "url(" not in (attributes.get("style") or ""), text
            # Without a scheme it leads nowhere: a mail has no address of its own.
            scheme = urlsplit(attributes.get("href") or "").scheme
            assert scheme in ("", "http", "https", "mailto"), text


@transacted
def test_given_an_answer_then_its_elements_are_styled_where_they_stand(alone: Workspace) -> None:
    run = ended(alone, output=ANSWER)
    for element, attributes in Seen(html_of(report_of(run, attach=False))).elements:
        if element in ("h1", "td", "th", "pre", "p"):
            assert attributes.get("style"), element


@transacted
def test_given_line_breaks_in_what_becomes_a_header_then_no_header_is_added(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone, task="Why?\r\nBcc: evil@example.org\r\n\r\nA body \u202e of my own")
    Run.objects.filter(pk=run.pk).update(agent="writer\nX-Evil: yes")
    assert deliver_results() == 1
    [mail] = mailbox.mails
    assert mailbox.taken_for == [ADA]
    assert mail["Bcc"] is None
    assert mail["X-Evil"] is None
    assert subject(mail).startswith("writer X-Evil: yes: Why? Bcc: evil@example.org A body \\u202e")


@transacted
def test_given_a_run_of_another_workspace_then_its_answer_is_not_sent(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone, [])
    other = Workspace.objects.create(slug="elsewhere-of-mails", name="elsewhere")
    order(other, run.pk, TO_ADA)
    assert deliver_results() == 0
    assert mailbox.mails == []
    assert row_of(run).error == "The run was archived or deleted before its result was sent."


# --- Once ----------------------------------------------------------------------------------------


@transacted
def test_given_an_order_that_is_repeated_then_it_is_delivered_once(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone)
    create_deliveries(run.pk, alone, [EmailTarget(to=[EVE])])
    assert deliver_results() == 1
    assert mailbox.taken_for == [ADA]
    assert row_of(run).target["to"] == [ADA]


def test_given_a_mail_that_is_being_sent_then_another_look_leaves_it_alone(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run_id = start_run(alone, "Why?", agent="writer", home=Placement.LOCAL)
    order(alone, run_id, TO_ADA)
    cancel_run(alone, run_id, reason="no")
    sending, go_on, done = threading.Event(), threading.Event(), []

    def taking() -> None:
        sending.set()
        go_on.wait(20)

    mailbox.before_taking = taking

    def look() -> None:
        try:
            done.append(deliver_results())
        finally:
            connections.close_all()

    thread = threading.Thread(target=look)
    thread.start()
    assert sending.wait(20)
    try:
        assert deliver_results() == 0
        assert row_of(run_id).status == "pending"
    finally:
        go_on.set()
        thread.join()
    assert (done, len(mailbox.mails)) == ([1], 1)
    assert row_of(run_id).status == "delivered"


def test_given_looks_at_once_then_each_mail_is_sent_once(
    alone: Workspace, mailbox: Mailbox
) -> None:
    ids = [start_run(alone, str(n), agent="writer", home=Placement.LOCAL) for n in range(12)]
    for run_id in ids:
        order(alone, run_id, TO_ADA)
    ready, failed = threading.Barrier(3), []
    arrived: list[int] = []

    def look() -> None:
        try:
            ready.wait(20)
            arrived.extend(deliver_results() for _ in range(8))
        except Exception as error:  # noqa: BLE001  told by the assertion below
            failed.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait(20)
    for run_id in ids:
        cancel_run(alone, run_id, reason="no")
    for thread in threads:
        thread.join()
    arrived.append(deliver_results())
    assert (failed, sum(arrived)) == ([], len(ids))
    told = [mail["X-Heartbit-Run"] for mail in mailbox.mails]
    assert sorted(told) == sorted(str(run_id) for run_id in ids)


@transacted
def test_given_a_process_that_died_while_sending_then_it_is_due_again_after_the_lease(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone, [TO_BOTH])
    rest = timezone.now() + timedelta(seconds=LEASE_SECONDS)
    Delivery.objects.filter(run_id=run.pk).update(
        attempts=1, next_at=rest, recipient_results={ADA: ""}
    )
    assert deliver_results() == 0
    make_due(run)
    assert deliver_results() == 1
    assert mailbox.taken_for == [EVE], "who has it gets it no more"
    assert row_of(run).attempts == 2


@transacted
def test_given_a_delivery_that_kills_whoever_sends_it_then_it_is_given_up(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone)
    Delivery.objects.filter(run_id=run.pk).update(attempts=len(RETRY_AFTER) + 1)
    assert deliver_results() == 0
    row = row_of(run)
    assert (row.status, mailbox.mails) == ("failed", [])
    assert "crashed at each attempt" in row.error


# --- What goes wrong -----------------------------------------------------------------------------


@transacted
def test_given_a_server_that_is_away_then_the_same_mail_arrives_when_it_is_back(
    alone: Workspace, smtp: Settings
) -> None:
    smtp.EMAIL_PORT = free_port()
    run, other = ended(alone), ended(alone)
    message_id = row_of(run).message_id
    assert deliver_results() == 0
    row = row_of(run)
    assert (row.status, row.attempts) == ("pending", 1)
    assert row.error.startswith("The mail server is unavailable: ")
    assert "refused" in row.error
    assert timedelta(seconds=50) < row.next_at - timezone.now() <= RETRY_AFTER[0]
    assert row_of(other).attempts == 0, "others would fare alike, so they were not tried"
    assert deliver_results() == 0
    with receiving_mail(smtp.EMAIL_PORT) as box:
        make_due(run)
        assert deliver_results() == 1
        assert [mail["Message-ID"] for mail in box.mails] == [message_id]
    row = row_of(run)
    assert (row.status, row.attempts, row.error) == ("delivered", 2, "")


@transacted
def test_given_a_server_that_stays_away_then_it_is_given_up(
    alone: Workspace, smtp: Settings
) -> None:
    smtp.EMAIL_PORT = free_port()
    run, waited = ended(alone), []
    for _ in range(len(RETRY_AFTER) + 1):
        make_due(run)
        now = timezone.now()
        deliver_results()
        waited.append(round((row_of(run).next_at - now).total_seconds()))
    assert waited[:-1] == [int(wait.total_seconds()) for wait in RETRY_AFTER]
    row = row_of(run)
    assert (row.status, row.attempts) == ("failed", 7)
    with pytest.raises(DeliveryStateError, match="on its way"):
        redeliver_result(row_of(ended(alone)), by=SYSTEM)
    redeliver_result(row, by=SYSTEM)
    assert (row.status, row.attempts, row.error) == ("pending", 0, "")


@transacted
def test_given_an_address_that_is_refused_for_good_then_only_that_is_not_reached(
    alone: Workspace, mailbox: Mailbox
) -> None:
    mailbox.answers = {ADA: ["550 5.1.1 no such user"]}
    run = ended(alone, [TO_BOTH])
    assert deliver_results() == 0
    row = row_of(run)
    refused = f"The mail server refused {ADA}: 550 5.1.1 no such user"
    assert row.status == "failed"
    assert row.error == f"{refused} (1 of 2 addresses got it.)"
    assert row.recipient_results == {ADA: refused, EVE: ""}
    make_due(run)
    assert deliver_results() == 0, "it is final"
    assert mailbox.taken_for == [EVE]
    redeliver_result(row, by=SYSTEM)
    assert deliver_results() == 1
    assert mailbox.taken_for == [EVE, ADA]
    redeliver_result(row_of(run), by=SYSTEM)
    assert deliver_results() == 1
    assert mailbox.taken_for == [EVE, ADA, ADA, EVE], "one that arrived goes to all again"
    assert {mail["Message-ID"] for mail in mailbox.mails} == {row.message_id}


@transacted
def test_given_an_address_that_is_put_off_then_it_alone_is_tried_again(
    alone: Workspace, mailbox: Mailbox
) -> None:
    mailbox.answers = {ADA: ["450 4.2.0 greylisted"]}
    run = ended(alone, [TO_BOTH])
    assert deliver_results() == 0
    row = row_of(run)
    assert (row.status, row.recipient_results) == ("pending", {EVE: ""})
    assert row.error == f"The mail server refused {ADA}: 450 4.2.0 greylisted"
    make_due(run)
    assert deliver_results() == 1
    assert mailbox.taken_for == [EVE, ADA]


@pytest.mark.parametrize(
    ("verdict", "status"), [("554 5.7.1 spam", "failed"), ("451 4.3.0 later", "pending")]
)
@transacted
def test_given_a_mail_whose_content_is_refused_then_its_code_decides(
    alone: Workspace, mailbox: Mailbox, verdict: str, status: str
) -> None:
    mailbox.verdicts = [verdict]
    run = ended(alone)
    assert deliver_results() == 0
    row = row_of(run)
    assert row.status == status
    assert row.error == f"The mail server refused {ADA}: {verdict}"
    make_due(run)
    assert deliver_results() == (status == "pending")


@transacted
def test_given_a_run_that_is_gone_then_it_is_given_up_and_says_so(
    alone: Workspace, mailbox: Mailbox
) -> None:
    gone = new_id()
    order(alone, gone, TO_ADA)
    assert deliver_results() == 0
    row = row_of(gone)
    assert row.status == "failed"
    assert row.error == "The run was archived or deleted before its result was sent."


@transacted
def test_given_a_target_of_a_form_that_is_not_known_then_it_is_given_up(
    alone: Workspace, mailbox: Mailbox
) -> None:
    run = ended(alone)
    target: dict[str, Any] = {"kind": "email", "to": ["x\r\nBcc: evil@example.org"]}
    Delivery.objects.filter(run_id=run.pk).update(target=target)
    assert deliver_results() == 0
    assert (row_of(run).status, mailbox.mails) == ("failed", [])
    assert "is not supported" in row_of(run).error
