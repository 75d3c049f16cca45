"""The header with which a request that is sent again starts nothing new."""

from __future__ import annotations

from typing import Annotated

from ninja import Header

from heartbit_site.contract.model import Word

IdempotencyKey = Annotated[
    Word | None,
    Header(
        alias="Idempotency-Key",
        description="However often a key is sent, only the first request makes something new.",
    ),
]
