"""The command line: JSON in its options, and heartbit.toml."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from tests.chaos.parsers import values

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.parsers.found import Findings

#: Linux takes no longer single argument than 128 KiB.
MOST_ARGUMENT = 120_000
_AGENT = b'[[agents]]\nname = "solo"\ndescription = "d"\nsystem_prompt = "s"\n'
TOML: dict[str, bytes] = {
    "deep arrays": b"a = " + b"[" * values.DEEP + b"]" * values.DEEP,
    "deep tables": b"a = " + b"{a=" * values.DEEP + b"1" + b"}" * values.DEEP,
    "deep name": b"a." * values.DEEP + b"a = 1",
    "huge integer": _AGENT + b"max_turns = " + b"9" * values.DIGITS,
    "integer beyond the column": _AGENT + b"max_turns = " + b"9" * 19,
    "nan": _AGENT + b"temperature = nan",
    "inf": _AGENT + b"max_run_cost_usd = inf",
    "name twice": _AGENT + b'description = "e"',
    "raw NUL": _AGENT.replace(b'"s"', b'"a\x00b"'),
    "escaped NUL": _AGENT.replace(b'"s"', rb'"a\u0000b"'),
    "half a surrogate": _AGENT.replace(b'"s"', rb'"\ud800"'),
    "not UTF-8": _AGENT.replace(b'"s"', b'"\xff"'),
    "2 MB": _AGENT.replace(b'"s"', b'"' + b"x" * 2_000_000 + b'"'),
    "deep JSON in text": _AGENT + b"response_schema = '" + b"[" * 50_000 + b"'",
    "NaN in JSON in text": _AGENT + b"response_schema = '{\"const\": NaN}'",
    "name twice in JSON in text": _AGENT + b'response_schema = \'{"type": 1, "type": 2}\'',
    "back-reference": _AGENT + rb"""response_schema = '{"pattern": "(a)\\1"}'""",
}


class Heartbit(Protocol):
    """The command: its exit code, output and errors."""

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run it to its end."""


def ask(
    heartbit: Heartbit,
    found: Findings,
    *,
    run: str,
    waiting: str,
    directory: Path,
    every: int = 1,
) -> None:
    """Give every option that takes JSON every text that an argument can hold.

    Args:
        heartbit: The command.
        found: Gets the answers.
        run: A run that has ended, with a call in its first turn.
        waiting: One whose call waits for a person.
        directory: For files of the texts that are no arguments.
        every: Only one text in so many.
    """
    for name, value in list(values.REFUSED.items())[1::every]:
        text = values.member("expression", value).decode()
        if len(text) < MOST_ARGUMENT:
            _one(heartbit, found, f"--payload {name}", "submit", "--payload", text)
            _one(heartbit, found, f"--edit {name}", "approve", waiting, "--edit", text)
            fork = ("runs", "fork", run, "--call", "1.0", "--yes", "--arguments", text)
            _one(heartbit, found, f"--arguments {name}", *fork)
    files = {**values.REFUSED, **values.UNSTORABLE, **values.BYTES}
    for name, value in list(files.items())[::every]:
        path = directory / "payload.json"
        path.write_bytes(values.member("expression", value))
        _one(heartbit, found, f"--payload file: {name}", "submit", "--payload", str(path))
    for name, content in list(TOML.items())[::every]:
        path = directory / "heartbit.toml"
        path.write_bytes(content)
        _one(heartbit, found, f"config {name}", "config", "check", str(path), codes=(1, 2, 3))


def _one(
    heartbit: Heartbit,
    found: Findings,
    what: str,
    *arguments: str,
    codes: tuple[int, ...] = (1, 2),
) -> None:
    began = time.monotonic()
    code, _, errors = heartbit(*arguments)
    seconds = time.monotonic() - began
    said = errors.strip().removeprefix("heartbit: ") if code in codes else f"exit {code}: {errors}"
    lines = said.splitlines()  # a configuration file's every problem is one
    found.add("command line", what, lines[0] if lines else "", seconds)
