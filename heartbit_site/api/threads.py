"""Find a conversation of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from agents.models import Conversation
from heartbit_site.base.errors import NotFoundError

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


class ConversationNotFoundError(NotFoundError):
    """There is no conversation with that id in the workspace."""


def find_conversation(workspace: Workspace, conversation_id: str) -> Conversation:
    """The workspace's conversation with that id.

    Raises:
        ConversationNotFoundError: There is none.
    """
    found = None
    try:
        wanted = UUID(conversation_id)
    except ValueError:
        pass
    else:
        found = Conversation.objects.filter(workspace=workspace, pk=wanted).first()
    if found is None:
        raise ConversationNotFoundError(
            f"In {workspace.slug} there is no conversation {conversation_id[:60]}: "
            "POST /conversations begins one."
        )
    found.workspace = workspace
    return found
