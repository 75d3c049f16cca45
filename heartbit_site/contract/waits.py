"""Waits of runs that a person answers, other than the calls of ``contract.approvals``."""

from __future__ import annotations

from pydantic import AliasPath, Field, JsonValue

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Page
from heartbit_site.contract.operation import DECIDE, READ_WAITING, Noun


class WaitOut(View):
    """An open wait that a person answers."""

    run_id: Id
    root_id: Id = Field(validation_alias=AliasPath("run", "root_id"))
    agent: str = Field(validation_alias=AliasPath("run", "agent"))
    key: str = Field(description="Name of the wait within its run.")
    kind: str = Field(description="The kind of wait.")
    label: str = Field(description="Label of the kind.")
    waits_for: str = Field(description="Completes the phrase: the run waits for.")
    command: str = Field(description="Arguments of the `heartbit` command that answers the wait.")
    call_id: str = Field(description="The tool call; empty if none waits.")
    tool: str = Field(description="The tool of that call; empty if none waits.")
    arguments: str = Field(description="The call's arguments as JSON, cut if they are long.")
    task: str = Field(description="Task of the run: the first 500 characters.")
    waiting_since: Time = Field(validation_alias="created_at")
    expires_at: Time | None = Field(description="Time at which the unanswered wait expires.")
    question: str = Field(
        description="Question of the call's tool, or the result to review; empty if there is none."
    )
    result_html: str = Field(
        description="The result to review as sanitised HTML; empty if there is none."
    )
    group: str = Field(description="Group whose members may answer; empty: all who may decide.")
    person: str = Field(description="The only person who may answer; empty: as `group` says.")
    scope: str = Field(description="Right that the answer needs.")
    is_declinable: bool = Field(
        description="True if the wait can be declined with the answer null."
    )
    answer_schema: dict[str, JsonValue] = Field(description="The JSON Schema of the answer.")


class WaitsOut(Page):
    """Open waits that a person answers, the oldest first."""

    waits: list[WaitOut]


class AnswerIn(Body):
    """An answer to a wait."""

    answer: JsonValue = Field(description="Value that fits the schema of GET /waits.")


class AnsweredWaitOut(View):
    """A wait that was answered."""

    run_id: Id
    key: str
    answered_by: str


NOUN = Noun("waits", read=READ_WAITING, write=DECIDE)

LIST_WAITS = NOUN.get(
    "list_waits", "/waits", WaitsOut, "List waits for an answer", command="`heartbit answer`"
)
ANSWER_WAIT = NOUN.post(
    "answer_wait", "/runs/{run_id}/waits/{key}", AnsweredWaitOut, body=AnswerIn, errors=(409,)
)
