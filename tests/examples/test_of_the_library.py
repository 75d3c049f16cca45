"""The examples of the library, each run as a program of a user runs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from agents.actions.skills import record_shipped_skills
from agents.llm.adapters.scripted import Reply, ScriptedModel, calls
from agents.models import Budget, Delivery
from agents.output.respond import NAME as RESPOND
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.apply import import_config
from heartbit_site.config.read import parse
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.models import Schedule
from tests.examples.folders import EXAMPLES, imported
from tests.library.conftest import host, own_tools
from tests.mcp.servers import http_server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from agents.llm.messages import ChatRequest
    from heartbit_site.base.models import Workspace

__all__ = ["host", "own_tools"]

pytestmark = pytest.mark.usefixtures("host", "wire_server")


@pytest.mark.parametrize(
    ("name", "task", "output"),
    [
        (
            "structured",
            '[[calls: __respond__ {"name": "Bonn", "people": 330000}]]',
            "Bonn: 330000\n",
        ),
        (
            "approvals",
            '[[calls: send_letter {"to": "Anna", "text": "Hi."},'
            ' send_letter {"to": "Bert", "text": "Hi."}]] [[text: Written.]]',
            "(sent to Anna: Hi. Yours, Heartbit)\nWritten.\n",
        ),
        ("single_agent", "[[text: Bees pollinate.]]", "Bees pollinate.\n"),
        (
            "team",
            '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Straw.]]',
            "Straw.\nagent:writer: Prose.\nlanguage: English\n",
        ),
        ("remembering", ["[[text: Noted.]]", "[[text: Bonn.]]"], "Noted.\nBonn.\n"),
        ("workflow", "[[text: Owls.]]", None),
        (
            "many",
            ["[[text: Bees.]]", "[[text: Honey.]]"],
            "[[text: Bees.]]: Bees.\n[[text: Honey.]]: Honey.\nHello from the wire server.\n",
        ),
    ],
)
def test_an_example_says_what_it_should(
    capsys: pytest.CaptureFixture[str], name: str, task: str | list[str], output: str | None
) -> None:
    main = imported(name)["main"]
    ended = main(task)
    if asyncio.iscoroutine(ended):
        asyncio.run(ended)
    out = capsys.readouterr().out
    if name == "workflow":
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
    names = imported("every_pattern")
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
    names = imported("code_repair")
    names["main"]("Write slug.py.", ScriptedModel(answers, name="coder"))
    assert capsys.readouterr().out == f"passed: True\n{texts[1]}"


def test_the_example_of_a_server_calls_its_tool(
    capsys: pytest.CaptureFixture[str], settings: Settings
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    main = imported("mcp_agent")["main"]
    with http_server() as url:
        tool = f"server_{urlsplit(url).netloc.replace('.', '_').replace(':', '_')}_add"
        main(url, f'[[calls: {tool} {{"a": 2, "b": 3}}]] [[text: Five.]]')
    assert capsys.readouterr().out.endswith("Five.\n")


def test_the_example_of_a_report_is_scheduled_and_delivered_to_the_drive(
    workspace: Workspace,
) -> None:
    record_shipped_skills()
    import_config(
        workspace, parse((EXAMPLES / "scheduled_report" / "scheduled_report.toml").read_text())
    )
    schedule = Schedule.objects.get(workspace=workspace)
    run_schedule_now(schedule, by=SYSTEM)
    kinds = Delivery.objects.filter(workspace=workspace).order_by("position")
    assert [one.kind for one in kinds] == ["drive", "email"]
    assert str(Budget.objects.get(workspace=workspace)) == "schedule Monday report a month"
