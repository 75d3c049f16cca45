"""Names are unique and resolvable; a definition has one hash; discovery finds what is marked."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Effect, ToolSpec, tool
from tests.tools.calls import made
from tools import agent_tools
from tools.definitions.registry import Registry, definition_hash, resolve
from tools.texts.near_names import closest


def act(a: int = 1) -> int:
    return a


async def act_on_loop() -> None: ...


def module(**names: object) -> ModuleType:
    result = ModuleType("somewhere.agent_tools")
    vars(result).update(names)
    return result


def test_discovery_finds_every_marked_function_once() -> None:
    @tool(effect=Effect.PURE)
    def first() -> str:
        """Do first."""
        return "1"

    registry = Registry()
    registry.discover([module(first=first, again=first, other=1, plain=act), module(copy=first)])
    assert list(registry) == ["first"]
    assert first() == "1"


def test_the_built_in_tools_are_discovered() -> None:
    registry = Registry()
    registry.discover([agent_tools])
    assert {name: spec.effect.value for name, spec in registry.items()} == {
        "ask_human": "pure",
        "calculate": "pure",
        "run_code": "pure",
        "run_code_online": "at_most_once",
        "current_time": "pure",
        "http_get": "pure",
        "http_request": "at_most_once",
        "list_files": "pure",
        "search_files": "pure",
        "read_file": "pure",
        "fetch_file": "pure",
        "write_file": "idempotent",
        "list_events": "pure",
        "find_free_time": "pure",
        "create_event": "idempotent",
        "update_event": "idempotent",
        "delete_event": "idempotent",
        "read_email": "pure",
        "fetch_attachment": "pure",
        "search_email": "pure",
        "send_email": "at_most_once",
        "web_fetch": "pure",
        "web_search": "pure",
        "webhook": "at_most_once",
    }
    assert all(spec.description and "Args:" not in spec.description for spec in registry.values())


def test_django_discovers_the_tools_of_every_app_at_start() -> None:
    script = (
        "import django; from django.conf import settings; "
        "below = ['django.contrib.contenttypes', 'django.contrib.auth', 'heartbit_site.base']; "
        "settings.configure(INSTALLED_APPS=[*below, 'tools']); django.setup(); "
        "from tools.definitions.registry import registry; assert 'calculate' in registry; "
        "from django.apps import apps; apps.get_app_config('tools').ready()"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", script], cwd=root, check=True)


def test_a_process_that_only_reads_postpones_the_discovery() -> None:
    script = (
        "import django; from django.conf import settings; "
        "below = ['django.contrib.contenttypes', 'django.contrib.auth', 'heartbit_site.base']; "
        "settings.configure(INSTALLED_APPS=[*below, 'tools']); "
        "from tools.definitions import discovery; discovery.postpone(); django.setup(); "
        "from tools.definitions.registry import registry; assert not registry; "
        "discovery.discover(); assert 'calculate' in registry; assert not discovery.is_postponed()"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", script], cwd=root, check=True)


def test_two_tools_of_one_name_are_refused() -> None:
    registry = Registry([made(act)])
    registry.register(registry["act"])
    with pytest.raises(ConfigurationError, match="Two tools have the name 'act'") as refused:
        registry.register(dataclasses.replace(made(act), source="", description="Another."))
    assert str(refused.value).count(__name__) == 2, "each with its module"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "Act"}, "lower-case"),
        ({"name": "a" * 65}, "lower-case"),
        ({"name": "a.b"}, "lower-case"),
        ({"name": ""}, "lower-case"),
        ({"parameters": {"type": "string"}}, "not of type object"),
        ({"parameters": {"type": "object", "required": 1}}, "Tool 'act': The JSON Schema"),
        ({"effect": Effect.TRANSACTIONAL, "function": act_on_loop}, "transactional and async"),
    ],
)
def test_a_definition_that_cannot_work_is_refused(
    changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        Registry([dataclasses.replace(made(act), **changes)])  # type: ignore[arg-type]


def test_the_hash_pins_what_is_shown_and_nothing_else() -> None:
    spec = made(act)
    same = [
        dataclasses.replace(spec, timeout_seconds=1.0, function=act_on_loop, tags=("x",)),
        dataclasses.replace(spec, parameters=dict(reversed(list(spec.parameters.items())))),
    ]
    other = [
        dataclasses.replace(spec, name="acts"),
        dataclasses.replace(spec, description="A tool"),
        dataclasses.replace(spec, effect=Effect.IDEMPOTENT),
        dataclasses.replace(spec, parameters={**spec.parameters, "additionalProperties": True}),
    ]
    assert {definition_hash(one) for one in same} == {definition_hash(spec)}
    assert len({definition_hash(one) for one in [spec, *other]}) == 5


def test_the_hash_is_that_of_the_canonical_text() -> None:
    """A pinned hash outlives releases: this text is a format, not a detail."""
    spec = ToolSpec("act", "Do é.", {"type": "object", "properties": {}}, act, Effect.PURE)
    text = r'["act","Do \u00e9.",{"properties":{},"type":"object"},"pure"]'
    assert definition_hash(spec) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "resolved"),
    [
        ("current_time", "current_time"),
        ("Current-Time", "current_time"),
        ("currentTime", "current_time"),
        ("functions.current_time", "current_time"),
        ("functions:CURRENT TIME", "current_time"),
        ("github_search", "github_search"),
        ("githubsearch", "github_search"),
        ("search", None),
        ("current_tim", None),
        ("", None),
        (".", None),
        ("é", None),
        ("ab", None),  # two tools fit
    ],
)
def test_a_name_resolves_only_when_one_tool_fits(name: str, resolved: str | None) -> None:
    names = ("current_time", "github_search", "a_b", "a__b")
    specs = {known: made(act, name=known) for known in names}
    found = resolve(specs, name)
    assert (found and found.name) == resolved


def test_the_closest_names_come_best_first() -> None:
    names = ["current_time", "current_date", "calculate", "web_search", "time"]
    assert closest("curent_time", names)[0] == "current_time"
    assert len(closest("current", names)) <= 3
    assert closest("zzz", names) == ()


@given(st.text(max_size=80))
def test_any_name_is_answered(name: str) -> None:
    specs = {known: made(act, name=known) for known in ("current_time", "web_search")}
    found = resolve(specs, name)
    assert found is None or found.name in specs
    assert set(closest(name, specs)) <= set(specs)
