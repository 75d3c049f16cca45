"""A server that misbehaves over stdio: `hostile.py WAY`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WAY = sys.argv[1]
GOOD = {"name": "good", "description": "Be good.", "inputSchema": {"type": "object"}}
TOOLS: dict[str, list[Any]] = {
    "many": [{**GOOD, "name": f"tool{number}"} for number in range(1_000)],
    "long": [{**GOOD, "description": "x" * 7_900, "name": f"t{n}"} for n in range(200)],
    "schemas": [
        GOOD,
        {**GOOD, "name": "loop", "inputSchema": {"type": "object", "$ref": "#"}},
        {**GOOD, "name": "remote", "inputSchema": {"type": "object", "$ref": "http://x.example/"}},
        {**GOOD, "name": "nul", "inputSchema": {"type": "object", "title": "a\0b"}},
        {**GOOD, "name": "big", "inputSchema": {"type": "object", "title": "x" * 70_000}},
        {**GOOD, "name": "story", "description": "x" * 9_000},
        GOOD,
    ],
    "signs": [
        {**GOOD, "name": "a\0b"},
        {**GOOD, "description": "Be\0 good\u202e."},
    ],
    "unlawful": [
        {"name": "bare"},
        GOOD,
        {**GOOD, "name": "array", "inputSchema": {"type": "array"}},
        {**GOOD, "name": 7},
        {**GOOD, "name": "better"},
        None,
    ],
    "story": [{**GOOD, "description": "x" * 1_100_000, "name": "story"}, GOOD],
    "lies": [
        {**GOOD, "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    ],
}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    match request.get("method"):
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {
                    "name": "host\0ile" if WAY == "signs" else "hostile",
                    "version": "0",
                },
            }
        case "tools/list" if WAY == "endless":
            return {"tools": [], "nextCursor": "more"}
        case "tools/list" if WAY == "slow" and "cursor" in request.get("params", {}):
            while not Path(sys.argv[2]).exists():
                time.sleep(0.05)
            return {"tools": [{**GOOD, "name": f"late{number}"} for number in range(100)]}
        case "tools/list" if WAY == "slow":
            first = [{**GOOD, "name": f"early{number}"} for number in range(100)]
            return {"tools": first, "nextCursor": "more"}
        case "tools/list" if WAY == "unreadable":
            return {"tools": "nothing of the kind"}
        case "tools/list":
            return {"tools": TOOLS.get(WAY, [GOOD])}
        case "tools/call":
            return called(request)
    return None


def called(request: dict[str, Any]) -> dict[str, Any] | None:
    match WAY:
        case "hang":
            time.sleep(600)
        case "exit":
            sys.stderr.write("Traceback\nKeyError: 'no such table'\n")
            os._exit(1)
        case "line":
            sys.stdout.write("x" * 100_000_000)
            sys.stdout.flush()
        case "blocks":
            return {"content": [{"type": "text", "text": ""}] * 125_000}
        case "asks" | "pings" | "changes":
            flood()
        case "ids":
            say({"id": 99_999, "result": {"content": []}})
            say({"id": "x", "result": {"content": []}})
        case "nonsense":
            return {"content": "nothing of the kind"}
        case "lies":
            return {"content": [], "structuredContent": {"n": "seven"}}
        case "summary":
            data = {"items": [{"title": "zinnia"}]}
            return {"content": [{"type": "text", "text": "1 item"}], "structuredContent": data}
    return {"content": [{"type": "text", "text": f"good: {request['params']['arguments']}"}]}


def begin_late(folder: Path) -> None:
    """Say that it was started, and wait for a file."""
    (folder / "started").touch()
    while not (folder / "go").exists():
        time.sleep(0.02)


def flood() -> None:
    """Ask without reading an answer, until the pipe is closed; or say that the tools changed."""
    if WAY == "changes":
        for _ in range(300):
            say({"method": "notifications/tools/list_changed"})
        return
    form = {"type": "object", "properties": {"size": {"type": "string"}}}
    asked = {"message": "x" * 30_000, "requestedSchema": form}
    number = 0
    while True:
        number += 1
        if WAY == "asks":
            say({"id": number, "method": "elicitation/create", "params": asked})
        else:
            say({"id": number, "method": "ping", "params": {"_meta": {"x": "y" * 30_000}}})


def main() -> None:
    if WAY == "stderr":
        sys.stderr.write("noise\n" * 1_000_000)
    if WAY == "grandchild":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[2]])
    if WAY == "start":
        sys.stderr.write("no licence\n")
        sys.exit(1)
    if WAY == "silent":
        time.sleep(600)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if WAY == "junk":
            sys.stdout.write("Listening...\n{}\n[1]\n\xff\n" + "[" * 100_000 + "\n")
        result = answer(request)
        if result is None:
            say({"id": request["id"], "error": {"code": -32601, "message": "Unknown method"}})
        else:
            say({"id": request["id"], "result": result})


if WAY == "late":
    begin_late(Path(sys.argv[2]))
main()
