"""Somebody who may do everything, in a browser."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from tests.clients import Client


@pytest.fixture
def browser(db: None) -> Client:
    client = Client(headers={"host": "localhost"})
    user, _ = User.objects.get_or_create(
        username="root-of-tests", defaults={"is_staff": True, "is_superuser": True}
    )
    client.force_login(user)
    return client


@pytest.fixture
def guest(db: None) -> Client:
    """May enter the admin and nothing else."""
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create(username="guest-of-tests", is_staff=True))
    return client
