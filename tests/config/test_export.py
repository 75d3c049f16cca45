from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agents.actions.publish_agent import publish_agent
from agents.actions.write_agents import create_default_team
from agents.models import Agent, ToolBinding
from heartbit_site.config.apply import import_config
from heartbit_site.config.export import export
from heartbit_site.config.read import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace

STORABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
AWKWARD = st.sampled_from(
    ["'''", '"""', '"', "'", "\\", "\n", "\r\n", "\r", "\t", "\x1b", "\u2028"]
)
PROMPTS = st.lists(st.one_of(st.text(STORABLE, max_size=8), AWKWARD), max_size=8).map("".join)
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=6)
MODELS = st.sampled_from(["", "openai:x", "ollama:qwen3:4b", "openrouter:a/b"])
TOOLS = ["calculate", "current_time", "http_get"]
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(-1e9, 1e9),
        st.text(STORABLE, max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.text(STORABLE, max_size=4), inner, max_size=2),
    ),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(NAMES.map("x_{}".format), JSON, max_size=2)
SCHEMAS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"type": st.just("object")}, optional={"default": JSON, "description": PROMPTS}
    ),
)
BINDINGS = st.one_of(
    st.fixed_dictionaries({"approval": st.sampled_from(["", "never", "always"])}),
    st.just({"approval": "when", "approval_when": {"required": ["x"], "default": None}}),
).flatmap(
    lambda rule: st.fixed_dictionaries(
        {
            "enabled": st.booleans(),
            "defaults": ARGUMENTS,
            **{k: st.just(v) for k, v in rule.items()},
        }
        if "approval_when" in rule
        else {
            "enabled": st.booleans(),
            "defaults": ARGUMENTS,
            "approval": st.just(rule["approval"]),
        }
    )
)
AGENTS = st.fixed_dictionaries(
    {
        "description": PROMPTS.map(lambda text: text[:300]),
        "system_prompt": PROMPTS.filter(bool),
        "model": MODELS,
        "temperature": st.one_of(st.none(), st.floats(0, 2)),
        "stop": st.lists(PROMPTS.filter(bool), max_size=4),
        "reasoning_effort": st.sampled_from(["", "none", "high"]),
        "fallback_models": st.lists(MODELS.filter(bool), max_size=2),
        "strong_model": MODELS,
        "max_run_tokens": st.one_of(st.none(), st.integers(1, 2**63 - 1)),
        "max_run_cost_usd": st.one_of(st.none(), st.decimals(0, 99_999_999, places=4)),
        "max_runs_per_minute": st.one_of(st.none(), st.integers(1, 2**31 - 1)),
        "uncertain_calls": st.sampled_from(["ask_human", "tell_model", "retry"]),
        "max_retries": st.integers(0, 20),
        "retry_base_delay_ms": st.sampled_from([500, 0]),
        "max_tokens": st.sampled_from([4096, 1, 2**31 - 1]),
        "context_strategy": st.sampled_from(
            [{"type": "unlimited"}, {"type": "sliding_window", "max_tokens": 9}]
        ),
        "response_schema": SCHEMAS,
        "approval": st.sampled_from(["never", "effects", "always"]),
        "enabled": st.booleans(),
        "queue": st.sampled_from(["agents", "slow"]),
    }
)
WORKSPACES = st.dictionaries(
    st.one_of(NAMES, st.sampled_from(["orchestrator", "a"])),
    st.tuples(AGENTS, st.dictionaries(st.sampled_from(TOOLS), BINDINGS, max_size=2)),
    max_size=4,
)


@settings(
    max_examples=20,
    phases=[Phase.explicit, Phase.generate],  # shrinking would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=WORKSPACES, model=MODELS, data=st.data())
def test_what_is_exported_imports_to_the_same_versions_and_exports_to_the_same_bytes(
    empty: Callable[[], Workspace], content: dict[str, Any], model: str, data: st.DataObject
) -> None:
    workspace = empty()
    workspace.default_model = model
    workspace.save()
    rows = {}
    for name, (columns, bindings) in content.items():
        rows[name] = Agent.objects.create(workspace=workspace, name=name, **columns)
        for tool, binding in bindings.items():
            ToolBinding.objects.create(agent=rows[name], tool=tool, **binding)
    for name, row in rows.items():
        others = [other for other in rows if other != name]
        team = data.draw(st.lists(st.sampled_from(others), unique=True) if others else st.just([]))
        row.team.set([rows[member] for member in team])
    for row in rows.values():
        publish_agent(row)

    text = export(workspace)
    copy = empty()
    changes = import_config(copy, parse(text))

    assert set(changes.created) == set(content)
    assert export(copy) == text
    assert digests(copy) == digests(workspace)
    assert import_config(workspace, parse(text)).updated == ()


def digests(workspace: Workspace) -> dict[str, tuple[str, bool, str]]:
    """The version each agent is at."""
    rows = Agent.objects.filter(workspace=workspace).select_related("current_version")
    return {
        row.name: (row.current_version.hash if row.current_version else "", row.enabled, row.queue)
        for row in rows
    }


def test_the_default_team_as_a_file(empty: Callable[[], Workspace]) -> None:
    workspace = empty()
    create_default_team(workspace)
    text = export(workspace)
    assert text.startswith("# Heartbit. ")
    assert text.index("[orchestrator]") < text.index('name = "analyst"') < text.index('"writer"')
    assert 'tools = ["blackboard_list", "blackboard_read", "blackboard_write"]' in text
    assert "max_turns" not in text, "a default is written"
    assert "team =" not in text, "the default team is written"


def test_what_a_single_run_brought_is_not_exported(empty: Callable[[], Workspace]) -> None:
    workspace = empty()
    Agent.objects.create(
        workspace=workspace, name="a", system_prompt="p", origin="0123456789abcdef"
    )
    assert "[[agents]]" not in export(workspace)


def test_a_long_schema_stays_readable(empty: Callable[[], Workspace]) -> None:
    workspace = empty()
    schema = {"type": "object", "properties": {f"field{n}": {"type": "string"} for n in range(9)}}
    row = Agent.objects.create(
        workspace=workspace, name="a", system_prompt="p", response_schema=schema
    )
    publish_agent(row)
    text = export(workspace)
    assert '  "properties": {\n    "field0": {' in text
    assert parse(text).agents[0].response_schema == schema
