"""Programs at the sockets: a key lets them in, for as long as it opens what is there."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agents.live.member_consumer import MemberConsumer
from heartbit_site.base import orm
from heartbit_site.base.actions.api_keys import create_api_key, revoke_api_keys
from heartbit_site.base.models import ApiKey, Membership, Workspace
from heartbit_site.base.scopes import SCOPES
from tests.api.server import key_for
from tests.api.test_rate import assert_limited, serving, until_refused
from tests.pace import in_time
from tests.server_process import ROOT
from tests.web.people import member, person, session_of
from tests.web.talk import Talk, opened, run_path, waiting_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.api.server import WebServer

EVIL = "https://evil.example"
GUESS = f"hb_{'0' * 10}_{'A' * 43}"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
UNREADABLE = sorted(set(SCOPES) - {"runs:read"})


def bearer(key: str) -> dict[str, Any]:
    """What a program sends: its key, and nothing of a page's."""
    return {"authorization": f"Bearer {key}", "origin": ""}


def pulse_of(workspace: Workspace) -> str:
    return f"/ws/{workspace.slug}/"


def another() -> Workspace:
    slug = f"o-{os.urandom(4).hex()}"
    return Workspace.objects.create(slug=slug, name="Other")


class TestWhoIsLetIn:
    @pytest.mark.parametrize("origin", ["", EVIL])
    async def test_given_a_key_then_neither_cookie_nor_origin_is_asked_for_and_its_use_is_noted(
        self, workspace: Workspace, origin: str
    ) -> None:
        row, key = await orm.run_in_thread(
            lambda: create_api_key(workspace, "reader", scopes=["runs:read"])
        )
        talk = await opened(pulse_of(workspace), **{**bearer(key), "origin": origin})
        assert (await talk.hears())["type"] == "pulse"
        noted = await orm.run_in_thread(lambda: ApiKey.objects.get(pk=row.pk))
        assert noted.last_used_at is not None

    @pytest.mark.parametrize("why", ["unknown", "malformed", "revoked", "expired", "of nobody"])
    async def test_given_a_key_that_opens_nothing_then_the_code_is_4401_whatever_cookie_is_sent(
        self, workspace: Workspace, why: str
    ) -> None:
        def prepare() -> tuple[str, str]:
            maker = member(workspace)
            row, key = create_api_key(workspace, "reader", scopes=SCOPES, user=maker)
            if why == "expired":
                ApiKey.objects.filter(pk=row.pk).update(expires_at=LONG_AGO)
            if why == "revoked":
                revoke_api_keys([row.pk])
            elif why == "of nobody":
                User.objects.filter(pk=maker.pk).update(is_active=False)
            sent = {"unknown": GUESS, "malformed": "é hb_x_y"}.get(why, key)
            return sent, session_of(member(workspace))

        key, cookie = await orm.run_in_thread(prepare)
        talk = await opened(pulse_of(workspace), cookie, authorization=f"Bearer {key}")
        assert await talk.closed_with() == 4401

    @pytest.mark.parametrize("what", ["workspace", "run"])
    async def test_given_what_is_in_another_workspace_then_the_code_is_4404_whoever_s_cookie_it_is(
        self, workspace: Workspace, what: str
    ) -> None:
        def prepare() -> tuple[str, str, str]:
            own = another()
            key = key_for(own)
            run = waiting_run(workspace)
            path = pulse_of(workspace) if what == "workspace" else run_path(own, run)
            return path, key, session_of(member(workspace))

        path, key, cookie = await orm.run_in_thread(prepare)
        talk = await opened(path, cookie, authorization=f"Bearer {key}")
        assert await talk.closed_with() == 4404

    @pytest.mark.parametrize("why", ["the key has it not", "its maker has left"])
    async def test_given_a_key_without_the_scope_then_the_code_is_4403(
        self, workspace: Workspace, why: str
    ) -> None:
        def prepare() -> str:
            if why == "its maker has left":
                return create_api_key(workspace, "left", scopes=SCOPES, user=person())[1]
            return key_for(workspace, UNREADABLE)

        key = await orm.run_in_thread(prepare)
        assert await (await opened(pulse_of(workspace), **bearer(key))).closed_with() == 4403

    @pytest.mark.parametrize("name", ["key", "token", "access_token", "authorization", "api_key"])
    async def test_given_a_key_in_the_address_then_it_is_none(
        self, workspace: Workspace, name: str
    ) -> None:
        key = await orm.run_in_thread(lambda: key_for(workspace))
        for query in (f"{name}={key}", f"{name}=Bearer%20{key}"):
            talk = await opened(pulse_of(workspace), query=query)
            assert await talk.closed_with() == 4401
            stranger = Talk(pulse_of(workspace), origin="", query=query)
            assert await stranger.open() == "websocket.close", "without an Origin it is no page"

    @pytest.mark.parametrize("header", ["Basic aGI6eA==", "Bearer", "Bearer  "])
    async def test_given_a_header_without_a_key_then_it_is_a_page_as_ever(
        self, workspace: Workspace, header: str
    ) -> None:
        cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
        path = pulse_of(workspace)
        talk = await opened(path, cookie, authorization=header)
        assert (await talk.hears())["type"] == "pulse"
        assert await (await opened(path, authorization=header)).closed_with() == 4401
        for origin in ("", EVIL):
            foreign = Talk(path, cookie, origin=origin, authorization=header)
            assert await foreign.open() == "websocket.close"


