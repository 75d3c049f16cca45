"""What requests about forks hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from heartbit_site.api.inputs import Body
from heartbit_site.contract.model import Text  # noqa: TC001


class ForkIn(Body):
    """Where a fork begins, and what is different in it."""

    turn: Annotated[int, Field(ge=0, le=100_000)] = Field(
        description="The last turn that is kept; 0: the task alone."
    )
    message: Text = Field("", description="What the next model call is told.")
    task: Text = Field("", description="Instead of the run's task.")
    call: Annotated[str, Field(pattern=r"^(\d+\.\d+)?$", max_length=24)] = Field(
        "", description="A call of the turn, such as 2.0; with arguments or result."
    )
    arguments: dict[str, JsonValue] | None = Field(
        None, description="The call's arguments instead: all calls of the turn run again."
    )
    result: Text | None = Field(None, description="The call's result instead: nothing runs again.")
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None, description="Another version of the same agent."
    )
