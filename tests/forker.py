"""A process that has imported what commands need, and forks one for each that it is asked for.

Half to three quarters of a short command's processor time is imports. A fork has its own process
id, environment, directory, files and exit code; only how it got its modules differs. Nothing of
ours is imported here unless the whole environment is the one the command will have (`ready`),
because modules may read it.

    python -m tests.forker <fd of a SOCK_SEQPACKET socket> [ready]
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
from dataclasses import dataclass
from typing import Final

#: What a command that needs the database imports, without what needs Django's settings.
THIRD: Final = (
    *("typer", "typer.main", "pydantic", "pydantic.v1", "yaml", "jsonschema_rs", "msgpack"),
    *("django", "django.apps", "django.core.management", "django.core.cache", "django.forms"),
    *("django.db.models", "django.db.backends.postgresql.base", "django.db.migrations.executor"),
    *("django.template", "django.http", "django.urls", "django.contrib.postgres.fields"),
    *("psycopg", "psycopg_pool", "redis.asyncio", "celery", "celery.app.amqp", "celery.app.base"),
    *("kombu", "kombu.transport.redis", "httpx", "httpx_aiohttp", "aiohttp"),
    *("rich.console", "rich.live", "rich.table", "unittest.mock", "multiprocessing.pool"),
)


@dataclass(frozen=True, slots=True)
class Order:
    """One command to be run."""

    arguments: list[str]
    environment: dict[str, str]
    directory: str


def next_order(channel: socket.socket) -> Order | None:
    """Fork for each order that comes; in a fork that order, in the forking process None at last."""
    while True:
        message, outputs, _, _ = socket.recv_fds(channel, 1 << 18, 2)
        if not message:
            return None
        child = os.fork()
        if not child:
            channel.close()
            for number, output in enumerate(outputs, start=1):
                os.dup2(output, number)
                os.close(output)
            return Order(**json.loads(message))
        for output in outputs:
            os.close(output)
        channel.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(order: Order) -> None:
    """Be the command, to the end of this process."""
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.directory)
    sys.argv = ["heartbit", *order.arguments]
    importlib.import_module("heartbit_site.cli.main").main()


if __name__ == "__main__":
    for name in THIRD:
        importlib.import_module(name)
    if sys.argv[2:] == ["ready"]:
        importlib.import_module("heartbit_site.cli.main")
        importlib.import_module("heartbit_site.bootstrap")
        importlib.import_module("django").setup()
    gc.freeze()
    if order := next_order(socket.socket(fileno=int(sys.argv[1]))):
        run(order)
