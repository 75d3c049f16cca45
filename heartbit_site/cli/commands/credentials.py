"""`heartbit credentials`: what tools log in with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import typer

from heartbit_site.cli.backend import chosen
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import json_object
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.options.targets import named, no_such
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.output import NAME_WIDTH, one_line
from heartbit_site.cli.terminal.table import Table, print_facts, print_view
from heartbit_site.contract import credentials as contract
from heartbit_site.contract.credentials import (
    CredentialOut,
    CredentialTypeOut,
)

NEW = common.argument("NAME", "Name of the credential, such as 'support mailbox'.")
NAME = common.argument("NAME", "The credential's name, or its number.")
KIND = common.option("KIND", "Type, as `heartbit credentials types` lists them.", ...)
SET = common.option("--set FIELD=VALUE", "Set a field that is no secret; may be repeated.", [])
STDIN = common.flag("--secrets-stdin", "Read the secrets from standard input, as a JSON object.")
PERSONAL = common.flag("--personal", "Let only your own runs use it.")
RENAME = common.option("--name NAME", "Give it this name.", None)
ENABLED = typer.Option(None, "--enable/--disable", help="A disabled credential is not used.")
ASK = common.flag("--ask-secrets", "Ask for the secrets again.")

EXAMPLE: Final = '{"password": "..."}'
LONGEST: Final = 100_000

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_credentials() -> int:
    """List the workspace's credentials and your own, without secrets."""
    return chosen.print_all(contract.LIST_CREDENTIALS, CREDENTIALS)


@app.command(cls=RemoteCommand)
def types() -> int:
    """List the types of credentials with their fields."""
    return chosen.print_all(contract.LIST_CREDENTIAL_TYPES, TYPES)


@app.command(cls=RemoteCommand)
def add(
    name: str = NEW,
    *,
    kind: str = KIND,
    values: list[str] = SET,
    secrets_stdin: bool = STDIN,
    personal: bool = PERSONAL,
) -> int:
    """Add a credential; its secrets are asked for, or read from standard input."""
    server = chosen.backend()
    found = _type(server, kind)
    fields = _settings(found, values) | _secrets(found, from_stdin=secrets_stdin)
    given = {"name": name, "kind": kind, "fields": fields, "personal": personal}
    made = server.call(contract.CREATE_CREDENTIAL, given)
    return print_view(made, lambda: _print(made))


@app.command(cls=RemoteCommand)
def change(
    credential: str = NAME,
    *,
    name: str | None = RENAME,
    values: list[str] = SET,
    enabled: bool | None = ENABLED,
    ask_secrets: bool = ASK,
    secrets_stdin: bool = STDIN,
) -> int:
    """Change the given settings of a credential; the others stay."""
    server = chosen.backend()
    row = _find(server, credential)
    given: dict[str, Any] = {}
    if values or ask_secrets or secrets_stdin:
        found = _type(server, row.kind)
        given["fields"] = _settings(found, values)
        if ask_secrets or secrets_stdin:
            given["fields"] |= _secrets(found, from_stdin=secrets_stdin)
    given |= {} if name is None else {"name": name}
    given |= {} if enabled is None else {"enabled": enabled}
    changed = chosen.send_change(contract.CHANGE_CREDENTIAL, given, server, credential_id=row.id)
    return print_view(changed, lambda: _print(changed))


@app.command(cls=RemoteCommand)
def check(name: str = NAME) -> int:
    """Log in with a credential, or ask its server, and show the result."""
    server = chosen.backend()
    found = server.call(contract.CHECK_CREDENTIAL, credential_id=_find(server, name).id)
    return print_view(found, lambda: _print(found))


@app.command(cls=RemoteCommand)
def remove(name: str = NAME, *, yes: bool = common.YES) -> int:
    """Remove a credential; calls that need it are refused from then on."""
    server = chosen.backend()
    found = _find(server, name)
    chosen.confirm_removal(one_line(found.name), yes=yes)
    server.call(contract.REMOVE_CREDENTIAL, credential_id=found.id)
    return chosen.print_removed(found.id, found.name, stays="calls that need it are refused")


def _find(server: Backend, name: str) -> CredentialOut:
    """Return a credential by its name, one's own first, else by its number."""
    found = named("credential", name, server.every(contract.LIST_CREDENTIALS).credentials)
    return sorted(found, key=lambda one: one.person is None)[0]


def _type(server: Backend, kind: str) -> CredentialTypeOut:
    found = {one.kind: one for one in server.every(contract.LIST_CREDENTIAL_TYPES).types}
    if kind not in found:
        raise no_such("type of credentials", kind, found)
    return found[kind]


def _settings(kind: CredentialTypeOut, values: Sequence[str]) -> dict[str, Any]:
    """Return the fields that options set; numbers are numbers, as the type's schema wants them.

    Raises:
        CommandError: One is not written FIELD=VALUE, or is a secret.
    """
    fields: dict[str, Any] = {}
    for each in values:
        name, equals, value = each.partition("=")
        if not equals:
            raise UsageError(f"Write --set FIELD=VALUE; {one_line(each, NAME_WIDTH)!r} has no =.")
        if name in kind.secrets:
            raise UsageError(
                f"{name} is never an argument, which others can read: it is asked for, or read "
                "with --secrets-stdin."
            )
        is_number = kind.fields["properties"].get(name, {}).get("type") == "integer"
        fields[name] = int(value) if is_number and value.isdecimal() else value
    return fields


def _secrets(kind: CredentialTypeOut, *, from_stdin: bool) -> dict[str, Any]:
    """Return the secrets, from standard input or from the person at the terminal.

    Raises:
        CommandError: There is no terminal to ask at, or no JSON object on standard input.
    """
    if not kind.secrets:
        return {}
    if from_stdin:
        return json_object(sys.stdin.read(LONGEST), "--secrets-stdin", EXAMPLE)
    if not is_interactive():
        raise UsageError(
            "Secrets are never arguments: give them on standard input, as a JSON object, with "
            "--secrets-stdin."
        )
    return {
        name: typer.prompt(name, default="", show_default=False, hide_input=True, err=True)
        for name in kind.secrets
    }


def _state(one: CredentialOut) -> str:
    if not one.enabled:
        return "disabled"
    if one.healthy is None:
        return "not checked"
    return "healthy" if one.healthy else "unhealthy"


def _print(one: CredentialOut) -> None:
    facts = [
        ("number", one.id),
        ("type", one.kind),
        ("for", one.person or "all runs of the workspace"),
        ("state", _state(one)),
        ("trouble", one.health_message),
        *one.settings.items(),
    ]
    print_facts(one.name, facts)


def _fields(kind: CredentialTypeOut) -> str:
    """Return the names of a type's fields; those that may be left out in brackets."""
    required = kind.fields.get("required", ())
    names = kind.fields["properties"]
    return " ".join(name if name in required else f"[{name}]" for name in names)


STYLES: Final = {"healthy": "green", "unhealthy": "red", "disabled": "yellow"}
CREDENTIALS: Final = Table.of(
    CredentialOut,
    "CREDENTIAL=name:40 TYPE=kind FOR=person:40|workspace STATE TROUBLE=health_message:300",
    styles=STYLES,
    none="No credentials yet: `heartbit credentials add NAME --kind KIND` adds one.",
    STATE=_state,
)
TYPES: Final = Table.of(
    CredentialTypeOut,
    "KIND TYPE=label FIELDS SECRETS",
    FIELDS=_fields,
    SECRETS=lambda one: " ".join(one.secrets),
)
