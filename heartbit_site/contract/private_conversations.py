"""Private conversations as those who manage the workspace see them: figures without a text."""

from __future__ import annotations

from pydantic import Field

from heartbit_site.base.view import Id, Money, Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import MANAGE, Noun
from heartbit_site.contract.runs import Status


class PrivateConversationOut(View):
    """A private conversation, without its title and messages."""

    id: Id = Field(validation_alias="pk")
    owner: str | None = Field(description="Person who reads it; null: the account is deleted.")
    agent: str
    created_at: Time
    active_at: Time = Field(description="Time of the last message, else of the creation.")
    status: Status | None = Field(
        validation_alias="last_status",
        description="Status of the last message's run; null: no message yet.",
    )
    messages: int = Field(description="Number of messages.")
    cost_usd: Money | None = Field(
        description="US dollars, sub-agents included; null if a price is unknown."
    )


class PrivateConversationPageOut(Page):
    """Private conversations, the most recently used first."""

    conversations: list[PrivateConversationOut]


LIST_PRIVATE_CONVERSATIONS = Noun("private_conversations", read=MANAGE, write=MANAGE).get(
    "list_private_conversations", "/private-conversations", PrivateConversationPageOut
)
