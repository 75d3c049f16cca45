"""The place of a memory: its scope and its owners."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from heartbit_site.base.errors import about
from memory.choices import Scope
from memory.errors import InvalidMemoryError


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """Scope and owners of a memory; see ``MemoryItem``."""

    workspace_id: int
    scope: Scope
    agent: str = ""
    user_id: int | None = None
    conversation_id: UUID | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns of a memory here.

        Raises:
            InvalidMemoryError: The scope lacks an owner, or has a superfluous one.
        """
        with about("agent"):
            if self.scope == Scope.WORKSPACE and self.agent:
                raise InvalidMemoryError(
                    "A memory of the workspace belongs to no agent: leave the agent out, or "
                    "choose the scope agent."
                )
            if self.scope != Scope.WORKSPACE and not self.agent:
                raise InvalidMemoryError(
                    f"A memory of the scope {self.scope.value} needs an agent."
                )
        with about("user"):
            if self.scope == Scope.PERSON and self.user_id is None:
                raise InvalidMemoryError("A memory of the scope person needs a person.")
            if self.scope in (Scope.WORKSPACE, Scope.AGENT) and self.user_id is not None:
                raise InvalidMemoryError(
                    f"A memory of the scope {self.scope.value} belongs to no person: leave the "
                    "person out, or choose the scope person."
                )
        if self.scope == Scope.CONVERSATION and self.conversation_id is None:
            raise InvalidMemoryError(
                "The scope conversation needs a conversation, and there is none here: choose "
                "another scope."
            )
        return asdict(self)
