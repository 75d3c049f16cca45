from __future__ import annotations
from typing import Any
import pytest
from playwright.sync_api import expect
from tests.web.waiting_calls import unreviewed
from tests.web.people import member
OUT="/tmp/h/pics5"
TEXT = "# Sales of the week\n\nTen orders, of which two were returned. The wheel was bent in both.\n\n* Berlin: 4\n* Paris: 6\n\n" + "The week was calm, and the shop was open on all days. " * 8
@pytest.mark.parametrize(("width","height","dark"), [(1280,900,False),(390,844,True)])
def test_shots(visitors: Any, workspace: Any, width: int, height: int, dark: bool) -> None:
    import os; os.makedirs(OUT, exist_ok=True)
    wait = unreviewed(workspace, TEXT, timeout_seconds=86400)
    v = visitors(user=member(workspace, "admin"), width=width, height=height, dark=dark)
    v.go("inbox/")
    page = v.page
    page.locator("[data-key]").first.wait_for()
    name = f"{OUT}/{width}{'-dark' if dark else ''}"
    page.locator("[data-key]").first.click()
    page.locator("article.asked").wait_for()
    page.screenshot(path=f"{name}-card.png", full_page=True)
    page.locator("[data-act=changes]").click()
    page.wait_for_timeout(1000)
    page.screenshot(path=f"{name}-wrong.png", full_page=True)
    page.get_by_label("message").fill("Say it shorter.")
    page.locator("[data-act=changes]").click()
    page.wait_for_timeout(1500)
    page.screenshot(path=f"{name}-done.png", full_page=True)
    v.go(f"runs/{wait.run_id}/")
    page.wait_for_timeout(2000)
    page.screenshot(path=f"{name}-run.png", full_page=True)
