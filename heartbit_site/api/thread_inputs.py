"""What a request that changes a conversation holds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from agents.choices import SecondMessage  # noqa: TC001  pydantic evaluates the annotations
from heartbit_site.api.inputs import Body
from heartbit_site.contract.model import Word  # noqa: TC001


class ConversationChangeIn(Body):
    """What is to be different; what is left out stays."""

    title: Word | None = Field(
        None, description="Empty: it is called by the beginning of its first message."
    )
    second_message: Annotated[SecondMessage, Field(strict=False)] | None = Field(
        None, description="What becomes of a message while the last one is still worked on."
    )

    @model_validator(mode="after")
    def _changes(self) -> ConversationChangeIn:
        if self.title is None and self.second_message is None:
            raise ValueError("name what is to change: title or second_message")
        return self
