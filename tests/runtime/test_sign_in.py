"""Runs that call an MCP server as the person behind them, who signed in to it in the browser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agents.choices import Placement
from agents.live.follow import wait_for_end
from agents.models import Agent, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.credentials import SignInCredential
from heartbit_site.base.models import AuditEntry, Role
from tests.mcp.sign_ins import PUBLIC_URL, Vault, connected_as, vault
from tests.starts import start_run
from tests.web.people import member
from tools.actions.mcp_servers import save_mcp_server, set_mcp_server
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.credentials.oauth import TokenAnswer
from tools.credentials.values import reveal
from tools.models import Credential, McpServer
from tools.sign_in.access import access_token
from tools.sign_in.errors import SignInLapsedError
from tools.sign_in.storage import find_sign_in, renewed, store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
PAGE = "/w/{}/connect/vault/"


@pytest.fixture(autouse=True)
def _set_up(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    settings.HEARTBIT_PUBLIC_URL = PUBLIC_URL
    settings.ALLOWED_HOSTS = ["127.0.0.1"]


@pytest.fixture(scope="module")
def place() -> Iterator[Vault]:
    with vault() as found:
        yield found


def added(workspace: Workspace, place: Vault, **fields: Any) -> McpServer:
    server = McpServer(workspace=workspace, name="vault", url=place.url, sign_in=True, **fields)
    save_mcp_server(server, by=Actor("anne", "admin"))
    return server


def connected(user: User, server: McpServer, **form: str) -> Credential:
    answer = connected_as(user, PAGE.format(server.workspace.slug), **form)
    assert (answer.status_code, answer["location"]) == (302, PAGE.format(server.workspace.slug))
    found = find_sign_in(server, None if form else user.pk)
    assert found is not None
    return found


def value_of(server: McpServer, user: User) -> SignInCredential:
    row = find_sign_in(server, user.pk)
    assert row is not None
    value = reveal(row)
    assert isinstance(value, SignInCredential)
    return value


def aged(server: McpServer, user: User, **changes: Any) -> SignInCredential:
    """Let the stored access token be at its end."""
    row, value = find_sign_in(server, user.pk), value_of(server, user)
    assert row is not None
    value = value.model_copy(update={"expires_at": time.time(), **changes})
    store(row, value)
    return value


async def said(studio: Studio, user: User | None) -> tuple[str, str]:
    """What the tool answers in a run of that person, and the journal of the run."""
    by = Actor("somebody", "web", user.pk) if user else Actor("a channel", "system")
    run_id = await orm.run_in_thread(
        lambda: start_run(
            studio.workspace,
            "[[calls: vault_whose {}]] [[text: Done.]]",
            agent="solo",
            model="openai:fake",
            home=Placement.LOCAL,
            by=by,
        )
    )
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    return await orm.run_in_thread(partial(_read, run))


def _read(run: Run) -> tuple[str, str]:
    return run.calls.get().result or "", str(list(run.events.values_list("payload", flat=True)))


async def test_each_run_calls_as_its_person_and_no_token_is_seen(
    studio: Studio, agent: Create, workspace: Workspace, place: Vault
) -> None:
    def made() -> tuple[McpServer, User, User, str]:
        server = added(workspace, place)
        anne, bob = member(workspace), member(workspace, Role.OPERATOR)
        refused = refresh_mcp_server(server, by=Actor("anne", "web", anne.pk))
        assert not refused.ok
        assert server.connect_url in refused.message
        connected(anne, server)
        read = refresh_mcp_server(server, by=Actor("anne", "web", anne.pk))
        assert read.message == "It has 5 tools."  # one, and those for resources and prompts
        agent(tools=("vault_whose",))
        return server, anne, bob, server.connect_url

    server, anne, bob, link = await orm.run_in_thread(made)
    for person in (bob, None):
        answer, _ = await said(studio, person)
        assert answer.startswith("No one is signed in to the MCP server vault for this run")
        assert answer.endswith(link)

    await orm.run_in_thread(partial(connected, bob, server))
    first, journal = await said(studio, anne)
    second, _ = await said(studio, bob)
    assert first == f"{first.split()[0]} with [secret]"
    assert second.split()[0] != first.split()[0]
    assert "canary" not in journal
    assert (await said(studio, None))[0].startswith("No one is signed in")

    shared = {"for": "workspace"}
    await orm.run_in_thread(lambda: connected(anne, server, **shared))
    third, _ = await said(studio, None)
    assert third.split()[0] not in (first.split()[0], second.split()[0])
    assert (await said(studio, bob))[0].split()[0] == second.split()[0]

    def written() -> str:
        rows = Credential.objects.filter(workspace=workspace)
        audit = AuditEntry.objects.filter(workspace=workspace)
        return str([list(rows.values()), list(audit.values_list("details"))])

    assert "canary" not in await orm.run_in_thread(written)


async def test_a_spent_token_is_renewed_once_whoever_asks(
    workspace: Workspace, place: Vault
) -> None:
    def made() -> SignInCredential:
        server, anne = added(workspace, place), member(workspace)
        connected(anne, server)
        return aged(server, anne)

    stale = await orm.run_in_thread(made)
    before = place.counts()
    tokens = await asyncio.gather(*(access_token(stale) for _ in range(12)))
    after = place.counts()
    assert len(set(tokens)) == 1
    assert (after["refreshes"] - before["refreshes"], after["reused"]) == (1, before["reused"])


async def test_a_revoked_token_is_renewed_in_the_call_and_a_lapsed_sign_in_asks_again(
    studio: Studio, agent: Create, workspace: Workspace, place: Vault
) -> None:
    def made() -> tuple[McpServer, User]:
        server, anne = added(workspace, place), member(workspace)
        connected(anne, server)
        refresh_mcp_server(server, by=Actor("anne", "web", anne.pk))
        agent(tools=("vault_whose",))
        return server, anne

    server, anne = await orm.run_in_thread(made)
    first, _ = await said(studio, anne)
    place.post("revoke-all")
    assert (await said(studio, anne))[0] == first
    place.post("forget-all")
    assert server.connect_url in (await said(studio, anne))[0]
    row = await orm.run_in_thread(partial(find_sign_in, server, anne.pk))
    assert row is not None
    assert (row.healthy, "sign in again" in row.health_message) == (False, True)
    with pytest.raises(SignInLapsedError):
        await access_token(await orm.run_in_thread(partial(value_of, server, anne)))
    await orm.run_in_thread(partial(connected, anne, server))
    assert (await said(studio, anne))[0].endswith("with [secret]")


async def test_a_token_goes_to_the_server_that_it_was_made_at(
    studio: Studio, agent: Create, workspace: Workspace, place: Vault
) -> None:
    def made() -> User:
        server, anne = added(workspace, place), member(workspace)
        connected(anne, server)
        refresh_mcp_server(server, by=Actor("anne", "web", anne.pk))
        agent(tools=("vault_whose",))
        set_mcp_server(server, {"url": f"{place.root}/other"}, by=Actor("anne", "web"))
        return anne

    anne = await orm.run_in_thread(made)
    assert "No one is signed in" in (await said(studio, anne))[0]


async def test_a_renewal_keeps_what_the_server_leaves_out() -> None:
    fields = {"url": "https://a.example/mcp", "issuer": "https://b.example", "method": "none"}
    fields |= {"token_url": "https://b.example/t", "resource": "r", "client_id": "c"}
    value = SignInCredential.model_validate(
        {**fields, "row_id": 7, "scope": "s", "access_token": "a", "expires_at": 0.0}
        | {"refresh_token": "again"}
    )
    later = renewed(value, TokenAnswer("b", 60.0))
    assert (later.access_token.get_secret_value(), later.scope, later.row_id) == ("b", "s", 7)
    assert later.refresh_token == value.refresh_token
