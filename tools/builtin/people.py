"""Questions to people."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from heartbit_site.base.toolspec import Answer, Effect, tool


@tool(effect=Effect.PURE, tags=("builtin",), labels=(), summary="{question}")
def ask_human(
    question: Annotated[
        str,
        Field(
            min_length=1,
            max_length=4_000,
            description="The question, complete for a person who cannot see this conversation.",
        ),
    ],
    answer: Answer,
    form: Annotated[
        dict[str, Any] | None,
        Field(
            description="JSON Schema of the answer, e.g. an object with properties, or an enum to "
            "choose from. Leave it out for an answer in words."
        ),
    ] = None,
) -> Any:
    """Ask a person and wait for the answer, which may take days.

    Use it when you need a decision or a fact that only people can give. They may decline.
    """
    return answer.value
