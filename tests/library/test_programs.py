"""Whole programs, as users write them: the examples of the documentation, and how they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agents.models import Run, WorkerHeartbeat

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/library.md").read_text()
EXAMPLES = ROOT / "docs/examples"
QUESTION = '"Which of Bonn and Ulm is larger?"'

pytestmark = pytest.mark.usefixtures("database", "wire_server")


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
    assert host.gone_at is not None


def test_the_pages_team_delegates_and_uses_its_tool(tmp_path: Path) -> None:
    inner = '[[calls: population {\\"city\\": \\"Bonn\\"}]] [[text: 330000]]'
    task = (
        f'[[delegate: {{"agent": "researcher", "task": "{inner}"}},'
        ' {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Bonn.]]'
    )
    example = blocks(PAGE)[0].replace(QUESTION, repr(task))
    check = (
        "assert result.blackboard == {'language': 'English', 'agent:researcher': '330000',"
        " 'agent:writer': 'Prose.'}, result\n"
        "assert '330000' in [e.data.content for e in result.events if e.type == 'tool.finished']\n"
    )
    (tmp_path / "example.py").write_text(example + check)
    ended = run("example.py", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Bonn.\nsucceeded ")


def test_the_pages_way_to_test_works(tmp_path: Path) -> None:
    names = "from heartbit_site.library import Deny, Edit\n"
    (tmp_path / "test_example.py").write_text(
        blocks(PAGE)[0]
        .replace("result = ", "if __name__ == '__main__':\n    result = ", 1)
        .replace("\nprint(", "\nif __name__ == '__main__':\n    print(")
        + names
        + blocks(PAGE)[1]
        + blocks(PAGE)[2]
    )
    options = ("-m", "pytest", "-q", "-p", "no:django", "-p", "no:cacheprovider")
    ended = run(*options, "-o", "asyncio_mode=auto", "test_example.py", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("name", "task", "output"),
    [
        (
            "structured.py",
            ['[[calls: __respond__ {"name": "Bonn", "people": 330000}]]'],
            "Bonn: 330000\n",
        ),
        (
            "approvals.py",
            [
                '[[calls: send_letter {"to": "Anna", "text": "Hi."},'
                ' send_letter {"to": "Bert", "text": "Hi."}]] [[text: Written.]]'
            ],
            "(sent to Anna: Hi. Yours, Heartbit)\nWritten.\n",
        ),
        (
            "many.py",
            ["[[text: Bees.]]", "[[text: Honey.]]"],
            "[[text: Bees.]]: Bees.\n[[text: Honey.]]: Honey.\nHello from the wire server.\n",
        ),
    ],
)
def test_an_example_says_what_it_should(
    tmp_path: Path, name: str, task: list[str], output: str
) -> None:
    ended = run(str(EXAMPLES / name), *task, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == output


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "structured.py",
        "approvals.py",
        "many.py",
    }


HANGING = """
import os
from heartbit_site.library import Heartbit
def say(event):
    if event.type == "run.started":
        print(event.run_id, flush=True)
Heartbit().agent("hanging", "Be brief.").on_event(say).run("[[hang: headers]]")
"""


def test_ctrl_c_cancels_the_run(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err
    row = Run.objects.get(pk=run_id)
    assert row.status == "cancelled"
