"""What requests about the fleet hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heartbit_site.api.inputs import Body
from heartbit_site.contract.model import Word  # noqa: TC001


class PauseIn(Body):
    """Why something is held back."""

    reason: Annotated[
        Word, Field(description="For whoever wonders why nothing moves; it may be empty.")
    ] = ""
