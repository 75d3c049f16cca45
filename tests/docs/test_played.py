"""The commands of the documents are played, in a folder of their own, and end as they should.

A page is played from its first command to its last, in one workspace. Where a command names a run,
a memory or a person of the page's story, it is given one of this workspace. What a command prints
is not compared: the tests of each command do that, and play the few that are left out here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from tests.api.server import WebServer, key_for
from tests.cli.places import Place
from tests.docs.commands import PAGES, ROOT, Typed, blocks_of
from tests.docs.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.fleet import Worker

#: Not played here, by how they begin: what plays them.
ELSEWHERE: Final = {
    "heartbit up": "tests/cli/test_up.py",
    "heartbit serve": "tests/cli/test_fleet.py",
    "heartbit web": "tests/cli/test_processes_alone.py",
    "heartbit beat": "tests/cli/test_processes_alone.py",
    "heartbit fleet stop": "tests/cli/test_fleet.py",  # would end the workers of other tests
    "heartbit fleet restart": "tests/cli/test_fleet.py",
    "heartbit fleet halt": "tests/cli/test_fleet.py",
    "heartbit fleet resume": "tests/cli/test_fleet.py",
    "heartbit mcp": "tests/cli/test_mcp.py",
    "heartbit channels add mail": "tests/cli/test_channels.py",
    "heartbit chat-apps": "tests/cli/test_chat_apps.py",
    "heartbit credentials add": "tests/cli/test_credentials.py",
    "heartbit credentials check": "tests/cli/test_credentials.py",
    "heartbit --model compatible:my-model": "tests/llm",
    "python -m pytest": "tests/testing/test_projects.py",
    "python -m tools.sandbox.packages": "tests/tools/sandbox",
    "python -m tools.sandbox.runner": "tests/tools/sandbox",
    "heartbit backup": "tests/operation/test_backup.py",
    "heartbit restore": "tests/operation/test_backup.py",
    "heartbit down": "tests/cli/test_up.py",
    "sh deploy/make-secrets.sh": "tests/deploy/test_compose.py",
    "python -m tests.upgrades.make": "tests/upgrades",
    "python": "tests/examples",
    "celery": "tests/examples",
    "heartbit config import docs/examples/django_app/heartbit.toml": "tests/examples",
    "heartbit config import docs/examples/scheduled_report/scheduled_report.toml": "tests/examples",
    "heartbit schedules run Monday report": "tests/examples",
    "make": "Makefile",
    "pip install": "tests/wheel",
    # Other people's programs, and the shell's.
    "echo": "",
    "cd": "",
    "cp": "",
    "docker": "",
    "export": "",
    "install": "",
    "journalctl": "",
    "kubectl": "",
    "kustomize": "",
    "ollama pull": "",
    "openssl": "",
    "rm": "",
    "systemctl": "",
    "useradd": "",
    "zcat": "",
}
ID: Final = r"ID|0192\.\.\.|01a2\w+-\w+|019c2f04"
#: By how a command begins: a word of the page, and what stands there instead.
MEANT: Final[dict[str, tuple[str, Callable[[World], str]]]] = {
    "heartbit resume": (ID, World.uncertain),
    "heartbit resolve ID": (ID, World.uncertain),
    "heartbit runs show": (ID, World.ended),
    "heartbit runs fork": (ID, World.ended),
    "heartbit runs export": (ID, World.ended),
    "heartbit runs retry": (ID, World.failed),
    "heartbit runs unquarantine": (ID, World.quarantined),
    "heartbit runs discard": (ID, World.quarantined),
    "heartbit runs release": (ID, World.held),
    "heartbit result": (ID, World.ended),
    "heartbit cancel": (ID, World.queued),
    "heartbit deliveries": (ID, World.ended),
    "heartbit memory": ("17", World.memory),
    "heartbit knowledge show": ("117", World.passage),
    "heartbit agents rollback": ("NAME", World.agent),
    "heartbit users create": ("ann|NAME", World.newcomer),
}
#: Added where a person at a terminal is asked.
CONFIRMED: Final = {
    "heartbit users create": "--generate",
    "heartbit memory clear": "--yes",
    "heartbit agents remove": "--yes",
    "heartbit channels remove": "--yes",
    "heartbit schedules remove": "--yes",
    "heartbit skills remove": "--yes",
}
#: Exit codes other than 0.
CODES: Final = {
    "heartbit resume": 4,
}


def begun(typed: Typed, table: dict[str, Any]) -> Any:
    """Return the table's entry for how the command begins, or None."""
    text = " ".join(typed.words)
    return next(
        (found for start, found in table.items() if f"{text} ".startswith(f"{start} ")), None
    )


@pytest.fixture
def world(workspace: Workspace, heartbit: Command, tmp_path: Path, worker: Worker) -> World:
    return World(workspace, tmp_path, Place(heartbit, {"HEARTBIT_WORKSPACE": workspace.slug}))


def as_played(typed: Typed, world: World, known: dict[Any, str]) -> list[str]:
    """Return the command's arguments with what this workspace has in place of the page's."""
    meant, make = begun(typed, MEANT) or ("", World.agent)
    words = []
    for word in typed.words[1:]:
        if not re.fullmatch(meant, word):
            words.append(word)
        elif make is World.memory:  # one goes through all commands of its page
            words.append(known.setdefault(make, "") or make(world))
            known[make] = words[-1]
        else:
            words.append(make(world))
    return [*words, *filter(None, [begun(typed, CONFIRMED)])]


def asked_of(site: WebServer, typed: Typed, key: str) -> httpx.Response:
    """Do what `curl` does with these words."""
    words, headers, body, url = list(typed.words[1:]), {}, None, ""
    while words:
        match words.pop(0):
            case "-H":
                name, _, value = words.pop(0).partition(": ")
                headers[name] = re.sub(r"\$(HEARTBIT_API_KEY|KEY)", key, value)
            case "-d":
                body = words.pop(0)
            case "-s":
                pass
            case address:
                url = re.sub(
                    r"^(https://heartbit\.example|http://127[^/]*|\$HEARTBIT)", site.url, address
                )
    return httpx.request("POST" if body else "GET", url, headers=headers, content=body)


@pytest.mark.parametrize(
    "page",
    # The tutorial is played with what it prints: tests/docs/test_tutorial.py.
    [page for page in PAGES if blocks_of(page) and page.name != "tutorial.md"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_commands_of_a_page_do_what_it_says(
    page: Path, world: World, heartbit: Command, site: WebServer
) -> None:
    world.build(page)
    known: dict[Any, str] = {}
    key = key_for(world.workspace)
    for typed in blocks_of(page):
        where = f"{page.name}:{typed.line}: {typed}"
        if not typed.words or begun(typed, ELSEWHERE) is not None:
            continue
        if typed.words[0] == "curl":
            answer = asked_of(site, typed, key)
            assert answer.is_success, f"{where}: {answer.text}"
            continue
        arguments = as_played(typed, world, known)
        ended = heartbit(*arguments, env=world.heartbit.env, cwd=world.folder)
        assert ended.code == (begun(typed, CODES) or 0), f"{where}: {ended}"


def test_what_is_played_elsewhere_is_in_a_page_and_there() -> None:
    every = [typed for page in PAGES for typed in blocks_of(page)]
    for start, place in ELSEWHERE.items():
        assert any(begun(typed, {start: True}) for typed in every), start
        assert (ROOT / place).exists(), place
