"""Code of a node as a call of ``run_code``: its input as a file, what it prints as its output."""

from __future__ import annotations

import json
from typing import Any, Final

from agents.workflows.calls import CallInput
from agents.workflows.records import NodeError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

#: File of the program's folder with its task, or else its message.
INPUT_FILE: Final = "input.json"
#: Characters at the end of what a failed program wrote that its error quotes.
MOST_QUOTED: Final = 1_000


def program_arguments(given: CallInput) -> dict[str, Any]:
    """Return the arguments of ``run_code`` for a call of a node with code."""
    content = json.dumps(given.task, ensure_ascii=False)
    return {
        "code": given.node.code,
        "language": given.node.language,
        "files": {INPUT_FILE: content},
    }


def program_output(described: str) -> Any:
    """Return what a program has printed, or the error if it failed.

    Args:
        described: Result of ``run_code``.
    """
    ended = json.loads(described)
    code, why = ended.get("exit_code"), ended.get("ended", "")
    if code != 0 or why:
        written = ended.get("stderr") or ended.get("stdout") or "it wrote nothing"
        reason = why or f"It ended with exit code {code}."
        return NodeError("program", f"{reason} {written.strip()[-MOST_QUOTED:]}")
    return read_value(ended.get("stdout", "").removesuffix("\n"))


def read_value(text: str) -> Any:
    """Return a result as data if it is a JSON object or list, else as text."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return parse_untrusted_json(text, max_bytes=len(text) * 4)
    except UntrustedJSONError:
        return text
