"""Results of `heartbit channels`. No Django."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend import backend_for, checked
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.output import one_line, write, write_json, write_view
from heartbit_site.cli.table import print_table
from heartbit_site.cli.targets import target_text
from heartbit_site.cli.webhook_option import find_webhook
from heartbit_site.contract import channels as contract
from heartbit_site.contract.channels import ChannelChangeIn, ChannelIn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heartbit_site.cli.backend import Backend
    from heartbit_site.contract.channels import ChannelOut, InboundOut, MailboxOut

COLUMNS: Final = ("CHANNEL", "KIND", "AGENT", "STATE", "WHERE")
MESSAGES: Final = ("TIME", "STATUS", "SENDER", "RUN", "TITLE")
STYLES: Final = {
    "active": "green",
    "disabled": "yellow",
    "trouble": "red",
    "accepted": "green",
    "refused": "red",
}
SHOWN: Final = 10  # messages, and names of channels
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
        """Return what was said as the REST API takes it, but for the mailbox.

        Raises:
            CommandError: Something of it is not understood.
        """
        found: dict[str, Any] = {
            "name": self.name,
            "agent": self.agent,
            "enabled": self.enabled,
            "require_approval": self.approve,
            "hourly_limit": self.hourly_limit,
            "reply": self.reply,
            "mapping": None if self.mapping is None else _json_object(self.mapping),
            "senders": list(self.senders) or None,
            "deliver": self._targets(backend) or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _targets(self, backend: Backend) -> list[dict[str, Any]]:
        emails = [{"kind": "email", "to": list(self.emails)}] if self.emails else []
        return [
            *emails,
            *(
                {"kind": "webhook", "endpoint": find_webhook(backend, name)}
                for name in self.webhooks
            ),
            *({"kind": "artifact", "name": name} for name in self.artifacts),
        ]

    def said_of_mailbox(self) -> dict[str, str | int]:
        """Return the parts of the mailbox that were named."""
        return {name: value for name, value in self.mailbox.items() if value is not None}


def list_all(url: str | None, *, as_json: bool) -> int:
    """Print every channel, one a line."""
    backend = backend_for(url)
    everything = backend.every(contract.LIST_CHANNELS)
    found = everything.channels
    if as_json:
        write_view(everything)
    elif not found:
        write("No channels yet: `heartbit channels add NAME --kind webhook` makes one.")
    else:
        print_table(COLUMNS, [_cells(one) for one in found], styles=STYLES)
    return OK


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
        print_table(MESSAGES, [_message(one) for one in messages], styles=STYLES)
    return OK


def add(url: str | None, kind: str, order: ChannelOptions, *, as_json: bool) -> int:
    """Make a channel and print it with its secret."""
    backend = backend_for(url)
    given = {"kind": kind, **order.given(backend)}
    mailbox = order.said_of_mailbox()
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
        CommandError: The answer is no, or nobody can be asked and --yes was not given.
    """
    backend = backend_for(url)
    found = _find(backend, name)
    title = one_line(found.name)
    if not yes:
        if not is_interactive():
            raise CommandError(f"Say --yes if {title} and the log of what came in may go.", USAGE)
        if not typer.confirm(f"Remove {title} and the log of what came in?", err=True):
            raise CommandError("Nothing was removed.")
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
    names = ", ".join(one_line(one.name, NAME_WIDTH) for one in found[:SHOWN]) or "none yet"
    raise CommandError(
        f"There is no channel {one_line(name, NAME_WIDTH)!r}: there are {names}.", USAGE
    )


def _new_mailbox(present: MailboxOut | None, order: ChannelOptions) -> dict[str, Any]:
    said = order.said_of_mailbox()
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
        CommandError: There is none, or nobody can be asked.
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


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise CommandError(f"--mapping cannot be read: {error}", USAGE) from None
    if not isinstance(value, dict):
        example = '{"task": "Answer {ticket.body}"}'
        raise CommandError(f"--mapping takes a JSON object, such as '{example}'.", USAGE)
    return value


def _state(one: ChannelOut) -> str:
    if not one.enabled:
        return "disabled"
    return "trouble" if one.mailbox and one.mailbox.last_error else "active"


def _where(one: ChannelOut) -> str:
    return f"{one.mailbox.user} at {one.mailbox.host}" if one.mailbox else one.url


def _cells(one: ChannelOut) -> tuple[str, ...]:
    return (
        one_line(one.name, NAME_WIDTH),
        one.kind,
        one_line(one.agent),
        _state(one),
        one_line(_where(one)),
    )


def _print(one: ChannelOut) -> None:
    write(one_line(one.name))
    facts = [
        ("number", str(one.id)),
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
    for title, text in facts:
        if text:
            write(f"  {title:<12} {one_line(text)}")


def _box(mailbox: MailboxOut) -> str:
    place = f"{mailbox.host}:{mailbox.port} ({mailbox.security})"
    return f"{mailbox.user} at {place}, folder {mailbox.folder}"


def _message(one: InboundOut) -> tuple[str, ...]:
    title = one.title if one.status == "accepted" else one.reason or one.title
    return (
        f"{one.received_at:%Y-%m-%d %H:%M:%S}",
        one.status,
        one_line(one.sender or "-", NAME_WIDTH),
        one.run_id or "-",
        one_line(title, TEXT_WIDTH),
    )
