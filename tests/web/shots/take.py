"""``make shots``: pictures of every page, of a shop that does not exist, in ``docs/images``.

pytest runs this file when it is named, and not with the other tests; it makes the shop, waits until
its agents have worked, and looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.fleet import Worker
from tests.server_process import ROOT
from tests.web.people import person
from tests.web.shots.pages import PAGES
from tests.web.shots.seed import PAUSED, Demo, seed
from tests.web.visitor import Visitor, visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.api.server import WebServer

IMAGES = ROOT / "docs" / "images"
LIMIT = 300_000


@dataclass(frozen=True, slots=True)
class Look:
    """A window: what its pictures' names end with, and how it is."""

    name: str
    dark: bool
    width: int
    height: int


LOOKS = (
    Look("light", dark=False, width=1280, height=860),
    Look("dark", dark=True, width=1280, height=860),
    Look("phone", dark=False, width=390, height=844),
)


@pytest.fixture(scope="module")
def demo(site: WebServer, worker: Worker) -> Iterator[Demo]:
    """The shop, with a second worker for the reports."""
    with Worker(queues=PAUSED, concurrency=20):
        yield seed()


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: look.name)
def window(
    request: pytest.FixtureRequest, site: WebServer, browser: Browser, demo: Demo
) -> Iterator[tuple[Look, Visitor]]:
    look: Look = request.param
    user = person(f"ada-{look.name}", operator=True)
    opened = visit(
        browser,
        site.url,
        demo.workspace,
        user,
        dark=look.dark,
        width=look.width,
        height=look.height,
    )
    yield look, opened
    opened.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_take(window: tuple[Look, Visitor], demo: Demo, name: str) -> None:
    look, visitor = window
    shot = PAGES[name]
    if look.name not in shot.looks:
        return
    if name == "web-login":
        visitor.context.clear_cookies()
    visitor.go(shot.path(demo))
    page = visitor.page
    page.get_by_text(shot.text).locator("visible=true").first.wait_for()
    if shot.act is not None:
        shot.act(page)
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("load" if name == "web-workers" else "networkidle")
    file = IMAGES / f"{name}-{look.name}.png"
    page.screenshot(path=file)
    assert file.stat().st_size < LIMIT, f"{file.name} is too large"
    assert visitor.violations == []
    assert visitor.left == []
