"""Browsers notify their people of what waits, without an open tab (Web Push)."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from playwright.sync_api import expect

from agents.actions.decide_call import deny_call
from agents.actions.erase_runs import erase_runs
from agents.actions.notifications import send_notifications
from agents.actions.notified_browsers import add_browser, prune_browsers, push_key
from agents.actions.waits import notify_approvers
from agents.delivery import web_push
from agents.models import NotifiedBrowser, PushKey
from heartbit_site.base.access import access_of_user
from heartbit_site.base.actions.rotate_secrets import secret_columns
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ConfigurationError, ForbiddenError
from heartbit_site.base.models import Membership, Workspace
from tests.clients import Client
from tests.fleet import wait_until
from tests.web.people import member
from tests.web.push_browser import P256, PushBrowser, b64, proven, unb64
from tests.web.receiver import receiving
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from tests.web.conftest import Visitors
    from tests.web.receiver import Receiver

SECRET = "attack at dawn"


@pytest.fixture
def service(database: None, settings: Settings) -> Iterator[Receiver]:
    """A push service."""
    NotifiedBrowser.objects.all().delete()
    with receiving() as opened:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{opened.port}"
        yield opened


@pytest.fixture
def operator(workspace: Workspace) -> User:
    return member(workspace, "operator")


def subscribed(service: Receiver, workspace: Workspace, user: User) -> PushBrowser:
    browser = PushBrowser()
    given = browser.subscription(f"{service.url}&at={b64(browser.point)[:20]}")
    access = access_of_user(user, workspace.slug)
    add_browser(access, endpoint=given["endpoint"], public=given["p256dh"], secret=given["auth"])
    return browser


def announced(workspace: Workspace, **asked: Any) -> Any:
    call = unserved(workspace, **asked)
    notify_approvers(call.run_id)
    return call


def due_again() -> None:
    NotifiedBrowser.objects.update(next_at=Now())


class TestTheMessage:
    def test_it_is_that_of_the_example_of_the_rfc(self) -> None:
        """RFC 8291, appendix A."""
        point = (
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
            "7A8"
        )
        public = (
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIA"
            "iw4"
        )
        number = int.from_bytes(unb64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
        key = ec.derive_private_key(number, P256)
        body = web_push.encrypt(
            b"When I grow up, I want to be a watermelon",
            public,
            "BTBZMqHH6r4Tts7J_aSIgg",
            key=key,
            salt=unb64("DGv6ra1nlYgDCS1FRnbzlw"),
        )
        assert b64(body) == (
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc"
            "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV"
            "WGNWQexSgSxsj_Qulcy4a-fN"
        )
        assert b64(body[21:86]) == point

    def test_it_tells_how_much_waits_and_nothing_of_what(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        browser = subscribed(service, workspace, operator)
        assert send_notifications() == 0
        for subject in (SECRET, "again"):
            announced(workspace, arguments={"url": f"https://example.org/{subject}"})
        assert send_notifications() == 1
        assert send_notifications() == 0
        [told] = service.told
        shown = browser.shown(told.body)
        assert shown["body"] == f"2 wait for you in {workspace.name}."
        assert shown["data"]["url"].endswith(f"/w/{workspace.slug}/inbox/")
        assert "example.org" not in str(shown)
        claims = proven(told.headers["authorization"], f"http://127.0.0.1:{service.port}")
        assert claims["key"] == push_key().public
        assert time.time() < claims["exp"] <= time.time() + 24 * 3600
        assert claims["sub"].startswith(("mailto:", "https:"))
        assert told.headers["content-encoding"] == "aes128gcm"
        assert int(told.headers["ttl"]) > 0

    def test_keys_are_encrypted_at_rest_and_the_installations_is_made_once(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        browser = subscribed(service, workspace, operator)
        assert push_key().private == push_key().private != ""
        assert "PRIVATE" not in push_key().private
        row = NotifiedBrowser.objects.get()
        assert b64(browser.auth) not in row.secret
        assert {(PushKey, "private"), (NotifiedBrowser, "secret")} <= set(secret_columns())


class TestDelivery:
    def test_what_did_not_arrive_is_sent_again(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        browser = subscribed(service, workspace, operator)
        service.answers.append(503)
        announced(workspace)
        assert send_notifications() == 0
        row = NotifiedBrowser.objects.get()
        assert (row.status, row.error) == (
            "pending",
            "The push service answered with HTTP 503.",
        )
        assert send_notifications() == 0  # not yet
        due_again()
        assert send_notifications() == 1
        assert [browser.shown(one.body)["body"][:1] for one in service.told] == ["1", "1"]

    @pytest.mark.parametrize("code", [404, 410])
    def test_a_browser_that_the_service_does_not_know_is_forgotten(
        self, workspace: Workspace, service: Receiver, operator: User, code: int
    ) -> None:
        subscribed(service, workspace, operator)
        service.answers.append(code)
        announced(workspace)
        assert send_notifications() == 0
        assert not NotifiedBrowser.objects.exists()

    def test_what_waits_no_longer_is_not_told(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        subscribed(service, workspace, operator)
        call = announced(workspace)
        deny_call(call, digest=call.digest, reason="No.", by=Actor("bob", "web"))
        assert send_notifications() == 0
        assert service.told == []

    def test_an_address_inside_is_not_reached(
        self, workspace: Workspace, service: Receiver, operator: User, settings: Settings
    ) -> None:
        settings.HEARTBIT_HTTP_ALLOWLIST = ""
        subscribed(service, workspace, operator)
        announced(workspace)
        assert send_notifications() == 0
        assert service.told == []
        assert "127.0.0.1" in NotifiedBrowser.objects.get().error


class TestWhoIsTold:
    def test_only_who_may_decide_in_the_workspace(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        other = Workspace.objects.create(slug="elsewhere-push", name="Elsewhere")
        Membership.objects.create(workspace=other, user=operator, role="operator")
        subscribed(service, other, operator)
        announced(workspace)
        assert send_notifications() == 0
        with pytest.raises(ForbiddenError, match="role of operator"):
            subscribed(service, workspace, member(workspace, "viewer"))

    @pytest.mark.parametrize("change", ["leaves", "becomes a viewer", "is locked"])
    def test_who_may_decide_no_longer_is_told_nothing_and_forgotten(
        self, workspace: Workspace, service: Receiver, operator: User, change: str
    ) -> None:
        subscribed(service, workspace, operator)
        announced(workspace)
        membership = Membership.objects.filter(workspace=workspace, user=operator)
        match change:
            case "leaves":
                membership.delete()
            case "becomes a viewer":
                membership.update(role="viewer")
            case _:
                User.objects.filter(pk=operator.pk).update(is_active=False)
        assert send_notifications() == 0
        assert service.told == []
        assert not NotifiedBrowser.objects.exists()

    def test_housekeeping_forgets_them_too(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        subscribed(service, workspace, operator)
        assert prune_browsers() == 0
        Membership.objects.filter(user=operator).delete()
        assert prune_browsers() == 1

    def test_only_the_group_that_is_asked(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        group = Group.objects.create(name="push-approvers")
        inside = member(workspace, "operator")
        group.user_set.add(inside)
        browser = subscribed(service, workspace, inside)
        subscribed(service, workspace, operator)
        call = unserved(workspace)
        call.approval_view = {**(call.approval_view or {}), "group": group.name}
        call.save(update_fields=["approval_view"])
        notify_approvers(call.run_id)
        assert send_notifications() == 1
        assert browser.shown(service.told[0].body)["body"].startswith("1 waits")

    def test_erasure_of_a_person_forgets_their_browsers(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        subscribed(service, workspace, operator)
        stays = member(workspace, "operator")
        subscribed(service, workspace, stays)
        erase_runs(workspace, operator, agent="", by=SYSTEM)
        assert NotifiedBrowser.objects.get().user == stays


class TestTheBrowser:
    @pytest.fixture
    def client(self, operator: User) -> Client:
        opened = Client(headers={"host": "127.0.0.1"})
        opened.force_login(operator, backend="django.contrib.auth.backends.ModelBackend")
        return opened

    def test_it_subscribes_is_listed_and_removed(
        self, workspace: Workspace, service: Receiver, client: Client
    ) -> None:
        root = f"/w/{workspace.slug}"
        asked = client.post(f"{root}/inbox/notify/")
        assert (asked.status_code, asked.content.decode()) == (200, push_key().public)
        given = PushBrowser().subscription(service.url)
        for _ in range(2):  # again whenever the inbox is opened
            assert client.post(f"{root}/inbox/notify/", given).status_code == 200
        assert "127.0.0.1" in client.get(f"{root}/account/").content.decode()
        only = {"endpoint": service.url}
        assert client.post(f"{root}/inbox/notify/", only).status_code == 200
        assert not NotifiedBrowser.objects.exists()
        client.post(f"{root}/inbox/notify/", given)
        row = NotifiedBrowser.objects.get()
        client.post(f"{root}/account/", {"do": "forget", "id": str(row.pk)})
        assert not NotifiedBrowser.objects.exists()

    def test_it_notifies_whoever_subscribed_last(
        self, workspace: Workspace, service: Receiver, client: Client, operator: User
    ) -> None:
        given = PushBrowser().subscription(service.url)
        client.post(f"/w/{workspace.slug}/inbox/notify/", given)
        next_one = member(workspace, "operator")
        client.force_login(next_one, backend="django.contrib.auth.backends.ModelBackend")
        client.post(f"/w/{workspace.slug}/inbox/notify/", given)
        assert NotifiedBrowser.objects.get().user == next_one

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"endpoint": "ftp://push.example/x"}, "The address of the push service is not valid"),
            ({"endpoint": "https://push.example/" + "x" * 1000}, "longer than 1000 characters"),
            ({"p256dh": "AAAA"}, "keys are not those of Web Push"),
            ({"p256dh": "é"}, "keys are not those of Web Push"),
            ({"auth": "AAAA"}, "keys are not those of Web Push"),
        ],
    )
    def test_what_is_wrong_is_said(
        self, workspace: Workspace, service: Receiver, client: Client, wrong: Any, said: str
    ) -> None:
        given = PushBrowser().subscription("https://push.example/x") | wrong
        answer = client.post(f"/w/{workspace.slug}/inbox/notify/", given)
        assert (answer.status_code, said in answer.content.decode()) == (422, True)
        assert not NotifiedBrowser.objects.exists()

    def test_a_person_has_at_most_twenty(
        self, workspace: Workspace, service: Receiver, operator: User
    ) -> None:
        for _ in range(20):
            subscribed(service, workspace, operator)
        with pytest.raises(ConfigurationError, match="20 browsers notify you here"):
            subscribed(service, workspace, operator)


def test_a_message_is_shown_and_the_button_says_what_it_can(
    visitors: Visitors, workspace: Workspace, operator: User
) -> None:
    visitor = visitors(user=operator)
    page, context = visitor.page, visitor.context
    context.grant_permissions(["notifications"], origin=visitor.url)
    # What a browser without a window says of it stays "denied".
    page.add_init_script("Object.defineProperty(Notification, 'permission', {value: 'granted'})")
    workers: list[Any] = []
    session = context.new_cdp_session(page)
    session.on("ServiceWorker.workerRegistrationUpdated", lambda told: workers.append(told))
    session.send("ServiceWorker.enable")
    visitor.expect("Push API in incognito")
    visitor.go("inbox/")
    page.get_by_role("button", name="Notify me").click()
    button = page.get_by_role("button", name="Notifications are on")
    # This browser reaches no push service.
    expect(button).to_have_attribute("title", re.compile("Only while a tab is open: "))
    url = f"{visitor.url}/w/{workspace.slug}/inbox/"
    said = {"title": "Heartbit", "body": "2 wait for you.", "tag": url, "data": {"url": url}}
    (worker,) = context.service_workers
    # A browser without a window shows none: what the worker asks of it is kept instead.
    worker.evaluate("registration.showNotification = (...asked) => { self.asked = asked; }")
    number = workers[-1]["registrations"][-1]["registrationId"]
    message = {"origin": visitor.url, "registrationId": number, "data": json.dumps(said)}
    session.send("ServiceWorker.deliverPushMessage", message)
    wait_until(lambda: worker.evaluate("self.asked"), what="the notification")
    assert worker.evaluate("self.asked") == [said.pop("title"), said]
    button.click()
    expect(page.get_by_role("button", name="Notify me")).to_be_visible()
