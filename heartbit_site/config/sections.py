"""The sections of ``heartbit.toml`` and their keys, as pydantic models: types, limits, defaults.

The keys of an agent are the fields of ``agents.models.Agent``, with the same limits and defaults;
a test compares them. Nothing here knows Django.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from heartbit_site.config import rules

Name = Annotated[str, Field(max_length=64), AfterValidator(rules.agent_name)]
ToolName = Annotated[str, Field(max_length=64), AfterValidator(rules.installed_tool)]
FullText = Annotated[str, Field(min_length=1), AfterValidator(rules.storable)]
Description = Annotated[str, Field(max_length=300), AfterValidator(rules.storable)]
Reference = Annotated[
    str, Field(max_length=200), AfterValidator(rules.storable), AfterValidator(rules.reference)
]
FullReference = Annotated[
    str,
    Field(min_length=1, max_length=200),
    AfterValidator(rules.storable),
    AfterValidator(rules.reference),
]
Url = Annotated[str, AfterValidator(rules.storable), AfterValidator(rules.url)]
Queue = Annotated[str, Field(max_length=64), AfterValidator(rules.queue)]
_JSON_TABLE = BeforeValidator(rules.json_table, json_schema_input_type=dict[str, Any] | str)
Schema = Annotated[dict[str, Any], _JSON_TABLE, AfterValidator(rules.usable_schema)]
ResponseSchema = Annotated[Schema, AfterValidator(rules.response_schema)]
Strategy = Annotated[
    dict[str, Any], AfterValidator(rules.storable_json), AfterValidator(rules.strategy)
]
Arguments = Annotated[dict[str, Any], _JSON_TABLE]
Money = Annotated[Decimal, BeforeValidator(rules.money)]
Positive = Annotated[int, Field(ge=1, le=2_147_483_647)]
Count = Annotated[int, Field(ge=0, le=2_147_483_647)]


class Section(BaseModel):
    """A table of the file: no key but its own, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RetrySection(Section):
    """`[provider.retry]`: what agents do that say nothing of their own."""

    max_retries: Annotated[int, Field(ge=0, le=20)] = 3
    base_delay_ms: Count = 500
    max_delay_ms: Count = 30_000


class ProviderSection(Section):
    """`[provider]`: the model of agents that name none."""

    name: Annotated[str, AfterValidator(rules.provider)] = ""
    model: Annotated[str, Field(max_length=150), AfterValidator(rules.one_word)] = ""
    base_url: Url = ""
    retry: RetrySection = RetrySection()


class ServerSection(Section):
    """`[server]`: the server that `submit`, `status`, `result` and `cancel` talk to."""

    url: Url = ""


class ToolSection(Section):
    """One entry of `tools`: a name, or a table."""

    name: ToolName
    enabled: bool = True
    approval: Literal["", "never", "always", "when"] = ""
    approval_when: Schema | None = None
    approval_seconds: Positive | None = None
    approvals: Annotated[int, Field(ge=1, le=20)] = 1
    approvers: Annotated[str, Field(max_length=150)] = ""
    escalate_minutes: Positive | None = None
    escalate_group: Annotated[str, Field(max_length=150)] = ""
    defaults: Arguments = Field(default_factory=dict)


Tool = Annotated[
    ToolSection, BeforeValidator(rules.named, json_schema_input_type=ToolSection | str)
]


class AgentSection(Section):
    """One of `[[agents]]`."""

    name: Name
    description: Description
    system_prompt: FullText | None = None
    system_prompt_file: str | None = None
    enabled: bool = True
    model: Reference = ""
    fallback_models: list[FullReference] = Field(default_factory=list)
    strong_model: Reference = ""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    max_tokens: Positive = 4096
    stop: Annotated[list[FullText], Field(max_length=4)] = Field(default_factory=list)
    reasoning_effort: Literal["", "none", "low", "medium", "high"] = ""
    max_turns: Positive = 10
    max_run_tokens: Annotated[int, Field(ge=1, le=9_223_372_036_854_775_807)] | None = None
    max_run_cost_usd: Money | None = None
    max_runs_per_minute: Positive | None = None
    timeout_seconds: Positive = 600
    max_retries: Annotated[int, Field(ge=0, le=20)] = 3
    retry_base_delay_ms: Count = 500
    retry_max_delay_ms: Count = 30_000
    context_strategy: Strategy = Field(default_factory=lambda: {"type": "unlimited"})
    response_schema: ResponseSchema | None = None
    tools: list[Tool] = Field(default_factory=list)
    approval: Literal["never", "effects", "always"] = "never"
    approval_seconds: Positive | None = None
    uncertain_calls: Literal["ask", "tell", "retry"] = "ask"
    tool_timeout_seconds: Positive = 60
    max_tool_output_bytes: Annotated[int, Field(ge=256, le=2_147_483_647)] = 32_768
    team: list[str] = Field(default_factory=list)
    max_parallel: Annotated[int, Field(ge=1, le=1000)] = 10
    delegation_timeout_seconds: Positive = 600
    queue: Queue = "agents"


class OrchestratorSection(AgentSection):
    """`[orchestrator]`: who is asked when nobody is named."""

    name: Name = "orchestrator"
    description: Description = "Answers a question with the help of its team."
