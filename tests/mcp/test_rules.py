"""Rules that need no server: names, commands, effects and the pause after failures."""

from __future__ import annotations

import mcp_types
import pytest

from heartbit_site.base import variables
from heartbit_site.base.toolspec import Effect
from tools.mcp.errors import McpError
from tools.mcp.listing import effect_of, local_names
from tools.mcp.pool import FAILURES, ServerBreaker


def names(
    *remote: str, known: dict[str, str] | None = None, taken: tuple[str, ...] = ()
) -> list[str]:
    found = local_names("git", remote, known=known or {}, taken=taken)
    return [found[name] for name in remote]


def test_names_are_those_of_the_server_and_tool_in_a_form_every_model_takes() -> None:
    assert names("git_status", "Read-File", "größe") == [
        "git_git_status",
        "git_read_file",
        "git_gr_e",
    ]


def test_names_never_meet_and_stay() -> None:
    first, second = names("a.b", "a-b")
    assert {first, second} > {"git_a_b"}
    assert len({first, second}) == 2
    assert names("add", taken=("git_add",)) != ["git_add"]
    assert names("a.b", known={"a.b": "git_old"}) == ["git_old"]
    long, longer = names("x" * 100, "x" * 101)
    assert len(long) == len(longer) == 64
    assert long != longer


def test_commands_are_words_and_no_shell_reads_them() -> None:
    text = "time = /bin/time --zone 'Europe/Berlin'; files=npx files /srv;\n x = echo $(id)"
    assert variables.MCP_COMMANDS.parse(text) == {
        "time": ("/bin/time", "--zone", "Europe/Berlin"),
        "files": ("npx", "files", "/srv"),
        "x": ("echo", "$(id)"),
    }


@pytest.mark.parametrize(
    ("hints", "trusted", "effect"),
    [
        ({"readOnlyHint": True}, True, Effect.PURE),
        ({"readOnlyHint": True}, False, Effect.AT_MOST_ONCE),
        ({"idempotentHint": True}, True, Effect.IDEMPOTENT),
        ({"destructiveHint": False}, True, Effect.AT_MOST_ONCE),
        (None, True, Effect.AT_MOST_ONCE),
    ],
)
def test_hints_are_believed_of_trusted_servers(
    hints: dict[str, bool] | None, effect: Effect, *, trusted: bool
) -> None:
    tool = mcp_types.Tool.model_validate(
        {"name": "x", "inputSchema": {"type": "object"}, "annotations": hints}
    )
    assert effect_of(tool, trusted=trusted) is effect


def test_a_server_that_keeps_failing_is_left_alone_for_a_while() -> None:
    now = 100.0
    breaker = ServerBreaker(clock=lambda: now)
    for _ in range(FAILURES):
        breaker.admit(1, "shop")
        breaker.failed(1)
    breaker.admit(2, "other")
    with pytest.raises(McpError, match="failed 5 times in a row: the next call is allowed in 30 s"):
        breaker.admit(1, "shop")
    now = 131.0
    breaker.admit(1, "shop")
    breaker.failed(1)
    with pytest.raises(McpError):
        breaker.admit(1, "shop")
    now = 162.0
    breaker.succeeded(1)
    breaker.admit(1, "shop")
