"""An agent answers a support mailbox: real IMAP and SMTP servers, a real worker, one thread."""

from __future__ import annotations

from datetime import timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.utils import make_msgid
from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction

from agents.actions.channels import poll_mailboxes, save_channel
from agents.actions.deliver_results import deliver_results
from agents.actions.runs import cancel_run
from agents.choices import TERMINAL
from agents.inbound.channels import due_for_polling
from agents.models import Agent, Channel, Delivery, InboundMessage, Run
from heartbit_site.base.audit import SYSTEM
from scheduling.querysets import database_now
from tests.delivery.conftest import mailbox, smtp
from tests.fleet import wait_until
from tests.inbound.imap_server import GOOD, imap_server, script, talking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from email.message import Message
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker
    from tests.inbound.imap_server import ImapServer
    from tests.mailbox import Mailbox

__all__ = ["mailbox", "smtp"]

ADA = "ada@example.org"
USER, PASSWORD = "support@heartbit.example", "canary-5d1e"


def mail(text: str, *, sender: str = ADA, subject: str = "It does not print", **more: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = f"Ada Lovelace <{sender}>", USER
    message["Subject"], message["Message-ID"] = subject, make_msgid(domain="example.org")
    for name, value in more.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message.as_bytes()


@pytest.fixture(scope="module")
def server() -> Iterator[ImapServer]:
    """What is in its mailbox before a test's channel looks into it is nothing to that."""
    with imap_server(user=USER, password=PASSWORD) as started:
        yield started


@pytest.fixture
def imap(server: ImapServer, settings: Settings) -> ImapServer:
    settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{server.port}"
    return server


@pytest.fixture
def channel(workspace: Workspace, imap: ImapServer) -> Iterator[Channel]:
    """It has looked into its mailbox once; other tests' rows are disabled."""
    Channel.objects.update(enabled=False)
    made = Channel(
        workspace=workspace,
        name="support",
        kind="email",
        agent="writer",
        senders=["@example.org"],
        imap_host="127.0.0.1",
        imap_port=imap.port,
        imap_security="none",
        imap_user=USER,
        last_polled_at=a_minute_ago(),
    )
    save_channel(made, password=PASSWORD, by=SYSTEM)
    assert look(made) == 0
    yield made
    Channel.objects.filter(pk=made.pk).update(enabled=False)


def a_minute_ago() -> datetime:
    """So long that one may look again, and not so long that other processes ring for it."""
    return database_now() - timedelta(minutes=1)


def look(channel: Channel) -> int:
    """Look into the mailbox now; how many mails were dealt with."""
    Channel.objects.filter(pk=channel.pk).update(last_polled_at=a_minute_ago())
    found = poll_mailboxes()
    channel.refresh_from_db()
    return found


def log(channel: Channel) -> list[InboundMessage]:
    return list(InboundMessage.objects.filter(channel=channel).order_by("pk"))


def run_of(row: InboundMessage) -> UUID:
    assert row.run_id is not None, row.reason
    return row.run_id


def id_of(row: InboundMessage) -> str:
    """Its Message-ID."""
    return row.external_id.partition(" ")[0]


def answered(row: InboundMessage, box: Mailbox) -> Message:
    """The mail that answers it."""
    run = Run.objects.filter(pk=run_of(row), status__in=TERMINAL)
    wait_until(run.exists, what="the run")
    before = len(box.mails)
    Delivery.objects.exclude(run_id=run_of(row)).filter(status="pending").delete()
    assert deliver_results() == 1
    [sent] = box.mails[before:]
    return sent


def words_of(sent: Message) -> Any:
    part = next(part for part in sent.walk() if part.get_content_type() == "text/plain")
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    return content.decode().replace("\r\n", "\n")


def test_given_mails_then_the_agent_answers_each_in_its_thread(
    channel: Channel,
    imap: ImapServer,
    worker: Worker,
    mailbox: Mailbox,
) -> None:
    question = mail("Nothing comes out. [[text: Is it **on**?]]")
    imap.deliver(question)
    assert (look(channel), channel.last_error) == (1, "")
    assert look(channel) == 0
    [first] = log(channel)
    sent = answered(first, mailbox)
    assert (mailbox.taken_for, sent["Subject"]) == ([ADA], "Re: It does not print")
    assert sent["In-Reply-To"] == sent["References"] == id_of(first)
    assert words_of(sent) == "Is it **on**?\n"
    whole = sent.as_string()
    assert (str(first.run_id) in whole, "/runs/" in whole, "X-Heartbit-Run" in whole) == (
        *(False, False),
        False,
    )
    task = Run.objects.get(pk=run_of(first)).task
    assert task.startswith("An e-mail was received.\n\nFrom: Ada Lovelace <ada@example.org>\n")
    assert "Subject: It does not print\n" in task

    imap.deliver(
        mail("It was off. [[text: Good.]]", subject="Re: It", In_Reply_To=str(sent["Message-ID"]))
    )
    imap.deliver(mail("Another thing. [[text: Yes?]]", subject="Paper"))
    assert look(channel) == 2
    _, second, other = log(channel)
    assert second.conversation_id == first.conversation_id != other.conversation_id
    reply = answered(second, mailbox)
    assert (words_of(reply), reply["In-Reply-To"]) == ("Good.\n", id_of(second))
    assert str(sent["Message-ID"]) in reply["References"]


@pytest.mark.usefixtures("mailbox")
class TestNobodyWorks:
    @pytest.fixture(autouse=True)
    def _parked(self, workspace: Workspace) -> None:
        Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")

    def test_given_machines_and_strangers_then_nobody_answers_and_the_log_says_why(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        imap.deliver(mail("I am away.", Auto_Submitted="auto-replied"))
        imap.deliver(mail("Buy this.", sender="eve@example.com"))
        imap.deliver(mail("A list.", List_Id="<all.example.org>"))
        assert look(channel) == 3
        assert [row.status for row in log(channel)] == ["refused"] * 3
        assert "eve@example.com may not write" in log(channel)[1].reason
        assert "Auto-Submitted" in log(channel)[0].reason
        assert not Run.objects.filter(workspace=channel.workspace_id).exists()

    def test_given_a_known_id_then_a_stranger_gets_into_no_conversation(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        question = mail("My secret is 17.")
        imap.deliver(question)
        assert look(channel) == 1
        [first] = log(channel)
        imap.deliver(mail("What is it?", sender="bob@example.org", References=id_of(first)))
        imap.deliver(mail("And it is blue.", References=id_of(first)))
        assert look(channel) == 2
        _, strangers, own = log(channel)
        assert strangers.conversation_id != first.conversation_id == own.conversation_id

    def test_given_an_answer_that_was_passed_on_then_it_lets_nobody_else_in(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        imap.deliver(mail("My secret is 17."))
        assert look(channel) == 1
        [first] = log(channel)
        sent = Delivery.objects.get(run_id=run_of(first)).message_id
        imap.deliver(mail("What is it?", sender="bob@example.org", In_Reply_To=sent))
        imap.deliver(mail("What is it?", Reply_To="bob@example.org", In_Reply_To=sent))
        imap.deliver(mail("And it is blue.", In_Reply_To=sent))
        assert look(channel) == 3
        _, bobs, elsewhere, own = (row.conversation_id for row in log(channel))
        assert own == first.conversation_id
        assert len({own, bobs, elsewhere}) == 3

    def test_given_a_stranger_with_its_message_id_then_the_real_mail_is_taken(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        real = mail("It burns.")
        message_id = str(message_from_bytes(real)["Message-ID"])
        for sender in ("eve@example.com", "bob@example.org"):
            forged = mail("x", sender=sender)
            made = str(message_from_bytes(forged)["Message-ID"])
            imap.deliver(forged.replace(made.encode(), message_id.encode()))
        imap.deliver(real)
        imap.deliver(real)
        assert look(channel) == 4
        taken = [(row.status, row.sender) for row in log(channel)]
        assert taken == [
            ("refused", "eve@example.com"),
            ("accepted", "bob@example.org"),
            ("accepted", ADA),
        ]

    def test_given_many_mails_of_one_sender_then_the_others_are_answered_all_the_same(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        Channel.objects.filter(pk=channel.pk).update(hourly_limit=20)
        for _ in range(7):
            imap.deliver(mail("Thank you for your message.", sender="tickets@example.org"))
        imap.deliver(mail("It burns."))
        assert look(channel) == 8
        found = [row.status for row in log(channel)]
        assert found == ["accepted"] * 5 + ["refused"] * 2 + ["accepted"]
        assert "has written 5 mails within an hour" in log(channel)[5].reason

    def test_given_a_mail_that_cannot_be_fetched_then_those_behind_it_are(
        self, channel: Channel, settings: Settings
    ) -> None:
        settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
        refusing = {**GOOD, "SEARCH": b"* SEARCH 8 9\r\nTAG OK yes\r\n", "FETCH": b"TAG NO no\r\n"}
        with talking(script(refusing)) as port:
            at = {"imap_port": port, "uid_validity": 7, "last_uid": 7}
            Channel.objects.filter(pk=channel.pk).update(**at)
            looks = []
            for _ in range(6):
                Channel.objects.filter(pk=channel.pk).update(failures=0)
                looks.append(look(channel))
        assert "did not return its mails" in channel.last_error
        assert (looks, channel.last_uid) == ([0, 0, 0, 0, 1, 0], 8)
        assert [row.reason for row in log(channel)] == ["It cannot be fetched."]

    def test_given_trouble_then_the_mailbox_rests_longer_each_time(
        self, channel: Channel, settings: Settings
    ) -> None:
        settings.HEARTBIT_HTTP_ALLOWLIST = ""
        assert look(channel) == 0
        assert "HEARTBIT_HTTP_ALLOWLIST" in channel.last_error
        assert channel.failures == 1
        found = Channel.objects.filter(pk=channel.pk)
        for failures, seconds in ((0, 21), (1, 41), (3, 161), (9, 901)):
            found.update(
                failures=failures, last_polled_at=database_now() - timedelta(seconds=seconds)
            )
            assert channel in due_for_polling(database_now())
            found.update(last_polled_at=database_now() - timedelta(seconds=seconds - 3))
            assert channel not in due_for_polling(database_now())

    def test_given_a_look_that_dies_before_its_end_then_the_mail_is_taken_by_the_next_one_once(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        imap.deliver(mail("It burns."))
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            assert look(channel) == 1
            assert len(log(channel)) == 1
            raise ZeroDivisionError
        assert (log(channel), look(channel), look(channel)) == ([], 1, 0)
        assert Run.objects.filter(workspace=channel.workspace_id).count() == 1

    def test_given_a_full_hour_then_mails_wait_in_the_mailbox(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        Channel.objects.filter(pk=channel.pk).update(hourly_limit=1)
        for text in ("One.", "Two."):
            imap.deliver(mail(text))
        assert look(channel) == 1
        assert "Mails wait in the mailbox: The channel support takes 1" in channel.last_error
        Channel.objects.filter(pk=channel.pk).update(hourly_limit=9)
        assert (look(channel), channel.last_error, len(log(channel))) == (1, "", 2)

    def test_given_a_wrong_password_then_the_trouble_is_said_and_the_mail_waits(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        save_channel(channel, password="wrong", by=SYSTEM)
        imap.deliver(mail("Hello."))
        assert look(channel) == 0
        assert channel.last_error
        assert "wrong" not in channel.last_error.replace("wrong password", "")
        save_channel(channel, password=PASSWORD, by=SYSTEM)
        assert (look(channel), channel.last_error) == (1, "")

    def test_given_a_reply_to_of_somebody_else_then_the_sender_is_answered(
        self, channel: Channel, imap: ImapServer
    ) -> None:
        imap.deliver(mail("One.", Reply_To="eve@example.com"))
        imap.deliver(mail("Two.", Reply_To="office@example.org"))
        assert look(channel) == 2
        to = [Delivery.objects.get(run_id=run_of(row)).target["to"] for row in log(channel)]
        assert to == [[ADA], ["office@example.org"]]

    def test_given_a_run_that_fails_then_nobody_outside_is_told(
        self,
        channel: Channel,
        imap: ImapServer,
        mailbox: Mailbox,
    ) -> None:
        imap.deliver(mail("Hello."))
        assert look(channel) == 1
        [row] = log(channel)
        cancel_run(channel.workspace, run_of(row), reason="no", by=SYSTEM)
        Delivery.objects.exclude(run_id=run_of(row)).filter(status="pending").delete()
        assert deliver_results() == 0
        assert mailbox.mails == []
        assert "nothing is sent outside" in Delivery.objects.get(run_id=run_of(row)).error
