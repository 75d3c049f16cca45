"""The documentation site at ``/docs/``, for everybody: files of the build, by their names."""

from __future__ import annotations

import hashlib
import mimetypes
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from heartbit_site.documents.build import SITE

MISSING: Final = "The documentation is not built here: run `make docs`.\n"
ABSENT: Final = "There is no such page: /docs/ lists them.\n"
_MARKDOWN: Final = {".md": "text/markdown", ".txt": "text/plain"}
_SECONDS: Final = 300


@require_safe
def documents(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return a page, its Markdown, or a file that it needs."""
    if not SITE.is_dir():
        return HttpResponse(MISSING, status=404, content_type="text/plain; charset=utf-8")
    path = None if "\0" in name else (SITE / (name or "README.html")).resolve()
    if path is None or not path.is_relative_to(SITE) or not path.is_file():
        return HttpResponse(ABSENT, status=404, content_type="text/plain; charset=utf-8")
    content = path.read_bytes()
    kind = _MARKDOWN.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    response = HttpResponse(content, content_type=_with_charset(kind))
    etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={_SECONDS}"
    return get_conditional_response(request, etag=etag, response=response) or response


def _with_charset(kind: str | None) -> str:
    if kind is None:
        return "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
