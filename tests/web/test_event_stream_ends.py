"""A stream of events ends with the session that it was let in with."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.test import AsyncClient

from agents.models import Agent
from heartbit_site.api.routes import events as stream
from heartbit_site.base import orm
from tests.starts import start_run
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace


def left(user: User, session: str) -> None:
    """They logged out."""
    import_module(settings.SESSION_ENGINE).SessionStore(session).flush()


def changed(user: User, session: str) -> None:
    """Somebody changed their password elsewhere."""
    user.set_password("another one")
    user.save()


@pytest.mark.parametrize("ends", [left, changed])
async def test_given_a_logout_or_another_password_then_an_event_stream_ends(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, ends: Callable[[User, str], None]
) -> None:
    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.0)

    def parked() -> tuple[UUID, User, str]:
        Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
        user = member(workspace)
        return start_run(workspace, "x", agent="writer"), user, session_of(user)

    run, user, session = await orm.run_in_thread(parked)
    browser = AsyncClient(headers={"host": "127.0.0.1"})
    browser.cookies[settings.SESSION_COOKIE_NAME] = session
    answer: Any = await browser.get(f"/api/v1/runs/{run}/events?workspace={workspace.slug}")
    assert answer.status_code == 200
    chunks = aiter(answer.streaming_content)
    said = await anext(chunks)
    while said == stream.BEAT:
        said = await anext(chunks)
    assert b"run.created" in said
    assert await anext(chunks) == stream.BEAT, "it goes on"
    await orm.run_in_thread(lambda: ends(user, session))
    async with asyncio.timeout(20):
        async for _ in chunks:
            pass
