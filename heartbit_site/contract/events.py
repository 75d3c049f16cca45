"""System events: their types are in ``agents.system_events``; a route of the API streams them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from agents.system_events.types import check_pattern
from heartbit_site.contract.model import Word

#: A type of event, or a pattern of types.
Pattern = Annotated[
    Word, AfterValidator(check_pattern), Field(description="Such as run.failed or run.*.")
]
