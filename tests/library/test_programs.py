"""Whole programs, as users write them: the examples of the documentation, and how they end."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents.models import WorkerHeartbeat
from heartbit_site.library import Answer, Approval, Deny, Edit, shared_host

if TYPE_CHECKING:
    pass

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/library.md").read_text()
QUESTION = '"Which of Bonn and Ulm is larger?"'

EXTRA_NAMES = "from heartbit_site.library import Answer, Deny, Edit\n"

pytestmark = pytest.mark.usefixtures("host", "wire_server")


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


def test_the_pages_example_runs_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(blocks(PAGE)[0])
    ended = run("example.py", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Hello from the wire server.\nsucceeded Usage(input_tokens=")
    # A program that just ends leaves properly: no word on stderr, and its host has signed off.
    lines = ended.stderr.splitlines()
    assert [line for line in lines if not line.startswith("not published again")] == []
    host = WorkerHeartbeat.objects.filter(home="local").order_by("id").last()
    assert host is not None
    assert host.left_at is not None


def executed(source: str) -> dict[str, Any]:
    """The names that a module of this source has, which is run in this process."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "example.py", "exec", dont_inherit=True), names)  # noqa: S102
    return names


def test_the_page_delegates_decides_and_is_tested_as_it_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = '[[calls: population {\\"city\\": \\"Bonn\\"}]] [[text: 330000]]'
    task = (
        f'[[delegate: {{"agent": "researcher", "task": "{inner}"}},'
        ' {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Bonn.]]'
    )
    example, members, ask = blocks(PAGE)[:3]
    [test] = [block for block in blocks(PAGE) if "def test_the_team_counts" in block]
    names = executed(example.replace(QUESTION, repr(task)) + EXTRA_NAMES + members + ask + test)
    assert names["both"].team.offered == ["poet", "drafts"]
    assert capsys.readouterr().out.startswith("Bonn.\nsucceeded ")
    result = names["result"]
    assert result.blackboard == {
        "language": "English",
        "agent:researcher": "330000",
        "agent:writer": "Prose.",
    }
    finished = [event.data.content for event in result.events if event.type == "tool.finished"]
    assert "330000" in finished
    shared_host.close()  # a new host reads the environment anew
    assert asyncio.run(names["test_the_team_counts"](monkeypatch)) is None
    assert capsys.readouterr().out == "Bonn has 330,000."
    assert names["ask"](letter(tool="send_letter", arguments={"to": "Anna"})) == Edit({"to": "me"})
    assert names["ask"](letter(tool="pay", arguments={"amount": 5})) is True
    assert names["ask"](letter(tool="pay", arguments={"amount": 500})) == Deny("Too much.")
    asked = letter(tool="ask_human", arguments={"question": "Which city?"}, form={"type": "string"})
    assert names["ask"](asked) == Answer("Bonn")


def letter(*, tool: str, arguments: dict[str, Any], form: dict[str, Any] | None = None) -> Approval:
    return Approval(
        agent="clerk",
        tool=tool,
        arguments=arguments,
        effect="at_most_once",
        reason="It asks.",
        run_id=uuid.UUID(int=1),
        call_id="1.0",
        digest="",
        form=form,
    )
