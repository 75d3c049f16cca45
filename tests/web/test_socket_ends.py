"""How a page's socket ends: with its session, and with one last word."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings
from django.contrib.sessions.models import Session
from django.urls import path as place
from django.utils import timezone
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from agents.live.member_consumer import MALFORMED, UNKNOWN, MemberConsumer
from heartbit_site.base import orm
from tests.starts import start_run
from tests.web.people import member, session_of
from tests.web.talk import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sockets look twenty times a second who is still who they were."""
    monkeypatch.setattr(MemberConsumer, "check_seconds", 0.05)


async def signed_in(workspace: Workspace) -> tuple[User, str]:
    """Somebody, and their session."""
    user = await orm.run_in_thread(lambda: member(workspace, password="the first"))
    return user, await orm.run_in_thread(lambda: session_of(user))


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("what", ["the password changes", "the session expires"])
async def test_given_a_session_that_no_page_would_be_shown_for_then_the_socket_closes(
    workspace: Workspace, what: str
) -> None:
    user, cookie = await signed_in(workspace)
    talk = await opened(f"/ws/{workspace.slug}/", cookie)
    assert (await talk.hears())["type"] == "pulse"

    def end() -> None:
        if what == "the password changes":
            user.set_password("the second")
            user.save()
        else:
            Session.objects.filter(session_key=cookie).update(expire_date=timezone.now())

    await orm.run_in_thread(end)
    assert await talk.closed_with() == UNKNOWN


@pytest.mark.usefixtures("_often")
async def test_given_a_session_that_lasts_then_the_socket_does(workspace: Workspace) -> None:
    _, cookie = await signed_in(workspace)
    talk = await opened(f"/ws/{workspace.slug}/", cookie)
    assert (await talk.hears())["newest_run"] is None
    await asyncio.sleep(0.3)
    run = await orm.run_in_thread(lambda: start_run(workspace, "Wait.", agent="writer"))
    assert (await talk.hears())["newest_run"] == str(run)
    await talk.say("no request")
    assert await talk.closed_with() == MALFORMED


class Talker(MemberConsumer):
    """A socket on which something is said all the time, whatever else happens."""

    async def on_admitted(self) -> int | None:
        self.start_task(self._talk())
        return None

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        await self.close(MALFORMED)

    async def _talk(self) -> None:
        while True:
            await self.send_json({"type": "more"})
            await asyncio.sleep(0)


@asynccontextmanager
async def serving_talkers() -> AsyncIterator[str]:
    """Uvicorn in this loop, and where it listens."""
    talker: Any = Talker.as_asgi()  # Django's types know HTTP alone
    address: Any = place("ws/<slug:workspace>/", talker)
    application: Any = AuthMiddlewareStack(URLRouter([address]))
    config = uvicorn.Config(
        application, host="127.0.0.1", port=0, lifespan="off", log_config=None, ws_max_size=65536
    )
    server = uvicorn.Server(config)
    served = asyncio.create_task(server.serve())
    while not server.started:
        assert not served.done()
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"ws://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await served


async def test_given_a_socket_that_is_closed_when_more_would_be_said_then_nothing_fails(
    workspace: Workspace,
) -> None:
    _, cookie = await signed_in(workspace)
    failed: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: failed.append(context))
    headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"}
    async with (
        serving_talkers() as url,
        connect(f"{url}/ws/{workspace.slug}/", additional_headers=headers) as page,
    ):
        async with asyncio.timeout(60):
            await page.recv()
            await page.send("{}")
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    await page.recv()
        await asyncio.sleep(0.2)  # for what was under way
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == MALFORMED
    assert failed == []
