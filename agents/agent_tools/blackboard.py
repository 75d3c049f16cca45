"""Tools for the blackboard of a run tree."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from django.utils import timezone
from pydantic import Field, JsonValue

from agents.models import BlackboardEntry
from agents.querysets import blackboard
from heartbit_site.base.shared_value import check_value
from heartbit_site.base.toolspec import Effect, ToolContext, tool

Key = Annotated[str, Field(min_length=1, max_length=200, description="The entry's name.")]


@tool(effect=Effect.PURE, tags=("blackboard",), labels=())
def blackboard_read(context: ToolContext, key: Key) -> Any:
    """Read an entry of the team's blackboard. A finished member's result is at agent:<name>."""
    entry = blackboard(context.root_id).filter(key=key).first()
    if entry is None:
        return f"There is no entry {key!r}; blackboard_list shows what there is."
    return entry.value


@tool(
    effect=Effect.TRANSACTIONAL,
    tags=("blackboard",),
    labels=(),
    summary="Share {key} with the team: {value}",
)
def blackboard_write(
    context: ToolContext,
    key: Key,
    value: Annotated[JsonValue, Field(description="The value to share: any JSON.")],
    ttl_seconds: Annotated[
        int | None, Field(ge=1, description="Delete it after so long; omit to keep it.")
    ] = None,
) -> str:
    """Share a value with the whole team; an entry of the same name is replaced.

    A text, or an object or list that the others read part by part.
    """
    expires = timezone.now() + timedelta(seconds=ttl_seconds) if ttl_seconds else None
    BlackboardEntry.objects.update_or_create(
        root_id=context.root_id,
        key=key,
        defaults={
            "value": check_value(value),
            "author": context.agent,
            "expires_at": expires,
            "updated_at": timezone.now(),
        },
    )
    return f"Wrote {key!r}."


@tool(effect=Effect.PURE, tags=("blackboard",), labels=())
def blackboard_list(context: ToolContext) -> list[dict[str, str]]:
    """List the entries of the team's shared blackboard with their authors."""
    return [{"key": one.key, "author": one.author} for one in blackboard(context.root_id)]
