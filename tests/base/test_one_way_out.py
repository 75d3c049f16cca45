"""Only the guarded client and the model adapters open HTTP connections."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling")
# Whoever adds a place here says why a model can steer nothing there.
ALLOWED = (
    "heartbit_site/base/http/",  # the guarded client itself
    "agents/llm/",  # a provider's address comes from an operator; see docs of agents.llm
    "heartbit_site/embedded/",  # speaks to the servers it started, on 127.0.0.1
    "heartbit_site/remote/client.py",  # the address comes from the person who types it
    "heartbit_site/remote/stream.py",  # likewise
    "heartbit_site/cli/following/system_events.py",  # likewise
    "tools/mcp/connection.py",  # the errors of the SDK's client alone
    "tools/mcp/guarded_transport.py",  # the SDK's client over the guarded one
    "heartbit_site/demo/check.py",  # reads the counters of the model server started here
)
MODULES = {"requests", "urllib3", "urllib.request", "http.client", "httpx2", "pycurl"}
CONSTRUCTORS = {
    *("httpx.Client", "httpx.AsyncClient", "httpx.HTTPTransport", "httpx.AsyncHTTPTransport"),
    *("httpx.get", "httpx.post", "httpx.put", "httpx.patch", "httpx.delete", "httpx.head"),
    *("httpx.request", "httpx.stream", "httpx.options", "aiohttp.ClientSession", "aiohttp.request"),
    *("httpcore.ConnectionPool", "httpcore.AsyncConnectionPool"),
}


def violations(source: str) -> Iterator[str]:
    """Every import or construction in a module that opens its own way out."""
    nodes = list(ast.walk(ast.parse(source)))
    known = dict(name for node in nodes for name in imported(node))
    for full in known.values():
        if full in MODULES or full.rpartition(".")[0] in MODULES:
            yield full
    for node in nodes:
        used = getattr(node, "bases", [])
        if isinstance(node, ast.Call) and not leads_nowhere(node):
            used = [node.func]
        for part in used:
            head, _, rest = ast.unparse(part).partition(".")
            full = f"{known.get(head, head)}.{rest}".rstrip(".")
            if full in CONSTRUCTORS:
                yield full


def leads_nowhere(call: ast.Call) -> bool:
    """Whether a client is built on a transport that answers by itself."""
    return any(
        word.arg == "transport" and ast.unparse(word.value).startswith("httpx.MockTransport(")
        for word in call.keywords
    )


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names an import binds, and what they stand for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name, alias.name
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def test_no_module_opens_its_own_way_out() -> None:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(ALLOWED):
                found[name] = list(violations(path.read_text(encoding="utf-8")))
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import requests",
        "import urllib.request",
        "from urllib import request",
        "from urllib.request import urlopen",
        "import httpx\nhttpx.AsyncClient()",
        "import httpx as h\nh.get('x')",
        "from httpx import AsyncClient as C\nC()",
        "import httpx\nclass Mine(httpx.Client): ...",
        "import aiohttp\nasync def f():\n    async with aiohttp.ClientSession() as s: ...",
    ],
)
def test_the_scan_sees_every_way(source: str) -> None:
    assert list(violations(source))


def test_the_scan_lets_types_and_mocks_pass() -> None:
    assert not list(violations("import httpx\ndef f(c: httpx.AsyncClient) -> None: ..."))
    assert not list(violations("import httpx\nhttpx.Client(transport=httpx.MockTransport(f))"))
