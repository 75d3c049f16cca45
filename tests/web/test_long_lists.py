"""Pages that show a list whole, although the API gives it page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.visitor import Visitor

CALLS = 60  # more than a page of the API has by itself


def test_given_more_calls_than_come_at_once_then_the_inbox_has_all_of_them(
    signed_in: Visitor, workspace: Workspace
) -> None:
    for _ in range(CALLS):
        unserved(workspace)

    signed_in.go("inbox/")
    rows = signed_in.page.get_by_role("navigation", name="What waits").get_by_role("listitem")
    expect(rows).to_have_count(CALLS)
