"""An agent's settings: the one list of their names, types, defaults, bounds and meaning. Pure.

The columns of ``agents.models.Agent``, the admin's form, ``[[agents]]`` of ``heartbit.toml``, the
API's requests, the library's options and a version's snapshot are derived from ``AgentSpec``; the
same of a bound tool from ``ToolGrant``. docs/contributing/add-an-agent-field.md says what is left
to do for a new setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from agents.definitions import validators

Name = Annotated[str, Field(max_length=64), AfterValidator(validators.agent_name)]
ToolName = Annotated[str, Field(min_length=1, max_length=64)]
FullText = Annotated[str, Field(min_length=1), AfterValidator(validators.storable)]
Description = Annotated[str, Field(max_length=300), AfterValidator(validators.storable)]
Reference = Annotated[
    str,
    Field(max_length=200),
    AfterValidator(validators.storable),
    AfterValidator(validators.reference),
]
FullReference = Annotated[
    str,
    Field(min_length=1, max_length=200),
    AfterValidator(validators.storable),
    AfterValidator(validators.reference),
]
Group = Annotated[str, Field(max_length=150), AfterValidator(validators.storable)]
Queue = Annotated[str, Field(max_length=64), AfterValidator(validators.queue)]
_JSON_TABLE = BeforeValidator(validators.json_table, json_schema_input_type=dict[str, Any] | str)
Schema = Annotated[dict[str, Any], _JSON_TABLE, AfterValidator(validators.usable_schema)]
ResponseSchema = Annotated[Schema, AfterValidator(validators.response_schema)]
Strategy = Annotated[
    dict[str, Any], AfterValidator(validators.storable_json), AfterValidator(validators.strategy)
]
Arguments = Annotated[dict[str, Any], _JSON_TABLE]
Money = Annotated[Decimal, BeforeValidator(validators.money)]
Positive = Annotated[int, Field(ge=1, le=2_147_483_647)]
Count = Annotated[int, Field(ge=0, le=2_147_483_647)]
Retries = Annotated[int, Field(ge=0, le=20)]


@dataclass(frozen=True, slots=True)
class Pinned:
    """Place of a setting in a version's snapshot; a setting without one belongs to no version.

    Attributes:
        group: The object that holds it; empty: the snapshot itself.
        name: Its key there; empty: the setting's own name.
        late: It was added when there were snapshots already, so it is left out at its default and
            old digests stay. Every new setting is late, and the default of a late one never
            changes: snapshots that left it out would come to mean something else.
        beside: The setting that it is kept beside, even at its default.
    """

    group: str = ""
    name: str = ""
    late: bool = False
    beside: str = ""


class Spec(BaseModel):
    """Settings: no key but its own, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def default_of(cls, name: str) -> Any:
        """Return a setting's default; of one that has to be given ``PydanticUndefined``."""
        return cls.model_fields[name].get_default(call_default_factory=True)


class ToolGrant(Spec):
    """A tool that an agent is given."""

    name: ToolName = Field(description="The tool's name in the catalogue.")
    enabled: bool = True
    approval: Annotated[Literal["", "never", "always", "when"], Pinned()] = Field(
        "", description="Whether its calls wait for a person. Empty: as the agent says."
    )
    approval_when: Annotated[Schema | None, Pinned()] = Field(
        None,
        description="For 'when': a JSON Schema; calls whose arguments fit it wait for a person.",
    )
    approval_timeout_seconds: Annotated[
        Positive | None, Pinned(name="approval_seconds", late=True)
    ] = Field(
        None,
        description="A call that nobody decides for so long is refused. Empty: as the agent says.",
    )
    required_approvals: Annotated[int, Field(ge=1, le=20), Pinned(name="approvals", late=True)] = (
        Field(1, description="How many people have to approve a call; one who denies it denies it.")
    )
    approver_group: Annotated[Group, Pinned(name="approvers", late=True)] = Field(
        "",
        description=(
            "Only members of this Django group may decide. Empty: whoever may decide at all."
        ),
    )
    escalate_after_minutes: Annotated[
        Positive | None, Pinned(name="escalate_minutes", late=True)
    ] = Field(
        None,
        description="A call that nobody decides for so long goes to more people. Empty: never.",
    )
    escalation_group: Annotated[
        Group, Pinned(name="escalate_group", late=True, beside="escalate_after_minutes")
    ] = Field(
        "",
        description="Its members may then decide as well. Empty: whoever may decide at all.",
    )
    defaults: Annotated[Arguments, Pinned()] = Field(
        default_factory=dict,
        description="Arguments used where the model gives none: a JSON object.",
    )


Tool = Annotated[
    ToolGrant, BeforeValidator(validators.named, json_schema_input_type=ToolGrant | str)
]


