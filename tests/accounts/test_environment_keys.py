"""Keys of the environment are checked beside the accounts, and shown without the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.environment_keys import (
    check_environment_key,
    check_environment_keys,
    environment_keys,
)
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import EnvironmentKey
from tests.accounts.provider_server import Seen, key_in_environment, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.django_db

CANARY = "sk-canary-0123456789abcdef"
ANNE = Actor("anne", via="admin")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """The provider of the only key in the environment."""
    with key_in_environment(monkeypatch, CANARY) as server:
        yield server


def test_a_key_is_checked_and_the_result_stored_without_it(provider: Seen) -> None:
    assert environment_keys() == {"openai": "OPENAI_API_KEY"}
    assert check_environment_keys() == 0
    row = EnvironmentKey.objects.get()
    assert (row.provider, row.variable, row.healthy) == ("openai", "OPENAI_API_KEY", True)
    assert row.health_message == "It takes the key and lists 1 model."
    assert row.latency_ms is not None
    assert row.checked_at is not None
    assert provider.requests[0][1]["authorization"] == f"Bearer {CANARY}"


def test_a_refused_key_is_one_sentence_without_the_key(provider: Seen) -> None:
    provider.replies["/v1/models"] = refusal(401, f"Wrong key {CANARY}")
    assert check_environment_keys() == 1
    row = EnvironmentKey.objects.get()
    assert row.healthy is False
    assert CANARY not in row.health_message


def test_a_key_that_is_gone_is_forgotten(provider: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    check_environment_keys()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert check_environment_keys() == 0
    assert not EnvironmentKey.objects.exists()
    with pytest.raises(ConfigurationError, match="This process has no key of openai"):
        check_environment_key("openai", by=ANNE)
