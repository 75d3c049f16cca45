"""A service that tools act on, in a process of its own: it remembers every call it receives.

    python -m tests.effects_server --ledger effects.jsonl --latency-ms 30

It prints one line of JSON with its URL. Each request is one line of the ledger, on disk before the
answer begins: the tool (the path), the idempotency key, what was asked for (``op`` of the JSON
body) and when. It never deduplicates: what happened twice is there twice.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from agents.llm.testing.connection import Connection, Request
from agents.llm.testing.ledger import Ledger

_KEY = b"idempotency-key:"


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="effects_server")
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--latency-ms", type=float, default=0.0, help="between effect and answer")
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.ledger, arguments.latency_ms / 1000))


async def _serve(path: Path, latency: float) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    ledger = Ledger(path)

    def handle(connection: Connection, request: Request) -> None:
        entry = _entry(request)
        answer = partial(connection.send_json, {"done": entry["op"]})
        ledger.append(entry, then=partial(connection.later, latency, answer))

    server = await loop.create_server(lambda: Connection(handle), "127.0.0.1", 0, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{port}"}) + "\n")
    sys.stdout.flush()
    await stopped.wait()
    server.close()
    ledger.close()


def _entry(request: Request) -> dict[str, Any]:
    body: Any = json.loads(request.body or b"{}")
    return {
        "at": time.time(),
        "tool": request.path.lstrip("/"),
        "key": _header(request.headers, _KEY),
        "op": str(body.get("op", "")),
        "digest": hashlib.sha256(request.body).hexdigest()[:32],
    }


def _header(headers: bytes, name: bytes) -> str:
    for line in headers.split(b"\r\n"):
        if line.startswith(name):
            return line.removeprefix(name).strip().decode("latin-1")
    return ""


if __name__ == "__main__":
    main()
