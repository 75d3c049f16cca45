"""Contexts of a run's tool calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from agents.models import Run
from agents.runtime.files.skill_files import read_skill
from agents.runtime.toolset.big_results import read_stored, store_file
from heartbit_site.base.toolspec import ToolContext

if TYPE_CHECKING:
    import httpx


def context_factory(
    *,
    workspace_id: int,
    run_id: UUID,
    root_id: UUID,
    agent: str,
    http: httpx.AsyncClient,
    user_id: int | None = None,
    is_shared: bool = False,
    conversation_id: UUID | None = None,
) -> Callable[[str], ToolContext]:
    """Return a function that builds the context of each call of one run."""

    def build(call_id: str) -> ToolContext:
        return ToolContext(
            workspace_id=workspace_id,
            run_id=run_id,
            root_id=root_id,
            agent=agent,
            call_id=call_id,
            idempotency_key=f"{run_id}:{call_id}",
            http=http,
            user_id=user_id,
            is_shared=is_shared,
            conversation_id=conversation_id,
            read_artifact=partial(read_stored, root_id),
            store_artifact=partial(store_file, run_id, root_id, call_id),
            read_skill=partial(read_skill, run_id),
            is_private=partial(_is_private, run_id),
        )

    return build


def _is_private(run_id: UUID) -> bool:
    return Run.objects.filter(pk=run_id, private_to__isnull=False).exists()
