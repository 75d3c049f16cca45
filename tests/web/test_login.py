"""Logging in and out, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


def test_given_a_member_when_logging_in_and_out_then_pages_open_and_close(
    visitors: Visitors, workspace: Workspace
) -> None:
    user = member(workspace, password="one-right-word")
    visitor = visitors()
    page = visitor.page

    visitor.go("runs/")
    page.get_by_label("Name").fill(user.username)
    page.get_by_label("Password").fill("a-wrong-word")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("This name and password do not fit together.")

    page.get_by_label("Name").fill(user.username)
    page.get_by_label("Password").fill("one-right-word")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"**/w/{workspace.slug}/runs/")
    kept = visitor.context.cookies()

    page.get_by_role("navigation", name="Main").get_by_text(user.username).click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/**")
    visitor.context.add_cookies(
        [
            {"name": one["name"], "value": one["value"], "url": visitor.url}
            for one in kept
            if "name" in one and "value" in one
        ]
    )
    visitor.go("runs/")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
