"""The header with which a request that is sent again starts nothing new."""

from __future__ import annotations

from typing import Annotated

from ninja import Header

from heartbit_site.contract.model import Word

IdempotencyKey = Annotated[
    Word | None,
    Header(
        alias="Idempotency-Key",
        description="The same key gives the same run or message, however often it is sent.",
    ),
]
