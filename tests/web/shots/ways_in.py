"""Where messages come into the shop, and what came."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from agents.actions.channels import save_channel
from agents.models import Channel, InboundMessage
from scheduling.querysets import database_now

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace

MAILBOX = "Support mailbox"
#: Minutes ago, who, what about, and why nobody answers it.
CAME = (
    (4, "mara.lindqvist@example.org", "Bent rear wheel, order 1042", ""),
    (9, "offers@example.com", "Grow your shop", "Its sender offers@example.com may not write."),
    (26, "tom.ames@example.org", "Re: Service of another make", ""),
    (31, "ines@example.org", "Away until Monday", "Its header says that a machine wrote it."),
    (58, "jonas@example.org", "Can I try a Wren?", ""),
)


def open_ways_in(workspace: Workspace, run: UUID, *, by: Actor) -> Channel:
    """Make the channels; the one whose page is shown.

    Args:
        workspace: The shop.
        run: What answers the mails.
        by: Who makes them.
    """
    shop = Channel(
        workspace=workspace,
        name="Web shop orders",
        kind="webhook",
        agent="stock",
        mapping={
            "task": "Order {order.number} was placed: is everything in stock? {order.items}",
            "conversation": "{order.number}",
            "only": {"type": "order.placed"},
        },
    )
    save_channel(shop, by=by)
    mailbox = Channel(
        workspace=workspace,
        name=MAILBOX,
        kind="email",
        agent="support",
        senders=["@example.org"],
        imap_host="imap.larkfield.example",
        imap_user="support@larkfield.example",
    )
    save_channel(mailbox, password="made-up", by=by)
    now = database_now()
    for number, (minutes, sender, title, reason) in enumerate(reversed(CAME)):
        InboundMessage.objects.create(
            channel=mailbox,
            external_id=f"<{number}@{sender.partition('@')[2]}>",
            sender=sender,
            title=title,
            status="refused" if reason else "accepted",
            reason=reason,
            run_id=None if reason else run,
            received_at=now - timedelta(minutes=minutes),
        )
    Channel.objects.filter(pk=mailbox.pk).update(last_polled_at=now - timedelta(seconds=12))
    return mailbox
