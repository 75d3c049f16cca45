"""Health of the server."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from django.db import connection
from django.http import HttpRequest
from ninja import Router

from heartbit_site.api.errors import answer
from heartbit_site.base import orm
from heartbit_site.base.view import View

router = Router(tags=["health"])

PATIENCE_SECONDS = 3.0


class HealthOut(View):
    """State of a server that answers, as does its database."""

    status: Literal["ok"]


@router.get(
    "/health",
    auth=None,
    response={200: HealthOut, 503: None},
    operation_id="check_health",
    summary="Check the server's health",
)
async def health(request: HttpRequest) -> Any:
    """Return 200 while the database answers. No key is needed."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await orm.run_in_thread(_ask)
    except TimeoutError:
        message = f"The database did not answer within {PATIENCE_SECONDS:g} seconds."
        return answer(503, "unavailable", message)
    return HealthOut(status="ok")


def _ask() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
