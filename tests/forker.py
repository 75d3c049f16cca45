"""A process that has imported what programs need, and forks one for each that it is asked for.

Half to three quarters of a short command's processor time is imports, and most of a server's
start. A fork has its own process id, environment, directory, files and exit code; only how it got
its modules, and that it does not take them apart at its end, differs. Nothing of ours is imported
here, because modules may read the environment: a fork that is to be ``ready`` for one environment
imports them and is such a process itself, with a socket of its own. No such process has a second
thread or a connection, so a fork inherits none.

    python -m tests.forker <fd of a SOCK_SEQPACKET socket>

It answers an order with the child's process id and, at the child's end, with its exit code. The
exit code of a child that is to ``stay`` is answered when its process id is sent as an order.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import sys
import termios
import threading
import time
from dataclasses import dataclass, field
from typing import Final, TextIO

#: What a command that needs the database imports, without what needs Django's settings.
THIRD: Final = (
    *("typer", "typer.main", "pydantic", "pydantic.v1", "yaml", "jsonschema_rs", "msgpack"),
    *("django", "django.apps", "django.core.management", "django.core.cache", "django.forms"),
    *("django.db.models", "django.db.backends.postgresql.base", "django.db.migrations.executor"),
    *("django.template", "django.http", "django.urls", "django.contrib.postgres.fields"),
    *("psycopg", "psycopg_pool", "redis.asyncio", "celery", "celery.app.amqp", "celery.app.base"),
    *("kombu", "kombu.transport.redis", "httpx", "httpx_aiohttp", "aiohttp"),
    "genai_prices.data_snapshot",
    *("rich.console", "rich.live", "rich.table", "unittest.mock", "multiprocessing.pool"),
    *("celery.apps.worker", "celery.worker.components", "celery.worker.consumer.consumer"),
    *("celery.worker.autoscale", "celery.worker.control", "celery.worker.strategy"),
    *("celery.worker.pidbox", "celery.worker.request", "celery.app.events", "celery.app.control"),
    *("celery.events.receiver", "celery.concurrency.thread", "kombu.asynchronous.hub"),
    *("celery.bin.celery", "celery.bin.worker", "celery.backends.redis"),
    *("django.contrib.admin.options", "django.contrib.auth.hashers", "django.core.handlers.asgi"),
    *("django.http.multipartparser", "django.templatetags.i18n", "django.views.generic.edit"),
    *("uvicorn.main", "uvicorn.protocols.http.h11_impl", "channels.routing", "channels_redis.core"),
    *("websockets.legacy.server", "jsonschema", "cryptography.fernet"),
    *("django.contrib.admin.templatetags.admin_list", "django.contrib.admin.views.main"),
    *("django.contrib.staticfiles.finders", "django.contrib.staticfiles.storage"),
    *("django.test.signals", "django_stubs_ext", "celery.fixups.django", "celery.schedules"),
    *("httpcore", "jinja2", "servestatic", "csp.middleware", "whatthepatch", "uuid_utils.compat"),
    *("cron_descriptor", "cronsim", "crontab", "docstring_parser", "pydantic_monty"),
    *("imaplib", "smtplib", "tarfile", "http.server", "wsgiref.simple_server", "xml.sax.handler"),
)
#: What a worker and a web process import when they begin.
OURS: Final = (
    *(
        "agents.tasks",
        "scheduling.tasks",
        "heartbit_site.celery_pool",
        "heartbit_site.cli.serving.worker",
    ),
    *("heartbit_site.web_server.serve", "heartbit_site.asgi", "heartbit_site.urls"),
)
#: Packages of which a command imports what it needs.
PACKAGES: Final = (
    *("heartbit_site.cli.commands", "heartbit_site.contract", "heartbit_site.operations"),
)


@dataclass(frozen=True, slots=True)
class Order:
    """One program to be run: its module has a function ``main``.

    Attributes:
        stay: Its exit code is asked for later.
        first: Number of the first file that it is given: 0 with standard input, else 1.
        terminal: Its standard input is its controlling terminal.
        ready: The child forks programs for this environment; its one file is its socket.
    """

    environment: dict[str, str]
    directory: str
    arguments: list[str] = field(default_factory=list)
    module: str = "heartbit_site.cli.main"
    stay: bool = False
    first: int = 1
    terminal: bool = False
    ready: bool = False


def next_order(channel: socket.socket) -> Order | None:
    """Fork for each order that comes; in a fork that order, in the forking process None at last."""
    staying: set[int] = set()
    while True:
        message, files, _, _ = socket.recv_fds(channel, 1 << 18, 3)
        if not message:
            for child in staying:  # whoever asked for them is gone
                os.kill(child, signal.SIGKILL)
            return None
        if message.isdigit():
            staying.discard(int(message))
            _answer_end(channel, int(message))
            continue
        order = Order(**json.loads(message))
        child = os.fork()
        if not child:
            channel.close()
            os.environ.clear()
            os.environ.update(order.environment)
            os.chdir(order.directory)
            if order.ready:
                channel = socket.socket(fileno=files[0])
                staying.clear()
                _import_ours()
                continue
            _take(files, order)
            return order
        for file in files:
            os.close(file)
        channel.send(str(child).encode())
        if order.stay:
            staying.add(child)
        else:
            _answer_end(channel, child)


def _import_ours() -> None:
    time.tzset()  # as Python does when it starts
    gc.disable()
    importlib.import_module("heartbit_site.cli.main")
    importlib.import_module("heartbit_site.bootstrap")
    importlib.import_module("django").setup()
    for name in OURS:
        importlib.import_module(name)
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        for module in pkgutil.iter_modules(path, f"{package}."):
            importlib.import_module(module.name)
    gc.freeze()
    gc.enable()


def _take(files: list[int], order: Order) -> None:
    for number, file in enumerate(files, start=order.first):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    # Those of the forking process are of files that may be sought in, which pipes may not.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = _written(1, sys.stdout), _written(2, sys.stderr)
    if order.terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # ^C reaches it


def _written(number: int, former: TextIO) -> TextIO:
    raw = io.FileIO(number, "w", closefd=False)
    return io.TextIOWrapper(raw, former.encoding, former.errors, write_through=True)


def _answer_end(channel: socket.socket, child: int) -> None:
    _, status = os.waitpid(child, 0)
    channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(order: Order) -> None:
    """Be the program, to the end of this process.

    An end with an exit code runs all that is registered for it, but takes no module apart: that
    touches, and so copies, every page that the fork shares.
    """
    sys.argv = ["heartbit", *order.arguments]
    # What a worker that is asked to restart executes: then it is no fork any more.
    sys.orig_argv = [sys.executable, "-m", order.module, *order.arguments]
    code = 0
    try:
        importlib.import_module(order.module).main()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise  # a sentence, which Python writes
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]  # waits for its threads
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    gc.disable()
    for name in THIRD:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    if order := next_order(socket.socket(fileno=int(sys.argv[1]))):
        run(order)
