"""The blackboard: values that the runs of a tree share."""

from __future__ import annotations

from pydantic import Field, JsonValue

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, Noun


class BlackboardRowOut(View):
    """A value that the runs of a tree share, in a list, where long values are cut."""

    key: str
    author: str = Field(description="The agent that wrote it; `program` for an initial entry.")
    value: JsonValue = Field(
        description="A longer value (value_characters) is cut to 500 characters of text, ending "
        "with …; `GET /runs/{run_id}/blackboard/entry` returns the whole value."
    )
    value_characters: int = Field(
        description="Length of the whole value: of the text, else of its JSON."
    )
    updated_at: Time
    expires_at: Time | None = Field(description="Time at which it is deleted; null: never.")


class BlackboardEntryOut(BlackboardRowOut):
    """A value that the runs of a tree share."""

    value: JsonValue


class BlackboardOut(Page):
    """Entries that a tree of runs shares, by key."""

    entries: list[BlackboardRowOut]


NOUN = Noun("blackboard", read=READ_RUNS)

LIST_BLACKBOARD = NOUN.get(
    "list_blackboard", "/runs/{run_id}/blackboard", BlackboardOut, "List a tree's blackboard"
)
# The key is no part of the path: an agent chooses it, and it may hold slashes, or be two dots.
SHOW_BLACKBOARD_ENTRY = NOUN.get(
    "show_blackboard_entry", "/runs/{run_id}/blackboard/entry", BlackboardEntryOut
)
