"""`heartbit channels`: ways in for messages."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import typer

from heartbit_site.cli import delivery_options, options, remote_options
from heartbit_site.cli.default_command import FirstByDefault


class Kind(StrEnum):
    """Kind of message that a channel accepts."""

    EMAIL = "email"
    WEBHOOK = "webhook"


class Security(StrEnum):
    """Encryption of the connection to a mailbox."""

    TLS = "tls"
    STARTTLS = "starttls"
    NONE = "none"


NEW = typer.Argument(metavar="NAME", help="Purpose of the channel, such as 'support mailbox'.")
NAME = typer.Argument(metavar="NAME", help="The channel's name, or its number.")
KIND = typer.Option(..., "--kind", help="Signed posts, or mails.")
RENAME = typer.Option(None, "--name", metavar="NAME", help="Give it this name.")
AGENT = typer.Option(None, "--agent", "-a", metavar="NAME", help="Let this agent answer.")
ENABLED = typer.Option(None, "--enable/--disable", help="A disabled one takes nothing.")
APPROVE = typer.Option(
    None,
    "--require-approval/--no-require-approval",
    help="Require approval of every tool call of its runs.",
)
LIMIT = typer.Option(
    None, "--hourly-limit", metavar="N", help="Accept N messages an hour; 60 unless set."
)
MAPPING = typer.Option(
    None,
    "--mapping",
    metavar="JSON",
    help='Make a webhook\'s task so, such as \'{"task": "Answer {ticket.body}"}\'.',
)
SENDERS = typer.Option(
    [],
    "--sender",
    metavar="ADDRESS",
    help="Let this address, '@example.org' or '*' write; may be repeated.",
    show_default=False,
)
REPLY = typer.Option(None, "--reply/--no-reply", help="Answer a mail's sender.")
HOST = typer.Option(None, "--imap-host", metavar="HOST", help="Read a mailbox there; '': none.")
PORT = typer.Option(None, "--imap-port", metavar="PORT", help="993 unless said.")
SECURITY = typer.Option(None, "--imap-security", help="tls unless said.")
USER = typer.Option(None, "--imap-user", metavar="USER", help="Log in as this user.")
FOLDER = typer.Option(None, "--imap-folder", metavar="FOLDER", help="INBOX unless said.")
STDIN = typer.Option(
    options.OFF, "--password-stdin", help="Read the mailbox's password from standard input."
)
ASK = typer.Option(options.OFF, "--ask-password", help="Ask for the mailbox's new password.")

channels = typer.Typer(
    name="channels",
    cls=FirstByDefault,
    rich_markup_mode=None,
    help="Show and make ways in for messages.",
)


@channels.command(name="list")
def list_(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """List the channels, the newest first."""
    from heartbit_site.cli import channels_report as report

    raise typer.Exit(report.list_all(url, as_json=as_json))


@channels.command()
def show(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Show a channel, and what came in last."""
    from heartbit_site.cli import channels_report as report

    raise typer.Exit(report.show(url, name, as_json=as_json))


@channels.command()
def add(
    name: str = NEW,
    *,
    kind: Kind = KIND,
    agent: str = options.AGENT,
    enabled: bool | None = ENABLED,
    approve: bool | None = APPROVE,
    hourly_limit: int | None = LIMIT,
    mapping: str | None = MAPPING,
    sender: list[str] = SENDERS,
    reply: bool | None = REPLY,
    email: list[str] = delivery_options.EMAIL,
    webhook: list[str] = delivery_options.WEBHOOK,
    artifact: list[str] = delivery_options.ARTIFACT,
    imap_host: str | None = HOST,
    imap_port: int | None = PORT,
    imap_security: Security | None = SECURITY,
    imap_user: str | None = USER,
    imap_folder: str | None = FOLDER,
    password_stdin: bool = STDIN,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Make a channel; the secret that messages are signed with is shown once.

    The password of a mailbox is asked for, or read from standard input.
    """
    from heartbit_site.cli import channels_report as report

    order = report.ChannelOptions(
        name=name,
        agent=agent,
        enabled=enabled,
        approve=approve,
        hourly_limit=hourly_limit,
        mapping=mapping,
        senders=sender,
        reply=reply,
        emails=email,
        webhooks=webhook,
        artifacts=artifact,
        mailbox=_mailbox(imap_host, imap_port, imap_security, imap_user, imap_folder),
        from_stdin=password_stdin,
    )
    raise typer.Exit(report.add(url, kind.value, order, as_json=as_json))


@channels.command()
def change(
    name: str = NAME,
    *,
    new_name: str | None = RENAME,
    agent: str | None = AGENT,
    enabled: bool | None = ENABLED,
    approve: bool | None = APPROVE,
    hourly_limit: int | None = LIMIT,
    mapping: str | None = MAPPING,
    sender: list[str] = SENDERS,
    reply: bool | None = REPLY,
    email: list[str] = delivery_options.EMAIL,
    webhook: list[str] = delivery_options.WEBHOOK,
    artifact: list[str] = delivery_options.ARTIFACT,
    imap_host: str | None = HOST,
    imap_port: int | None = PORT,
    imap_security: Security | None = SECURITY,
    imap_user: str | None = USER,
    imap_folder: str | None = FOLDER,
    password_stdin: bool = STDIN,
    ask_password: bool = ASK,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Change what is named of a channel; what is not stays."""
    from heartbit_site.cli import channels_report as report

    order = report.ChannelOptions(
        name=new_name,
        agent=agent,
        enabled=enabled,
        approve=approve,
        hourly_limit=hourly_limit,
        mapping=mapping,
        senders=sender,
        reply=reply,
        emails=email,
        webhooks=webhook,
        artifacts=artifact,
        mailbox=_mailbox(imap_host, imap_port, imap_security, imap_user, imap_folder),
        from_stdin=password_stdin,
        ask_password=ask_password,
    )
    raise typer.Exit(report.change(url, name, order, as_json=as_json))


@channels.command()
def remove(
    name: str = NAME,
    *,
    yes: bool = options.YES,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Remove a channel and the log of what came in; its conversations and runs stay."""
    from heartbit_site.cli import channels_report as report

    raise typer.Exit(report.remove(url, name, yes=yes, as_json=as_json))


def _mailbox(
    host: str | None,
    port: int | None,
    security: Security | None,
    user: str | None,
    folder: str | None,
) -> dict[str, Any]:
    return {
        "host": host,
        "port": port,
        "security": None if security is None else security.value,
        "user": user,
        "folder": folder,
    }


app = channels
