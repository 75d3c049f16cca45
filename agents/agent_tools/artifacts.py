"""Tool for results that were too long to be shown whole."""

from __future__ import annotations

from typing import Annotated

from django.db.models import BinaryField, F, Func, Value
from pydantic import Field

from agents.errors import ArtifactNotFoundError
from agents.models import Run
from agents.querysets import stored_artifacts
from heartbit_site.base.toolspec import Effect, ToolContext, tool
from tools.texts.text_parts import describe_part

_FRAME_BYTES = 120  # the line before the text


# No labels: the call that returned the result has already labelled the run.
@tool(effect=Effect.PURE, tags=("artifacts",), labels=())
def read_artifact(
    context: ToolContext,
    artifact: Annotated[str, Field(max_length=200, description="Name of the artifact.")],
    offset: Annotated[int, Field(ge=0, le=1_000_000_000, description="First byte to read.")] = 0,
    length: Annotated[int, Field(ge=1, le=1_000_000, description="Bytes to read at most.")] = (
        16_000
    ),
) -> str:
    """Read a part of a tool's result that was too long to be shown whole and is stored."""
    run = Run.objects.select_related("version").get(pk=context.run_id)
    room = run.version.max_tool_output_bytes - _FRAME_BYTES
    part = Func(
        F("content"),
        Value(offset + 1),
        Value(min(length, max(room, 4))),
        function="substring",
        output_field=BinaryField(),
    )
    rows = stored_artifacts(context.root_id).filter(name=artifact)
    row = rows.values_list("size", part).first()
    if row is None:
        raise ArtifactNotFoundError(f"This run has stored no artifact {artifact!r}.")
    return describe_part(artifact, bytes(row[1]), offset=offset, size=row[0])
