"""One word that is no command asks before it becomes a task, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from agents.models import Run
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.command import Command

PROMPT = "[y/N] > "


@pytest.mark.parametrize("reply", ["", "n"])
def test_without_a_yes_nothing_runs(reply: str, database: None) -> None:
    word = f"nonsense{uuid4().hex}"
    with Terminal(word) as terminal:
        assert word in terminal.sees(PROMPT)
        terminal.types(reply)
        assert terminal.ends() == (2, "")
    assert not Run.objects.filter(task=word).exists()


@pytest.mark.parametrize("options", [("--workspace", "default"), ("--debug", "--json")])
def test_options_before_or_after_the_word_open_no_way_around(
    heartbit: Command, options: tuple[str, ...], database: None
) -> None:
    word = f"nonsense{uuid4().hex}"
    for arguments in ((*options, word), (word, *options)):
        ended = heartbit(*arguments)
        assert (ended.code, ended.out) == (2, ""), ended.err
        assert f"no command '{word}'" in ended.err
    assert not Run.objects.filter(task=word).exists()


def test_a_command_behind_an_option_is_no_task(heartbit: Command, runs: Callable[[], int]) -> None:
    before = runs()
    ended = heartbit("--workspace", "default", "status")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "Options come after the command: `heartbit status ...`" in ended.err
    assert runs() == before


def test_with_a_yes_it_is_a_task(database: None) -> None:
    word = f"hello{uuid4().hex}"
    with Terminal(word, "--agent", "writer") as terminal:
        terminal.sees(PROMPT)
        terminal.types("y")
        assert terminal.ends()[0] == 0
    assert Run.objects.get(task=word).status == "succeeded"


def test_run_says_that_a_word_is_meant(heartbit: Command) -> None:
    assert heartbit("run", f"hello{uuid4().hex}", "--agent", "writer").code == 0
