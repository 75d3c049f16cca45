"""What requests hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field, JsonValue, model_validator

from heartbit_site.contract.model import Moment, Text  # noqa: TC001


class Body(Schema):
    """A JSON object: no field but its own, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AlwaysIn(Body):
    """A standing permission that goes with an approval."""

    scope: Literal["run", "agent"] = Field(
        description="run: this run and its sub-agents; agent: every run of the agent."
    )
    until: Moment | None = Field(
        None, description="When it ends; null: with the run, or when it is revoked."
    )


class DecisionIn(Body):
    """What a person decided about a call, as it was shown."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        description="Of what was shown: from GET /approvals."
    )
    verdict: Literal["approve", "edit", "answer", "deny"]
    arguments: dict[str, JsonValue] | None = Field(None, description="With edit: what runs.")
    answer: JsonValue = Field(None, description="With answer: fits the form that is asked for.")
    reason: Text = Field("", description="With deny: the model reads it.")
    always: AlwaysIn | None = Field(None, description="With approve: also from now on.")

    @model_validator(mode="after")
    def _fits(self) -> DecisionIn:
        given: dict[str, Any] = {
            "arguments": ("edit", self.arguments is not None),
            "answer": ("answer", "answer" in self.model_fields_set),
            "reason": ("deny", bool(self.reason)),
            "always": ("approve", self.always is not None),
        }
        for name, (verdict, is_given) in given.items():
            if is_given and self.verdict != verdict:
                raise ValueError(f"{name} goes with the verdict {verdict}, not {self.verdict}")
        if self.verdict == "edit" and self.arguments is None:
            raise ValueError("the verdict edit needs arguments")
        if self.verdict == "answer" and "answer" not in self.model_fields_set:
            raise ValueError("the verdict answer needs an answer")
        return self


class DryRunIn(Body):
    """Which call to try, as it was shown."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        description="Of what was shown: from GET /approvals."
    )
    arguments: dict[str, JsonValue] | None = Field(
        None, description="To try it with instead of its own; null: as it was shown."
    )


class OutcomeIn(Body):
    """What became of a call of unknown outcome, or is to become of it."""

    outcome: Literal["retried", "done", "skipped"] = Field(
        description="retried: it is made again; done: it took effect; skipped: it is left."
    )
    result: Text = Field("", description="With done: the model reads it as the call's answer.")

    @model_validator(mode="after")
    def _fits(self) -> OutcomeIn:
        if self.result and self.outcome != "done":
            raise ValueError(f"result goes with the outcome done, not {self.outcome}")
        return self
