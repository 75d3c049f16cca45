"""A kind of definition that Heartbit does not have: a spec, and a line in the list of kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import pytest
from django.urls import reverse
from pydantic import Field

from agents.actions.publish_agent import publish_agent
from agents.actions.rollback_agent import rollback_agent
from agents.actions.save_agent import change_agent, create_agent
from agents.definitions.kinds import KINDS, RegisteredKind, UnknownKindError, add_kind
from agents.definitions.setting_types import FullText, Positive
from agents.definitions.snapshot_diff import compare
from agents.definitions.spec import DefinitionSpec, Pinned
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent
from agents.reads.agents import find_version, grantable, spec_of
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.config.apply import import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.operations.agents import compare_versions, show_agent
from tools.definitions.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

ADA = Actor("ada", "web")


class VerseSpec(DefinitionSpec):
    """A verse."""

    rhyme: Annotated[FullText, Pinned()]
    feet: Annotated[Positive, Pinned("metre", late=True)] = 5
    lines: Annotated[list[FullText], Pinned()] = Field(default_factory=list)
    timeout_seconds: Annotated[Positive, Pinned("limits")] = 60


@pytest.fixture
def verse() -> Iterator[type[VerseSpec]]:
    add_kind(RegisteredKind("verse", section="verses", settings=VerseSpec))
    yield VerseSpec
    KINDS.pop("verse", None)


@pytest.fixture
def sonnet(workspace: Workspace, verse: type[VerseSpec]) -> Agent:
    """Version 1 rhymes abab and calculates, version 2 rhymes abba in 7 feet."""
    table = {"name": "sonnet", "description": "Sings.", "rhyme": "abab", "timeout_seconds": 9}
    first = verse.model_validate({**table, "tools": ["calculate"], "team": ["writer"]})
    row = create_agent(workspace, first, by=SYSTEM).row
    second = verse.model_validate({**table, "rhyme": "abba", "feet": 7, "lines": ["Shall I"]})
    change_agent(workspace, "sonnet", second, verse.model_fields.keys(), by=SYSTEM, version=1)
    return Agent.objects.select_related("current_version").get(pk=row.pk)


def snapshot_of(agent: Agent, number: int) -> dict[str, Any]:
    found: dict[str, Any] = find_version(agent, number).snapshot
    return found


def test_its_snapshot_has_what_is_pinned_and_the_kind(sonnet: Agent) -> None:
    first, second = snapshot_of(sonnet, 1), snapshot_of(sonnet, 2)
    assert [tool["name"] for tool in first.pop("tools")] == ["calculate"]
    assert [member["name"] for member in first.pop("team")] == ["writer"]
    beginning = {"format": 2, "kind": "verse", "limits": {"timeout_seconds": 9}}
    assert first == {**beginning, "rhyme": "abab", "lines": []}
    more = {"metre": {"feet": 7}, "tools": [], "team": []}
    assert second == {**beginning, "rhyme": "abba", "lines": ["Shall I"], **more}
    assert (sonnet.kind, sonnet.timeout_seconds) == ("verse", 9)
    assert sonnet.definition == {"rhyme": "abba", "feet": 7, "lines": ["Shall I"]}


def test_changing_one_setting_keeps_the_others(sonnet: Agent, verse: type[VerseSpec]) -> None:
    changed = verse.model_validate({"name": "sonnet", "description": "", "rhyme": "aabb"})
    written = change_agent(sonnet.workspace, "sonnet", changed, {"rhyme"}, by=ADA)
    assert list(written.changes) == ["definition"]
    assert written.row.definition == {"rhyme": "aabb", "feet": 7, "lines": ["Shall I"]}
    assert written.row.timeout_seconds == 9


def test_two_versions_are_compared_with_the_defaults_of_the_kind(sonnet: Agent) -> None:
    found = compare(snapshot_of(sonnet, 1), snapshot_of(sonnet, 2))
    assert {field.name: (field.before, field.after) for field in found.fields} == {
        "rhyme": ("abab", "abba"),
        "lines": ([], ["Shall I"]),
        "metre.feet": (5, 7),
    }
    assert "tool calculate removed" in found.sentence()


def test_a_rollback_restores_settings_tools_and_team(sonnet: Agent) -> None:
    done = rollback_agent(sonnet, 1, by=ADA)
    assert (done.version.number, done.differs) == (1, "")
    assert sonnet.definition == {"rhyme": "abab", "feet": 5, "lines": []}
    assert sonnet.kind == "verse"
    assert [grant.tool for grant in sonnet.bindings.all()] == ["calculate"]
    assert publish_agent(sonnet).number == 1, "publishing it again changes nothing"
    assert spec_of(sonnet).model_dump(include={"rhyme", "team"}) == {
        "rhyme": "abab",
        "team": ["writer"],
    }


def test_an_invalid_setting_is_refused_when_it_is_published(sonnet: Agent) -> None:
    sonnet.definition = {"rhyme": ""}
    sonnet.save()
    with pytest.raises(InvalidSettingError, match="Verse 'sonnet': rhyme must not be empty"):
        publish_agent(sonnet)


def test_settings_of_another_kind_are_refused(sonnet: Agent) -> None:
    writer = spec_of(Agent.objects.get(workspace=sonnet.workspace, name="writer"))
    spec = writer.model_copy(update={"name": "sonnet"})
    with pytest.raises(InvalidSettingError, match="which is of the kind verse, not agent"):
        change_agent(sonnet.workspace, "sonnet", spec, {"description"}, by=ADA)


class TestOfAnUnknownKind:
    @pytest.fixture
    def unknown(self, sonnet: Agent) -> Agent:
        del KINDS["verse"]
        return sonnet

    def test_it_is_not_published(self, unknown: Agent) -> None:
        with pytest.raises(UnknownKindError, match="sonnet is of the kind verse, which is unknown"):
            publish_agent(unknown)

    def test_it_is_not_rolled_back(self, unknown: Agent) -> None:
        with pytest.raises(UnknownKindError, match="HEARTBIT_EXTRA_APPS"):
            rollback_agent(unknown, 1, by=ADA)

    def test_it_is_not_saved(self, unknown: Agent) -> None:
        spec = spec_of(Agent.objects.get(workspace=unknown.workspace, name="writer"))
        with pytest.raises(UnknownKindError, match="which is unknown here"):
            change_agent(unknown.workspace, "sonnet", spec, {"description"}, by=ADA)

    def test_its_page_says_why_it_has_no_form(self, unknown: Agent, browser: Client) -> None:
        page = browser.get(url_of(unknown)).content.decode()
        assert "sonnet is of the kind verse, which is unknown here" in page
        assert 'name="system_prompt"' not in page


def test_its_page_shows_it_and_saves_nothing(sonnet: Agent, browser: Client) -> None:
    page = browser.get(url_of(sonnet)).content.decode()
    assert "sonnet is of the kind verse: change it with heartbit config import." in page
    assert "abba" in page
    assert 'name="system_prompt"' not in page
    assert browser.post(url_of(sonnet), {"description": "Other."}).status_code == 403
    sonnet.refresh_from_db()
    assert (sonnet.kind, sonnet.description) == ("verse", "Sings.")


def test_it_is_exported_and_imported_as_it_was(sonnet: Agent) -> None:
    rollback_agent(sonnet, 1, by=ADA)
    text = export(sonnet.workspace)
    assert '[[verses]]\nname = "sonnet"\n' in text
    tools = grantable(sonnet.workspace_id, catalogue(sonnet.workspace_id))
    assert import_config(sonnet.workspace, parse(text, tools=tools)).updated == ()
    changed = parse(text.replace('"abab"', '"abba"'), tools=tools)
    found = import_config(sonnet.workspace, changed)
    assert (found.updated, found.fields["sonnet"]) == (("sonnet",), ("definition",))
    sonnet.refresh_from_db()
    assert (sonnet.kind, sonnet.definition["rhyme"]) == ("verse", "abba")
    assert export(sonnet.workspace) == text.replace('"abab"', '"abba"')


def test_a_file_of_an_unknown_kind_is_refused_and_its_row_is_left_out(sonnet: Agent) -> None:
    text = export(sonnet.workspace)
    del KINDS["verse"]
    with pytest.raises(ConfigFileError, match="verses is not a section"):
        parse(text)
    again = export(sonnet.workspace)
    assert "# Left out: sonnet is of the kind verse, which is unknown here" in again


def test_the_faults_of_its_section_have_their_places(verse: type[VerseSpec]) -> None:
    text = '[[verses]]\nname = "ode"\ndescription = "Sings."\nrhyme = "a"\nteam = ["nobody"]\n'
    with pytest.raises(ConfigFileError, match=r'verses\.ode\.team\[1\] names "nobody"'):
        parse(text)


def test_the_api_shows_its_kind_and_settings(sonnet: Agent) -> None:
    access = Access(sonnet.workspace, "ada", "api", frozenset({"agents:read"}), None)
    shown = show_agent(access, "sonnet")
    assert (shown.kind, shown.definition["rhyme"], shown.version) == ("verse", "abba", 2)
    assert compare_versions(access, "sonnet").changed


def url_of(agent: Agent) -> str:
    return reverse("admin:agents_agent_change", args=[agent.pk])
