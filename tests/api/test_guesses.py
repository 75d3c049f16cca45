"""Guessing keys: it is counted by the network it comes from, and costs the database nothing."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from heartbit_site.api import auth
from heartbit_site.api.auth import opened_by
from heartbit_site.api.errors import TooManyRequestsError, UnauthorizedError
from heartbit_site.api.rate_limit import KeyPrefixCache, RateLimiter, bucket_key
from tests.api.server import key_for

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

SLOW = 0.1  # requests a second: the second one is refused for ten seconds


def guess() -> str:
    return f"hb_{secrets.token_hex(5)}_{'A' * 43}"


def network() -> str:
    """The first half of an IPv6 address that no other test comes from."""
    return f"2001:db8:{secrets.randbelow(2**16):x}:{secrets.randbelow(2**16):x}"


@pytest.fixture(autouse=True)
def _one_at_once(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody may ask once; nothing is known of keys yet."""
    few, unknown = RateLimiter(settings.REDIS_URL, SLOW), KeyPrefixCache()
    monkeypatch.setattr(auth, "rate_limiter", lambda: few)
    monkeypatch.setattr(auth, "prefixes", lambda: unknown)


def test_given_an_address_over_its_limit_then_a_guess_costs_no_query_and_a_good_key_is_let_in(
    workspace: Workspace,
) -> None:
    address, key = f"{network()}::1", key_for(workspace)
    with pytest.raises(UnauthorizedError):
        opened_by(guess(), address=address)
    with CaptureQueriesContext(connection) as asked:
        for _ in range(20):
            with pytest.raises(TooManyRequestsError, match="try again in"):
                opened_by(guess(), address=address)
    # The first is refused by its bucket, after a look; the second reads which keys there are.
    assert len(asked) == 2
    assert opened_by(key, address=address).workspace == workspace


def test_given_another_address_of_the_same_ipv6_network_then_it_is_over_the_limit_too(
    workspace: Workspace,
) -> None:
    ours, theirs = network(), network()
    with pytest.raises(UnauthorizedError):
        opened_by(guess(), address=f"{ours}::1")
    with pytest.raises(TooManyRequestsError):
        opened_by(guess(), address=f"{ours}:1:2:3:4")
    with pytest.raises(UnauthorizedError):
        opened_by(guess(), address=f"{theirs}::1")


@pytest.mark.parametrize(
    ("address", "bucket"),
    [
        ("192.0.2.7", "address:192.0.2.7"),
        ("::ffff:192.0.2.7", "address:192.0.2.7"),
        ("2001:db8:0:1:aaaa::7", "address:2001:db8:0:1::/64"),
        ("fe80::1%eth0", "address:fe80::/64"),
        ("", "address:"),
    ],
)
def test_given_an_address_then_its_bucket_is_its_own_or_its_networks(
    address: str, bucket: str
) -> None:
    assert bucket_key(address) == bucket


def test_given_a_key_that_was_just_made_then_it_is_taken_for_a_guess_for_a_moment_only(
    workspace: Workspace,
) -> None:
    prefixes = KeyPrefixCache(seconds=0.2)
    assert not prefixes.may_open(guess())
    key = key_for(workspace)
    assert not prefixes.may_open("no key at all")
    time.sleep(0.25)
    assert prefixes.may_open(key)
    assert prefixes.may_open(key)
