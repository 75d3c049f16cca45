"""Somebody who may do everything, in a browser."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.test.client import ClientHandler


@pytest.fixture(scope="session")
def handler() -> ClientHandler:
    """What answers: made once, because it looks at every static file when it is."""
    made = ClientHandler(enforce_csrf_checks=False)
    made.load_middleware()
    return made


@pytest.fixture
def browser(db: None, handler: ClientHandler) -> Client:
    client = Client(headers={"host": "localhost"})
    client.handler = handler
    user, _ = User.objects.get_or_create(
        username="root-of-tests", defaults={"is_staff": True, "is_superuser": True}
    )
    client.force_login(user)
    return client


@pytest.fixture
def guest(db: None, handler: ClientHandler) -> Client:
    """May enter the admin and nothing else."""
    client = Client(headers={"host": "localhost"})
    client.handler = handler
    client.force_login(User.objects.create(username="guest-of-tests", is_staff=True))
    return client
