"""The state store: values that outlive runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasPath, Field, JsonValue

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Name, Page, Word
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Noun


class StateRowOut(View):
    """A stored value, in a list, where long values are cut."""

    key: str
    scope: Literal["agent", "conversation", "workspace"]
    agent: str = Field(description="Agent whose runs share it; empty: of another scope.")
    conversation_id: Id | None = Field(description="Conversation whose runs share it, if any.")
    value: JsonValue = Field(
        description="A longer value (value_characters) is cut to 500 characters of text, ending "
        "with …; `GET /state/entry` returns the whole value."
    )
    value_characters: int = Field(
        description="Length of the whole value: of the text, else of its JSON."
    )
    author: str = Field(description="Agent, person or program that wrote it last.")
    run_id: Id | None = Field(description="Run that wrote it last; null: a person or a program.")
    person: str | None = Field(
        None,
        validation_alias=AliasPath("user", "username"),
        description="Person behind its last writer, whose erasure deletes it.",
    )
    updated_at: Time
    expires_at: Time | None = Field(description="Time at which it is deleted; null: never.")


class StateEntryOut(StateRowOut):
    """A stored value."""

    value: JsonValue


class StateOut(Page):
    """Stored values of a scope, by key."""

    entries: list[StateRowOut]


class StateExistsOut(View):
    """Answer to the question whether a key has a value."""

    exists: bool


class StateIn(Body):
    """A value to store. Without an agent and a conversation it is the workspace's."""

    key: Word = Field(min_length=1, description="Key of the entry.")
    value: JsonValue = Field(description="Any JSON of at most 20,000 characters.")
    agent: Name = Field("", description="Agent whose runs share it.")
    conversation_id: Word = Field("", description="Conversation whose runs share it.")
    ttl_seconds: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Seconds until it is deleted; null: it stays."
    )


NOUN = Noun("state", read=READ_RUNS, write=WRITE_RUNS)

LIST_STATE = NOUN.get("list_state", "/state", StateOut, command="`heartbit state list`")
SET_STATE = NOUN.post("set_state", "/state", StateEntryOut, "Set an entry of state", body=StateIn)
# The key is no part of the path: it may hold slashes, or be two dots.
GET_STATE = NOUN.get("get_state", "/state/entry", StateEntryOut, "Get an entry of state")
DELETE_STATE = NOUN.delete("delete_state", "/state/entry", "Delete an entry of state")
HAS_STATE = NOUN.get("has_state", "/state/exists", StateExistsOut, "Check for an entry of state")
