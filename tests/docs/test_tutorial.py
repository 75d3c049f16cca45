"""The tutorial is played as written, and each command prints what the page shows."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from tests.cli.places import Place
from tests.docs.commands import ROOT
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.fleet import Worker

PAGE: Final = (ROOT / "docs/tutorial.md").read_text()
FILE: Final = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CONSOLE: Final = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RUN: Final = "01a22ea3-44b0-7005"
#: What differs from one play to the next.
VARIES: Final = re.compile(
    rf"(?P<run>{RUN}[0-9a-f-]*)"
    r"|(?P<day>\w{3} \d+ \w{3} \d{4})|(?P<time>\b\d+ (?:s|minutes|hours|days)\b)|(?P<any>\.\.\.)"
    r"|(?P<number>^1(?= ))"
)
INSTEAD: Final = {
    "run": "[0-9a-f-]{18,36}",
    "day": r"\w{3} \d+ \w{3} \d{4}",
    "time": r"[\d.]+ \w+",
    "any": ".+",
    "number": r"\d+",
}


def commands() -> Iterator[tuple[str, list[str]]]:
    """Each command of the page, with the lines that it prints."""
    for block in CONSOLE.findall(PAGE):
        for command in block.removeprefix("$ ").split("\n$ "):
            line, *printed = command.strip().split("\n")
            yield line, printed


def pattern(line: str) -> str:
    """Return what a line of the page may be; columns are as wide as their widest entry."""
    found, at = "", 0
    line = " ".join(line.split())
    for match in VARIES.finditer(line):
        found += re.escape(line[at : match.start()]) + INSTEAD[str(match.lastgroup)]
        at = match.end()
    return found + re.escape(line[at:])


def prints(text: str, expected: list[str]) -> bool:
    """Return True if a command has printed what the page shows."""
    printed = [" ".join(line.split()) for line in text.strip().splitlines()]
    return len(printed) == len(expected) and all(
        re.fullmatch(pattern(shown), line) for shown, line in zip(expected, printed, strict=True)
    )


def test_it_leads_to_a_report_that_was_scheduled_approved_and_delivered(
    workspace: Workspace, heartbit: Command, tmp_path: Path, worker: Worker
) -> None:
    """`worker` is that of `heartbit up`, which tests/cli/test_up.py plays."""
    [content] = FILE.findall(PAGE)
    (tmp_path / "heartbit.toml").write_text(content)
    place = Place(heartbit, {"HEARTBIT_WORKSPACE": workspace.slug})
    run = ""
    for command, expected in commands():
        name, *words = shlex.split(command.replace(RUN, run))
        assert name == "heartbit"
        said = ""

        def is_as_shown(words: list[str] = words, expected: list[str] = expected) -> bool:
            nonlocal said
            ended = place.command(*words, env=place.env, cwd=tmp_path)
            said = f"{ended.code}: {ended.out}{ended.err}"
            return ended.code == 0 and prints(ended.out, expected)

        if words[:1] in (["approve"], ["result"], ["deliveries"]) and "--yes" not in words:
            # As a reader looks again until it is there.
            wait_until(is_as_shown, seconds=60, what=command)
        else:
            assert is_as_shown(), f"{command}: {said}"
        if words[:2] == ["schedules", "run"]:
            run = said.partition(": ")[2].strip()[: len(RUN)]
