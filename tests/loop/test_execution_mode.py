"""When code in an answer is run, and which."""

from __future__ import annotations

import json

import pytest

from agents.definitions.spec import CODE_TOOL
from agents.llm.messages import AssistantMessage, Message, ToolCall
from agents.loop import execution_mode
from agents.loop.execution_mode import Mode, is_work, with_code_called

PYTHON = "Look:\n\n```python\nprint(1)\n```\n"
SHELL = "~~~~ sh\nls ```\n~~~\n~~~~"


def called(text: str, mode: Mode = "always", task: str = "", *earlier: Message) -> list[object]:
    message = with_code_called(AssistantMessage(text), mode, task, turn=3, earlier=earlier)
    assert message.text == text
    assert all(call.name == CODE_TOOL for call in message.tool_calls)
    ids = [call.id for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    return [list(json.loads(call.arguments).values()) for call in message.tool_calls]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PYTHON, [["python", "print(1)"]]),
        (SHELL, [["shell", "ls ```\n~~~"]]),
        (PYTHON + "then\n" + SHELL, [["python", "print(1)"], ["shell", "ls ```\n~~~"]]),
        ("```js\n1\n```", [["javascript", "1"]]),
        ("```TypeScript title=x\nlet a: number\n```", [["typescript", "let a: number"]]),
        ("```\nprint(1)\n```", []),
        ("```json\n{}\n```", []),
        ("```ruby\nputs 1\n```", [["ruby", "puts 1"]]),
        ("```python\n```", []),
        ("```python\nprint(1)", []),
        ("    ```python\n    print(1)\n    ```", []),
        ("`python` and ```python``` in a line", []),
        ("", []),
    ],
)
def test_the_code_of_fenced_blocks(text: str, expected: list[object]) -> None:
    assert called(text) == expected


@pytest.mark.parametrize(
    ("mode", "task", "text", "runs"),
    [
        ("never", "Run it.", "[EXECUTE]" + PYTHON, False),
        ("always", "Explain it.", PYTHON, True),
        ("always", "", "[NO_EXECUTE]\n" + PYTHON, False),
        ("auto", "Run it.", PYTHON, False),
        ("auto", "", "[execute]\n" + PYTHON, True),
        ("auto", "", "<!-- EXECUTE -->\n" + PYTHON, True),
        ("auto", "", "<!--NO_EXECUTE-->[EXECUTE]\n" + PYTHON, False),
        ("auto", "", "```python\n# [EXECUTE]\n```", False),
        ("auto", "", "[EXECUTE]\n```python\n# [NO_EXECUTE]\n```", True),
        ("task", "Please test this.", PYTHON, True),
        ("task", "Please test this.", "[NO_EXECUTE]" + PYTHON, False),
        ("task", "Please review this.", PYTHON, False),
        ("task", "Hello.", "[EXECUTE]\n" + PYTHON, False),
    ],
)
def test_modes(mode: Mode, task: str, text: str, *, runs: bool) -> None:
    assert bool(called(text, mode, task)) is runs


@pytest.mark.parametrize(
    ("task", "work"),
    [
        ("Run the tests and explain the result.", True),
        ("Explain how to install it.", False),
        ("VALIDATE my file", True),
        ("Suggest a plan to deploy", False),
        ("Tell me about runners and contests", False),
        ("", False),
    ],
)
def test_the_first_action_of_a_task_decides(task: str, *, work: bool) -> None:
    assert is_work(task) is work
    assert bool(execution_mode.note("task", task)) is work


def test_code_that_was_run_before_is_not_run_again() -> None:
    before = with_code_called(AssistantMessage(PYTHON), "always", "", turn=1, earlier=())
    assert called("It printed 1:\n" + PYTHON, "always", "", before) == []
    assert called(PYTHON + SHELL, "always", "", before) == [["shell", "ls ```\n~~~"]]
    shown = AssistantMessage(PYTHON)
    assert called(PYTHON, "always", "", shown) == [["python", "print(1)"]]


def test_an_answer_with_calls_of_its_own_is_left_alone() -> None:
    call = ToolCall("c", "calculate", "{}")
    message = AssistantMessage(PYTHON, (call,))
    assert with_code_called(message, "always", "", turn=1, earlier=()) is message
