"""MCP's conformance suite against ``/mcp``: each check is passed, or declined here.

The suite wants a server made for it. Workflows are what it calls (``fixtures``); what an agent or a
workflow cannot be, or what Heartbit does not offer, is declined with a reason.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final

from tests.interop import installed
from tests.interop.doors.keyed import keyed
from tests.interop.doors.programs import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.interop.doors.heartbit import Heartbit

_PACKAGE: Final = "conformance-next"
#: Scenarios of the tasks extension; that of notifications is empty in the suite itself.
TASKS: Final = tuple(
    f"tasks-{each}"
    for each in (
        *("lifecycle", "capability-negotiation", "wire-fields", "request-state-removal"),
        *("mrtr-input", "request-headers", "dispatch-and-envelope", "required-task-error"),
        "mrtr-composition",
    )
)
_NO_PROMPTS: Final = "there are no prompts: agents have prompts of their own"
_TEXT: Final = "an answer is text, and data beside it; files are artifacts, read as resources"
_ADDRESSES: Final = "addresses of resources are Heartbit's own, and test:// is none of them"
_STATELESS: Final = (
    "a server without sessions cannot ask within a call; since 2026-07-28 it answers"
)
_SAMPLING: Final = "agents have models of their own, and folders of clients are not read"
_HEADERS: Final = "no argument of a tool is sent as a header"
_ONE_STATE: Final = "the state of a call is its run, in all rounds"
_ALWAYS_TASKS: Final = "every call is a task to a client that knows tasks, as any run may take long"
_KEYS: Final = (
    "questions have keys of their own, not the suite's; other scenarios take them as given"
)

#: Checks that are declined, and why, by the suite's names.
DECLINED: Final[Mapping[str, Mapping[str, str]]] = {
    "2026-07-28": {
        **dict.fromkeys(
            (
                "sep-2549-prompts-list-caching-hints",
                "completion-complete",
                "prompts-list",
                "prompts-get-simple",
                "prompts-get-with-args",
                "prompts-get-embedded-resource",
                "prompts-get-with-image",
                "sep-2322-non-tool-incomplete",
            ),
            _NO_PROMPTS,
        ),
        **dict.fromkeys(
            (
                "tools-call-image",
                "tools-call-audio",
                "tools-call-embedded-resource",
                "tools-call-mixed-content",
            ),
            _TEXT,
        ),
        **dict.fromkeys(
            ("resources-read-text", "resources-read-binary", "resources-templates-read"), _ADDRESSES
        ),
        **dict.fromkeys(
            (
                "sep-2243-server-no-xmcp-tool",
                "sep-2243-server-decode-base64",
                "sep-2243-server-validate-param-match",
                "sep-2243-server-reject-invalid-param-chars",
                "sep-2243-server-reject-param-mismatch",
            ),
            _HEADERS,
        ),
        **dict.fromkeys(
            (
                "sep-2322-sampling-incomplete",
                "sep-2322-list-roots-incomplete",
                "sep-2322-multiple-inputs-incomplete",
                "sep-2322-respect-client-capabilities",
                "sep-2575-server-rejects-undeclared-capability",
                "sep-2575-missing-capability-http-400",
            ),
            _SAMPLING,
        ),
        "sep-2322-elicitation-incomplete": _KEYS,
        "sep-2322-multi-round-r2": _ONE_STATE,
    },
    "2025-11-25": {
        **dict.fromkeys(
            (
                "completion-complete",
                "prompts-list",
                "prompts-get-simple",
                "prompts-get-with-args",
                "prompts-get-embedded-resource",
                "prompts-get-with-image",
            ),
            _NO_PROMPTS,
        ),
        **dict.fromkeys(
            (
                "tools-call-image",
                "tools-call-audio",
                "tools-call-embedded-resource",
                "tools-call-mixed-content",
            ),
            _TEXT,
        ),
        **dict.fromkeys(
            ("resources-read-text", "resources-read-binary", "resources-templates-read"), _ADDRESSES
        ),
        **dict.fromkeys(
            (
                "tools-call-elicitation",
                "elicitation-sep1034-general",
                "elicitation-sep1330-general",
                "tools-call-sampling",
                "logging-set-level",
                "tools-call-with-logging",
                "resources-subscribe",
                "resources-unsubscribe",
            ),
            _STATELESS,
        ),
    },
    "tasks": {
        **dict.fromkeys(
            (
                "tasks-sync-tool-call",
                "sep-2663-legacy-task-param-ignored",
                "tasks-result-type-complete-on-non-task-responses",
                "tasks-headers-tolerate-mcp-method-on-tools-call",
                "sep-2663-mrtr-synchronous-before-task-creation",
            ),
            _ALWAYS_TASKS,
        ),
        "sep-2663-tasks-get-status-failed": "a task fails when its worker has crashed too often",
        "sep-2663-server-returns-missing-capability-when-required": (
            "no tool needs tasks: a client without them waits for the answer"
        ),
    },
}


def drive_version(heartbit: Heartbit, version: str) -> int:
    """Run all scenarios of a version of the protocol; the number of checks that passed."""
    return _drive(heartbit, version, [["--suite", "all", "--spec-version", version]])


def drive_tasks(heartbit: Heartbit) -> int:
    """Run the scenarios of the tasks extension; the number of checks that passed."""
    return _drive(heartbit, "tasks", [["--scenario", scenario] for scenario in TASKS])


def _drive(heartbit: Heartbit, name: str, rounds: list[list[str]]) -> int:
    results = installed.HOME / "conformance" / name
    shutil.rmtree(results, ignore_errors=True)
    with keyed(heartbit) as url:
        for words in rounds:
            suite = installed.node_program(_PACKAGE, "server", "--url", f"{url}/mcp", *words)
            run([*suite, "--output-dir", str(results)], statuses=(0, 1))
    checks: list[Any] = [
        check
        for found in sorted(results.glob("*/checks.json"))
        for check in json.loads(found.read_text())
    ]
    failed = {one["id"]: one.get("errorMessage", "") for one in checks if _is(one, "FAILURE")}
    unexpected = failed.keys() - DECLINED[name].keys()
    assert not unexpected, "; ".join(f"{each}: {failed[each]}" for each in sorted(unexpected))
    passed = DECLINED[name].keys() - failed.keys()
    assert not passed, f"these are declined, and pass: {', '.join(sorted(passed))}"
    return sum(_is(one, "SUCCESS") for one in checks)


def _is(check: Any, status: str) -> bool:
    return bool(check["status"] == status)
