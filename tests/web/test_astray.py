"""Who has lost their way: addresses of nothing, sessions that ended, and lists without a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.templatetags.static import static
from django.urls import reverse
from playwright.sync_api import expect

from heartbit_site.base.ids import new_id
from heartbit_site.shell.sentences import first_sentence, with_code
from tests.clients import Client
from tests.web.axe import serious
from tests.web.people import member, person

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


def test_given_an_address_of_nothing_then_its_page_has_the_frame_and_a_way_on(
    visitors: Visitors, workspace: Workspace
) -> None:
    for width, dark in ((1280, False), (390, True)):
        visitor = visitors(user=member(workspace), width=width, dark=dark)
        visitor.expect("404")
        page = visitor.page
        run = new_id()
        for path, said in (
            (f"runs/{run}/", f"no run begins with {run}: heartbit status lists"),
            ("nowhere/", f"There is no page /w/{workspace.slug}/nowhere/."),
            ("/w/of-others/runs/", "There is no workspace of-others that you belong to."),
            ("/admin/agents/nothing/", "There is no page /admin/agents/nothing/."),
        ):
            answer = visitor.go(path)
            assert answer is not None
            assert answer.status == 404
            expect(page.get_by_role("navigation", name="Main")).to_be_visible()
            expect(page.get_by_role("main")).to_contain_text(said)
            assert [*map(str, serious(page))] == []
            page.get_by_role("link", name=f"Runs of {workspace.name}").click()
            page.wait_for_url(f"**/w/{workspace.slug}/runs/")


def test_given_nobody_or_a_file_then_few_words_are_enough(db: None, workspace: Workspace) -> None:
    client = Client(headers={"host": "localhost"})
    assert b"Nothing is here" in client.get("/w/x/nowhere/").content
    assert b"Main" not in client.get("/w/x/nowhere/").content
    assert client.get("/favicon.ico").status_code == 404
    client.force_login(person(), backend="django.contrib.auth.backends.ModelBackend")
    assert b"To the start" in client.get(f"/w/{workspace.slug}/runs/").content


def test_given_a_session_that_ended_then_the_login_leads_back_to_the_whole_address(
    visitors: Visitors, workspace: Workspace
) -> None:
    user = member(workspace, password="one-right-word")
    visitor = visitors(user=user)
    visitor.expect("401|Send an API key")
    page = visitor.page
    whole = f"{visitor.url}/w/{workspace.slug}/runs/?status=failed&sort=-cost#runs"
    visitor.go("runs/?status=failed&sort=-cost#runs")
    visitor.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="New run").click()  # asks the API
    page.get_by_label("Name").fill(user.username)
    page.get_by_label("Password").fill("one-right-word")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(whole)

    visitor.context.clear_cookies(name="sessionid")
    page.reload()  # asks the server for the page
    page.get_by_label("Name").fill(user.username)
    page.get_by_label("Password").fill("one-right-word")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/runs/?status=failed&sort=-cost**")


def test_given_a_phone_then_notes_lie_above_and_cover_no_button_at_the_bottom(
    visitors: Visitors, workspace: Workspace
) -> None:
    visitor = visitors(user=member(workspace), width=390, height=844)
    visitor.go("runs/")
    address = static("heartbit/web/dom.js")
    visitor.page.evaluate("async (dom) => (await import(dom)).note('It is `done`.')", address)
    box = visitor.page.locator(".note").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 100
    expect(visitor.page.locator(".note code")).to_have_text("done")


@pytest.mark.parametrize(("model", "adds"), [("agents_decision", False), ("agents_budget", True)])
def test_given_a_list_of_the_admin_without_rows_then_it_offers_only_what_can_be_done(
    db: None, workspace: Workspace, model: str, *, adds: bool
) -> None:
    client = Client(headers={"host": "localhost"})
    client.force_login(member(workspace), backend="django.contrib.auth.backends.ModelBackend")
    address = reverse(f"admin:{model}_changelist")
    said = client.get(address).content.decode()
    assert "yielded" not in said
    assert "yet." in said
    assert (f"{address}add/" in said) is adds
    assert "Show all" in client.get(f"{address}?q=nothing").content.decode()


def test_a_sentence_shows_its_commands_as_code_and_nothing_as_markup() -> None:
    assert with_code("Run `heartbit <up>`.") == "Run <code>heartbit &lt;up&gt;</code>."
    assert with_code("It`s <b>") == "It`s &lt;b&gt;"
    assert first_sentence("One e.g. two. Three\nfour.") == "One e.g. two."
    assert first_sentence("x" * 300) == "x" * 199 + "…"
