"""A Slack, and a chat app of the workspace in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.chat_apps import save_chat_app
from agents.models import ChatApp
from heartbit_site.base.audit import SYSTEM
from tests.chat_apps import slack_server as slack_api
from tests.chat_apps.slack_server import slack_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.chat_apps.slack_server import Slack
    from tests.fleet import Worker


@pytest.fixture(scope="package", autouse=True)
def alone(worker: Worker) -> Iterator[None]:
    """Stop the worker of other files' tests: it would take apps over that it may not reach."""
    worker.stop()
    yield
    worker.start()


@pytest.fixture
def slack(settings: Settings) -> Iterator[Slack]:
    with slack_server() as opened:
        settings.HEARTBIT_HTTP_ALLOWLIST = opened.allowed
        yield opened


@pytest.fixture
def app(database: None, slack: Slack, workspace: Workspace) -> Iterator[ChatApp]:
    """An app that asks its linked members directly."""
    row = ChatApp(workspace=workspace, name="our Slack", api_url=slack.api)
    secrets = {"bot_token": slack_api.BOT, "signing_secret": slack_api.SECRET}
    save_chat_app(row, secrets, by=SYSTEM)
    yield row
    ChatApp.objects.filter(pk=row.pk).delete()  # else other tests' calls would be asked there
