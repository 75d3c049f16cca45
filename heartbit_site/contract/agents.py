"""Agents: definition, activity and figures."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from agents.definitions.spec import AgentSpec, Name
from agents.reads.views import AgentMetricsOut, AgentState
from heartbit_site.base.view import Id, View
from heartbit_site.contract.model import Page, changes
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Noun


class AgentOut(View):
    """An agent and its activity."""

    name: str = Field(validation_alias=AliasPath("agent", "name"))
    kind: str = Field(
        "agent",
        validation_alias=AliasPath("agent", "kind"),
        description="Its kind; `agent`: a model with tools.",
    )
    description: str = Field(validation_alias=AliasPath("agent", "description"))
    model: str = Field(
        validation_alias=AliasPath("agent", "current_version", "model"),
        description="Empty: the installation's default.",
    )
    tools: list[str] = Field(validation_alias=AliasPath("agent", "current_version", "tool_names"))
    team: list[str] = Field(validation_alias=AliasPath("agent", "current_version", "member_names"))
    queue: str = Field(validation_alias=AliasPath("agent", "queue"))
    version: int = Field(validation_alias=AliasPath("agent", "current_version", "number"))
    state: AgentState
    current_run_id: Id | None = Field(validation_alias="current_run")
    metrics: AgentMetricsOut


class AgentDetailOut(AgentOut):
    """An agent with its activity and its editable settings."""

    definition: dict[str, JsonValue] = Field(
        description="As POST and PATCH take it: the keys of an [[agents]] table of heartbit.toml, "
        "or of the section of its kind."
    )


class AgentsOut(Page):
    """The workspace's published agents."""

    agents: list[AgentOut]


def _refused(value: Any) -> Any:
    raise ValueError("a request has no files: send the text itself as system_prompt")


NoFile = SkipJsonSchema[Annotated[None, BeforeValidator(_refused)]]


class AgentIn(AgentSpec):
    """An agent, with the keys of an `[[agents]]` table of heartbit.toml."""

    system_prompt_file: NoFile = None
    team: list[Name] = Field(
        default_factory=list, description="Names of agents of the workspace that it delegates to."
    )


@changes(null=False)
class AgentChangeIn(AgentIn):
    """Settings of an agent to change; omitted settings are unchanged.

    `tools` and `team` replace the whole list: what they do not name is removed.
    """

    name: Name = Field("", description="Must be the agent's name: it cannot be changed.")
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None,
        description="The version that you have read: 409 if it is no longer the current one.",
    )


NOUN = Noun("agents", read=READ_AGENTS, write=WRITE_AGENTS)

LIST_AGENTS = NOUN.get("list_agents", "/agents", AgentsOut, command="`heartbit agents list`")
CREATE_AGENT = NOUN.post(
    "create_agent", "/agents", AgentDetailOut, body=AgentIn, status=201, other_statuses=(200,),
    errors=(409,),
)  # fmt: skip
SHOW_AGENT = NOUN.get(
    "show_agent", "/agents/{name}", AgentDetailOut, command="`heartbit agents show {name}`"
)
CHANGE_AGENT = NOUN.patch(
    "change_agent", "/agents/{name}", AgentDetailOut, body=AgentChangeIn, errors=(409,)
)
