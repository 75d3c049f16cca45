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
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response

    from heartbit_site.base.models import Workspace

#: Of a context: its browser, colours, width, height, and whether the policy holds.
Kind = tuple["Browser", bool, int, int, bool]
#: Contexts without a page. A new one costs a fifth more, for its cache is empty.
_left: dict[Kind, list[BrowserContext]] = {}
#: Who is in a context now.
_watched: dict[BrowserContext, Visitor] = {}

_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  heartbitViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ""}`));
"""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser's window of one person, who was never there before.

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
    kind: Kind
    violations: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def go(self, path: str = "runs/") -> Response | None:
        """Open a page of the workspace, e.g. ``runs/``; with a slash first, of the server."""
        below = path if path.startswith("/") else f"/w/{self.slug}/{path}"
        return self.page.goto(self.url + below)

    def leave(self) -> None:
        """Close the page and forget the person; the next one finds what everybody may cache."""
        origin = {"origin": self.url, "storageTypes": "all"}
        self.context.new_cdp_session(self.page).send("Storage.clearDataForOrigin", origin)
        for page in self.context.pages:
            page.close()
        self.context.clear_cookies()
        _watched.pop(self.context, None)
        _left.setdefault(self.kind, []).append(self.context)

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
    kind = (browser, dark, width, height, protected)
    context = left.pop() if (left := _left.get(kind)) else _new_context(kind)
    if user is not None:
        name = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": name, "value": session_of(user), "url": url}])
    slug = workspace.slug if workspace is not None else ""
    visitor = Visitor(page=context.new_page(), context=context, url=url, slug=slug, kind=kind)
    _watched[context] = visitor
    visitor.page.on("websocket", lambda socket: _requested(context, socket.url))
    return visitor


def _new_context(kind: Kind) -> BrowserContext:
    browser, dark, width, height, protected = kind
    context = browser.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="Europe/London",
        bypass_csp=not protected,
    )
    context.set_default_timeout(15_000)

    def violated(text: str) -> None:
        if context in _watched:
            _watched[context].violations.append(text)

    def complained(text: str) -> None:
        if context in _watched:
            _watched[context].errors.append(text)

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            complained(f"{message.text} ({message.location['url']})")

    context.expose_function("heartbitViolation", violated)
    context.add_init_script(_REPORT_VIOLATIONS)
    context.on("request", lambda request: _requested(context, request.url))
    context.on("console", said)
    context.on("weberror", lambda problem: complained(str(problem.error)))
    return context


def _requested(context: BrowserContext, address: str) -> None:
    """Note a request to another host than the visitor's server."""
    visitor = _watched.get(context)
    parts = urlsplit(address)
    if visitor is None or parts.scheme in {"data", "blob", "about"}:
        return
    if parts.netloc != urlsplit(visitor.url).netloc:
        visitor.left.append(address)
