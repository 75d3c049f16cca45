"""Health of the server."""

from __future__ import annotations

from typing import Literal

from heartbit_site.base.view import View


class HealthOut(View):
    """State of a server that answers, as does its database."""

    status: Literal["ok"]
