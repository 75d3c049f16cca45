"""The blackboard: values that the runs of a tree share."""

from __future__ import annotations

from pydantic import Field, JsonValue

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, Operation


class BlackboardRowOut(View):
    """A value that the runs of a tree share, in a list; long ones are cut there."""

    key: str
    author: str = Field(description="The agent that wrote it; program: it was there at the start.")
    value: JsonValue = Field(
        description="If it is longer (value_characters), its first 500 characters, the last of "
        "them …, as text: all of it is in `GET /runs/{run_id}/blackboard/entry`."
    )
    value_characters: int = Field(description="Length of the whole: of a text, else of its JSON.")
    updated_at: Time
    expires_at: Time | None = Field(description="Time at which it is deleted; null: never.")


class BlackboardEntryOut(BlackboardRowOut):
    """A value that the runs of a tree share."""

    value: JsonValue


class BlackboardOut(Page):
    """Entries that a tree of runs shares, by key."""

    entries: list[BlackboardRowOut]


LIST_BLACKBOARD = Operation(
    "blackboard.list_blackboard", "GET /runs/{run_id}/blackboard", BlackboardOut,
    "List a tree's blackboard", READ_RUNS,
)  # fmt: skip
# The key is no part of the path: an agent chooses it, and it may hold slashes, or be two dots.
SHOW_BLACKBOARD_ENTRY = Operation(
    "blackboard.show_blackboard_entry", "GET /runs/{run_id}/blackboard/entry", BlackboardEntryOut,
    "Get a blackboard entry", READ_RUNS,
)  # fmt: skip
