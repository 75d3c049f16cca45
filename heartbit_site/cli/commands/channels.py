"""`heartbit channels`: ways in for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend import chosen
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options, json_option
from heartbit_site.cli.options.secret_entry import first_line
from heartbit_site.cli.options.shared import RemoteCommand, with_groups
from heartbit_site.cli.options.targets import TargetOptions, named
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.output import TEXT_WIDTH, one_line, write
from heartbit_site.cli.terminal.table import Table, print_facts, print_view
from heartbit_site.contract import channels as contract

NEW = common.argument("NAME", "Purpose of the channel, such as 'support mailbox'.")
NAME = common.argument("NAME", "The channel's name, or its number.")
KIND = common.option("", "webhook: signed JSON; email: mails.", ...)
RENAME = common.option("--name NAME", "Give it this name.", None)
STDIN = common.flag("--password-stdin", "Read the mailbox's password from standard input.")
ASK = common.flag("--ask-password", "Ask for the mailbox's new password.")


EXAMPLE: Final = '{"task": "Answer {ticket.body}"}'
SETTINGS: Final = body_options(
    contract.ChannelIn,
    *("name", "kind", "deliver", "mailbox"),
    agent=common.option("--agent -a NAME", "Let this agent answer; else the orchestrator.", None),
    mapping=json_option("--mapping", EXAMPLE, f"Make a webhook's task so, such as '{EXAMPLE}'."),
)
MAILBOX: Final = body_options(
    contract.MailboxIn,
    "password",
    within="mailbox",
    prefix="--imap-",
    host=common.option("--imap-host", "Read a mailbox there; '': none.", None),
)

STYLES: Final = {
    "active": "green",
    "disabled": "yellow",
    "trouble": "red",
    "accepted": "green",
    "refused": "red",
}
SHOWN: Final = 10  # messages
#: Parts of a mailbox's address: the password goes there, so it has to be given again.
PLACE: Final = ("host", "port", "security")
PARTS: Final = {*PLACE, "user", "folder"}

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_channels() -> int:
    """List the channels, the newest first."""
    return chosen.print_all(contract.LIST_CHANNELS, CHANNELS, reads_only=True)


@app.command(cls=RemoteCommand)
def show(name: str = NAME) -> int:
    """Show a channel and its last messages."""
    server = chosen.backend()
    found = _find(server, name)
    page = server.call(contract.LIST_INBOUND_MESSAGES, channel_id=found.id, limit=SHOWN)

    def print_text() -> None:
        _print(found)
        if page.messages:
            write("")
            MESSAGES.print(page.messages)

    messages = [one.model_dump(mode="json") for one in page.messages]
    return print_view(found, print_text, messages=messages)


@app.command(cls=RemoteCommand)
@with_groups
def add(
    name: str = NEW,
    *,
    kind: contract.Kind = KIND,
    settings: Annotated[Given, SETTINGS],
    deliver: TargetOptions,
    mailbox: Annotated[Given, MAILBOX],
    password_stdin: bool = STDIN,
) -> int:
    """Make a channel; the secret that messages are signed with is shown once.

    The password of a mailbox is asked for, or read from standard input.
    """
    server = chosen.backend()
    given = {"agent": "orchestrator", **settings, **deliver.given(server)}
    given |= {"name": name, "kind": kind}
    if said := _mailbox(kind, None, mailbox, password_stdin=password_stdin, ask_password=False):
        given["mailbox"] = said
    made = server.call(contract.CREATE_CHANNEL, given)

    def print_text() -> None:
        _print(made)
        if made.mailbox is None:  # what is posted to it is signed
            write(f"  {'secret':<12} {made.secret} (shown only now: give it to the sender)")

    return print_view(made, print_text)


@app.command(cls=RemoteCommand)
@with_groups
def change(
    channel: str = NAME,
    *,
    name: str | None = RENAME,
    settings: Annotated[Given, SETTINGS],
    deliver: TargetOptions,
    mailbox: Annotated[Given, MAILBOX],
    password_stdin: bool = STDIN,
    ask_password: bool = ASK,
) -> int:
    """Change the given settings of a channel; the others stay."""
    server = chosen.backend()
    found = _find(server, channel)
    given = {**settings, **deliver.given(server)} | ({} if name is None else {"name": name})
    if mailbox.get("host") == "":
        given["mailbox"] = None
    elif said := _mailbox(
        found.kind, found.mailbox, mailbox, password_stdin=password_stdin, ask_password=ask_password
    ):
        given["mailbox"] = said
    changed = chosen.send_change(contract.CHANGE_CHANNEL, given, server, channel_id=found.id)
    return print_view(changed, lambda: _print(changed))


@app.command(cls=RemoteCommand)
def remove(name: str = NAME, *, yes: bool = common.YES) -> int:
    """Remove a channel and its log of messages; its conversations and runs stay."""
    server = chosen.backend()
    found = _find(server, name)
    chosen.confirm_removal(f"{one_line(found.name)} and its log of messages", yes=yes)
    server.call(contract.REMOVE_CHANNEL, channel_id=found.id)
    return chosen.print_removed(found.id, found.name, stays="its conversations and runs stay")


def _find(server: Backend, name: str) -> contract.ChannelOut:
    """Return a channel by its name, else by its number."""
    return named("channel", name, server.every(contract.LIST_CHANNELS).channels)[0]


def _mailbox(
    kind: contract.Kind,
    present: contract.MailboxOut | None,
    parts: Mapping[str, Any],
    *,
    password_stdin: bool,
    ask_password: bool,
) -> dict[str, Any]:
    """Return a channel's mailbox as the REST API takes it; empty: the command line names none.

    Raises:
        CommandError: The channel reads none, it has no server, or there is no password.
    """
    with_password = password_stdin or ask_password
    if not parts and not with_password:
        return {}
    if kind != "email":
        password = "--password-stdin" if password_stdin else "--ask-password"
        option = f"--imap-{next(iter(parts))}" if parts else password
        raise UsageError(f"{option} goes with --kind email: a {kind} channel reads no mailbox.")
    before = present.model_dump(include=PARTS) if present else {}
    mailbox = {**before, **parts}
    if not mailbox.get("host"):
        raise UsageError("A mailbox needs a server: name it with --imap-host.")
    moved = any(mailbox.get(name) != before.get(name) for name in PLACE)
    if moved or with_password:
        mailbox["password"] = _password(from_stdin=password_stdin)
    return mailbox


def _password(*, from_stdin: bool) -> str:
    """Return the mailbox's password, from standard input or from the person at the terminal.

    Raises:
        CommandError: There is none, or no terminal to ask at.
    """
    if from_stdin:
        return first_line("password")
    if is_interactive():
        return str(typer.prompt("Password of the mailbox", hide_input=True, err=True))
    raise UsageError(
        "The mailbox's password is never an argument: give it on standard input, with "
        "--password-stdin."
    )


def _state(one: contract.ChannelOut) -> str:
    if not one.enabled:
        return "disabled"
    return "trouble" if one.mailbox and one.mailbox.last_error else "active"


def _where(one: contract.ChannelOut) -> str:
    return f"{one.mailbox.user} at {one.mailbox.host}" if one.mailbox else one.url


def _print(one: contract.ChannelOut) -> None:
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
        ("answers to", "; ".join(one.recipients)),
        ("made by", one.created_by or "-"),
    ]
    print_facts(one.name, facts)


def _box(mailbox: contract.MailboxOut) -> str:
    place = f"{mailbox.host}:{mailbox.port} ({mailbox.security})"
    return f"{mailbox.user} at {place}, folder {mailbox.folder}"


def _title(one: contract.InboundOut) -> str:
    text = one.title if one.status == "accepted" else one.reason or one.title
    return one_line(text, TEXT_WIDTH)


CHANNELS: Final = Table.of(
    contract.ChannelOut,
    "CHANNEL=name:40 KIND AGENT STATE WHERE",
    styles=STYLES,
    none="No channels yet: `heartbit channels add NAME --kind webhook` makes one.",
    STATE=_state,
    WHERE=_where,
)
MESSAGES: Final = Table.of(
    contract.InboundOut,
    "TIME STATUS SENDER=sender:40|- RUN=run_id|- TITLE",
    styles=STYLES,
    TIME=lambda one: f"{one.received_at:%Y-%m-%d %H:%M:%S}",
    TITLE=_title,
)

Verbs(app, "channel", contract.LIST_CHANNELS, CHANNELS, place="channel_id").do(
    "rotate-secret",
    contract.ROTATE_CHANNEL_SECRET,
    "Replace the secret that a channel's messages are signed with.",
    once="secret",
)
