r"""Markdown that is still being written, as blocks of harmless HTML.

Usage::

    grown = GrowingMarkdown()
    grown.take("# Tides\n\nThe water ")  # at each piece, the text so far
    grown.since(0)                       # (0, ["<h1>Tides</h1>", "<p>The water</p>"])

A block is finished once another one has begun: it is rendered once, and never changes. Only the
last block is rendered again with each piece.
"""

from __future__ import annotations

import threading
from itertools import pairwise

from heartbit_site.base.markdown import LONGEST, block_lines, to_html


class GrowingMarkdown:
    """A text that only gets longer; may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: list[tuple[int, str]] = []  # end in UTF-16 units, HTML
        self._start = 0  # of the open block, in the text
        self._length = 0
        self._open = ""

    def take(self, text: str) -> None:
        """Render what was added; ``text`` begins with the text that was taken before."""
        text = text[:LONGEST]
        with self._lock:
            if len(text) <= self._length:
                return  # another thread has taken more
            self._length = len(text)
            rest = text[self._start :]
            begins = block_lines(rest)
            if len(begins) > 1:
                lines = [line + "\n" for line in rest.split("\n")]
                for first, after in pairwise([0, *begins[1:]]):
                    self._finish("".join(lines[first:after]))
                rest = text[self._start :]
            self._open = to_html(rest)

    def since(self, place: int) -> tuple[int, list[str]]:
        """Return the blocks that a reader with the text up to a place has not seen as they are.

        Args:
            place: Length of the reader's text, in UTF-16 units, as browsers count.

        Returns:
            The number of blocks that stay, and the blocks after them.
        """
        with self._lock:
            kept = sum(1 for end, _ in self._done if end <= place)
            html = [one for _, one in self._done[kept:]]
            return kept, [*html, self._open] if self._open else html

    def _finish(self, source: str) -> None:
        before = self._done[-1][0] if self._done else 0
        self._start += len(source)
        self._done.append((before + len(source.encode("utf-16-le")) // 2, to_html(source)))
