"""Sign-in at an OpenID Connect issuer: the code flow over HTTP, and answers that are refused."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User

from heartbit_site.base.models import AuditEntry, Membership, Role, Workspace
from tests.api.server import WebServer
from tests.conftest import new_workspace
from tests.security.oidc_provider import Provider
from tests.web.people import member, person

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: oidc-provider-mock calls what Authlib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning")
HERE: Final = "https://heartbit.example"
CLIENT: Final = "heartbit"


class Site:
    """A web process whose people sign in at the provider."""

    def __init__(self, server: WebServer, provider: Provider, workspace: Workspace) -> None:
        self.server, self.provider, self.workspace = server, provider, workspace
        self.browsers: list[httpx.Client] = []

    def browser(self) -> httpx.Client:
        self.browsers.append(httpx.Client(base_url=self.server.url, timeout=60))
        return self.browsers[-1]

    def newcomer(self, *groups: str, **claims: Any) -> str:
        """Somebody at the provider; subject and name are the same text."""
        name = f"p-{secrets.token_hex(4)}"
        self.provider.person(name, preferred_username=name, groups=[*groups], **claims)
        return name

    def sign_in(
        self, subject: str, browser: httpx.Client | None = None, **changed: str
    ) -> httpx.Response:
        """The whole flow in a browser; the answer to the way back."""
        visitor = browser or self.browser()
        start = visitor.get("/login/oidc/")
        assert start.status_code == 302, start.text
        answer = self.provider.agree(start.headers["Location"], subject)
        return visitor.get("/login/oidc/callback/", params={**answer, **changed})

    def role(self, name: str) -> str | None:
        rows = Membership.objects.filter(workspace=self.workspace, user__username=name)
        return rows.values_list("role", flat=True).first()


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as found:
        yield found


@pytest.fixture(scope="module")
def site(database: None, provider: Provider) -> Iterator[Site]:
    workspace = new_workspace()
    slug = workspace.slug
    with WebServer(
        HEARTBIT_OIDC_ISSUER=provider.url,
        HEARTBIT_OIDC_CLIENT_ID=CLIENT,
        HEARTBIT_OIDC_CLIENT_SECRET="a-secret-of-the-client",
        HEARTBIT_OIDC_ROLES=json.dumps({"staff": {slug: "viewer"}, "leads": {slug: "editor"}}),
        HEARTBIT_OIDC_LINK_EMAIL="1",
        HEARTBIT_OIDC_ONLY="1",
        HEARTBIT_HTTP_ALLOWLIST=provider.url.removeprefix("http://"),
        HEARTBIT_PUBLIC_URL=HERE,
        HEARTBIT_API_RATE_LIMIT="0",
    ) as server:
        found = Site(server, provider, workspace)
        yield found
        for browser in found.browsers:
            browser.close()
        log = server.log.read_text()
        assert "Traceback" not in log, log[-8000:]
        assert "a-secret-of-the-client" not in log


def test_given_a_group_when_signing_in_from_the_login_page_then_its_role_opens_pages(
    site: Site,
) -> None:
    name, browser = site.newcomer("staff", "leads", "others"), site.browser()
    wanted = f"/w/{site.workspace.slug}/schedules/"
    page = browser.get("/login/", params={"next": wanted})
    assert f'href="/login/oidc/?next={wanted}"' in page.text
    start = browser.get("/login/oidc/", params={"next": wanted})
    query = parse_qs(urlsplit(start.headers["Location"]).query)
    asked = {key: values[0] for key, values in query.items()}
    assert asked["redirect_uri"] == f"{HERE}/login/oidc/callback/"
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    before = browser.cookies["sessionid"]
    back = site.provider.agree(start.headers["Location"], name)
    answer = browser.get("/login/oidc/callback/", params=back)
    assert (answer.status_code, answer.headers["Location"]) == (302, wanted)
    assert browser.cookies["sessionid"] != before, "a session that was there is not the new one"
    assert browser.get(wanted).status_code == 200
    assert site.role(name) == Role.EDITOR
    user = User.objects.get(username=name)
    assert not user.has_usable_password()
    entries = AuditEntry.objects.filter(target=f"user:{user.pk}").values_list("action", flat=True)
    assert {"user.add", "user.link", "user.sign_in", "member.add"} <= {*entries}
    sent = site.provider.token_requests[-1]
    digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
    out = browser.post("/logout/", data={"csrfmiddlewaretoken": csrf(browser, wanted)})
    assert out.status_code == 302
    assert browser.get(wanted).status_code == 302, "signed out"


def csrf(browser: httpx.Client, page: str) -> str:
    browser.get(page)
    return browser.cookies["csrftoken"]


def test_given_a_lost_group_when_signing_in_again_then_the_role_is_gone_and_audited(
    site: Site,
) -> None:
    name = site.newcomer("leads")
    assert site.sign_in(name).status_code == 302
    site.provider.person(name, preferred_username=name, groups=["staff"])
    site.sign_in(name)
    assert site.role(name) == Role.VIEWER
    site.provider.person(name, preferred_username=name)
    browser = site.browser()
    assert site.sign_in(name, browser).status_code == 302
    assert site.role(name) is None
    assert browser.get(f"/w/{site.workspace.slug}/runs/").status_code == 404
    entries = AuditEntry.objects.filter(workspace=site.workspace, action="member.remove")
    assert [entry.actor for entry in entries.filter(label=name)] == ["OpenID Connect"]


def test_given_no_group_when_signing_in_then_no_account_is_made(site: Site) -> None:
    name = site.newcomer("others")
    refused = site.sign_in(name)
    assert refused.status_code == 403
    assert "None of your groups has a role here" in refused.text
    assert not User.objects.filter(username=name).exists()


def test_a_name_or_an_unverified_address_opens_no_account(site: Site) -> None:
    known = member(site.workspace)
    known.email = f"{known.username}@example.org"
    known.save()
    site.provider.person("mallory", preferred_username=known.username, groups=["staff"])
    refused = site.sign_in("mallory")
    assert refused.status_code == 403
    assert "belongs to another account" in refused.text
    for verified in (False, "true", None):
        name = site.newcomer("staff", email=known.email, email_verified=verified)
        assert site.sign_in(name).status_code == 302
        assert User.objects.get(username=name).pk != known.pk
        assert User.objects.get(username=name).email == ""


def test_a_verified_address_opens_its_account_and_never_a_superusers(site: Site) -> None:
    known, chief = member(site.workspace, Role.VIEWER), person(operator=True)
    for user in (known, chief):
        user.email = f"{user.username}@example.org"
        user.save()
    name = site.newcomer("leads", email=known.email.upper(), email_verified=True)
    assert site.sign_in(name).status_code == 302
    assert site.role(known.username) == Role.EDITOR
    assert not User.objects.filter(username=name).exists()
    refused = site.sign_in(site.newcomer("leads", email=chief.email, email_verified=True))
    assert refused.status_code == 403
    assert "administrator" in refused.text


def test_a_closed_account_stays_closed(site: Site) -> None:
    name = site.newcomer("staff")
    assert site.sign_in(name).status_code == 302
    User.objects.filter(username=name).update(is_active=False)
    refused = site.sign_in(name)
    assert refused.status_code == 403
    assert "closed" in refused.text


def test_only_superusers_have_passwords(site: Site) -> None:
    ann = member(site.workspace, password="one-right-word")
    chief = person(password="one-right-word", operator=True)
    for path in ("/login/", "/admin/login/"):
        for user, status in ((ann, 200), (chief, 302)):
            browser = site.browser()
            answer = browser.post(
                path,
                data={
                    "username": user.username,
                    "password": "one-right-word",
                    "csrfmiddlewaretoken": csrf(browser, path),
                },
            )
            assert answer.status_code == status, path


def test_the_admin_offers_no_rows_of_allauth(site: Site) -> None:
    chief = person(password="one-right-word", operator=True)
    browser = site.browser()
    form = {"username": chief.username, "password": "one-right-word"}
    browser.post("/login/", data={**form, "csrfmiddlewaretoken": csrf(browser, "/login/")})
    assert browser.get("/admin/auth/user/").status_code == 200
    for page in ("socialaccount/socialapp", "socialaccount/socialtoken", "account/emailaddress"):
        assert browser.get(f"/admin/{page}/").status_code == 404, page


def _expired(claims: dict[str, Any]) -> None:
    claims.update(exp=time.time() - 120, iat=time.time() - 500)


def _unsigned(claims: dict[str, Any]) -> tuple[str, Any]:
    return "none", None


def _symmetric(claims: dict[str, Any]) -> tuple[str, Any]:
    return "HS256", "a-secret-of-the-client-that-is-long-enough"


def _foreign(claims: dict[str, Any]) -> tuple[str, Any]:
    return "RS256", rsa.generate_private_key(65_537, 2_048)


@pytest.mark.parametrize(
    "bend",
    [
        pytest.param(lambda claims: claims.update(iss="https://evil.example"), id="issuer"),
        pytest.param(lambda claims: claims.update(aud="another-client"), id="audience"),
        pytest.param(lambda claims: claims.update(azp="another-client"), id="authorized party"),
        pytest.param(lambda claims: claims.update(nonce="of-another-sign-in"), id="nonce"),
        pytest.param(lambda claims: claims.pop("nonce") and None, id="no nonce"),
        pytest.param(lambda claims: claims.update(sub="somebody-else"), id="subject"),
        pytest.param(lambda claims: claims.pop("exp") and None, id="no expiry"),
        pytest.param(_expired, id="expired"),
        pytest.param(_unsigned, id="alg none"),
        pytest.param(_symmetric, id="alg HS256"),
        pytest.param(_foreign, id="another key"),
    ],
)
def test_a_bad_id_token_opens_nothing_and_is_audited(
    site: Site, bend: Callable[[dict[str, Any]], tuple[str, Any] | None]
) -> None:
    name, browser = site.newcomer("staff"), site.browser()
    before = AuditEntry.objects.filter(action="user.sign_in_refused").count()
    site.provider.bend = bend
    try:
        refused = site.sign_in(name, browser)
    finally:
        site.provider.bend = None
    assert refused.status_code == 403, refused.text
    assert "ID token is not valid" in refused.text
    assert not User.objects.filter(username=name).exists()
    assert browser.get("/").headers["Location"].startswith("/login/")
    assert AuditEntry.objects.filter(action="user.sign_in_refused").count() == before + 1


def test_an_answer_of_no_sign_in_of_this_browser_opens_nothing(site: Site) -> None:
    name, asked = site.newcomer("staff"), len(site.provider.token_requests)
    assert site.sign_in(name, state="of-nobody").status_code == 400
    assert site.sign_in(name, iss="https://evil.example").status_code == 400
    assert site.browser().get("/login/oidc/callback/?error=access_denied").status_code == 400
    mine, theirs = site.browser(), site.browser()
    start = mine.get("/login/oidc/")
    back = site.provider.agree(start.headers["Location"], name)
    assert theirs.get("/login/oidc/callback/", params=back).status_code == 400
    assert len(site.provider.token_requests) == asked, "nothing of these reaches the issuer"
    assert mine.get("/login/oidc/callback/", params=back).status_code == 302
    assert mine.get("/login/oidc/callback/", params=back).status_code == 400, "used once"


def test_a_code_of_another_sign_in_opens_nothing(site: Site) -> None:
    name, victim = site.newcomer("staff"), site.newcomer("leads")
    stolen = site.provider.agree(site.browser().get("/login/oidc/").headers["Location"], victim)
    refused = site.sign_in(name, code=stolen["code"])
    assert refused.status_code == 403
    assert "another sign-in" in refused.text


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_the_way_on_leads_nowhere_else(site: Site, wanted: str) -> None:
    name, browser = site.newcomer("staff"), site.browser()
    start = browser.get("/login/oidc/", params={"next": wanted, "process": "connect"})
    back = site.provider.agree(start.headers["Location"], name)
    assert browser.get("/login/oidc/callback/", params=back).headers["Location"] == "/"


def test_parameters_of_a_stranger_steer_no_request(site: Site) -> None:
    steered = {"auth_params": "redirect_uri=https://evil.example", "scope": "all", "action": "x"}
    start = site.browser().get("/login/oidc/", params=steered)
    asked = parse_qs(urlsplit(start.headers["Location"]).query)
    assert asked["redirect_uri"] == [f"{HERE}/login/oidc/callback/"]
    assert sorted(asked["scope"][0].split()) == ["email", "openid", "profile"]
    assert start.headers["Location"].startswith(f"{site.provider.url}/")
