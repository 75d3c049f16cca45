"""Files that browsers load: built, hashed, compressed, kept for years."""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING

import pytest
from django.templatetags.static import static
from fontTools.ttLib import TTFont

from heartbit_site.base.installation import STATIC
from heartbit_site.shell import assets
from tests.clients import Client

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db

KEPT = "max-age=315360000, public, immutable"


def length_of(address: str, encoding: str) -> int:
    answer = Client().get(address, headers={"accept-encoding": encoding, "host": "localhost"})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == KEPT
    assert answer.headers.get("content-encoding", "") == encoding
    return int(answer.headers["content-length"])


def test_a_built_file_is_hashed_kept_and_compressed() -> None:
    address = static("heartbit/web/run.js")
    assert re.fullmatch(r"/static/dist/web-run\.[0-9a-f]{12}\.js", address)
    assert "\nexport " not in (STATIC / assets.names()["heartbit/web/run.js"]).read_text()
    assert length_of(address, "br") < length_of(address, "gzip") < length_of(address, "") / 2


def test_a_file_that_is_not_built_keeps_its_address() -> None:
    assert static("admin/js/inlines.js") == "/static/admin/js/inlines.js"


def test_the_same_sources_are_built_to_the_same_files(tmp_path: Path) -> None:
    assert assets.build(tmp_path / "dist") == assets.names()


def test_the_fonts_have_each_symbol_and_letter_that_pages_write() -> None:
    path = STATIC / assets.names()["heartbit/symbols.woff2"]
    font = TTFont(io.BytesIO(path.read_bytes()))
    letters = {name: chr(code) for code, name in font.getBestCmap().items()}
    found = {
        "".join(letters[part] for part in [first, *one.Component])
        for table in font["GSUB"].table.LookupList.Lookup[0].SubTable
        for first, ligatures in table.ligatures.items()
        for one in ligatures
    }
    assert {
        "inbox",
        "smart_toy",
        "unfold_more",
        "arrow_back",
        "filter_list",
        "calendar_today",
    } <= found
    text = TTFont(STATIC / assets.names()["heartbit/Inter-Regular.woff2"])
    assert {ord(letter) for letter in "Aéß€→≥…"} <= set(text.getBestCmap())


def test_a_checkout_that_may_not_be_written_is_taken_as_it_was_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(assets, "fingerprint", lambda: "changed since")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert assets.names.__wrapped__() == assets.names()