def _revoke(row: ApiKey) -> None:
    revoke_api_keys([row.pk])


def _expire(row: ApiKey) -> None:
    ApiKey.objects.filter(pk=row.pk).update(expires_at=timezone.now())


def _narrow(row: ApiKey) -> None:
    ApiKey.objects.filter(pk=row.pk).update(scopes=UNREADABLE)


def _delete(row: ApiKey) -> None:
    row.delete()


def _leave(row: ApiKey) -> None:
    Membership.objects.filter(user=row.user).delete()


def _close_the_account(row: ApiKey) -> None:
    User.objects.filter(api_keys=row).update(is_active=False)


class TestHowLong:
    @pytest.mark.parametrize(
        ("lose", "code"),
        [
            (_revoke, 4401),
            (_expire, 4401),
            (_delete, 4401),
            (_close_the_account, 4401),
            (_narrow, 4403),
            (_leave, 4403),
        ],
    )
    async def test_given_a_key_that_loses_its_right_then_the_socket_closes(
        self,
        workspace: Workspace,
        monkeypatch: pytest.MonkeyPatch,
        lose: Callable[[ApiKey], None],
        code: int,
    ) -> None:
        assert MemberConsumer.check_seconds < 5
        monkeypatch.setattr(MemberConsumer, "check_seconds", 0.05)
        row, key = await orm.run_in_thread(
            lambda: create_api_key(workspace, "reader", scopes=SCOPES, user=member(workspace))
        )
        talk = await opened(pulse_of(workspace), **bearer(key))
        assert (await talk.hears())["type"] == "pulse"
        await orm.run_in_thread(lambda: lose(row))
        assert await talk.closed_with() == code

    @pytest.mark.paced
    def test_given_a_server_when_a_key_is_revoked_or_narrowed_then_its_socket_ends_in_five_seconds(
        self, site: WebServer, workspace: Workspace
    ) -> None:
        rows = [create_api_key(workspace, "reader", scopes=SCOPES) for _ in range(2)]
        first, second = (socket_of(site, workspace, key) for _, key in rows)
        with first, second:
            for socket in (first, second):
                assert json.loads(socket.recv(timeout=20))["type"] == "pulse"
            _revoke(rows[0][0])
            _narrow(rows[1][0])
            began = time.monotonic()
            assert [closed_with(socket) for socket in (first, second)] == [4401, 4403]
        in_time(time.monotonic() - began, 6)  # 5, and what a busy machine takes


def socket_of(site: WebServer, workspace: Workspace, key: str) -> ClientConnection:
    """Opened as a program does it."""
    address = f"ws{site.url.removeprefix('http')}{pulse_of(workspace)}"
    return connect(address, additional_headers={"Authorization": f"Bearer {key}"})


def closed_with(socket: ClientConnection) -> int | None:
    with pytest.raises(ConnectionClosed):
        while True:
            socket.recv(timeout=20)
    code: int | None = socket.close_code
    return code


def asked_once(site: WebServer, workspace: Workspace, key: str) -> int | None:
    """The code that a new socket is closed with; None: it is told something."""
    with socket_of(site, workspace, key) as socket:
        with contextlib.suppress(ConnectionClosed):
            socket.recv(timeout=20)
            return None
        code: int | None = socket.close_code
        return code


@pytest.mark.paced
def test_given_many_guesses_then_their_address_is_refused_here_and_in_the_api_and_keys_are_not(
    workspace: Workspace,
) -> None:
    key = key_for(workspace)  # where many guess, one that was just made is taken for a guess
    # One at once, the next after 50 seconds: ten are sent in that time, however slow the machine.
    with serving(HEARTBIT_API_RATE_LIMIT="0.02") as limited:
        guesses = [asked_once(limited, workspace, GUESS) for _ in range(10)]
        assert_limited(limited)
        assert guesses[0] == 4401
        assert set(guesses) == {4401, 4429}
        headers = {"Authorization": f"Bearer {GUESS}"}
        let_in, _ = until_refused(
            lambda: httpx.get(f"{limited.url}/api/v1/me", headers=headers, timeout=60)
        )
        assert_limited(limited)
        assert let_in == 0, "guesses of both are counted together"
        busy = [asked_once(limited, workspace, key) for _ in range(10)]
        assert busy[0] is None
        assert set(busy) == {None, 4429}


def test_given_the_example_of_the_documents_when_played_then_it_tells_a_run_to_its_end(
    site: WebServer, workspace: Workspace, tmp_path: Path
) -> None:
    text = (ROOT / "docs/howto/rest-api.md").read_text()
    [example] = [one for one in re.findall(r"```python\n(.*?)```", text, re.S) if "connect(" in one]
    script = tmp_path / "follow.py"
    script.write_text(example)
    address = f"ws{site.url.removeprefix('http')}{run_path(workspace, waiting_run(workspace))}"

    def played(key: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, script, address],
            env={**os.environ, "HEARTBIT_API_KEY": key},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    told = played(key_for(workspace))
    assert told.returncode == 0, told.stderr
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert next(line["event"] for line in lines if line["type"] == "event") == "run.created"
    assert lines[-1]["event"] == "run.cancelled"
    refused = played(GUESS)
    assert refused.returncode != 0
    assert "4401" in refused.stderr