class AgentSettings(Spec):
    """Settings of an agent, except its tools and its team."""

    name: Name = Field(description="How people and other agents call it, e.g. researcher.")
    description: Description = Field(
        description="One sentence. An orchestrator reads it to decide whom to give a task."
    )
    system_prompt: Annotated[FullText, Pinned()] = Field(
        description="Who the agent is and how it should work."
    )
    enabled: bool = Field(default=True, description="A stopped agent takes no new runs.")
    model: Annotated[Reference, Pinned()] = Field(
        "",
        description="provider:model, e.g. openai:gpt-5. Empty: the installation's default.",
    )
    fallback_models: Annotated[list[FullReference], Pinned()] = Field(
        default_factory=list,
        description="Asked in this order when the model fails: a JSON list of provider:model.",
    )
    strong_model: Annotated[Reference, Pinned(late=True)] = Field(
        "",
        description=(
            "provider:model that takes over for the rest of a run once the agent's own model has "
            "given two answers in a row that do not do. Empty: none."
        ),
    )
    temperature: Annotated[
        Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None, Pinned()
    ] = Field(None, description="0 is steady, 1 is lively. Empty: the provider's default.")
    max_tokens: Annotated[Positive, Pinned("limits")] = Field(
        4096, description="Limit on each answer."
    )
    stop: Annotated[list[FullText], Field(max_length=4), Pinned()] = Field(
        default_factory=list, description="Texts that end an answer: a JSON list of strings."
    )
    reasoning_effort: Annotated[Literal["", "none", "low", "medium", "high"], Pinned()] = Field(
        "", description="How long a reasoning model thinks. Empty: the provider's default."
    )
    max_turns: Annotated[Positive, Pinned("limits")] = Field(
        10, description="Limit on model calls in one run."
    )
    max_run_tokens: Annotated[
        Annotated[int, Field(ge=1, le=9_223_372_036_854_775_807)] | None,
        Pinned("limits", late=True),
    ] = Field(
        None, description="Tokens one run may use, its sub-agents' included. Empty: no limit."
    )
    max_run_cost_usd: Annotated[Money | None, Pinned("limits", late=True)] = Field(
        None, description="What one run may cost, its sub-agents included. Empty: no limit."
    )
    max_runs_per_minute: Positive | None = Field(
        None,
        description=(
            "Runs that may be started in a minute, not counting those that orchestrators give it. "
            "Empty: no limit."
        ),
    )
    timeout_seconds: Annotated[Positive, Pinned("limits")] = Field(
        600, description="Limit on the time one run works."
    )
    max_retries: Annotated[Retries, Pinned("retry")] = Field(
        3, description="How often a model call that failed is repeated."
    )
    retry_base_delay_ms: Annotated[Count, Pinned("retry", "base_delay_ms")] = Field(
        500, description="Upper limit of the first pause; it doubles with each repetition."
    )
    retry_max_delay_ms: Annotated[Count, Pinned("retry", "max_delay_ms")] = Field(
        30_000, description="Longest pause between two repetitions."
    )
    context_strategy: Annotated[Strategy, Pinned()] = Field(
        default_factory=lambda: {"type": "unlimited"},
        description=(
            "What of a long conversation the model is sent, e.g. "
            '{"type": "sliding_window", "max_tokens": 100000}.'
        ),
    )
    response_schema: Annotated[ResponseSchema | None, Pinned()] = Field(
        None, description="JSON Schema that the final answer has to fit. Empty: free text."
    )
    approval: Annotated[Literal["never", "effects", "always"], Pinned()] = Field(
        "never",
        description="Which of its tool calls wait for a person; a tool's own setting wins.",
    )
    approval_timeout_seconds: Annotated[
        Positive | None, Pinned(name="approval_seconds", late=True)
    ] = Field(
        None,
        description=(
            "A call that nobody decides for so long is refused; a tool's own time wins. Empty: it "
            "waits for as long as it takes."
        ),
    )
    uncertain_calls: Annotated[Literal["ask_human", "tell_model", "retry"], Pinned(late=True)] = (
        Field(
            "ask_human",
            description="Handling of a call with an external effect whose worker crashed.",
        )
    )
    tool_timeout_seconds: Annotated[Positive, Pinned("limits")] = Field(
        60, description="Limit on one tool call."
    )
    max_tool_output_bytes: Annotated[int, Field(ge=256, le=2_147_483_647), Pinned("limits")] = (
        Field(32_768, description="Longer results are cut; the model is told.")
    )
    max_parallel: Annotated[int, Field(ge=1, le=1000), Pinned("limits")] = Field(
        10, description="How many sub-agents may work at once."
    )
    delegation_timeout_seconds: Annotated[Positive, Pinned("limits")] = Field(
        60, description="How long an orchestrator waits for its sub-agents."
    )
    queue: Queue = Field("agents", description="The worker queue its runs go to.")


class AgentSpec(AgentSettings):
    """An agent."""

    tools: list[Tool] = Field(default_factory=list)
    team: list[str] = Field(
        default_factory=list,
        description="Sub-agents it may delegate to. An agent with a team is an orchestrator.",
    )


#: The settings of an agent that are columns of its row, in the order in which people read them.
SETTINGS = tuple(name for name in AgentSettings.model_fields if name != "name")
#: The settings of a bound tool that are columns of its row.
GRANT_SETTINGS = tuple(name for name in ToolGrant.model_fields if name != "name")
#: Those of them that name a group of people.
GROUPS = ("approver_group", "escalation_group")
