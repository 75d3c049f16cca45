"""Pictures of runs, as a page shows them: encoded by Heartbit, so nothing of them can be run."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse

from agents.querysets import find_run
from agents.reads.artifacts import stored_content
from heartbit_site.base.access import Access
from heartbit_site.base.pictures import kind_of
from heartbit_site.web.page import page


@page("runs:read")
def picture(request: HttpRequest, access: Access, run: UUID, name: str) -> HttpResponse:
    """Send a stored PNG or JPEG; 404 for any other artifact."""
    content = stored_content(find_run(access, run), name)
    kind = kind_of(content or b"").lower()
    if kind not in ("png", "jpeg"):
        raise Http404("The run has no such picture.")
    response = HttpResponse(content, content_type=f"image/{kind}")
    response["Cache-Control"] = "private, max-age=86400"  # its name has the hash of its content
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
