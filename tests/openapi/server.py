"""An HTTP server that keeps what it was sent, and serves documents and answers."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS = Path(__file__).parent / "documents"


def document(name: str) -> str:
    return (DOCUMENTS / name).read_text()


@dataclass(frozen=True)
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: str


@dataclass
class Api:
    """The server.

    Attributes:
        received: The requests for anything but a document.
        documents: Documents by path.
        answers: Status, headers and body by path; else 200 with a small object.
        held: Set to let held requests end.
    """

    url: str = ""
    received: list[Received] = field(default_factory=list)
    documents: dict[str, str | bytes] = field(default_factory=dict)
    answers: dict[str, tuple[int, dict[str, str], str]] = field(default_factory=dict)
    held: threading.Event = field(default_factory=threading.Event)


@contextmanager
def api_server() -> Iterator[Api]:
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            path = self.path.partition("?")[0]
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            status, headers = 200, {"content-type": "application/json"}
            text: str | bytes = '{"ok": true}'
            if path in api.documents:
                text = api.documents[path]
            else:
                named = {name.lower(): value for name, value in self.headers.items()}
                api.received.append(Received(self.command, self.path, named, body))
                if path in api.answers:
                    status, headers, text = api.answers[path]
            if status == 0:
                api.held.wait(60)
                return
            data = text.encode() if isinstance(text, str) else text
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield api
    finally:
        api.held.set()
        server.shutdown()
        server.server_close()
        thread.join()


def parsed(received: Received) -> Any:
    return json.loads(received.body)
