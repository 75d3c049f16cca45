"""What axe finds on a page that keeps people out."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

_IMPACTS = {"serious", "critical"}
# Style sheets and media are not fetched again: only rules on audio and orientation use them.
_RUN = "axe.run({resultTypes: ['violations'], preload: false}).then((done) => done.violations)"


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that one element breaks.

    Attributes:
        rule: Its name, such as ``label``.
        target: A selector of the element.
        html: How it begins.
    """

    rule: str
    help: str
    target: str
    html: str
    said: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.help}: {self.target}: {self.html}: {self.said}"


def serious(page: Page) -> Iterator[Violation]:
    """The serious and critical ones of the page as it is now."""
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text())
    found: list[dict[str, Any]] = page.evaluate(_RUN)
    for rule in found:
        if rule["impact"] in _IMPACTS:
            for node in rule["nodes"]:
                target = " ".join(map(str, node["target"]))
                yield Violation(
                    rule["id"], rule["help"], target, node["html"][:200], node["failureSummary"]
                )
