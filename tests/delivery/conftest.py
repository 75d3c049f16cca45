"""A mail server, a webhook's receiver, and a workspace whose deliveries are the only ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Delivery, WebhookEndpoint
from tests.mailbox import receiving_mail
from tests.web.receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.mailbox import Mailbox
    from tests.web.receiver import Receiver


@pytest.fixture
def alone(workspace: Workspace) -> Workspace:
    """Nothing of other tests is due."""
    Delivery.objects.all().delete()
    WebhookEndpoint.objects.update(enabled=False)
    return workspace


@pytest.fixture
def smtp(settings: Settings) -> Settings:
    """Mails leave by SMTP; the port is the test's to set."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.DEFAULT_FROM_EMAIL = "Heartbit <agents@heartbit.example>"
    return settings


@pytest.fixture
def mailbox(smtp: Settings) -> Iterator[Mailbox]:
    with receiving_mail() as box:
        smtp.EMAIL_PORT = box.port
        yield box


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    with receiving() as opened:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{opened.port}"
        yield opened
