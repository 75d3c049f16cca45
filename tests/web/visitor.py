"""Somebody at the browser: their page, and what must not happen on it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings

from tests.web.chromium import take_loop
from tests.web.people import session_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from playwright.sync_api import Browser, BrowserContext, Page, Response

    from heartbit_site.base.models import Workspace

_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  heartbitViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ""}`));
"""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser's window of one person; everything in it was never seen before.

    Attributes:
        url: The server's, without a slash at the end.
        slug: The workspace whose pages :meth:`go` opens.
        violations: Of the content security policy.
        left: Requests to other hosts.
        errors: What the console or the page's scripts complained of.
        expected: Patterns of complaints that belong to the test.
    """

    page: Page
    context: BrowserContext
    url: str
    slug: str
    violations: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def go(self, path: str = "runs/") -> Response | None:
        """Open a page of the workspace, e.g. ``runs/``; with a slash first, of the server."""
        below = path if path.startswith("/") else f"/w/{self.slug}/{path}"
        return self.page.goto(self.url + below)

    def expect(self, pattern: str) -> None:
        """Allow complaints in which the pattern is found, e.g. ``409``."""
        self.expected.append(pattern)

    def problems(self) -> list[str]:
        """What happened that must not, as sentences."""
        unexpected = [
            error
            for error in self.errors
            if not any(re.search(pattern, error) for pattern in self.expected)
        ]
        return [
            *(f"left the host: {one}" for one in self.left),
            *(f"violated the policy: {one}" for one in self.violations),
            *(f"complained: {one}" for one in unexpected),
        ]


def visit(
    browser: Browser,
    url: str,
    workspace: Workspace | None = None,
    user: User | None = None,
    *,
    dark: bool = False,
    width: int = 1280,
    height: int = 900,
    protected: bool = True,
) -> Visitor:
    """Open a window; with a user, logged in.

    Args:
        browser: Chromium.
        url: The server's.
        workspace: Whose pages are meant.
        user: None: somebody unknown.
        dark: The system's colours, which our pages follow.
        width: In pixels; 390 is a phone.
        height: In pixels.
        protected: Whether the browser heeds the content security policy.
    """
    take_loop(browser)
    context = browser.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="Europe/London",
        bypass_csp=not protected,
    )
    context.set_default_timeout(15_000)
    if user is not None:
        name = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": name, "value": session_of(user), "url": url}])
    page = context.new_page()
    slug = workspace.slug if workspace is not None else ""
    visitor = Visitor(page=page, context=context, url=url, slug=slug)
    _watch(visitor)
    return visitor


def _watch(visitor: Visitor) -> None:
    host = urlsplit(visitor.url).netloc

    def requested(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in {"data", "blob", "about"} and parts.netloc != host:
            visitor.left.append(address)

    context = visitor.context
    context.expose_function("heartbitViolation", lambda text: visitor.violations.append(text))
    context.add_init_script(_REPORT_VIOLATIONS)
    context.on("request", lambda request: requested(request.url))
    context.on(
        "console",
        lambda message: (
            visitor.errors.append(f"{message.text} ({message.location['url']})")
            if message.type == "error"
            else None
        ),
    )
    context.on("weberror", lambda problem: visitor.errors.append(str(problem.error)))
    visitor.page.on("websocket", lambda socket: requested(socket.url))
