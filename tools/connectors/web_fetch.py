"""The tool that reads a web page."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from heartbit_site.base.charsets import decode_text, html_charset
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.transport import FROM_PRIVATE_HOST
from heartbit_site.base.reader_process import ReaderError, ReaderLimits, read_on_loop
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.connectors import page_reader
from tools.mail.headers import one_line
from tools.mail.html_text import text_of_html
from tools.texts.http_messages import PRIVATE_HOST, Url, is_text

PAGE_CHARACTERS = 20_000
_MOST_OF_HTML = 3_000_000  # bytes
_MOST_OF_TITLE = 300
_MOST_OF_URL = 2_000
READ_SECONDS = 15.0
_CPU_SECONDS = 10
_MEMORY_BYTES = 500_000_000
_OUTPUT_BYTES = 32_000_000
_HEAD_BYTES = 4_096


class UnreadablePageError(HeartbitError):
    """The URL does not lead to a page that can be read as text."""


@tool(
    effect=Effect.PURE,
    timeout_seconds=60,
    tags=("connector", "network"),
    labels=(Label.UNTRUSTED, Label.OUTBOUND),
)
async def web_fetch(
    context: ToolContext,
    url: Url,
    start: Annotated[
        int, Field(ge=0, le=page_reader.MOST_CHARACTERS, description="Character to begin at.")
    ] = 0,
) -> str:
    """Read a web page: its title and its main text as Markdown with links.

    A long page is read in parts: give start as its end says. For APIs and raw files use http_get.
    """
    response = await context.http.get(url, headers={"accept": "text/html, text/*;q=0.9, */*;q=0.5"})
    if not response.is_success:
        status = f"{response.status_code} {response.reason_phrase}".strip()
        raise UnreadablePageError(f"The page cannot be read: the server answered {status}.")
    content_type = response.headers.get("content-type", "unknown")[:200]
    if not is_text(content_type, response.content):
        raise UnreadablePageError(
            f"The URL leads not to a page but to a file of {len(response.content)} bytes, "
            f"{content_type}."
        )
    named = response.charset_encoding or html_charset(response.content)
    part = response.content[:_MOST_OF_HTML]
    source, problem = await asyncio.to_thread(decode_text, part, named)
    title, text = await _read(source, str(response.url), content_type)
    lines = [f"# {title}"] if title else []
    lines += [f"URL: {str(response.url)[:_MOST_OF_URL]}"]
    if response.extensions.get(FROM_PRIVATE_HOST):
        lines.append(PRIVATE_HOST)
    if problem:
        lines.append(problem)
    lines += ["", text[start : start + PAGE_CHARACTERS]]
    end = start + PAGE_CHARACTERS
    if start and start >= len(text):
        lines[-1] = f"[The page has only {len(text)} characters: start={start} is beyond its end.]"
    elif end < len(text):
        lines.append(f"\n[The page has {len(text)} characters; read on with start={end}.]")
    return "\n".join(lines)


async def _read(source: str, url: str, content_type: str) -> tuple[str, str]:
    """Return the title and the text of a page, or of another text file."""
    kind = content_type.partition(";")[0].strip().lower()
    if "html" not in kind and not (kind == "unknown" and "<html" in source[:_HEAD_BYTES].lower()):
        return "", source[: page_reader.MOST_CHARACTERS]
    title, text = await _main_text(source, url)
    if not text:  # short pages have no main text, and some pages exceed the reader's limits
        text = await asyncio.to_thread(text_of_html, source)
    return one_line(title, _MOST_OF_TITLE), text[: page_reader.MOST_CHARACTERS] or "(no text)"


async def _main_text(source: str, url: str) -> tuple[str, str]:
    """Return the title and the main text of a page; both empty if the reader failed."""
    data = source.encode("utf-8", "replace")
    limits = ReaderLimits(READ_SECONDS, _CPU_SECONDS, _MEMORY_BYTES, _OUTPUT_BYTES)
    script = Path(page_reader.__file__)
    try:
        page = json.loads(await read_on_loop(script, [url[:_MOST_OF_URL]], data, limits))
    except (ReaderError, ValueError, RecursionError):
        return "", ""
    return page["title"], page["text"]
