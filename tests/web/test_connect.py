"""Signing in to an MCP server from the page: whose browser may finish it, and where it leads."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import AuditEntry, Role
from tests.mcp.sign_ins import CALLBACK, PUBLIC_URL, Vault, begun, browser, sent_back, vault
from tests.web.people import member, person
from tools.actions.credentials import save_credential
from tools.actions.mcp_servers import save_mcp_server
from tools.models import Credential, McpServer, PendingSignIn
from tools.sign_in.storage import find_sign_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace


@pytest.fixture(autouse=True)
def _set_up(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    settings.HEARTBIT_PUBLIC_URL = PUBLIC_URL
    settings.ALLOWED_HOSTS = ["127.0.0.1", "other.example"]


@pytest.fixture(scope="module")
def place() -> Iterator[Vault]:
    with vault() as found:
        yield found


@pytest.fixture
def server(workspace: Workspace, place: Vault) -> McpServer:
    row = McpServer(workspace=workspace, name="vault", url=place.url, sign_in=True)
    save_mcp_server(row, by=Actor("anne", "admin"))
    return row


@pytest.fixture
def page(server: McpServer) -> str:
    return f"/w/{server.workspace.slug}/connect/vault/"


def test_an_answer_counts_once_in_the_browser_that_asked(
    workspace: Workspace, server: McpServer, page: str
) -> None:
    anne, bob = member(workspace), member(workspace)
    mine = browser(anne)
    answer = sent_back(begun(mine, page))
    for stranger in (browser(bob), browser(anne)):  # another person; another session of hers
        refused = stranger.get(CALLBACK, answer)
        assert refused.status_code == 409
        assert b"started in another browser" in refused.content
    mine.logout()
    assert mine.get(CALLBACK, answer).status_code == 403
    mine = browser(anne)
    answer = sent_back(begun(mine, page))
    assert mine.get(CALLBACK, answer)["location"] == page
    assert find_sign_in(server, anne.pk) is not None
    assert mine.get(CALLBACK, answer).status_code == 409
    assert mine.get(CALLBACK, {"code": "x"}).status_code == 409


def test_a_disconnect_revokes_the_tokens_and_says_whether_it_did(
    workspace: Workspace, server: McpServer, place: Vault, page: str
) -> None:
    anne = member(workspace)
    mine = browser(anne)
    before = place.counts()["live"]
    for address, said in (
        ({}, "has revoked the tokens."),
        ({"revocation_url": "http://127.0.0.1:9/revoke"}, "did not revoke the tokens ("),
        ({"revocation_url": f"{place.root}/nowhere"}, "did not revoke the tokens (HTTP 404)"),
        ({"revocation_url": ""}, "publishes no endpoint to revoke tokens"),
    ):
        mine.get(CALLBACK, sent_back(begun(mine, page)))
        row = find_sign_in(server, anne.pk)
        assert row is not None
        assert row.settings["revocation_url"] == f"{place.root}/revoke"
        Credential.objects.filter(pk=row.pk).update(settings={**row.settings, **address})
        shown = mine.post(page, {"do": "disconnect", "for": "me"}, follow=True).content.decode()
        assert said in shown, shown[shown.find('role="status"') :][:600]
        assert find_sign_in(server, anne.pk) is None
        assert address or place.counts()["live"] == before


def test_a_late_answer_is_refused_and_a_wrong_one_uses_the_sign_in_up(
    workspace: Workspace, server: McpServer, page: str
) -> None:
    anne = member(workspace)
    mine = browser(anne)
    answer = sent_back(begun(mine, page))
    PendingSignIn.objects.filter(server=server).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert mine.get(CALLBACK, answer).status_code == 409
    answer = sent_back(begun(mine, page))
    wrong = mine.get(CALLBACK, {**answer, "iss": "https://evil.example"})
    assert wrong["location"] == page
    assert b"a different authorization server" in mine.get(page).content
    assert mine.get(CALLBACK, answer).status_code == 409
    assert find_sign_in(server, anne.pk) is None


def test_no_parameter_says_where_a_person_comes_back_to(
    workspace: Workspace, server: McpServer, page: str
) -> None:
    mine = browser(member(workspace))
    evil = "https://evil.example/"
    names = ("next", "redirect_uri", "return_to", "redirect", "RelayState")
    link = begun(mine, page, **dict.fromkeys(names, evil))
    assert evil not in link
    answer = sent_back(link)
    assert mine.get(CALLBACK, {**answer, **dict.fromkeys(names, evil)})["location"] == page


def test_the_workspaces_sign_in_takes_the_right_to_manage_it(
    workspace: Workspace, server: McpServer, page: str
) -> None:
    viewer, operator, admin = (
        member(workspace, x) for x in (Role.VIEWER, Role.OPERATOR, Role.ADMIN)
    )
    assert browser(viewer).get(page).status_code == 403
    theirs = browser(operator)
    assert b"The workspace" not in theirs.get(page).content
    theirs.post(page, {"do": "connect", "for": "workspace"})
    assert not PendingSignIn.objects.filter(server=server).exists()
    managers = browser(admin)
    managers.get(CALLBACK, sent_back(begun(managers, page, **{"for": "workspace"})))
    assert find_sign_in(server, None) is not None
    theirs.post(page, {"do": "disconnect", "for": "workspace"})
    assert find_sign_in(server, None) is not None
    managers.post(page, {"do": "disconnect", "for": "workspace"})
    assert find_sign_in(server, None) is None
    found = AuditEntry.objects.filter(workspace=workspace, action__startswith="credential.")
    assert list(found.order_by("pk").values_list("action", flat=True)) == [
        "credential.add",
        "credential.delete",
    ]
    assert "canary" not in str(list(found.values()))


def test_a_host_that_nobody_comes_back_to_says_so(workspace: Workspace, page: str) -> None:
    client = browser(member(workspace))
    client.defaults["HTTP_HOST"] = "other.example"
    answer = client.post(page, {"do": "connect", "for": "me"}, headers={"host": "other.example"})
    assert answer.status_code == 409
    assert PUBLIC_URL in answer.content.decode()


def test_a_registered_app_signs_people_in(
    workspace: Workspace, server: McpServer, place: Vault, page: str
) -> None:
    fields = {"issuer": place.root, "client_id": "known", "client_secret": "known-secret"}
    row = Credential(workspace=workspace, name="vault app", kind="oauth_app")
    save_credential(row, fields, by=Actor("anne", "admin"))
    server.credential = "vault app"
    save_mcp_server(server, by=Actor("anne", "admin"))
    before = place.counts()["registered"]
    anne = member(workspace)
    mine = browser(anne)
    mine.get(CALLBACK, sent_back(begun(mine, page)))
    found = find_sign_in(server, anne.pk)
    assert found is not None
    assert found.settings["client_id"] == "known"
    assert place.counts()["registered"] == before


def test_a_sign_in_is_never_entered_by_hand(workspace: Workspace) -> None:
    row = Credential(workspace=workspace, name="vault sign-in", kind="sign_in")
    with pytest.raises(ConfigurationError, match="Sign-ins are created in the browser"):
        save_credential(
            row, {"url": "https://x.example", "access_token": "t"}, by=Actor("a", "api")
        )


def test_the_clients_document_says_where_people_come_back_to(settings: Settings) -> None:
    settings.HEARTBIT_PUBLIC_URL = "https://heartbit.example"
    found = browser(person()).get("/oauth/client.json").json()
    assert found["client_id"] == "https://heartbit.example/oauth/client.json"
    assert found["redirect_uris"] == ["https://heartbit.example/oauth/callback/"]
    assert found["token_endpoint_auth_method"] == "none"
