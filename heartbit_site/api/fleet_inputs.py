"""What requests about the fleet hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heartbit_site.api.fields import Word  # noqa: TC001  pydantic evaluates the annotations
from heartbit_site.api.inputs import Body


class PauseIn(Body):
    """Why something is held back."""

    reason: Annotated[
        Word, Field(description="For whoever wonders why nothing moves; it may be empty.")
    ] = ""
