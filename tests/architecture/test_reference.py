"""The pages of the reference are what the code says."""

from __future__ import annotations

from tests.reference.pages import DIRECTORY, written


def test_every_page_is_current_and_none_is_left_over() -> None:
    pages = written()
    assert {path.name for path in DIRECTORY.glob("*.md")} == pages.keys()
    for name, text in pages.items():
        assert (DIRECTORY / name).read_text() == text, f"{name}: run `make reference`"
