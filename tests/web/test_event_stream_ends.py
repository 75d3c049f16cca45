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
from heartbit_site.api.routes import system_events
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


async def test_given_a_logout_then_the_stream_of_a_workspace_ends(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_events, "BEAT_SECONDS", 0.0)
    monkeypatch.setattr(system_events, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr("agents.system_events.reader.LOOK_SECONDS", 0.02)

    def came() -> tuple[User, str]:
        user = member(workspace)
        return user, session_of(user)

    user, session = await orm.run_in_thread(came)
    browser = AsyncClient(headers={"host": "127.0.0.1"})
    browser.cookies[settings.SESSION_COOKIE_NAME] = session
    answer: Any = await browser.get(f"/api/v1/events?workspace={workspace.slug}")
    assert answer.status_code == 200
    chunks = aiter(answer.streaming_content)
    assert [(await anext(chunks))[:4] for _ in range(3)] == [b"id: "] * 3, "it goes on"
    await orm.run_in_thread(lambda: left(user, session))
    async with asyncio.timeout(20):
        async for _ in chunks:
            pass
