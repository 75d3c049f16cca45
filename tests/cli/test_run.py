"""`heartbit run`: in this process, with the fake provider."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from agents.models import Run
from tests.command import HEARTBIT, ROOT
from tests.fleet import wait_until

if TYPE_CHECKING:
    from tests.command import Command

FIELDS = {
    *(
        "id",
        "root_id",
        "parent_id",
        "kind",
        "agent",
        "placement",
        "model",
        "status",
        "task",
        "output",
        "error",
    ),
    "structured",
    *("usage", "created_at", "started_at", "finished_at", "children"),
}


def delegate(*tasks: tuple[str, str]) -> str:
    made = ", ".join(json.dumps({"agent": agent, "task": task}) for agent, task in tasks)
    return f"Do it. [[delegate: {made}]] [[text: All done.]]"


TEAM = delegate(
    ("analyst", 'Facts. [[calls: calculate {"expression": "6*7"}]] [[text: It is 42.]]'),
    ("writer", "Write. [[text: Written.]]"),
)


def test_a_bare_task_prints_its_answer_and_plain_progress(heartbit: Command) -> None:
    ended = heartbit(TEAM)
    assert (ended.code, ended.out) == (0, "All done.\n")
    assert "analyst       started with openai:" in ended.err
    assert 'analyst       ran calculate {"expression": "6*7"}: 42' in ended.err
    assert "orchestrator  waits for delegate_task analyst, writer (2 sub-agents)" in ended.err
    assert "\x1b" not in ended.err


def test_json_is_one_object_with_the_whole_tree(heartbit: Command) -> None:
    ended = heartbit("run", TEAM, "--json")
    assert (ended.code, ended.err) == (0, "")
    run = ended.json
    assert set(run) == {*FIELDS, "result"}
    assert (run["result"]["status"], run["result"]["text"]) == ("success", "All done.")
    assert (run["status"], run["placement"], run["output"]) == ("succeeded", "local", "All done.")
    assert run["usage"]["output_tokens"] > 0
    assert sorted(child["agent"] for child in run["children"]) == ["analyst", "writer"]
    assert all(set(child) == FIELDS for child in run["children"])


def test_control_characters_of_the_model_do_not_reach_the_terminal(heartbit: Command) -> None:
    ended = heartbit("run", "x [[text: a \x1b[2Jclean\x07 answer]]", "--agent", "writer")
    assert (ended.code, ended.out) == (0, "a clean answer\n")
    assert not any(sign in ended.err for sign in "\x1b\x07")


def test_ctrl_c_cancels_the_run_and_says_so(heartbit: Command) -> None:
    task = "wait [[hang: headers]] [[run: ctrl-c]]"
    process = heartbit.start("run", task, "--agent", "writer")
    found = Run.objects.filter(task=task)
    wait_until(lambda: found.filter(status="running").exists(), what="the run works")
    process.send_signal(signal.SIGINT)
    ended = heartbit.end(process)
    assert (ended.code, ended.out) == (130, "")
    assert any(line.startswith("Cancelling the run") for line in ended.err.splitlines())
    assert ended.err.splitlines()[-1] == "heartbit: The run was cancelled."
    assert found.get().status == "cancelled"


def test_a_terminal_shows_a_tree_that_moves_and_then_stays() -> None:
    """On a terminal of 100 columns; standard output stays for the answer alone."""
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        [HEARTBIT, TEAM],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30", "LANG": "C.UTF-8"},
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    shown = bytearray()

    def read() -> None:
        try:
            while piece := os.read(reader, 65536):
                shown.extend(piece)
        except OSError:
            pass  # the other end is closed

    reading = threading.Thread(target=read)
    reading.start()
    out, _ = process.communicate(timeout=60)
    reading.join()
    os.close(reader)
    assert (process.returncode, out) == (0, b"All done.\n")
    text = shown.decode()
    assert "\x1b[?25l" in text, "the cursor is hidden while it moves"
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "and shown again"
    stays = text[text.rindex("\x1b[?25h") :]
    for part in ("orchestrator", "├ ", "└ ", "analyst", "calculate", "42", "writer"):
        assert part in stays
