"""Agents: definition, activity and figures, start and stop, and their versions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, Field, JsonValue, model_validator
from pydantic.json_schema import SkipJsonSchema

from agents.definitions.setting_types import Name
from agents.definitions.snapshot_diff import SnapshotDiff
from agents.definitions.spec import AgentSpec
from agents.definitions.templates import KEY, with_template
from agents.reads.views import AgentMetricsOut, AgentState, AgentStatusOut
from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Page, changes
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Noun


class DefinitionOut(View):
    """A definition of any kind and its activity."""

    name: str = Field(validation_alias=AliasPath("agent", "name"))
    kind: str = Field(
        "agent",
        validation_alias=AliasPath("agent", "kind"),
        description="Its kind; `agent`: a model with tools.",
    )
    description: str = Field(validation_alias=AliasPath("agent", "description"))
    tools: list[str] = Field(validation_alias=AliasPath("agent", "current_version", "tool_names"))
    team: list[str] = Field(validation_alias=AliasPath("agent", "current_version", "member_names"))
    queue: str = Field(validation_alias=AliasPath("agent", "queue"))
    version: int = Field(validation_alias=AliasPath("agent", "current_version", "number"))
    state: AgentState
    current_run_id: Id | None = Field(validation_alias="current_run")
    metrics: AgentMetricsOut


Settings = Annotated[
    dict[str, JsonValue],
    Field(
        description="As POST and PATCH take it: the keys of an [[agents]] table of heartbit.toml, "
        "or of the section of its kind."
    ),
]


class AgentOut(DefinitionOut):
    """An agent and its activity."""

    model: str = Field(
        validation_alias=AliasPath("agent", "current_version", "model"),
        description="Empty: the installation's default.",
    )


class AgentDetailOut(AgentOut):
    """An agent with its activity and its editable settings."""

    definition: Settings


class AgentsOut(Page):
    """The workspace's published agents."""

    agents: list[AgentOut]


def _refused(value: Any) -> Any:
    raise ValueError("a request has no files: send the text itself as system_prompt")


NoFile = SkipJsonSchema[Annotated[None, BeforeValidator(_refused)]]


class AgentIn(AgentSpec):
    """An agent, with the keys of an `[[agents]]` table of heartbit.toml."""

    system_prompt_file: NoFile = None
    template: Name = Field(
        "",
        description="Template whose settings it has where none is given, as `GET /agent-templates` "
        "lists them.",
    )
    team: list[Name] = Field(
        default_factory=list, description="Names of agents of the workspace that it delegates to."
    )

    @model_validator(mode="before")
    @classmethod
    def _begin_with_template(cls, data: Any) -> Any:
        if not isinstance(data, dict) or KEY not in data or KEY not in cls.model_fields:
            return data
        try:
            return with_template(data)
        except ValueError as error:
            raise ValueError(f"template {error}") from None


@changes("template", null=False)
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


class TemplateOut(View):
    """A template for new agents."""

    name: Name
    title: str
    description: str
    note: str = Field(description="Advice on what to set before using the agent; empty: none.")
    definition: Settings = Field(validation_alias="settings")


class TemplatesOut(Page):
    """The templates for new agents, by name."""

    templates: list[TemplateOut]


LIST_AGENT_TEMPLATES = NOUN.get(
    "list_agent_templates", "/agent-templates", TemplatesOut, "List templates for agents",
    command="`heartbit agents templates`",
)  # fmt: skip


class AgentUsesOut(View):
    """Effects of the deletion of an agent, and reasons that refuse it."""

    agent: str
    live_runs: int = Field(description="Runs that have not ended; they refuse it.")
    teams: list[str] = Field(description="Agents with it in their team; they refuse it.")
    schedules: list[str] = Field(description="Its schedules; they refuse it.")
    channels: list[str] = Field(description="Channels that it answers; they refuse it.")
    runs: int = Field(description="Runs that stay, with its versions.")
    conversations: int = Field(description="Conversations that stay, without answers.")
    budgets: int = Field(description="Budgets that are deleted with it.")
    grants: int = Field(description="Standing permissions that are revoked with it.")
    refusal: str = Field(description="Sentence on the refusal; empty: none.")


SHOW_AGENT_USES = NOUN.get(
    "show_agent_uses", "/agents/{name}/uses", AgentUsesOut, "Get what a deletion touches"
)
REMOVE_AGENT = NOUN.delete("remove_agent", "/agents/{name}", errors=(409,))


class AgentStatusesOut(Page):
    """Activity of the workspace's agents."""

    agents: list[AgentStatusOut]


STATUSES = Noun("agent_status", module="agents", read=READ_AGENTS, write=WRITE_AGENTS)

LIST_AGENT_STATUSES = STATUSES.get(
    "list_agent_statuses", "/agent-statuses", AgentStatusesOut, "List agents' statuses"
)
SHOW_AGENT_STATUS = STATUSES.get(
    "show_agent_status", "/agents/{name}/status", AgentStatusOut, "Get an agent's status"
)
START_AGENT = STATUSES.post("start_agent", "/agents/{name}/start", AgentStatusOut)
STOP_AGENT = STATUSES.post("stop_agent", "/agents/{name}/stop", AgentStatusOut)
RESTART_AGENT = STATUSES.post("restart_agent", "/agents/{name}/restart", AgentStatusOut)


class VersionOut(View):
    """A version of an agent."""

    number: int
    hash: str
    created_at: Time
    note: str = Field(description="The author's words on the change; empty: none.")
    published_by: str = Field(
        description="Person or program that published it first; empty: not recorded."
    )
    current: bool
    runs: int = Field(description="Number of runs that are pinned to it.")


class VersionsOut(Page):
    """An agent's versions, the newest first."""

    agent: str
    versions: list[VersionOut]


class VersionDetailOut(VersionOut):
    """A version with its content."""

    agent: str
    snapshot: dict[str, Any]


class DiffOut(SnapshotDiff):
    """Changes from one version to another."""

    agent: str
    older: int
    newer: int
    changed: bool


class RolledBackOut(View):
    """The agent after a rollback."""

    agent: str
    version: int = Field(description="The new current version.")
    requested_version: int = Field(validation_alias="wanted")
    differs: str = Field(
        description="Differences from the requested version; empty if there are none."
    )


class RollbackIn(Body):
    """Options of a rollback."""

    force: bool = Field(
        default=False,
        description=(
            "Roll back even if tools, team or skills have changed, using the current ones in a "
            "new version."
        ),
    )


VERSIONS = Noun("versions", module="agents", read=READ_AGENTS, write=WRITE_AGENTS)

LIST_VERSIONS = VERSIONS.get(
    "list_versions", "/agents/{name}/versions", VersionsOut, "List an agent's versions"
)
COMPARE_VERSIONS = VERSIONS.get(
    "compare_versions", "/agents/{name}/versions/diff", DiffOut, "Compare versions"
)
SHOW_VERSION = VERSIONS.get("show_version", "/agents/{name}/versions/{number}", VersionDetailOut)
ROLL_BACK = VERSIONS.post(
    "roll_back", "/agents/{name}/versions/{number}/rollback", RolledBackOut, "Roll an agent back",
    body=RollbackIn, errors=(409,),
)  # fmt: skip
