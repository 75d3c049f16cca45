"""Settings of an agent: the one list of their names, types, defaults, bounds and meaning. Pure.

Derived from ``AgentSpec``: the columns of ``agents.models.Agent``, the admin's form, ``[[agents]]``
of ``heartbit.toml``, the API's requests, the library's options and a version's snapshot; likewise
from ``ToolGrant`` for a bound tool. To add a setting, see docs/contributing/add-an-agent-field.md.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from agents.definitions import validators
from agents.definitions.setting_types import (
    Arguments,
    BaseName,
    Count,
    CredentialNames,
    Description,
    FullReference,
    FullText,
    Group,
    MemoryWeights,
    Money,
    Name,
    Positive,
    Queue,
    Reference,
    ResponseSchema,
    Retries,
    Reviewers,
    Schema,
    SkillName,
    Strategy,
    ToolName,
)
from heartbit_site.base.spec import Spec


@dataclass(frozen=True, slots=True)
class Pinned:
    """Place of a setting in a version's snapshot; a setting without one belongs to no version.

    Attributes:
        group: The object that holds it; empty: the snapshot itself.
        name: Its key there; empty: the setting's own name.
        late: True if the setting was added after the first snapshots: it is omitted at its default,
            so that old digests stay valid. Every new setting is late. The default of a late setting
            must never change: snapshots that omit the setting would change their meaning.
        beside: Setting with which it is stored together, even at its default.
    """

    group: str = ""
    name: str = ""
    late: bool = False
    beside: str = ""


ApprovalTimeout = Annotated[Positive | None, Pinned(name="approval_seconds", late=True)]


class ToolGrant(Spec):
    """A tool that an agent is given."""

    name: ToolName = Field(description="The tool's name in the catalogue.")
    enabled: bool = True
    approval: Annotated[Literal["", "never", "always", "when"], Pinned()] = Field(
        "", description="Calls that need approval. Empty: the agent's setting."
    )
    approval_when: Annotated[Schema | None, Pinned()] = Field(
        None,
        description="For 'when': JSON Schema of the arguments whose calls need approval.",
    )
    approval_timeout_seconds: ApprovalTimeout = Field(
        None,
        description="Seconds after which an undecided call is refused. Empty: the agent's setting.",
    )
    required_approvals: Annotated[int, Field(ge=1, le=20), Pinned(name="approvals", late=True)] = (
        Field(1, description="People who have to approve a call; one denial is enough to deny it.")
    )
    approver_group: Annotated[Group, Pinned(name="approvers", late=True)] = Field(
        "",
        description=(
            "Django group whose members may decide. Empty: all who may decide in the workspace."
        ),
    )
    escalate_after_minutes: Annotated[
        Positive | None, Pinned(name="escalate_minutes", late=True)
    ] = Field(
        None,
        description="Minutes after which an undecided call goes to more people. Empty: never.",
    )
    escalation_group: Annotated[
        Group, Pinned(name="escalate_group", late=True, beside="escalate_after_minutes")
    ] = Field(
        "",
        description="Django group that may decide then. Empty: all who may decide.",
    )
    defaults: Annotated[Arguments, Pinned()] = Field(
        default_factory=dict,
        description="Arguments used when the model gives none: a JSON object.",
    )
    credentials: Annotated[CredentialNames, Pinned(late=True)] = Field(
        default_factory=dict,
        description=(
            "Names of the credentials that the tool uses, by its parameter: a JSON object. Empty: "
            "the only ones that fit."
        ),
    )
    timeout_seconds: Annotated[Positive | None, Pinned(late=True)] = Field(
        None,
        description=(
            "Seconds that one call may take. It shortens the limits of the tool and of the agent, "
            "and never extends them. Empty: they alone hold."
        ),
    )
    requires: Annotated[
        str, Field(max_length=150), AfterValidator(validators.permission), Pinned(late=True)
    ] = Field(
        "",
        description=(
            "Django permission, e.g. shop.view_order, that the person behind the run has to have. "
            "Empty: none."
        ),
    )
    knowledge_bases: Annotated[
        list[BaseName],
        Field(max_length=50),
        AfterValidator(validators.distinct),
        Pinned(late=True),
    ] = Field(
        default_factory=list,
        description=(
            "Knowledge bases that search_knowledge searches: a JSON list of names. Empty: all of "
            "the workspace."
        ),
    )


Tool = Annotated[
    ToolGrant, BeforeValidator(validators.named, json_schema_input_type=ToolGrant | str)
]


class DefinitionSettings(Spec):
    """Settings of every kind of definition, except its tools and its team."""

    name: Name = Field(description="Name for people and other agents, e.g. researcher.")
    description: Description = Field(
        description="Sentence by which an orchestrator chooses an agent for a task."
    )
    enabled: bool = Field(default=True, description="A stopped agent takes no new runs.")
    queue: Queue = Field("agents", description="Worker queue of its runs.")
    review: Reviewers = Field(
        "",
        description=(
            "People who see a result before it is delivered: anyone (who may decide), group:NAME "
            "or person:USERNAME. Empty: as the schedule or the run says, else no one."
        ),
    )
    review_timeout_seconds: Positive | None = Field(
        None, description="Seconds after which a run without a review fails. Empty: never."
    )
    review_escalate_after_minutes: Positive | None = Field(
        None,
        description="Minutes after which all who may decide may review too. Empty: never.",
    )


class DefinitionSpec(DefinitionSettings):
    """A definition of any kind."""

    tools: list[Tool] = Field(default_factory=list)
    team: list[str] = Field(
        default_factory=list,
        description="Sub-agents it may delegate to. An agent with a team is an orchestrator.",
    )


class AgentSettings(DefinitionSettings):
    """Settings of an agent, except its tools and its team."""

    system_prompt: Annotated[FullText, Pinned()] = Field(
        description="The agent's role and instructions."
    )
    model: Annotated[Reference, Pinned()] = Field(
        "",
        description="provider:model, e.g. openai:gpt-5. Empty: the installation's default.",
    )
    fallback_models: Annotated[list[FullReference], Pinned()] = Field(
        default_factory=list,
        description="Used in this order when the model fails: a JSON list of provider:model.",
    )
    strong_model: Annotated[Reference, Pinned(late=True)] = Field(
        "",
        description=(
            "provider:model that takes over for the rest of a run after two unusable answers in a "
            "row of the agent's own model. Empty: none."
        ),
    )
    # Versions pin more than the names: see ``snapshot.write``.
    skills: Annotated[
        list[SkillName], Field(max_length=50), AfterValidator(validators.distinct)
    ] = Field(
        default_factory=list,
        description=(
            "Skills of the workspace: their descriptions are in the prompt, and the agent loads "
            "one when a task calls for it."
        ),
    )
    temperature: Annotated[
        Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None, Pinned()
    ] = Field(None, description="0 is steady, 1 is lively. Empty: the provider's default.")
    max_tokens: Annotated[Positive, Pinned("limits")] = Field(
        4096, description="Token limit of each answer."
    )
    stop: Annotated[list[FullText], Field(max_length=4), Pinned()] = Field(
        default_factory=list, description="Texts that end an answer: a JSON list of strings."
    )
    reasoning_effort: Annotated[Literal["", "none", "low", "medium", "high"], Pinned()] = Field(
        "", description="Effort of a reasoning model. Empty: the provider's default."
    )
    max_turns: Annotated[Positive, Pinned("limits")] = Field(
        10, description="Model calls in one run."
    )
    max_run_tokens: Annotated[
        Annotated[int, Field(ge=1, le=9_223_372_036_854_775_807)] | None,
        Pinned("limits", late=True),
    ] = Field(None, description="Token limit of one run, sub-agents included. Empty: no limit.")
    max_run_cost_usd: Annotated[Money | None, Pinned("limits", late=True)] = Field(
        None,
        description="Cost limit of one run in US dollars, sub-agents included. Empty: no limit.",
    )
    max_runs_per_minute: Positive | None = Field(
        None,
        description=(
            "Limit of runs started per minute, not counting an orchestrator's sub-agents. Empty: "
            "no limit."
        ),
    )
    timeout_seconds: Annotated[Positive, Pinned("limits")] = Field(
        600, description="Seconds of work in one run, without time spent waiting."
    )
    max_wall_seconds: Annotated[Positive | None, Pinned("limits", late=True)] = Field(
        None,
        description=(
            "Seconds from the acceptance of a run to its end, time spent queued and waiting "
            "included. Empty: no limit."
        ),
    )
    max_retries: Annotated[Retries, Pinned("retry")] = Field(
        3, description="Retries of a failed model call."
    )
    retry_base_delay_ms: Annotated[Count, Pinned("retry", "base_delay_ms")] = Field(
        500, description="Longest first pause in milliseconds; it doubles with each retry."
    )
    retry_max_delay_ms: Annotated[Count, Pinned("retry", "max_delay_ms")] = Field(
        30_000, description="Longest pause between two retries in milliseconds."
    )
    context_strategy: Annotated[Strategy, Pinned()] = Field(
        default_factory=lambda: {"type": "unlimited"},
        description=(
            "Part of a long conversation that is sent to the model, e.g. "
            '{"type": "sliding_window", "max_tokens": 100000}.'
        ),
    )
    response_schema: Annotated[ResponseSchema | None, Pinned()] = Field(
        None, description="JSON Schema that the final answer has to fit. Empty: free text."
    )
    approval: Annotated[Literal["never", "effects", "always"], Pinned()] = Field(
        "never",
        description="Tool calls that need approval; a tool's own setting wins.",
    )
    approval_timeout_seconds: ApprovalTimeout = Field(
        None,
        description=(
            "Seconds after which an undecided call is refused; a tool's own setting wins. Empty: "
            "never."
        ),
    )
    uncertain_calls: Annotated[Literal["ask_human", "tell_model", "retry"], Pinned(late=True)] = (
        Field(
            "ask_human",
            description="Handling of a call with an external effect whose worker crashed.",
        )
    )
    mixed_data: Annotated[Literal["ask", "allow"], Pinned(late=True)] = Field(
        "ask",
        description=(
            "Calls that send data out, once private data and text by outsiders were read in the "
            "same run or its sub-agents: ask a person, or allow."
        ),
    )
    execution_mode: Annotated[Literal["never", "always", "auto", "task"], Pinned(late=True)] = (
        Field(
            "never",
            description=(
                "Running of code in an answer's fenced blocks: never, always, auto (if the "
                "answer says [EXECUTE]) or task (if the task says run, test, build, deploy, "
                "install or validate). It needs the tool run_code."
            ),
        )
    )
    code_mode: Annotated[bool, Pinned(late=True)] = Field(
        default=False,
        description=(
            "The model calls its tools from Python scripts, and finds those that it needs, instead "
            "of being sent the schema of each."
        ),
    )
    memory: Annotated[bool, Pinned(late=True)] = Field(
        default=False,
        description=(
            "Remember across runs: give the model what it remembers of the task, and store what "
            "is worth remembering after each run, as the settings below say or with their usual "
            "values."
        ),
    )
    memory_weights: Annotated[MemoryWeights, Pinned(late=True)] = Field(
        default_factory=dict,
        description=(
            "Weights of the parts of a memory's score: a JSON object of relevance, recency, "
            "importance and strength. Left out: 2, 1, 1 and 0.5."
        ),
    )
    memory_tokens: Annotated[int, Field(ge=0, le=100_000), Pinned(late=True)] = Field(
        0,
        description=(
            "Tokens of memories that fit the task best, which the model is given at the start of "
            "a run. 0: none, or 1,000 if memory is on."
        ),
    )
    extract_memories: Annotated[bool, Pinned(late=True)] = Field(
        default=False,
        description=(
            "After each run that succeeded, another one stores what is worth remembering of what "
            "was said."
        ),
    )
    extraction_model: Annotated[Reference, Pinned(late=True)] = Field(
        "",
        description=(
            "provider:model that extracts memories, such as a cheaper one. Empty: the run's model."
        ),
    )
    tool_timeout_seconds: Annotated[Positive, Pinned("limits")] = Field(
        60, description="Seconds that one tool call may take."
    )
    max_tool_output_bytes: Annotated[int, Field(ge=256, le=2_147_483_647), Pinned("limits")] = (
        Field(
            32_768,
            description="Longest tool result in bytes; a longer one is cut, with a note in it.",
        )
    )
    max_parallel: Annotated[int, Field(ge=1, le=1000), Pinned("limits")] = Field(
        10, description="Sub-agents that may run at the same time."
    )
    delegation_timeout_seconds: Annotated[Positive, Pinned("limits")] = Field(
        60, description="Seconds that an orchestrator waits for its sub-agents."
    )


class AgentSpec(DefinitionSpec, AgentSettings):
    """An agent."""


#: The tool that runs the code of answers, for ``execution_mode``.
CODE_TOOL = "run_code"
#: The tools that replace an agent's tools in code mode, the one that runs scripts first.
CODE_MODE_TOOLS = ("run_script", "find_tools")


def has_code_tool(spec: DefinitionSpec) -> bool:
    """Return True if an agent is given the tool that runs the code of answers."""
    return any(tool.enabled and tool.name == CODE_TOOL for tool in spec.tools)


AnySpec = TypeVar("AnySpec", bound=DefinitionSpec)


def with_default_mode(spec: AnySpec, given: Collection[str]) -> AnySpec:
    """Return a new agent's settings with its default execution mode.

    It is ``task`` for an agent that is given ``run_code``, else ``never``.

    Args:
        spec: The settings.
        given: Names of the settings that were given.
    """
    if not isinstance(spec, AgentSpec) or "execution_mode" in given:
        return spec
    if not has_code_tool(spec):
        return spec
    return spec.model_copy(update={"execution_mode": "task"})


#: Settings of an agent that are columns of its row, in display order.
SETTINGS = tuple(name for name in AgentSettings.model_fields if name != "name")
#: Settings of a bound tool that are columns of its row.
GRANT_SETTINGS = tuple(name for name in ToolGrant.model_fields if name != "name")
#: Settings of a bound tool that name a group of people.
GROUPS = ("approver_group", "escalation_group")
