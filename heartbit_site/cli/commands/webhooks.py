"""`heartbit webhooks`: where events are sent, and what became of them."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import webhooks as contract

STYLES: Final = {"active": "green", "disabled": "yellow", "delivered": "green", "failed": "red"}
TABLE: Final = Table.of(
    contract.WebhookOut,
    "WEBHOOK=name:40 STATE EVENTS=events|results URL=url:80 REASON=disabled_reason:80",
    styles=STYLES,
    none="No webhooks yet: `heartbit webhooks add NAME --to URL` makes one.",
    STATE=lambda one: "active" if one.enabled else "disabled",
)
DELIVERIES: Final = Table.of(
    contract.DeliverySummaryOut,
    "DELIVERY=id TIME=created_at EVENT STATUS ATTEMPTS RESPONSE=response_code|- ERROR=error:80",
    styles=STYLES,
    none="Nothing was sent to it in the last 30 days.",
)

TO: Final = common.option("--to URL", "Send its messages to this URL, http or https.", None)

app = common.group()
WEBHOOKS: Final = Verbs(app, "webhook", contract.LIST_WEBHOOKS, TABLE, place="webhook_id")

WEBHOOKS.list("List the webhooks, the newest first, without their secrets.")
WEBHOOKS.do(
    "add",
    contract.CREATE_WEBHOOK,
    "Make a webhook; the secret that its messages are signed with is shown once.",
    first=("name",),
    once="secret",
    url=TO,
)
WEBHOOKS.do(
    "change",
    contract.CHANGE_WEBHOOK,
    "Change the given settings of a webhook; the others stay.",
    url=TO,
)
WEBHOOKS.do(
    "rotate-secret",
    contract.ROTATE_WEBHOOK_SECRET,
    "Replace a webhook's secret; the previous one signs as well for 24 hours.",
    once="secret",
)
WEBHOOKS.do("ping", contract.PING_WEBHOOK, "Send a test event to a webhook.")
WEBHOOKS.list_of(
    "deliveries",
    contract.LIST_WEBHOOK_DELIVERIES,
    DELIVERIES,
    "List the messages to a webhook in the last 30 days, the newest first.",
    limit=common.LAST,
)
WEBHOOKS.do("delivery", contract.SHOW_WEBHOOK_DELIVERY, "Show a message and its delivery.")
WEBHOOKS.do("redeliver", contract.REDELIVER_WEBHOOK, "Send a message again, under its id.")
WEBHOOKS.remove(contract.REMOVE_WEBHOOK, "Remove a webhook.", goes="its log of deliveries")
