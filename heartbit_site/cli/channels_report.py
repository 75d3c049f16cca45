"""Results of `heartbit channels`. No Django."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.confirmation import confirm_removal
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.json_option import json_object
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.output import one_line, write, write_json, write_view
from heartbit_site.cli.table import Table, print_facts, print_list
from heartbit_site.cli.targets import named_targets, no_such, target_text, with_numbers
from heartbit_site.contract import channels as contract
from heartbit_site.contract.channels import ChannelChangeIn, ChannelIn, ChannelOut, InboundOut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heartbit_site.cli.backend import Backend
    from heartbit_site.contract.channels import MailboxOut

STYLES: Final = {
    "active": "green",
    "disabled": "yellow",
    "trouble": "red",
    "accepted": "green",
    "refused": "red",
}
SHOWN: Final = 10  # messages
EXAMPLE: Final = '{"task": "Answer {ticket.body}"}'
NAME_WIDTH: Final = 40
TEXT_WIDTH: Final = 300
LONGEST_PASSWORD: Final = 1000
MAILBOX: Final = ("host", "port", "security", "user", "folder")
#: Parts of a mailbox's address: the password goes there, so it has to be given again.
PLACE: Final = ("host", "port", "security")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    """Settings that a command line names; None and empty lists: not said.

    Attributes:
        mailbox: Its parts by name; an empty host: none is read.
        from_stdin: True if the mailbox's password is on standard input.
        ask_password: True if the mailbox's password is to be asked for.
    """

    name: str | None = None
    agent: str | None = None
    enabled: bool | None = None
    approve: bool | None = None
    hourly_limit: int | None = None
    mapping: str | None = None
    senders: Sequence[str] = ()
    reply: bool | None = None
    emails: Sequence[str] = ()
    webhooks: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    mailbox: Mapping[str, str | int | None]
    from_stdin: bool = False
    ask_password: bool = False

    def given(self, backend: Backend) -> dict[str, Any]:
        """Return the settings that were named as the REST API takes them, but for the mailbox.

        Raises:
            CommandError: A value is not understood.
        """
        targets = named_targets(self.emails, self.webhooks, self.artifacts)
        mapping = self.mapping
        found: dict[str, Any] = {
            "name": self.name,
            "agent": self.agent,
            "enabled": self.enabled,
            "require_approval": self.approve,
            "hourly_limit": self.hourly_limit,
            "reply": self.reply,
            "mapping": None if mapping is None else json_object(mapping, "--mapping", EXAMPLE),
            "senders": list(self.senders) or None,
            "deliver": with_numbers(backend, targets) or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def mailbox_parts(self) -> dict[str, str | int]:
        """Return the parts of the mailbox that were named."""
        return {name: value for name, value in self.mailbox.items() if value is not None}


def list_all(url: str | None, *, as_json: bool) -> int:
    """Print every channel, one a line."""
    found = backend_for(url).every(contract.LIST_CHANNELS)
    none = "No channels yet: `heartbit channels add NAME --kind webhook` makes one."
    return print_list(found, CHANNELS.of(found.channels), none=none, as_json=as_json)


def show(url: str | None, name: str, *, as_json: bool) -> int:
    """Print a channel, and what came in last."""
    backend = backend_for(url)
    found = _find(backend, name)
    page = backend.call(contract.LIST_INBOUND_MESSAGES, channel_id=found.id, limit=SHOWN)
    messages = page.messages
    if as_json:
        write_view(found, messages=[one.model_dump(mode="json") for one in messages])
        return OK
    _print(found)
    if messages:
        write("")
        MESSAGES.of(messages).print()
    return OK


def add(url: str | None, kind: str, order: ChannelOptions, *, as_json: bool) -> int:
    """Make a channel and print it with its secret."""
    backend = backend_for(url)
    given = {"kind": kind, **order.given(backend)}
    mailbox = order.mailbox_parts()
    if mailbox.get("host"):
        given["mailbox"] = {**mailbox, "password": _password(order)}
    elif mailbox or order.from_stdin or order.ask_password:
        raise CommandError("A mailbox needs a server: name it with --imap-host.", USAGE)
    made = backend.call(contract.CREATE_CHANNEL, checked(ChannelIn, given))
    if as_json:
        write_view(made)
        return OK
    _print(made)
    if made.mailbox is None:  # what is posted to it is signed
        write(f"  {'secret':<12} {made.secret} (shown only now: give it to the sender)")
    return OK


def change(url: str | None, name: str, order: ChannelOptions, *, as_json: bool) -> int:
    """Change a channel and print it."""
    backend = backend_for(url)
    found = _find(backend, name)
    given = {**order.given(backend), **_new_mailbox(found.mailbox, order)}
    if not given:
        raise CommandError("Say what is to be different: `heartbit channels change --help`.", USAGE)
    changed = backend.call(
        contract.CHANGE_CHANNEL, checked(ChannelChangeIn, given), channel_id=found.id
    )
    if as_json:
        write_view(changed)
    else:
        _print(changed)
    return OK


def remove(url: str | None, name: str, *, yes: bool, as_json: bool) -> int:
    """Remove a channel, after a yes.

    Raises:
        CommandError: The removal is not confirmed.
    """
    backend = backend_for(url)
    found = _find(backend, name)
    title = one_line(found.name)
    confirm_removal(f"{title} and its log of messages", yes=yes)
    backend.call(contract.REMOVE_CHANNEL, channel_id=found.id)
    if as_json:
        write_json({"id": found.id, "name": found.name})
    else:
        write(f"Removed {title}; its conversations and runs stay.")
    return OK


def _find(backend: Backend, name: str) -> ChannelOut:
    """Return a channel by its name, else by its number.

    Raises:
        CommandError: There is none; the sentence names those there are.
    """
    found = backend.every(contract.LIST_CHANNELS).channels
    for key in ("name", "id"):
        for one in found:
            if str(getattr(one, key)) == name:
                return one
    raise no_such("channel", name, (one.name for one in found))


def _new_mailbox(present: MailboxOut | None, order: ChannelOptions) -> dict[str, Any]:
    said = order.mailbox_parts()
    if said.get("host") == "":
        return {"mailbox": None}
    if not said and not order.from_stdin and not order.ask_password:
        return {}
    mailbox = {name: getattr(present, name) for name in MAILBOX} if present else {}
    moved = any(name in said and said[name] != mailbox.get(name) for name in PLACE)
    mailbox |= said
    if not mailbox.get("host"):
        raise CommandError("A mailbox needs a server: name it with --imap-host.", USAGE)
    if moved or order.from_stdin or order.ask_password:
        mailbox["password"] = _password(order)
    return {"mailbox": mailbox}


def _password(order: ChannelOptions) -> str:
    """Return the mailbox's password, from standard input or from the person at the terminal.

    Raises:
        CommandError: There is none, or no terminal to ask at.
    """
    if order.from_stdin:
        password = sys.stdin.readline(LONGEST_PASSWORD).rstrip("\r\n")
    elif is_interactive():
        password = str(typer.prompt("Password of the mailbox", hide_input=True, err=True))
    else:
        raise CommandError(
            "The mailbox's password is never an argument: give it on standard input, with "
            "--password-stdin.",
            USAGE,
        )
    if not password:
        raise CommandError("Standard input holds no password: it is the first line.", USAGE)
    return password


def _state(one: ChannelOut) -> str:
    if not one.enabled:
        return "disabled"
    return "trouble" if one.mailbox and one.mailbox.last_error else "active"


def _where(one: ChannelOut) -> str:
    return f"{one.mailbox.user} at {one.mailbox.host}" if one.mailbox else one.url


def _print(one: ChannelOut) -> None:
    facts = [
        ("number", one.id),
        ("kind", one.kind),
        ("agent", one.agent),
        ("state", _state(one)),
        ("trouble", one.mailbox.last_error if one.mailbox else ""),
        ("url", one.url),
        ("mailbox", _box(one.mailbox) if one.mailbox else ""),
        ("senders", ", ".join(one.senders)),
        ("replies", "to the sender" if one.kind == "email" and one.reply else ""),
        ("mapping", readable_json(one.mapping) if one.mapping else ""),
        ("approval", "every tool call waits for a person" if one.require_approval else ""),
        ("limit", f"{one.hourly_limit} messages an hour"),
        ("answers to", "; ".join(target_text(target) for target in one.deliver)),
        ("made by", one.created_by or "-"),
    ]
    print_facts(one.name, facts)


def _box(mailbox: MailboxOut) -> str:
    place = f"{mailbox.host}:{mailbox.port} ({mailbox.security})"
    return f"{mailbox.user} at {place}, folder {mailbox.folder}"


def _title(one: InboundOut) -> str:
    text = one.title if one.status == "accepted" else one.reason or one.title
    return one_line(text, TEXT_WIDTH)


CHANNELS: Final = Table[ChannelOut](
    {
        "CHANNEL": lambda one: one_line(one.name, NAME_WIDTH),
        "KIND": lambda one: one.kind,
        "AGENT": lambda one: one.agent,
        "STATE": _state,
        "WHERE": _where,
    },
    STYLES,
)
MESSAGES: Final = Table[InboundOut](
    {
        "TIME": lambda one: f"{one.received_at:%Y-%m-%d %H:%M:%S}",
        "STATUS": lambda one: one.status,
        "SENDER": lambda one: one_line(one.sender or "-", NAME_WIDTH),
        "RUN": lambda one: one.run_id or "-",
        "TITLE": _title,
    },
    STYLES,
)
