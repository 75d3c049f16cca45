"""Problem details: the error response of every operation."""

from __future__ import annotations

from pydantic import Field

from heartbit_site.base.view import View


class RemedyOut(View):
    """An operation that helps to fix the problem."""

    operation: str = Field(description="Tag and operationId, such as agents.list_agents.")
    request: str = Field(description="Method and path, such as GET /agents.")
    effect: str = Field(description="Effect of the operation, as a predicate such as: lists them.")
    values: dict[str, str] = Field(description="The parameters of the path.")


class ProblemOut(View):
    """An error (RFC 9457)."""

    type: str = Field(description="URI of the type of problem: urn:heartbit:problem:CODE.")
    title: str = Field(description="Title of the type.")
    status: int = Field(description="The response's status.")
    detail: str = Field(description="One sentence for people: the problem and its remedy.")
    code: str = Field(description="Code for programs, such as agent_not_found.")
    scope: str | None = Field(
        default=None, description="With the code forbidden: the missing scope, if any."
    )
    remedy: RemedyOut | None = Field(
        default=None, description="Operation that helps; omitted if none is known."
    )
