"""S9, the way in: no bit may differ, no message counts twice, none is older than five minutes."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from standardwebhooks import Webhook

from agents.actions.receive_message import accept_message
from agents.errors import InvalidSignatureError
from agents.inbound.messages import Inbound
from agents.inbound.signature import TOLERANCE, verify
from agents.models import Agent, InboundMessage, Run
from tests.inbound.posts import channel_of, signed
from tests.sizes import sized

if TYPE_CHECKING:
    from agents.models import Channel
    from heartbit_site.base.models import Workspace

BODY = b'{"type": "ticket.created", "ticket": {"id": 7, "body": "It does not print."}}'
REPLAYS = sized(100, full=1000)

pytestmark = pytest.mark.django_db


@pytest.fixture
def parked(workspace: Workspace) -> Workspace:
    """Nobody works there."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    return workspace


def is_taken(channel: Channel, headers: dict[str, str], body: bytes, now: datetime) -> bool:
    try:
        verify(channel, headers, body, now)
    except InvalidSignatureError:
        return False
    return True


def test_given_any_flipped_bit_of_body_id_or_time_then_it_is_refused(parked: Workspace) -> None:
    channel, secret = channel_of(parked)
    headers, now = signed(secret, BODY), datetime.now(UTC)
    assert is_taken(channel, headers, BODY, now)
    taken = []
    for bit in range(8 * len(BODY)):
        flipped = bytearray(BODY)
        flipped[bit // 8] ^= 1 << bit % 8
        taken += [bit] if is_taken(channel, headers, bytes(flipped), now) else []
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        for bit in range(8 * len(headers[name])):
            text = bytearray(headers[name].encode())
            text[bit // 8] ^= 1 << bit % 8
            other = {**headers, name: text.decode("latin-1")}
            taken += [bit] if is_taken(channel, other, BODY, now) else []
    assert taken == []


def test_given_a_message_a_thousand_times_then_one_run_answers_it(parked: Workspace) -> None:
    channel, _ = channel_of(parked)
    message = Inbound(external_id="msg_replayed", text="It does not print.")
    found = [accept_message(channel, message) for _ in range(REPLAYS)]
    assert [one.is_duplicate for one in found] == [False] + [True] * (REPLAYS - 1)
    assert len({one.run_id for one in found}) == 1
    assert Run.objects.filter(workspace=parked).count() == 1
    assert InboundMessage.objects.filter(channel=channel).count() == 1


def test_given_every_age_then_a_message_counts_within_five_minutes_alone(
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked)
    at = int(time.time())
    made = datetime.fromtimestamp(at, UTC)
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(at),
        "webhook-signature": str(Webhook(secret).sign("msg_1", made, BODY.decode())),
    }
    limit = int(TOLERANCE.total_seconds())
    for age in range(-2 * limit, 2 * limit + 1):
        now = datetime.fromtimestamp(at + age, UTC)
        assert is_taken(channel, headers, BODY, now) == (abs(age) <= limit), age


def test_given_signatures_of_others_among_many_then_only_its_own_counts(
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked)
    _, foreign = channel_of(parked, name="other")
    now = datetime.now(UTC)
    good, bad = signed(secret, BODY, message_id="m"), signed(foreign, BODY, message_id="m")
    rest = {**bad, "webhook-timestamp": good["webhook-timestamp"]}
    both = {**rest, "webhook-signature": f"{bad['webhook-signature']} {good['webhook-signature']}"}
    assert is_taken(channel, both, BODY, now)
    assert not is_taken(channel, rest, BODY, now)
    # So many that the good one is the eleventh: nobody is made to compare for ever.
    many = " ".join([bad["webhook-signature"]] * 10 + [good["webhook-signature"]])
    assert not is_taken(channel, {**good, "webhook-signature": many}, BODY, now)
