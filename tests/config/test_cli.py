"""`heartbit config`, as a person uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

import pytest

from agents.models import Agent, AgentVersion
from heartbit_site.first_start import DEFAULT_WORKSPACE
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.command import Command


AGENT = '[[agents]]\nname = "cli-a"\ndescription = "d"\nsystem_prompt = "é\\n"\n'
GOOD = '[provider]\nname = "openai"\n' + AGENT


@pytest.fixture
def here(tmp_path: Path, database: None) -> Iterator[Path]:
    """The directory the commands are called in; what they import is removed again."""
    yield tmp_path
    imported = Agent.objects.filter(name="cli-a", workspace__slug=DEFAULT_WORKSPACE)
    imported.update(current_version=None)
    AgentVersion.objects.filter(agent__in=imported).delete()
    imported.delete()


class Config(Protocol):
    """`heartbit config`, called in a directory."""

    def __call__(
        self, here: Path, *arguments: str, env: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        """The exit code and what it wrote."""


@pytest.fixture(scope="session")
def config(heartbit: Command) -> Config:
    def call(
        here: Path, *arguments: str, env: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        ended = heartbit("config", *arguments, env=env, cwd=here)
        return ended.code, ended.out, ended.err

    return call


def test_given_no_subcommand_then_they_are_listed(here: Path, config: Config) -> None:
    code, out, err = config(here)
    assert (code, err) == (0, "")
    assert all(f"\n  {name} " in out for name in ("check", "import", "export"))


def test_given_a_good_file_then_check_sums_it_up_without_any_service(
    here: Path, config: Config
) -> None:
    (here / "heartbit.toml").write_text(GOOD)
    away = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    code, out, err = config(here, "check", env=away)
    assert (code, err) == (0, "")
    assert out == "heartbit.toml is in order.\n  model  openai:gpt-6-sol\n  cli-a  no tools\n"
    code, out, err = config(here, "check", "--json", env=away)
    assert json.loads(out)["agents"] == ["cli-a"]


def test_given_groups_of_approvers_then_check_names_what_an_import_needs(
    here: Path, config: Config
) -> None:
    tool = (
        '{ name = "calculate", approver_group = "treasurers", escalate_after_minutes = 5, '
        'escalation_group = "chiefs" }'
    )
    (here / "groups.toml").write_text(f"{GOOD}tools = [{tool}]\n")
    code, _, err = config(here, "check", "groups.toml")
    assert code == 0, err
    assert err.endswith('"chiefs", "treasurers".\n')
    (here / "review.toml").write_text(f'{GOOD}review = "group:editors"\n')
    code, _, err = config(here, "check", "review.toml")
    assert code == 0, err
    assert err.endswith('needs these reviewers, which only a database knows: "group:editors".\n')


def test_given_a_bad_file_then_every_problem_is_a_line_and_the_exit_code_is_3(
    here: Path, config: Config
) -> None:
    (here / "x.toml").write_text("a = 1\n" + GOOD + "max_turn = 2\n")
    code, out, err = config(here, "check", "x.toml")
    assert (code, out) == (3, "")
    assert [line.partition(": ")[0] for line in err.splitlines()] == ["x.toml:1:1", "x.toml:8:1"]
    code, out, err = config(here, "import", "x.toml", "--json")
    assert (code, err) == (3, "")
    assert [problem["line"] for problem in json.loads(out)["problems"]] == [1, 8]


@pytest.mark.parametrize("content", ["", "# later\n"])
def test_given_an_empty_file_then_it_is_said(here: Path, config: Config, content: str) -> None:
    (here / "heartbit.toml").write_text(content)
    code, out, err = config(here, "check")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("heartbit.toml:1:1: ")


def test_given_no_file_then_one_sentence_says_what_to_do(here: Path, config: Config) -> None:
    code, out, err = config(here, "check")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "There is no heartbit.toml in this directory" in err
    code, out, err = config(here, "check", env={"HEARTBIT_CONFIG": "gone.toml"})
    assert code == 3
    assert "HEARTBIT_CONFIG names gone.toml, which does not exist" in err


def test_what_is_imported_is_exported_and_a_file_is_not_overwritten(
    here: Path, config: Config
) -> None:
    (here / "heartbit.toml").write_text(AGENT)
    assert config(here, "import")[0] == 0
    code, out, _ = config(here, "import", "--json")
    assert (code, json.loads(out)["unchanged"]) == (0, ["cli-a"])

    code, exported, err = config(here, "export", env={"PYTHONIOENCODING": "latin-1"})
    assert (code, err) == (0, "")
    assert 'name = "cli-a"\ndescription = "d"\nsystem_prompt = """\né\n"""' in exported

    code, out, err = config(here, "export", "heartbit.toml")
    assert (code, out) == (2, "")
    assert "is there already: add --force" in err
    assert (here / "heartbit.toml").read_text() == AGENT
    assert config(here, "export", "heartbit.toml", "--force")[0] == 0
    assert (here / "heartbit.toml").read_text() == exported
    assert config(here, "check")[0] == 0
    assert [file.name for file in here.iterdir()] == ["heartbit.toml"]

    code, out, err = config(here, "export", "no/such/place.toml")
    assert code == 1
    assert "no/such/place.toml cannot be written: No such file or directory" in err


def test_at_a_terminal_an_import_asks_before_it_removes_something(
    here: Path, config: Config, workspace: Workspace
) -> None:
    file = here / "team.toml"
    file.write_text(
        '[[agents]]\nname = "analyst"\ndescription = ""\nsystem_prompt = "a"\n'
        '[[agents]]\nname = "b"\ndescription = ""\nsystem_prompt = "b"\n'
    )
    env = {"HEARTBIT_WORKSPACE": workspace.slug}
    code, out, err = config(here, "import", "team.toml", "--dry-run", env=env)
    assert (code, err) == (0, "Nothing was changed.\n")
    lost = "delegation_timeout_seconds reset to its default, team without researcher and writer"
    assert f"removes       orchestrator: {lost}\n" in out
    lead = Agent.objects.get(workspace=workspace, name="orchestrator")

    def team() -> set[str]:
        return set(lead.team.values_list("name", flat=True))

    with Terminal("config", "import", str(file), env=env) as terminal:
        assert lost in terminal.sees("Import the file? [y/N]:")
        terminal.types("n")
        terminal.sees("Nothing was imported.")
        assert terminal.ends()[0] == 1
    assert team() == {"analyst", "researcher", "writer"}
    with Terminal("config", "import", str(file), "--yes", env=env) as terminal:
        code, out = terminal.ends()
    assert (code, lost in out) == (0, True)
    assert team() == {"analyst", "b"}
