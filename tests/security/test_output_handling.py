"""S6: what a model writes cannot run a script in a reader's browser, nor make it call home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from heartbit_site.base.markdown import to_html
from tests.security.payloads import CORPUS
from tests.web.people import member
from tests.web.visitor import Visitor, visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

_ALLOWED_SCHEMES = ("http:", "https:", "mailto:")
#: Shows each as the pages do, and does to it what a reader's mouse and keyboard may.
_SHOW = """
async (texts) => {
  window.hits = 0;
  window.hit = () => { window.hits += 1; };
  const place = document.createElement("div");
  place.className = "markdown";
  document.getElementById("main").append(place);
  const addresses = [];
  for (const text of texts) {
    place.innerHTML = text;
    for (const part of place.querySelectorAll("*")) {
      for (const kind of ["mouseover", "focus", "toggle", "load", "error"]) {
        part.dispatchEvent(new Event(kind));
      }
      if (part.hasAttribute("href")) addresses.push([part.protocol, part.rel, part.target]);
    }
    await new Promise((done) => setTimeout(done, 2));
  }
  await new Promise((done) => setTimeout(done, 300));
  place.remove();
  return { hits: window.hits, addresses };
}
"""


@pytest.fixture
def page_of(
    site: WebServer, browser: Browser, workspace: Workspace
) -> Iterator[Callable[..., Visitor]]:
    """Opens a page of ours."""
    opened: list[Visitor] = []

    def made(*, protected: bool) -> Visitor:
        found = visit(browser, site.url, workspace, member(workspace), protected=protected)
        opened.append(found)
        found.go("runs/")
        found.page.wait_for_load_state("networkidle")
        for seen in (found.violations, found.left, found.errors):
            seen.clear()
        return found

    yield made
    for visitor in opened:
        visitor.leave()


def test_given_what_models_write_when_it_is_shown_then_nothing_runs_and_nothing_leaves(
    page_of: Callable[..., Visitor], record_property: Callable[[str, object], None]
) -> None:
    assert len(CORPUS) >= 500
    visitor = page_of(protected=True)
    done: dict[str, Any] = visitor.page.evaluate(_SHOW, [to_html(text) for text in CORPUS])
    record_property("cases", len(CORPUS))
    record_property("figure:scripts_run", done["hits"])
    record_property("figure:requests_off_site", len(visitor.left))
    record_property("figure:policy_violations", len(visitor.violations))
    assert (done["hits"], visitor.left, visitor.violations) == (0, [], [])
    assert done["addresses"], "links that may be followed are still links"
    for scheme, rel, target in done["addresses"]:
        assert scheme in _ALLOWED_SCHEMES
        assert "noopener" in rel.split()
        assert target == "_blank"


def test_given_the_same_unsanitised_and_no_policy_then_it_does_run_and_leave(
    page_of: Callable[..., Visitor],
) -> None:
    visitor = page_of(protected=False)
    done: dict[str, Any] = visitor.page.evaluate(_SHOW, list(CORPUS))
    assert done["hits"] > 50, "otherwise the payloads prove nothing"
    assert len(visitor.left) > 20


def test_given_the_same_unsanitised_then_the_policy_alone_keeps_scripts_from_running(
    page_of: Callable[..., Visitor], record_property: Callable[[str, object], None]
) -> None:
    visitor = page_of(protected=True)
    done: dict[str, Any] = visitor.page.evaluate(_SHOW, list(CORPUS))
    record_property("figure:scripts_run_unsanitised", done["hits"])
    assert done["hits"] == 0
    assert visitor.violations, "it was the policy"
