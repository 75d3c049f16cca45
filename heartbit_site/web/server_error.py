"""The page of a request that failed (``handler500``): perhaps the database is unavailable."""

from __future__ import annotations

import sys
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.defaults import server_error as of_defect

from heartbit_site.base.database_faults import database_fault

_PAGE: Final = (
    "<!doctype html><html lang='en'><head><title>503</title></head><body><p>{sentence}</p></body>"
    "</html>"
)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a request whose view, or whose middleware, raised an error.

    It renders no template: the layout of the pages reads the database.
    """
    error = sys.exception()
    fault = database_fault(error) if error is not None else None
    if fault is None:
        return of_defect(request)
    sentence = "The database is unavailable: try again in a moment."
    if fault.is_disk_full:
        sentence = (
            "The database's disk is full: nothing can be stored until an operator frees space."
        )
    response = HttpResponse(_PAGE.format(sentence=sentence), status=503)
    response["Retry-After"] = "30" if fault.is_disk_full else "2"
    return response
