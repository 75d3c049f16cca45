"""Whole programs, as users write them: the examples of the documentation, and how they end."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from agents.actions.skills import record_shipped_skills
from agents.llm.adapters.scripted import Reply, ScriptedModel, calls
from agents.models import Budget, Delivery, WorkerHeartbeat
from agents.output.respond import NAME as RESPOND
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.apply import import_config
from heartbit_site.config.read import parse
from heartbit_site.library import Answer, Approval, Deny, Edit, shared_host
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.models import Schedule
from tests.mcp.servers import http_server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from agents.llm.messages import ChatRequest
    from heartbit_site.base.models import Workspace

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/library.md").read_text()
EXAMPLES = ROOT / "docs/examples"
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
    example, members, ask, _memory, test = blocks(PAGE)[:5]
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


@pytest.mark.parametrize(
    ("name", "task", "output"),
    [
        (
            "structured.py",
            '[[calls: __respond__ {"name": "Bonn", "people": 330000}]]',
            "Bonn: 330000\n",
        ),
        (
            "approvals.py",
            '[[calls: send_letter {"to": "Anna", "text": "Hi."},'
            ' send_letter {"to": "Bert", "text": "Hi."}]] [[text: Written.]]',
            "(sent to Anna: Hi. Yours, Heartbit)\nWritten.\n",
        ),
        ("single_agent.py", "[[text: Bees pollinate.]]", "Bees pollinate.\n"),
        (
            "team.py",
            '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Straw.]]',
            "Straw.\nagent:writer: Prose.\nlanguage: English\n",
        ),
        ("remembering.py", ["[[text: Noted.]]", "[[text: Bonn.]]"], "Noted.\nBonn.\n"),
        ("workflow.py", "[[text: Owls.]]", None),
        (
            "many.py",
            ["[[text: Bees.]]", "[[text: Honey.]]"],
            "[[text: Bees.]]: Bees.\n[[text: Honey.]]: Honey.\nHello from the wire server.\n",
        ),
    ],
)
def test_an_example_says_what_it_should(
    capsys: pytest.CaptureFixture[str], name: str, task: str | list[str], output: str | None
) -> None:
    main = executed((EXAMPLES / name).read_text())["main"]
    ended = main(task)
    if asyncio.iscoroutine(ended):
        asyncio.run(ended)
    out = capsys.readouterr().out
    if name == "workflow.py":
        assert out.startswith("---\n")
        assert out.endswith("\n---\n")
    else:
        assert out == output


def reply(request: ChatRequest) -> Reply:
    """What the pair and its manager say in every pattern."""
    if not any(tool.name == RESPOND for tool in request.tools):
        return Reply(text="def bees(): ... APPROVED")
    ledger = dict.fromkeys(("facts", "plan", "instruction", "answer"), "Count.")
    return calls((RESPOND, {**ledger, "done": True, "progressing": True, "next": "coder"}))


def test_the_example_of_patterns_does_the_task_with_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = executed((EXAMPLES / "every_pattern.py").read_text())
    names["main"]("Count bees.", ScriptedModel(reply, name="pair"))
    told = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert set(told) == {pattern.name for pattern in names["PATTERNS"]}
    assert told.pop("managed") == "Count."
    assert all("APPROVED" in answer for answer in told.values()), told


def test_the_example_of_code_repair_mends_what_the_tests_refuse(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = [
        "def slug(t):\n    return t\n",
        "def slug(t):\n    return '-'.join(t.lower().split())\n",
    ]
    answers = [calls((RESPOND, {"files": [{"path": "slug.py", "text": one}]})) for one in texts]
    names = executed((EXAMPLES / "code_repair.py").read_text())
    names["main"]("Write slug.py.", ScriptedModel(answers, name="coder"))
    assert capsys.readouterr().out == f"passed: True\n{texts[1]}"


def test_the_example_of_a_server_calls_its_tool(
    capsys: pytest.CaptureFixture[str], settings: Settings
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    main = executed((EXAMPLES / "mcp_agent.py").read_text())["main"]
    with http_server() as url:
        tool = f"server_{urlsplit(url).netloc.replace('.', '_').replace(':', '_')}_add"
        main(url, f'[[calls: {tool} {{"a": 2, "b": 3}}]] [[text: Five.]]')
    assert capsys.readouterr().out.endswith("Five.\n")


def test_the_example_of_a_report_is_scheduled_and_delivered_to_the_drive(
    workspace: Workspace,
) -> None:
    record_shipped_skills()
    import_config(workspace, parse((EXAMPLES / "scheduled_report.toml").read_text()))
    schedule = Schedule.objects.get(workspace=workspace)
    run_schedule_now(schedule, by=SYSTEM)
    kinds = Delivery.objects.filter(workspace=workspace).order_by("position")
    assert [one.kind for one in kinds] == ["drive", "email"]
    assert str(Budget.objects.get(workspace=workspace)) == "schedule Monday report a month"


def test_every_example_is_short_and_tested() -> None:
    here = Path(__file__).read_text()
    for path in EXAMPLES.iterdir():
        assert f'"{path.name}"' in here, f"{path.name} has no test"
        assert len(path.read_text().splitlines()) < 80
