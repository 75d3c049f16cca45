"""A real server and a real browser.

How to use them::

    def test_given_a_run_when_its_page_is_opened_then_it_streams(
        site: WebServer, worker: Worker, signed_in: Visitor, workspace: Workspace
    ) -> None:
        signed_in.go("runs/")                                 # /w/<workspace>/runs/
        signed_in.page.get_by_role("button", name="New run").click()

``site`` is uvicorn with Channels on a port of its own (``site.url``), on the database and the
Valkey of the tests: rows a test makes are the site's, and ``worker`` executes what is started.
``signed_in`` is an admin of the test's ``workspace``; others come from ``visitors``::

    phone = visitors(user=member(workspace, "viewer"), width=390, dark=True)
    root = visitors(user=person(operator=True))               # the fleet's page needs one
    stranger = visitors()                                     # nobody is logged in

Each is alone: no cookie, no storage of another is there. A test fails at its end when one of its
pages complained on the console, violated the content security policy, or asked another host for
anything; whoever provokes a complaint says so: ``signed_in.expect("409")``. Playwright's interface
is the synchronous one, and the ORM works beside it as in every test; await nothing in a test that
uses a page.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.api.server import Caller, key_for
from tests.web.chromium import take_loop
from tests.web.people import member
from tests.web.visitor import Visitor, visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User
    from playwright.sync_api import Browser

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer


class Visitors(Protocol):
    """Opens windows of the test's workspace."""

    def __call__(
        self, *, user: User | None = None, dark: bool = False, width: int = 1280, height: int = 900
    ) -> Visitor: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name each operation that schemathesis asks for.

    With pytest 9.2 all of them have their test's node id, and pytest-xdist runs each id once.
    """
    for item in items:
        label = getattr(item, "operation_label", None)
        if label and label not in item.nodeid:
            item._id = item._id.with_params(label)


@pytest.fixture(autouse=True)
def _loop_of_playwright(request: pytest.FixtureRequest) -> Iterator[None]:
    """What Playwright does without waiting for it goes to the thread's loop: let that be its own.

    A test that is a coroutine leaves none behind.
    """
    if "browser" not in request.fixturenames:
        yield
        return
    take_loop(request.getfixturevalue("browser"))
    yield
    asyncio.set_event_loop(None)


@pytest.fixture
def visitors(site: WebServer, browser: Browser, workspace: Workspace) -> Iterator[Visitors]:
    """Opens windows; at the end, nothing may have happened in them that must not."""
    opened: list[Visitor] = []

    def made(**how: Any) -> Visitor:
        opened.append(visit(browser, site.url, workspace, **how))
        return opened[-1]

    yield made
    problems = [problem for visitor in opened for problem in visitor.problems()]
    for visitor in opened:
        visitor.leave()
    assert problems == []


@pytest.fixture
def signed_in(visitors: Visitors, workspace: Workspace) -> Visitor:
    """An admin of the test's workspace."""
    return visitors(user=member(workspace))


@pytest.fixture
def caller(site: WebServer, workspace: Workspace) -> Iterator[Caller]:
    """A program with every scope in the test's workspace."""
    found = Caller(site, key_for(workspace))
    with found.http:
        yield found
