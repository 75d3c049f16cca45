"""PDF: the text of each page, under the headings of the document's outline.

An unreadable page is left out and named. A part ends after ``PART_SECONDS`` of work, so
that a long document is stored part by part.
"""

from __future__ import annotations

import io
import itertools
import logging
import re
import signal
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from memory.knowledge.passages import Block, Extraction, RefusedDocumentError

PART_SECONDS: Final = 2.0
PAGE_SECONDS: Final = 8.0
AGAIN_SECONDS: Final = 1.0  # pypdf catches exceptions while parsing, and may continue
MOST_OF_PART: Final = 200
MOST_PAGES: Final = 10_000
_MOST_OF_OUTLINE: Final = 5_000
_DEEPEST: Final = 6
_MOST_OF_HEADING: Final = 300
_LETTER: Final = re.compile(r"[^\W\d]")
_SEEN: Final = re.compile(r"\S")
_HYPHEN: Final = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")


def read(data: bytes, first: int) -> Extraction:
    """Read pages from the one after ``first``, the number of those that were read before."""
    began = time.process_time()
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise RefusedDocumentError("is encrypted: save it without a password")
        pages = len(reader.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise RefusedDocumentError("is not a PDF file, or is damaged") from error
    if pages > MOST_PAGES:
        raise RefusedDocumentError(f"has {pages:,} pages, and the limit is {MOST_PAGES:,}")
    outline = list(_outline(reader))
    blocks: list[Block] = []
    damaged: list[int] = []
    number = first
    while number < pages and number - first < MOST_OF_PART:
        titles = [heading for heading in outline if heading.page == number + 1]
        page = _read_page(reader, number)
        blocks += _under(titles, page.text, number + 1)
        number += 1
        if page.is_damaged:
            damaged.append(number)
        if page.exhausts_memory or time.process_time() - began > PART_SECONDS:
            break
    above = [heading for heading in outline if (heading.page or 0) <= first]
    return Extraction(blocks, above, pages, number, _problem(damaged))


class _Page(NamedTuple):
    text: str
    is_damaged: bool = False
    exhausts_memory: bool = False


class _Damages(logging.Handler):
    """Counter of content that pypdf could not unpack, which it logs and leaves out."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.name == "pypdf.filters"


def _read_page(reader: PdfReader, index: int) -> _Page:
    damages = _Damages(logging.WARNING)
    logger = logging.getLogger("pypdf")
    logger.addHandler(damages)
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, PAGE_SECONDS, AGAIN_SECONDS)
    try:
        text: str = reader.pages[index].extract_text()
    except Exception as error:  # noqa: BLE001  a parser of hostile files may raise anything
        return _Page("", is_damaged=True, exhausts_memory=isinstance(error, MemoryError))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        logger.removeHandler(damages)
    return _Page(_HYPHEN.sub("", text), is_damaged=damages.count > 0)


def _too_long(*_: object) -> None:
    raise TimeoutError("too much time for one page")


def _problem(damaged: list[int]) -> str:
    """Return a sentence that names the damaged pages; empty if there are none."""
    if not damaged:
        return ""
    if len(damaged) == 1:
        return f"Page {damaged[0]} is damaged: some of its text is left out."
    # Consecutive numbers have the same distance to their index.
    runs = itertools.groupby(enumerate(damaged), lambda each: each[1] - each[0])
    spans = []
    for _, run in runs:
        numbers = [number for _, number in run]
        spans.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}")
    return f"Pages {', '.join(spans)} are damaged: some of their text is left out."


def _outline(reader: PdfReader) -> Iterator[Block]:
    """Yield the headings of the outline; a damaged outline has none."""
    try:
        entries = list(_flat(reader.outline, 1))[:_MOST_OF_OUTLINE]
        numbers = [reader.get_destination_page_number(entry) for entry, _ in entries]
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return
    for (entry, level), number in zip(entries, numbers, strict=True):
        title = " ".join(str(entry.title or "").split())
        if title and number is not None and number >= 0:
            yield Block(title, level, number + 1)


def _flat(entries: Sequence[Any], level: int) -> Iterator[tuple[Any, int]]:
    for entry in entries:
        if not isinstance(entry, list):
            yield entry, level
        elif level < _DEEPEST:
            yield from _flat(entry, level + 1)


def _under(titles: list[Block], text: str, page: int) -> Iterator[Block]:
    """Yield a page's text, split at its headings; a heading that is not found comes first."""
    for heading in titles:
        place = _place_of(heading.text, text)
        if place is not None:
            start, end = place
            yield Block(text[:start], 0, page)
            text = text[end:]
        yield heading
    yield Block(text, 0, page)


def _place_of(heading: str, text: str) -> tuple[int, int] | None:
    """Return the range of the first lines that are just a heading, possibly numbered.

    A heading is compared from its first letter, once for each line: one expression for the whole
    would try every blank line before it with every blank line after it.
    """
    if len(heading) > _MOST_OF_HEADING:
        return None
    letter = _LETTER.search(heading)
    words = heading[letter.start() if letter else 0 :].split()
    wanted = re.compile(r"\s+".join(map(re.escape, words)) + r"[^\S\n]*$", re.I | re.M)
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        first = _LETTER.search(text, start, end) if letter else _SEEN.search(text, start, end)
        found = wanted.match(text, first.start()) if first else None
        if found:
            return start, found.end()
        start = end
    return None
