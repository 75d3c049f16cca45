"""Pages that show a list whole, although the API gives it page by page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import Route, expect

from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.visitor import Visitor

CALLS = 5


def test_given_more_calls_than_come_at_once_then_the_inbox_has_all_of_them(
    signed_in: Visitor, workspace: Workspace
) -> None:
    for _ in range(CALLS):
        unserved(workspace)

    asked: list[str] = []

    def by_twos(route: Route) -> None:
        asked.append(route.request.url)
        route.continue_(url=route.request.url.replace("limit=1000", "limit=2"))

    page = signed_in.page
    page.route(re.compile("limit=1000"), by_twos)
    signed_in.go("inbox/")
    rows = page.get_by_role("navigation", name="Waiting calls").get_by_role("listitem")
    expect(rows).to_have_count(CALLS)
    assert any("cursor=" in address for address in asked)
