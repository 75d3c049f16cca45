"""Program that turns a web page into Markdown, in a sandbox (``heartbit_site.base.reader_walls``).

``web_fetch`` runs it as a file in a separate process: hostile HTML can keep lxml and trafilatura
busy for minutes, and a thread cannot be stopped. It reads the page from its standard input, and
writes JSON with ``title`` and ``text``.
"""

from __future__ import annotations

import json
import sys

MOST_CHARACTERS = 1_000_000


def main(url: str) -> None:
    """Read a page and write its main text.

    Args:
        url: Its URL, for relative links.
    """
    import trafilatura  # noqa: PLC0415  only here: it takes 0.2 s

    page = sys.stdin.buffer.read().decode("utf-8", "replace")
    tree = trafilatura.load_html(page)
    titles = tree.xpath("//head/title/text()") if tree is not None else []
    text = trafilatura.extract(
        tree, url=url, output_format="markdown", include_links=True, include_comments=False
    )
    shown = {"title": str(titles[0]) if titles else "", "text": (text or "")[:MOST_CHARACTERS]}
    sys.stdout.write(json.dumps(shown))


if __name__ == "__main__":
    main(sys.argv[1])
