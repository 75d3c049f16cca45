"""Agents: definition, activity and figures."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from agents.definitions import validators
from agents.definitions.spec import AgentSpec, Description, FullText, Name
from agents.reads.agent_view import AgentMetricsOut, AgentState
from heartbit_site.base.view import Id, View
from heartbit_site.contract.model import Page, without_defaults
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Operation

_AMOUNT = re.compile(r"\d{1,8}(\.\d{1,4})?", re.ASCII)


class AgentOut(View):
    """An agent and its activity."""

    name: str = Field(validation_alias=AliasPath("agent", "name"))
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
        description="Settings in the form of POST and PATCH: the keys of an [[agents]] table of "
        "heartbit.toml."
    )


class AgentsOut(Page):
    """The workspace's published agents."""

    agents: list[AgentOut]


def _written_out(value: Any) -> Any:
    """Read an amount of money in the form of responses."""
    return Decimal(value) if isinstance(value, str) and _AMOUNT.fullmatch(value) else value


def _refused(value: Any) -> Any:
    raise ValueError("a request has no files: send the text itself as system_prompt")


Amount = Annotated[Decimal, BeforeValidator(validators.money), BeforeValidator(_written_out)]
NoFile = SkipJsonSchema[Annotated[None, BeforeValidator(_refused)]]


class AgentIn(AgentSpec):
    """An agent, with the keys of an `[[agents]]` table of heartbit.toml."""

    system_prompt_file: NoFile = None
    max_run_cost_usd: Amount | None = Field(
        None, description="A number, or a decimal string as in responses."
    )
    team: list[Name] = Field(
        default_factory=list, description="Names of agents of the workspace that it delegates to."
    )


class AgentChangeIn(AgentIn):
    """Settings of an agent to change; omitted settings are unchanged.

    `tools` and `team` replace the whole list: what they do not name is removed.
    """

    model_config = ConfigDict(json_schema_extra=without_defaults)

    name: Name = Field("", description="Must be the agent's name, which cannot change.")
    description: Description = ""
    system_prompt: FullText = ""
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None,
        description="The version that you have read: 409 if it is no longer the current one.",
    )


LIST_AGENTS = Operation(
    "agents.list_agents", "GET /agents", AgentsOut, "List agents", READ_AGENTS,
    command="`heartbit agents list`",
)  # fmt: skip
CREATE_AGENT = Operation(
    "agents.create_agent", "POST /agents", AgentDetailOut, "Create an agent", WRITE_AGENTS,
    body=AgentIn, status=201, other_statuses=(200,), errors=(409,),
)  # fmt: skip
SHOW_AGENT = Operation(
    "agents.show_agent", "GET /agents/{name}", AgentDetailOut, "Get an agent", READ_AGENTS,
    command="`heartbit agents show {name}`",
)  # fmt: skip
CHANGE_AGENT = Operation(
    "agents.change_agent", "PATCH /agents/{name}", AgentDetailOut, "Change an agent", WRITE_AGENTS,
    body=AgentChangeIn, errors=(409,),
)  # fmt: skip
