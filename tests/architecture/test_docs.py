"""What the documents say is what the code does: states, settings, commands, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents.choices import RunStatus
from agents.journal.events import EVENTS
from agents.runs.transitions import allowed_transitions
from heartbit_site.base.variables import VARIABLES
from heartbit_site.cli.main import COMMANDS
from heartbit_site.web_server.bodies import HELD_BYTES
from tests.web.matrix_routes import ROUTES

ROOT = Path(__file__).parents[2]
LIFECYCLE = (ROOT / "docs/architecture/run-lifecycle.md").read_text()
README = (ROOT / "README.md").read_text()
CODE = ("heartbit_site", "agents", "tools", "memory", "scheduling")
ROW = re.compile(r"^\| (\w) \| (\w+) \| (\w+) \| .+ \| `([a-z_.]+)` \|$", re.MULTILINE)
ARROW = re.compile(r"^ +(\w+) --> (\w+): (\w)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PARAMETER = re.compile(r"\{[^}]*\}")
DOCUMENTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    if "node_modules" not in path.parts
)


#: What people read about the API: decisions say what was once thought.
PAGES = "\n\n".join(
    path.read_text() for path in DOCUMENTS if path.parent.name in ("howto", "contributing")
)


def code() -> str:
    """The Python source of the project, in one string."""
    files = [path for package in CODE for path in (ROOT / package).rglob("*.py")]
    return "\n".join(path.read_text() for path in files)


def test_the_table_of_the_lifecycle_is_the_transition_table() -> None:
    assert (
        sorted(f"{source}>{target}" for _, source, target, _ in ROW.findall(LIFECYCLE))
        == allowed_transitions()
    )


def test_the_drawing_shows_the_same_arrows_with_the_same_letters() -> None:
    table = {(source, target, letter) for letter, source, target, _ in ROW.findall(LIFECYCLE)}
    assert set(ARROW.findall(LIFECYCLE)) == table


def test_every_arrow_is_explained() -> None:
    explained = re.findall(r"^\*\*([a-z](?:, [a-z])*)\. ", LIFECYCLE, re.MULTILINE)
    letters = [letter for group in explained for letter in group.split(", ")]
    assert sorted(letters) == sorted(letter for letter, *_ in ROW.findall(LIFECYCLE))


def test_the_picture_of_the_site_has_every_state_and_letter() -> None:
    words = set(
        re.findall(r">([a-z]+)</text>", (ROOT / "docs/images/run-lifecycle.svg").read_text())
    )
    assert words == {letter for letter, *_ in ROW.findall(LIFECYCLE)} | set(RunStatus.values)


def test_every_status_is_drawn() -> None:
    drawn = {end for source, target, _ in ARROW.findall(LIFECYCLE) for end in (source, target)}
    assert drawn == set(RunStatus.values)


def test_the_lifecycle_names_event_types_that_exist() -> None:
    assert {event for *_, event in ROW.findall(LIFECYCLE)} <= EVENTS.keys()


def test_the_functions_the_lifecycle_names_exist() -> None:
    files = (ROOT / "agents/runs/sql").glob("*.sql")
    functions = "\n".join(path.read_text() for path in files)
    for name in set(re.findall(r"`(heartbit_\w+)`", LIFECYCLE)):
        assert f"FUNCTION {name}(" in functions


def test_the_table_of_the_web_process_has_the_bound_of_all_bodies() -> None:
    operations = (ROOT / "docs/howto/operations.md").read_text()
    [row] = [line for line in operations.splitlines() if line.startswith("| all bodies ")]
    assert f": {HELD_BYTES // 2**20} MB |" in row
    assert "503" in row


def test_the_readmes_first_commands_are_the_demo_and_the_tests() -> None:
    block = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert block is not None
    assert block[1].split("\n")[:2] == ["make demo", "make test"]
    targets = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in targets
    assert "\ntest:" in targets


def test_no_variable_is_read_beside_the_table() -> None:
    """Whoever needs one asks `heartbit_site.base.variables`, which checks what it says."""
    names = "|".join(variable.name for variable in VARIABLES)
    beside = re.compile(rf"""environ(?:\.get\(|\[)\s*["'](?:{names}|HEARTBIT_\w+)["']\]?(?! =)""")
    assert beside.findall(code()) == []


def test_the_readme_names_commands_that_exist() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    used = set(re.findall(r"^heartbit ([a-z]+)", "\n".join(blocks), re.MULTILINE))
    assert used
    assert used <= COMMANDS.keys()


@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
def test_a_page_of_the_documents_names_each_path_of_the_api(path: str) -> None:
    """In full, or after a sibling by its end alone: `/runs/{id}/retry`, `/unquarantine`."""
    first, *rest = path.strip("/").split("/")
    full = "/".join(PARAMETER.sub(r"[^\\s/`?|]+", part) for part in (f"/{first}", *rest))
    if re.search(rf"(?<![\w}}])(?:/api/v1)?{full}(?![\w/{{-])", PAGES):
        return
    ends = [f"`/{'/'.join(rest[at:])}`" for at in range(len(rest))]
    ends += [end.replace("`/", "`.../", 1) for end in ends]
    siblings = [block for block in PAGES.split("\n\n") if f"/{first}" in block]
    spans = PARAMETER.sub("{}", "\n".join(siblings))
    assert any(PARAMETER.sub("{}", end) in spans for end in ends), f"no page names {path}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for link in LINK.findall(document.read_text()):
        if "://" not in link:
            assert (document.parent / link).exists(), link
