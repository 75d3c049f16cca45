"""Problem details: the answer of every operation when something went wrong."""

from __future__ import annotations

from pydantic import Field

from heartbit_site.base.view import View


class RemedyOut(View):
    """The operation that helps."""

    operation: str = Field(description="Tag and operationId, such as agents.list_agents.")
    request: str = Field(description="Method and path, such as GET /agents.")
    effect: str = Field(description="A predicate of the request, such as lists them.")
    values: dict[str, str] = Field(description="The parameters of the path.")


class ProblemOut(View):
    """Something went wrong (RFC 9457)."""

    type: str = Field(description="A URI of the kind of problem: urn:heartbit:problem:CODE.")
    title: str = Field(description="The kind in a few words.")
    status: int = Field(description="The response's status.")
    detail: str = Field(description="One sentence for people: what was wrong, how to mend it.")
    code: str = Field(description="A word for programs, such as agent_not_found.")
    scope: str | None = Field(
        default=None, description="With forbidden: the scope that is missing, if it is one."
    )
    remedy: RemedyOut | None = Field(default=None, description="Left out if none is known.")
