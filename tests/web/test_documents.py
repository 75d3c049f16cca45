"""The documentation site: built without a warning, complete, and served as everything else is."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag, urljoin

import pytest
from playwright.sync_api import expect

from heartbit_site.documents import pages
from heartbit_site.documents.build import SITE
from heartbit_site.documents.sources import PROJECT
from tests.clients import Client
from tests.docs.commands import ROOT
from tests.web.axe import serious

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.conftest import Visitors

HREF: Final = re.compile(r'(?:href|src)="([^"]+)"')
LINK: Final = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
ID: Final = re.compile(r' (?:id|name)="([^"]+)"')


@pytest.fixture(scope="module")
def site_of_documents() -> None:
    """As `make docs`: warnings of the packages that build it are no errors of a test."""
    command = [sys.executable, "-m", "heartbit_site.documents.build"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def get(name: str, **headers: str) -> tuple[int, str, bytes]:
    answer = Client(headers={"host": "localhost", **headers}).get(f"/docs/{name}")
    return answer.status_code, answer.headers.get("Content-Type", ""), answer.content


@pytest.mark.usefixtures("site_of_documents")
def test_every_page_is_there_as_html_and_as_markdown() -> None:
    docs = ROOT / "docs"
    names = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} | PROJECT.keys()
    for name in sorted(names):
        assert (SITE / name).with_suffix(".html").is_file(), name
        assert (SITE / name).is_file(), name


@pytest.mark.usefixtures("site_of_documents")
def test_links_of_pages_and_of_their_markdown_lead_to_what_is_there() -> None:
    texts = {path: path.read_text() for path in [*SITE.rglob("*.html"), *SITE.rglob("*.md")]}
    anchors = {path: set(ID.findall(text)) for path, text in texts.items()}
    missing = []
    for page, text in texts.items():
        for link in (HREF if page.suffix == ".html" else LINK).findall(text):
            whole, anchor = urldefrag(link)
            address = whole.partition("?")[0]
            if "://" in address or address.startswith(("mailto:", "data:", "/")):
                continue
            target = SITE / urljoin(page.relative_to(SITE).as_posix(), address) if address else page
            named = page.suffix != ".html" or not anchor or anchor in anchors.get(target, {anchor})
            if not target.is_file() or not named:
                missing.append(f"{page.relative_to(SITE)}: {link}")
    assert missing == []


@pytest.mark.usefixtures("site_of_documents")
def test_pages_are_served_to_everybody_and_kept_until_they_change() -> None:
    assert get("howto/web.html")[:2] == (200, "text/html; charset=utf-8")
    assert get("howto/web.md")[:2] == (200, "text/markdown; charset=utf-8")
    assert b"(howto/web.md)" in get("llms.txt")[2]
    answer = Client(headers={"host": "localhost"}).get("/docs/")
    assert "'unsafe" not in answer.headers["Content-Security-Policy"]
    unchanged = Client(headers={"host": "localhost", "if-none-match": answer.headers["ETag"]})
    assert unchanged.get("/docs/").status_code == 304
    for name in (
        "nothing.html",
        "../build.py",
        "..%2Fbuild.py",
        "%2Fetc/passwd",
        "howto",
        "a\x00b",
    ):
        assert get(name)[0] == 404, name


def test_given_no_site_then_its_page_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pages, "SITE", tmp_path / "none")
    assert get("")[::2] == (404, b"The documentation is not built here: run `make docs`.\n")


@pytest.mark.usefixtures("site_of_documents")
def test_a_reader_finds_a_page_by_its_words_on_screens_of_all_sizes(visitors: Visitors) -> None:
    for width, dark in ((1280, False), (390, True)):
        visitor = visitors(width=width, dark=dark)
        page = visitor.page
        visitor.go("/docs/howto/schedules.html")
        expect(page.get_by_role("heading", name="Schedules", level=1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert [*map(str, serious(page))] == []
        visitor.go("/docs/search.html?q=quarantine")
        page.get_by_role("link", name="Operations", exact=True).first.wait_for()
