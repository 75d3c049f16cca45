"""HTML as plain text: the visible text in lines, with the addresses of links. Pure.

``html.parser`` is not used: 40 kB of unclosed ``<a`` keep it busy for 20 seconds (measured
on Python 3.11). This scanner looks at each character a fixed number of times.
"""

from __future__ import annotations

import html
import re

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_TAG_END = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")
_HREF = re.compile(r"""(?<![\w-])href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_LINK = re.compile(r"(?:https?://|mailto:|tel:)\S+", re.IGNORECASE)
_UNSEEN = {
    name: re.compile(f"</{name}", re.IGNORECASE | re.ASCII) for name in ("script", "style", "title")
}
_APART = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "blockquote"})
_LINES = _APART | {
    *("address", "article", "aside", "br", "center", "dd", "div", "dl", "dt", "footer", "form"),
    *("header", "hr", "li", "main", "nav", "pre", "section", "tr"),
}
_BLOCK = "\r"  # start or end of a block: the text that follows is on a new line
_SPACE = re.compile(r"\s+")
_MANY_LINES = re.compile(r"\n{3,}")


def text_of_html(source: str) -> str:
    """Return the visible text; broken HTML yields as much as possible. Never raises."""
    return _Page(source).text()


class _Page:
    """Scanner of one page, read once from beginning to end."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._place = 0
        self._pieces: list[str] = []
        self._link: tuple[str, int] | None = None  # its address, and the index of its first piece
        self._lines_count = False  # within <pre>
        self._quotes_close = True

    def text(self) -> str:
        while 0 <= self._place < len(self._source):
            start = self._source.find("<", self._place)
            self._say(self._source[self._place : start if start >= 0 else len(self._source)])
            self._place = self._after(start) if start >= 0 else -1
        shown = _SPACE.sub(_broken, "".join(self._pieces))
        lines = (" ".join(line.split()) for line in shown.split("\n"))
        return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip()

    def _say(self, text: str) -> None:
        try:
            shown = html.unescape(text)
        except ValueError:  # a character reference of more than 4300 digits
            shown = text
        self._pieces.append(shown if self._lines_count else _SPACE.sub(" ", shown))

    def _after(self, start: int) -> int:
        """Process the markup at this ``<``; return the next index, -1 at the end."""
        if self._source.startswith("<!--", start):
            return self._behind("-->", start + 4)
        tag = _TAG.match(self._source, start)
        if tag is None:
            if self._source[start + 1 : start + 2] in {"!", "?", "/"}:
                return self._behind(">", start)
            self._pieces.append("<")
            return start + 1
        name = tag[2].lower()
        end = self._end_of_tag(tag.end())
        if end < 0:
            return -1
        self._take(name, self._source[tag.end() : end], closing=bool(tag[1]))
        if name in _UNSEEN and not tag[1]:
            found = _UNSEEN[name].search(self._source, end)
            return found.start() if found else -1
        return end

    def _take(self, name: str, attributes: str, *, closing: bool) -> None:
        if name == "a":
            self._end_link()
            self._link = None if closing else (_address(attributes), len(self._pieces))
        elif name in _LINES:
            self._pieces.append("\n\n" if name in _APART else "\n" if name == "br" else _BLOCK)
            if name == "li" and not closing:
                self._pieces.append("- ")
            if name == "pre":
                self._lines_count = not closing
        elif name in {"td", "th"}:
            self._pieces.append(" ")

    def _end_link(self) -> None:
        if self._link is None:
            return
        address, first = self._link
        shown = "".join(self._pieces[first:]).strip()
        bare = address.removeprefix("mailto:").rstrip("/")
        if address and shown and shown.rstrip("/") not in {address.rstrip("/"), bare}:
            self._pieces.append(f" ({address})")
        self._link = None

    def _end_of_tag(self, place: int) -> int:
        if self._quotes_close:
            end = _TAG_END.match(self._source, place)
            if end is not None:
                return end.end()
            self._quotes_close = False  # so that the rest is scanned only once
        return self._behind(">", place)

    def _behind(self, mark: str, place: int) -> int:
        found = self._source.find(mark, place)
        return found + len(mark) if found >= 0 else -1


def _broken(space: re.Match[str]) -> str:
    """Return white space as line breaks, with any number of block boundaries in it."""
    if _BLOCK not in space[0]:
        return space[0]
    return "\n\n" if "\n" in space[0] else "\n"


def _address(attributes: str) -> str:
    found = _HREF.search(attributes)
    if found is None:
        return ""
    try:
        address = html.unescape(found[1] or found[2] or found[3] or "").strip()
    except ValueError:
        return ""
    return address if _LINK.fullmatch(address) else ""
