"""What responses say of what a tree has: artifacts, and its blackboard."""

from __future__ import annotations

from typing import Literal

from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.contract.model import Next  # noqa: TC001


class ArtifactRowOut(Schema):
    """One thing that a run produced, without its content."""

    run: str
    agent: str
    name: str = Field(description="No other of its run has the same.")
    kind: Literal["code", "file", "data", "log"]
    language: str = Field(description="As its author called it; it may be empty.")
    file: str = Field(description="What it is called when it is fetched.")
    size: int = Field(description="Bytes, as it is fetched.")


class ArtifactsOut(Schema):
    """Those of a run and of its sub-agents that have ended, the oldest run's first."""

    artifacts: list[ArtifactRowOut]
    next: Next


class BlackboardRowOut(Schema):
    """A value that the runs of a tree share, in a list; long ones are cut there."""

    key: str
    author: str = Field(description="The agent that wrote it; program: it was there at the start.")
    value: JsonValue = Field(
        description="If it is longer (value_characters), its first 500 characters, the last of "
        "them …, as text: all of it is in `GET /runs/{run_id}/blackboard/entry`."
    )
    value_characters: int = Field(description="Length of the whole: of a text, else of its JSON.")
    updated_at: str
    expires_at: str | None = Field(description="When it is forgotten; null: never.")


class BlackboardEntryOut(BlackboardRowOut):
    """A value that the runs of a tree share."""

    value: JsonValue


class BlackboardOut(Schema):
    """What a tree shares now, by key."""

    entries: list[BlackboardRowOut]
    next: Next
