"""An app whose orders are tools of an agent: a paid order is packed by a run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.examples.folders import EXAMPLES
from tests.examples.separate import separate
from tests.fleet import wait_until

if TYPE_CHECKING:
    from tests.fleet import WireServer

FOLDER = EXAMPLES / "django_app"
#: What a person does in the admin: an order comes in, and is paid. Its note is the model's script.
PAID = """
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
admin = Client(headers={"host": "localhost"})
admin.force_login(User.objects.get(), backend="django.contrib.auth.backends.ModelBackend")
change = '{"id": 1, "status": "sent", "note": "On its way."}'
note = f"[[calls: orders_update {change}]] [[text: Sent.]]"
for address, status in (("add", "new"), ("1/change", "paid")):
    page = "/admin/shop/order/" + address + "/"
    assert admin.get(page).status_code == 200
    answer = admin.post(page, {"number": "A1", "status": status, "note": note})
    assert answer.status_code == 302, answer.content
"""


@pytest.mark.usefixtures("django_db_setup")
def test_a_paid_order_is_sent_by_the_run_that_it_starts(wire_server: WireServer) -> None:
    with separate({"PYTHONPATH": str(FOLDER), "HEARTBIT_EXTRA_APPS": "shop"}) as installation:
        installation.heartbit("config", "import", str(FOLDER / "heartbit.toml"))
        tools = installation.heartbit("tools", "list")
        assert {"orders_list", "orders_get", "orders_update"} <= set(tools.split())
        installation.shell(PAID)
        log = installation.start("heartbit", "serve", "--queues", "agents,system")
        sent = "SELECT status, note FROM shop_order"
        wait_until(
            lambda: installation.rows(sent) == [("sent", "On its way.")],
            seconds=60,
            what=f"the order is sent, see {log}",
        )
        ended = "SELECT agent, started_by, status FROM agents_run WHERE status <> 'running'"
        found = [("packer", "trigger pack", "succeeded")]
        wait_until(lambda: installation.rows(ended) == found, what="the run has ended")
