"""Untrusted Markdown as harmless HTML: rendered and then sanitised.

Sanitising comes last, so it covers everything that the renderer lets through. Pictures are not
shown: fetching one would reveal the reader to its server, and a model can be tricked into writing
such an address. Links open only when a person follows them, and send no referrer.

The renderer is written in Python and takes about ten microseconds per mark, two seconds for a text
of nothing but marks. So marks are counted first, and a text with too many is shown as written.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code"),
    *("em", "strong", "s", "ul", "ol", "li", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}}
#: As the renderer says how a column is aligned; pages refuse styles of elements.
_ALIGNED = re.compile(r'style="text-align:(left|center|right)"')
#: Around code on a page: its language, and a button that copies it (``web/copy.js``).
_PAGE_TAGS = {"div", "button"}
_PAGE_CLASSES = {"div": {"block"}, "button": {"copy"}}
_SCHEMES = {"http", "https", "mailto"}
LONGEST = 200_000
MOST_MARKS = 6_000
#: Characters at which the renderer stops; a line break counts too.
_MARK = re.compile(r"[\n\\`*_~\[\]<>&|#!]")
#: Characters of the line below a table's head, within a quotation or a list too.
_HEAD = "|-: \t>*+.)0123456789"
_TOO_MANY = "This text is shown as written: it has too many marks to be rendered as Markdown."


def to_html(text: str, *, styles: Mapping[str, str] | None = None) -> str:
    """Render Markdown as sanitised HTML.

    Args:
        text: Untrusted; only the first 200,000 characters are rendered, and with more than
            ``MOST_MARKS`` they are shown as they were written.
        styles: The ``style`` of every element of a tag, for HTML without a style sheet (a mail);
            never from the author of the text.
    """
    shown = text[:LONGEST]
    if not _is_rendered(shown):
        return _as_written(shown, styles or {})
    # The sanitiser sets styles too: a replacement in its output might hit a "<p" in an attribute.
    given = {tag: {"style": style} for tag, style in (styles or {}).items()}
    given["a"] = {**given.get("a", {}), "target": "_blank"}
    is_page = styles is None
    if is_page:
        given["button"] = {"type": "button"}
    rendered = _ALIGNED.sub(r'align="\1"', _renderer().render(shown, {"is_page": is_page}))
    import nh3  # noqa: PLC0415  as ``_renderer`` is: mails and pages of results alone need them

    return nh3.clean(
        rendered,
        tags=_TAGS | _PAGE_TAGS if is_page else _TAGS,
        attributes=_ATTRIBUTES | {"pre": {"data-language"}} if is_page else _ATTRIBUTES,
        allowed_classes=_PAGE_CLASSES if is_page else {},
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values=given,
    )


def block_lines(text: str) -> list[int]:
    """Return the first line of each block of a text: paragraph, list, table, code, ..."""
    if not _is_rendered(text):
        return [0]
    tokens = _renderer().parse(text, {})
    return [one.map[0] for one in tokens if one.level == 0 and one.map and one.nesting >= 0]


def _is_rendered(text: str) -> bool:
    """Return True if rendering is quick: few marks, and few cells of tables.

    A row of a table is filled up to the columns of its head, so rows cost more than their marks.
    """
    marks = len(_MARK.findall(text))
    if marks > MOST_MARKS:
        return False
    cells, columns = 0, 0
    for line in text.split("\n"):
        if not line.strip():
            columns = 0
        elif "-" in line and not line.strip(_HEAD):
            columns = max(columns, line.count("|") + 1)
        cells += columns
    return marks + cells <= MOST_MARKS


def _as_written(text: str, styles: Mapping[str, str]) -> str:
    """Return the text itself; nothing of it is markup, so there is nothing to sanitise."""
    parts = {"p": _TOO_MANY, "pre": html.escape(text)}
    style = {tag: f' style="{html.escape(styles[tag])}"' for tag in parts if tag in styles}
    return "".join(f"<{tag}{style.get(tag, '')}>{part}</{tag}>" for tag, part in parts.items())


@functools.cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415

    # No raw HTML, no pictures; a bare address stays text unless it is marked as a link.
    made = (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable(["image", "html_inline", "html_block"])
    )
    made.add_render_rule("fence", _code)
    made.add_render_rule("code_block", _code)
    return made


def _code(_: Any, tokens: Sequence[Token], index: int, __: Any, env: dict[str, Any]) -> str:
    """Render a block of code; its language is whatever the author of the text called it."""
    token = tokens[index]
    code = f"<code>{html.escape(token.content)}</code>"
    if not env.get("is_page"):
        return f"<pre>{code}</pre>\n"
    words = token.info.split()
    language = f' data-language="{html.escape(words[0][:20])}"' if words else ""
    copy = '<button class="copy">Copy</button>'
    return f'<div class="block"><pre{language}>{code}</pre>{copy}</div>\n'
