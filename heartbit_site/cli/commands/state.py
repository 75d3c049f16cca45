"""`heartbit state`: values that outlive runs."""

from __future__ import annotations

from typing import Any, Final

from heartbit_site.base.shared_value import value_text
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.backend.chosen import call, print_all
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.terminal.errors import FAILED, OK
from heartbit_site.cli.terminal.output import as_json, one_line, write, write_exactly, write_json
from heartbit_site.cli.terminal.table import Table, print_done, print_view
from heartbit_site.contract import state as contract

KEY = common.argument("KEY", "The entry's key.")
VALUE = common.argument("VALUE", "The value: JSON, else a text.")
AGENT = common.option("--agent -a NAME", "Use this agent's entries, not the workspace's.")
CONVERSATION = common.option("--conversation ID", "Use this conversation's entries.")
TTL = common.option("--ttl-seconds N", "Delete it after so many seconds; none: never.", None)

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_state(*, agent: str = AGENT, conversation: str = CONVERSATION) -> int:
    """List the entries of an agent, of a conversation, or else of the workspace."""
    wanted = _of(agent, conversation)
    return print_all(contract.LIST_STATE, ENTRIES, reads_only=True, **wanted)


@app.command(name="set", cls=RemoteCommand)
def set_state(
    key: str = KEY,
    value: str = VALUE,
    *,
    agent: str = AGENT,
    conversation: str = CONVERSATION,
    ttl_seconds: int | None = TTL,
) -> int:
    """Store a value, which replaces an earlier one of the same key."""
    given = {"key": key, "value": _read(value), "ttl_seconds": ttl_seconds}
    kept = call(contract.SET_STATE, {**given, **_of(agent, conversation)})
    return print_done(kept, f"{one_line(kept.key)} is set.")


@app.command(cls=RemoteCommand)
def get(key: str = KEY, *, agent: str = AGENT, conversation: str = CONVERSATION) -> int:
    """Print a value."""
    wanted = _of(agent, conversation)
    found = call(contract.GET_STATE, key=key, reads_only=True, **wanted)
    return print_view(found, lambda: write_exactly(value_text(found.value)))


@app.command(cls=RemoteCommand)
def exists(key: str = KEY, *, agent: str = AGENT, conversation: str = CONVERSATION) -> int:
    """Say whether a key has a value; the exit code is 1 if it has none."""
    wanted = _of(agent, conversation)
    found = call(contract.HAS_STATE, key=key, reads_only=True, **wanted)
    print_view(found, lambda: write("yes" if found.exists else "no"))
    return OK if found.exists else FAILED


@app.command(cls=RemoteCommand)
def delete(key: str = KEY, *, agent: str = AGENT, conversation: str = CONVERSATION) -> int:
    """Delete a value."""
    call(contract.DELETE_STATE, key=key, **_of(agent, conversation))
    if as_json():
        write_json({"key": key})
    else:
        write(f"{one_line(key)} is deleted.")
    return OK


def _of(agent: str, conversation: str) -> dict[str, Any]:
    return {"agent": agent, "conversation_id": conversation}


def _read(text: str) -> Any:
    try:
        return parse_untrusted_json(text)
    except UntrustedJSONError:
        return text


ENTRIES: Final = Table.of(
    contract.StateRowOut,
    "KEY AUTHOR EXPIRES=expires_at VALUE",
    none="No entries.",
    VALUE=lambda one: one_line(value_text(one.value), 300),
)
