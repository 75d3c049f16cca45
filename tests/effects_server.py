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

from agents.llm.testing.connection import Request, send_json, serve_client
from agents.llm.testing.ledger import Ledger


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

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        entry = _entry(request)
        await ledger.append(entry)
        await asyncio.sleep(latency)
        send_json(writer, {"done": entry["op"]})

    server = await asyncio.start_server(partial(serve_client, handle), "127.0.0.1", 0, backlog=1024)
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
        "key": request.headers.get("idempotency-key", ""),
        "op": str(body.get("op", "")),
        "digest": hashlib.sha256(request.body).hexdigest()[:32],
    }


if __name__ == "__main__":
    main()
