"""A workspace and keys for the tests of accounts and API keys."""

from __future__ import annotations

import base64
import os
import secrets
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django.fixtures import Settings


@pytest.fixture
def workspace(database: None) -> Workspace:
    """A bare one: no agent is needed here."""
    slug = f"t-{secrets.token_hex(4)}"
    return Workspace.objects.create(slug=slug, name=slug)


@pytest.fixture
def use_keys(settings: Settings) -> Callable[..., None]:
    """Set the installation's keys, newest first."""

    def use(*keys: str) -> None:
        settings.HEARTBIT_ENCRYPTION_KEYS = lambda: keys

    return use


@pytest.fixture
def new_key() -> Callable[[], str]:
    """Make a key."""
    return lambda: base64.b64encode(os.urandom(32)).decode()
