"""Pictures that runs were given with their tasks."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from agents.llm.wrappers.pictured import ADDRESS
from agents.models import RunEvent


def pictures_given(run_ids: Collection[UUID]) -> dict[UUID, list[str]]:
    """Return the addresses of stored pictures by run; runs without any are left out."""
    events = RunEvent.objects.filter(run__in=run_ids, seq=1, payload__has_key="images")
    found = {}
    for run_id, images in events.values_list("run_id", "payload__images"):
        stored = [one for one in images if one.startswith(ADDRESS)]
        if stored:
            found[run_id] = stored
    return found
