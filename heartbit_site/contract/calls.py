"""Tool calls of runs, with their outcomes and people's decisions."""

from __future__ import annotations

from pydantic import AliasPath, Field

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_RUNS, Noun


class CallDecisionOut(View):
    """A decision about a call: decider, verdict and arguments."""

    verdict: str = Field(
        description="approved, edited, answered or denied; retried, confirmed or skipped."
    )
    by: str = Field(validation_alias="decided_by")
    via: str = Field(description="Surface, such as terminal or web; grant: a standing permission.")
    reason: str
    arguments: str | None = Field(
        description="Arguments that a person wrote and that ran instead, as JSON."
    )
    digest: str = Field(description="Digest of the shown call.")
    runs_digest: str = Field(
        validation_alias="executed_digest",
        description="Digest of the executed call; empty if none runs.",
    )
    at: Time
    text: str = Field(description="Description, such as `Approved by alice`.")
    grant_id: int | None = Field(
        description="The standing permission that decided it (via grant), or that it created.",
    )


class CallOut(View):
    """A tool call."""

    run_id: Id = Field(description="The call's run, maybe a sub-agent's.")
    call_id: str
    agent: str = Field(validation_alias=AliasPath("run", "agent"))
    tool: str
    arguments: str = Field(description="JSON as the model wrote it.")
    effect: str
    status: str
    result: str | None = Field(description="Null: none yet.")
    decisions: list[CallDecisionOut] = Field(description="The oldest first.")


class CallSummaryOut(CallOut):
    """A tool call in a list, where long texts are cut."""

    shortened: bool = Field(
        description="True if a text is cut, ending with …; `GET /runs/{run_id}/calls/{call_id}` "
        "returns it whole."
    )


class CallsOut(Page):
    """The calls of a run; those of a root run include its sub-agents'."""

    calls: list[CallSummaryOut]


NOUN = Noun("calls", read=READ_RUNS)

LIST_CALLS = NOUN.get("list_calls", "/runs/{run_id}/calls", CallsOut, "List a run's tool calls")
SHOW_CALL = NOUN.get("show_call", "/runs/{run_id}/calls/{call_id}", CallOut, "Get a tool call")
