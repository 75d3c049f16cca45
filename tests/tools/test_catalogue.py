"""Definitions as rows: immutable, equal to what was registered, and found without any code."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.db import DatabaseError, transaction

from agents.definitions.definition import AgentDefinition, BoundTool
from agents.runtime.toolset.offer import OfferedTools, offered_tools
from heartbit_site.base.credentials import BearerCredential
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Effect, Origin, ToolSpec, spec_of
from tests.installed import uninstall, without_tools
from tools.definitions import catalogue as definitions
from tools.definitions.catalogue import catalogue, record_installed
from tools.definitions.registry import Registry, definition_hash, registry
from tools.models import CatalogueTool, ToolDefinition

if TYPE_CHECKING:
    from pytest_django import DjangoAssertNumQueries

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


def act(key: BearerCredential, zeta: int, alpha: str = "a", middle: bool = True) -> str:  # noqa: FBT001, FBT002
    """Do something, ünïcode too."""
    return f"{zeta}{alpha}{middle}"


ACT = spec_of(act, effect=Effect.IDEMPOTENT)
NEEDS = [{"parameter": "key", "kinds": ["bearer"], "optional": False}]


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "_known", {})


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> ToolSpec:
    """A tool of the installation."""
    monkeypatch.setitem(registry, "act", ACT)
    record_installed()
    return ACT


def shown(offer: OfferedTools) -> list[tuple[str, str, str, Effect, str | None, str]]:
    """What a model and a person are shown of each tool, byte for byte."""
    return [
        (
            spec.name,
            spec.description,
            json.dumps(spec.parameters),
            spec.effect,
            spec.answer_parameter,
            offer.hashes[name],
        )
        for name, spec in offer.specs.items()
    ]


def test_what_is_offered_from_rows_is_what_is_offered_from_the_registry(
    installed: ToolSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = tuple(
        BoundTool(
            name=name, pinned=definition_hash(spec), defaults={"zeta": 1} if spec is ACT else {}
        )
        for name, spec in registry.items()
    )
    agent = AgentDefinition.model_construct(
        version_id=1,
        agent_id=1,
        name="a",
        system_prompt="Work.",
        tools=bound,
        team=(("b", "Helps."),),
    )
    live = {
        child: shown(offered_tools(agent, registry, is_child=child, has_parent=False))
        for child in (True, False)
    }
    assert len(live[True]) == len(registry) == len(live[False]) - 1
    without_tools(monkeypatch)
    known = catalogue(None)
    assert [definition_hash(spec) for spec in known.values()] == [
        tool.pinned for tool in sorted(bound, key=lambda tool: tool.name)
    ]
    assert live == {
        child: shown(offered_tools(agent, known, is_child=child, has_parent=False))
        for child in (True, False)
    }


def test_a_definition_never_changes(installed: ToolSpec) -> None:
    rows = ToolDefinition.objects.filter(pk=definition_hash(installed))
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        rows.update(description="Something else.")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        row = rows.get()
        row.parameters = "{}"
        row.save()
    definitions.store([installed])  # there already: as it was
    assert rows.get().description == "Do something, ünïcode too."


def test_a_tool_that_a_new_release_changed_is_recorded_as_it_is_now(
    installed: ToolSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = replace(installed, description="Do something else.")
    monkeypatch.setitem(registry, "act", newer)
    record_installed()
    row = CatalogueTool.objects.get(workspace=None, name="act")
    assert row.definition_id == definition_hash(newer) != definition_hash(installed)


def test_tools_of_a_workspace_stay_when_those_of_the_installation_are_recorded(
    installed: ToolSpec, workspace: Workspace
) -> None:
    theirs = CatalogueTool.objects.create(
        workspace=workspace, name="theirs", definition_id=definition_hash(installed), origin="mcp"
    )
    gone = CatalogueTool.objects.create(
        workspace=None, name="gone", definition_id=definition_hash(installed), origin="code"
    )
    record_installed()
    assert CatalogueTool.objects.filter(pk=theirs.pk).exists()
    assert not CatalogueTool.objects.filter(pk=gone.pk).exists()


def test_a_definition_is_read_once_a_process(
    installed: ToolSpec,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    digest = definition_hash(installed)
    with django_assert_num_queries(0):
        assert definitions.find("act", digest) is installed, "this process has it"
    without_tools(monkeypatch)
    with django_assert_num_queries(1):
        found = definitions.find("act", digest)
    assert found is not None
    assert definition_hash(found) == digest
    with django_assert_num_queries(0):
        assert definitions.find("act", digest) is found
    assert definitions.find("act", "0" * 64) is None
    with pytest.raises(definitions.ToolNotHereError, match="cannot call the tool act"):
        found.function(zeta=1)


def test_a_pinned_definition_is_found_beside_the_one_of_today(
    installed: ToolSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = definition_hash(installed)
    changed = replace(installed, description="Something else.")
    monkeypatch.setitem(registry, "act", changed)
    record_installed()
    found = definitions.find("act", pinned)
    assert found is not None
    assert found.description == "Do something, ünïcode too."
    assert catalogue(None)["act"] is changed
    row = CatalogueTool.objects.get(name="act", workspace=None)
    assert row.definition_id == definition_hash(changed)
    assert ToolDefinition.objects.filter(name="act").count() == 2


def test_the_catalogue_says_where_a_tool_comes_from_and_what_it_needs(
    installed: ToolSpec,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    rows = CatalogueTool.objects.filter(name="act", workspace=None)
    columns = ("origin", "source", "credentials", "enabled", "definition")
    digest = definition_hash(installed)
    assert rows.values_list(*columns).get() == ("code", __name__, NEEDS, True, digest)
    with django_assert_num_queries(1):
        record_installed()
    upgraded = replace(installed, source="acme 1.1", origin=Origin.PACKAGE)
    monkeypatch.setitem(registry, "act", upgraded)
    record_installed()
    assert rows.values_list(*columns).get() == ("package", "acme 1.1", NEEDS, True, digest)


def test_a_tool_that_is_not_installed_any_more_leaves_the_catalogue(
    installed: ToolSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = definition_hash(installed)
    uninstall(monkeypatch, "act")
    assert "act" not in catalogue(None)
    assert ToolDefinition.objects.filter(pk=digest).exists(), "versions are pinned to it"


def test_a_process_without_tools_changes_nothing(
    installed: ToolSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(catalogue(None))
    without_tools(monkeypatch)
    record_installed()
    assert set(catalogue(None)) == before


def test_a_programs_own_tool_is_in_its_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(ACT, origin=Origin.PROGRAM)
    monkeypatch.setitem(registry, "act", own)
    record_installed()
    assert catalogue(None)["act"] is own
    assert not CatalogueTool.objects.filter(name="act").exists()


def test_what_a_workspace_says_of_a_tool_wins_there(
    installed: ToolSpec, workspace: Workspace
) -> None:
    theirs = replace(installed, description="Theirs.")
    definitions.store([theirs])
    row = CatalogueTool.objects.create(
        workspace=workspace, name="act", definition_id=definition_hash(theirs), origin="code"
    )
    assert catalogue(workspace.pk)["act"].description == "Theirs."
    assert catalogue(None)["act"] is installed
    row.enabled = False
    row.save()
    assert "act" not in catalogue(workspace.pk)
    assert "act" in catalogue(None)
    record_installed()
    assert "act" not in catalogue(workspace.pk), "a start is no word of the workspace's"


def test_a_description_that_cannot_be_stored_is_refused_at_once() -> None:
    with pytest.raises(
        ConfigurationError, match="'act' contains a character that cannot be stored"
    ):
        Registry([replace(ACT, description="a\0b")])
