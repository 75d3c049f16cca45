"""What is wrong with a page in every look: three widths, two themes, for those who cannot see too.

A page is loaded once. Its width and theme are changed as it stands, and axe comes into it once.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

PHONE: Final = 390
WIDTHS: Final = (1280, 1024, PHONE)
HEIGHT: Final = 900
#: Of WCAG 2.2 (2.5.8); a link in a sentence is as high as its line.
SMALLEST_PX: Final = 24
# Style sheets and media are not fetched again: only rules on audio and orientation use them.
_PLAIN: Final = {"resultTypes": ["violations"], "preload": False}
#: Beside axe's own choice: what is read aloud says what stands there.
_ALL: Final = _PLAIN | {"rules": {"label-content-name-mismatch": {"enabled": True}}}
#: A theme changes colours and nothing else.
_COLOURS: Final = _PLAIN | {"runOnly": ["color-contrast"]}
_RUN: Final = """async (options) => (await axe.run(options)).violations.flatMap(
  ({ id, nodes }) => nodes.map((node) => [id, node.target.join(" "),
    node.html.slice(0, 200), node.failureSummary]))"""
_THEME: Final = """(dark) => {
  localStorage.setItem("heartbit-theme", dark ? "dark" : "light");
  window.showTheme();
}"""
#: How wide the page is if it does not fit, and what ends there.
_WIDE: Final = """() => {
  const { scrollWidth } = document.documentElement;
  if (scrollWidth <= window.innerWidth) return "";
  const last = [...document.querySelectorAll("main *")].filter((one) =>
    Math.abs(one.getBoundingClientRect().right - scrollWidth) < 20).at(-1);
  return `${scrollWidth} px wide: ${last?.outerHTML.slice(0, 160)}`;
}"""
#: Symbols wider than one: their name is not in the font and is written out.
_WORDS: Final = """() => [...document.querySelectorAll(".icon, .material-symbols-outlined")]
  .filter((one) => {
    const drawn = new Range();
    drawn.selectNodeContents(one);
    return one.checkVisibility() &&
      drawn.getBoundingClientRect().width > 1.5 * parseFloat(getComputedStyle(one).fontSize);
  })
  .map((one) => one.textContent.trim())"""
_SMALL: Final = """(least) => [...document.querySelectorAll(
    "main :is(a[href], button, summary, [role=button])")]
  .filter((one) => {
    const box = one.getBoundingClientRect();
    if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) ||
        box.width < 2 || box.height < 2) return false; // seen by screen readers alone
    if (box.height >= least - 0.5) return false;
    const said = [...one.parentElement.childNodes].some((node) =>
      node !== one && node.nodeType === Node.TEXT_NODE && /\\w/.test(node.textContent));
    return !(getComputedStyle(one).display.startsWith("inline") && one.tagName === "A" && said);
  })
  .map((one) =>
    `${Math.round(one.getBoundingClientRect().height)} px: ${one.outerHTML.slice(0, 160)}`)"""


def faults(
    page: Page,
    *,
    widths: tuple[int, ...] = WIDTHS,
    heard: tuple[int, ...] = WIDTHS,
) -> Iterator[str]:
    """Yield what is wrong with a page that is loaded: where, and what.

    Args:
        page: It is left at the last width, in light.
        widths: In pixels.
        heard: Those of them at which axe is asked.
    """
    for width in widths:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for dark in (True, False) if width in heard else ():
            page.evaluate(_THEME, dark)
            look = f"{width} px, {'dark' if dark else 'light'}"
            yield from (f"{look}: {one}" for one in heard_now(page, _COLOURS if dark else _ALL))
        yield from measured(page, width)


def heard_now(page: Page, rules: dict[str, Any] = _ALL) -> Iterator[str]:
    """Yield what axe finds on a page as it stands: the rule, the element, and what is wrong."""
    if not page.evaluate("'axe' in window"):
        page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text())
    found: list[list[str]] = page.evaluate(_RUN, rules)
    yield from (": ".join(one) for one in found)


def measured(page: Page, width: int) -> Iterator[str]:
    """Yield what does not fit, symbols that are words, and targets too small for a thumb."""
    if wide := page.evaluate(_WIDE):
        yield f"{width} px: the page is {wide}"
    for name in page.evaluate(_WORDS):
        yield f"{width} px: there is no symbol {name}"
    if width == PHONE:
        for small in page.evaluate(_SMALL, SMALLEST_PX):
            yield f"{width} px: too small, {small}"
