"""Untrusted Markdown as harmless HTML: rendered and then sanitised.

Sanitised last, whatever the renderer let through. Pictures are not shown: fetching one would
reveal the reader to its server, and a model can be made to write such an address. Links open only
when a person follows them, and send no referrer.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markdown_it import MarkdownIt

_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code"),
    *("em", "strong", "s", "ul", "ol", "li", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}
LONGEST = 200_000


def to_html(text: str, *, styles: Mapping[str, str] | None = None) -> str:
    """Render Markdown as sanitised HTML.

    Args:
        text: Untrusted; only the first 200,000 characters are rendered.
        styles: The ``style`` of every element of a tag, for HTML without a style sheet (a mail);
            never from the author of the text.
    """
    # The sanitiser sets styles too: a replacement in its output might hit a "<p" in an attribute.
    given = {tag: {"style": style} for tag, style in (styles or {}).items()}
    given["a"] = {**given.get("a", {}), "target": "_blank"}
    rendered = _renderer().render(text[:LONGEST])
    import nh3  # noqa: PLC0415  as ``_renderer`` is: mails and pages of results alone need them

    return nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values=given,
    )


@functools.cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415

    # No raw HTML, no pictures; a bare address stays text unless it is marked as a link.
    return (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable(["image", "html_inline", "html_block"])
    )
