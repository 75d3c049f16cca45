"""Buttons above a page that ask nothing are links: a foreign page can send a browser there."""

from __future__ import annotations

from django.contrib import admin

from heartbit_site import urls

#: Each leads to another page, or reads and says what it found.
HARMLESS = {"add_from_template", "open_chat", "verify_chains"}

assert urls.urlpatterns, "importing it registers every model"


def test_whatever_changes_something_asks_in_a_dialog() -> None:
    followed: set[str] = set()
    for page in admin.site._registry.values():
        for kind in ("actions_list", "actions_row", "actions_detail"):
            names = getattr(page, kind, ())
            followed |= {name for name in names if not hasattr(getattr(page, name), "dialog")}
    assert followed == HARMLESS
