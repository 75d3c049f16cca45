"""`GET /metrics`, for Prometheus: with a key of an operator, since it shows the installation."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from heartbit_site.api import errors
from heartbit_site.api.auth import NeedsAuth
from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.contract.operation import OPERATE
from heartbit_site.monitoring.collector import MetricsText

_AUTH: Final = NeedsAuth(OPERATE)
_TEXT: Final = MetricsText()


@csrf_exempt  # which is asked only of what changes something
async def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics; refusals are problem details, as those of the API."""
    return await orm.run_in_thread(lambda: _answer(request))


def _answer(request: HttpRequest) -> HttpResponse:
    if request.method not in {"GET", "HEAD"}:
        refused = errors.answer(405, "method", f"{request.method} is not allowed here: use GET.")
        refused["Allow"] = "GET, HEAD"
        return refused
    try:
        _AUTH(request)
        response = HttpResponse(_TEXT.read(), content_type=CONTENT_TYPE_PLAIN_0_0_4)
    except HeartbitError as error:
        return errors.heartbit_error(request, error)
    except Exception as error:
        unavailable = errors.database_problem(error)
        if unavailable is None:
            raise
        return unavailable
    response["Cache-Control"] = "no-store"
    return response
