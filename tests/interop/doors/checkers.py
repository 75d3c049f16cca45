"""Programs that check a protocol from outside: each finding is one that is known, or a failure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import httpx

from tests.interop import installed
from tests.interop.doors.heartbit import SUM
from tests.interop.doors.keyed import keyed
from tests.interop.doors.programs import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.interop.doors.heartbit import Heartbit

#: Findings of a2aops. It reads requirements as OpenAPI writes them; A2A 1.0's own form, which its
#: SDK writes, is ``{"schemes": {"bearer": {"list": []}}}``.
A2AOPS_DECLINED: Final[Mapping[str, str]] = {
    "E341": "requirements are in the form of A2A 1.0's own SDK, which a2aops does not read",
    "W202": "the same, said of the scheme that is required",
}
#: Findings of a2a-lint, which knows A2A 0.3 alone.
A2A_LINT_DECLINED: Final[Mapping[str, str]] = {
    "url": "a card of A2A 1.0 names its place in supportedInterfaces",
    "protocolVersion": "a card of A2A 1.0 names its version in supportedInterfaces",
    "preferredTransport": "a card of A2A 1.0 names its binding in supportedInterfaces",
    "securitySchemes.bearer": "A2A 1.0 names the kind of a scheme by its member, not by a type",
    "(live)": "A2A 0.3 is refused with a sentence",
    "(live-stream)": "A2A 0.3 is refused with a sentence",
}
_STREAM: Final = "[[text: one two three]] [[stream: 100]]"
_ASKS: Final = '[[calls: ask_human {"question": "Which colour?"}]] [[text: Thank you.]]'


def a2aops(heartbit: Heartbit) -> int:
    """Check the card, its migration and its security with a2aops; the number of findings read."""
    found: dict[str, str] = {}
    lines = 0
    with keyed(heartbit) as url:
        for words in (["card", "check"], ["auth"], ["compat"]):
            place = f"{url}/a2a/writer"
            told = run(installed.python_program("a2aops", *words, place), statuses=(0, 1)).stdout
            lines += len(told.splitlines())
            found |= dict(re.findall(r"^(?:ERROR|WARNING) (\w+) (.*)$", told, re.MULTILINE))
            assert "[✗]" not in told, told
    _only(found, A2AOPS_DECLINED)
    return lines


def a2a_lint(heartbit: Heartbit) -> int:
    """Check the card, and what a client of A2A 0.3 is told; the number of findings."""
    with keyed(heartbit) as url:
        words = ("--live", "--json", f"{url}/a2a/writer")
        told = run(installed.python_program("a2a-lint", *words), statuses=(0, 1)).stdout
    findings: Any = json.loads(told)["findings"]
    _only(
        {one["field"]: one["message"] for one in findings if one["level"] != "info"},
        A2A_LINT_DECLINED,
    )
    return len(findings)


def ag_ui_validate(heartbit: Heartbit) -> int:
    """Check the streams of runs of every kind; the number of events."""
    count = 0
    tool = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}
    streams: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("writer", _STREAM, {}),
        ("analyst", SUM, {}),
        ("asker", _ASKS, {}),
        ("writer", "[[calls: look {}]] [[text: Seen.]]", {"tools": [tool]}),
        ("writer", "[[error: 400]]", {}),
    )
    folder = installed.HOME / "ag-ui"
    folder.mkdir(exist_ok=True)
    with httpx.Client(headers={"Authorization": f"Bearer {heartbit.key}"}, timeout=60) as http:
        for number, (agent, task, more) in enumerate(streams):
            thread = f"validate-{number}-{heartbit.url[-5:]}"
            body: dict[str, Any] = {"threadId": thread, "runId": "r1", "state": {}, "tools": []}
            body |= {"messages": [{"id": "1", "role": "user", "content": task}]}
            body |= {"context": [], "forwardedProps": {}, **more}
            answer = http.post(f"{heartbit.url}/agui/{agent}", json=body)
            assert answer.status_code == 200, answer.text
            recorded = folder / f"{number}.sse"
            recorded.write_text(answer.text)
            words = ("--json", "--max-warnings", "0", str(recorded))
            told: Any = json.loads(run(installed.python_program("ag-ui-validate", *words)).stdout)
            count += answer.text.count("\ndata:") + 1
            assert told, told
    return count


def inspector(heartbit: Heartbit) -> int:
    """Read, and call a tool, with MCP's inspector as a command; the number of calls."""
    count = 0
    call = ("tools/call", "--tool-name", "writer", "--tool-arg", "task=[[text: Done.]]")
    for era in ("modern", "legacy"):
        for words in (
            ("tools/list", "--strict"),
            call,
            ("resources/list",),
            ("resources/templates/list",),
        ):
            told = _inspected(heartbit, era, *words)
            count += 1
            if words is call:
                assert told["content"] == [{"type": "text", "text": "Done."}], told
    return count


def _inspected(heartbit: Heartbit, era: str, method: str, *words: str) -> Any:
    program = installed.MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    place = (f"{heartbit.url}/mcp", "--transport", "http", "--protocol-era", era)
    key = ("--header", f"Authorization: Bearer {heartbit.key}")
    command = (str(installed.NODE_BINARY), str(program), "--cli", *place, *key)
    home = str(installed.HOME / "home")
    return json.loads(run((*command, "--method", method, *words), HOME=home).stdout)


def _only(found: Mapping[str, str], declined: Mapping[str, str]) -> None:
    """Raise unless what was found is exactly what is declined."""
    unexpected = found.keys() - declined.keys()
    assert not unexpected, "; ".join(f"{each}: {found[each]}" for each in sorted(unexpected))
    gone = declined.keys() - found.keys()
    assert not gone, f"these are declined, and not found: {', '.join(sorted(gone))}"
