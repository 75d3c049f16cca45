"""The page that shows a cited passage between its neighbours."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from heartbit_site.base.access import Access
from heartbit_site.base.visible_text import visible
from heartbit_site.operations.knowledge import show_passage
from heartbit_site.web.page import page, show
from memory.errors import PassageNotFoundError


@page("runs:read")
def passage(request: HttpRequest, access: Access, passage: int) -> HttpResponse:
    """Show a passage; or, with 404, that it is gone with the content that it was a part of."""
    try:
        found = show_passage(access, str(passage))
    except PassageNotFoundError:
        return show(request, access, "web/passage_gone.html", status=404)
    parts = [("before", found.before), ("cited", found), ("after", found.after)]
    context = {
        "passage": found,
        "parts": [(name, part, visible(part.text)) for name, part in parts if part is not None],
    }
    return show(request, access, "web/passage.html", context)
