"""All of Heartbit in one terminal: worker, beat and web beside the services they need.

The three look after the embedded services (``installation.services.kept``); this process only looks
after the three.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from typing import Final

from django.conf import settings
from django.db import connections
from rich.console import Console
from rich.text import Text

from heartbit_site.base import variables
from heartbit_site.base.process_memory import settle
from heartbit_site.cli.installation.startup import in_use
from heartbit_site.cli.options.address import page_url, reachable_host
from heartbit_site.cli.serving.processes import Child, Part
from heartbit_site.cli.terminal.errors import OK
from heartbit_site.embedded import client
from heartbit_site.environment import Environment
from heartbit_site.first_start import Admin, unused_admin

CONNECT_SECONDS: Final = 0.2
GRACEFUL_SECONDS: Final = 3


def up(*, port: int, bind: str, concurrency: int, queues: str, admin: Admin | None = None) -> int:
    """Run everything until Ctrl-C; `admin` is the first one, if this start created it."""
    environment: Environment = settings.ENVIRONMENT
    hint = login_hint(admin)
    connections.close_all()
    console = Console(highlight=False)
    if environment.embedded:  # for the links that other commands print meanwhile
        environment.state.keep_page_url(settings.HEARTBIT_PUBLIC_URL)
    settle()
    wanted = parts(port=port, bind=bind, concurrency=concurrency, queues=queues)
    try:
        asyncio.run(_run(wanted, console, bind, port, hint))
    finally:
        _let_go(environment, console)
    return OK


def parts(*, port: int, bind: str, concurrency: int, queues: str) -> list[Part]:
    """Return the parts to start, in the order in which they are ended."""
    web = ["web", "--bind", bind, "--port", str(port), "--grace", str(GRACEFUL_SECONDS)]
    quiet = [] if variables.LOG.read() else ["--loglevel", "warning"]
    return [
        Part("web", "blue", [*web, *quiet]),
        Part("beat", "magenta", ["beat", *quiet]),
        Part("worker", "green", ["serve", "-c", str(concurrency), "-Q", queues]),
    ]


def login_hint(admin: Admin | None) -> str:
    """Return how to log in while the first admin has never done so; empty after that.

    The first password is part of it on a terminal alone, never in a log.
    """
    if admin is not None and sys.stdout.isatty():
        return f"Log in as {admin.name} with the password {admin.password}"
    name = unused_admin()
    if name is None:
        return ""
    return f"{name} has never logged in: `heartbit users password {name}` sets a password."


async def _run(wanted: list[Part], console: Console, bind: str, port: int, hint: str) -> None:
    children = [Child(part, console) for part in wanted]
    over, hurry = asyncio.Event(), asyncio.Event()

    def interrupted() -> None:
        (hurry if over.is_set() else over).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupted)
    for child in reversed(children):
        child.start()
    welcome = asyncio.create_task(_welcome(console, bind, port, hint))
    await over.wait()
    welcome.cancel()
    console.print(Text("Ending everything (Ctrl-C again kills what is left) ...", style="dim"))
    killing = asyncio.create_task(_kill_on(hurry, children))
    for child in children:
        await child.end()
    killing.cancel()
    await asyncio.gather(welcome, killing, return_exceptions=True)


async def _kill_on(hurry: asyncio.Event, children: list[Child]) -> None:
    await hurry.wait()
    for child in children:
        child.signal(signal.SIGKILL)


async def _welcome(console: Console, bind: str, port: int, hint: str) -> None:
    """Print where the web page is once it answers, and how to get in."""
    host = reachable_host(bind)
    while True:
        # Not by the loop, which would look up the host in a thread.
        with contextlib.suppress(OSError):
            socket.create_connection((host, port), CONNECT_SECONDS).close()
            break
        await asyncio.sleep(CONNECT_SECONDS)
    text = f"Heartbit is at {page_url(bind, port)}/ - Ctrl-C ends everything."
    console.print(Text(text, style="bold"), soft_wrap=True)
    if hint:
        console.print(Text(hint, style="bold"), soft_wrap=True)


def _let_go(environment: Environment, console: Console) -> None:
    """Stop the embedded services, unless another process needs them."""
    if not environment.embedded:
        return
    client.release()
    if in_use(environment.state):
        console.print(Text("The embedded services go on: other processes use them.", style="dim"))
        return
    client.stop(environment.state)
    console.print(Text("Stopped the embedded services.", style="dim"))
