"""The state store: values that outlive runs."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from agents.actions import state as actions
from agents.actions.state import StatePlace
from agents.models import StateEntry
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.preview import PREVIEW_CHARACTERS, preview
from heartbit_site.base.shared_value import value_text
from heartbit_site.contract import state as contract
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.operations.paging import list_page

Key = Annotated[Word, Field(description="Key of the entry.")]
OfAgent = Annotated[Name, Field(description="Agent whose runs share it.")]
OfConversation = Annotated[Word, Field(description="Conversation whose runs share it.")]


def list_state(
    access: Access,
    *,
    agent: OfAgent = "",
    conversation_id: OfConversation = "",
    cursor: Cursor = None,
    limit: Limit = USUAL,
) -> contract.StateOut:
    """Return the entries of an agent, of a conversation, or else of the workspace, by key.

    Long values are cut: `GET /state/entry` returns the whole value.
    """
    rows = _place(access, agent, conversation_id).entries().select_related("user")
    return list_page(contract.StateOut, rows, "key", cursor, limit, _row)


def set_state(access: Access, body: contract.StateIn) -> contract.StateEntryOut:
    """Store a value; one of the same key in the same scope is replaced, with its time to live.

    The workspace has room for 10,000 entries: 409 if it is full.
    """
    place = _place(access, body.agent, body.conversation_id)
    kept = actions.set_state(
        place, body.key, body.value, ttl_seconds=body.ttl_seconds, by=actor_of(access)
    )
    return _entry(kept)


def get_state(
    access: Access, *, key: Key, agent: OfAgent = "", conversation_id: OfConversation = ""
) -> contract.StateEntryOut:
    """Return one entry with its whole value."""
    return _entry(actions.get_state(_place(access, agent, conversation_id), key))


def has_state(
    access: Access, *, key: Key, agent: OfAgent = "", conversation_id: OfConversation = ""
) -> contract.StateExistsOut:
    """Return whether a key has a value."""
    found = _place(access, agent, conversation_id).entries().filter(key=key)
    return contract.StateExistsOut(exists=found.exists())


def delete_state(
    access: Access, *, key: Key, agent: OfAgent = "", conversation_id: OfConversation = ""
) -> None:
    """Delete an entry. 404 if there is none."""
    place = _place(access, agent, conversation_id)
    actions.get_state(place, key)
    actions.delete_state(place, key, by=actor_of(access))


def _place(access: Access, agent: str, conversation: str) -> StatePlace:
    return StatePlace(access.workspace, agent, _conversation(access, conversation))


def _conversation(access: Access, conversation: str) -> UUID | None:
    """Return the id of a conversation of the workspace; None: none is named."""
    return find_conversation(access, conversation).pk if conversation else None


def _row(entry: StateEntry) -> contract.StateRowOut:
    text = value_text(entry.value)
    shown = entry.value if len(text) <= PREVIEW_CHARACTERS else preview(text)
    return contract.StateRowOut.of(entry, value=shown, value_characters=len(text))


def _entry(entry: StateEntry) -> contract.StateEntryOut:
    return contract.StateEntryOut.of(entry, value_characters=len(value_text(entry.value)))
