"""Drive other people's MCP servers with our client, and write a row for each."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tests.interop import installed, rows
from tests.interop.servers import drives, overhead
from tests.server_process import ROOT
from tools.mcp.endpoints import McpEndpoint

Steps = Callable[[drives.Drive], Awaitable[None]]

#: Of the suite's scenarios for clients, those without and those with a sign-in. The client declines
#: what a server asks a person for, so the defaults of a form are not tried; and it does not sign in
#: at the servers of two scenarios of March 2025, whose metadata names another issuer, or is none.
SCENARIOS = ("initialize", "tools_call", "sse-retry")
SIGN_INS = (
    *(f"auth/metadata-{each}" for each in ("default", "var1", "var2", "var3")),
    *("auth/basic-cimd", "auth/pre-registration", "auth/resource-mismatch"),
    *("auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported"),
    *("auth/scope-omitted-when-undefined", "auth/scope-step-up", "auth/scope-retry-limit"),
    *(f"auth/token-endpoint-auth-{each}" for each in ("basic", "post", "none")),
    *("auth/offline-access-scope", "auth/offline-access-not-supported"),
)
#: Limit of a scenario in ms: the first one waits for the client's imports.
LIMIT = "120000"


def of_servers() -> list[dict[str, Any]]:
    """Drive each server, and return a row for each."""
    with (
        drives.repository() as repository,
        drives.place() as folder,
        drives.page() as page,
        drives.everything_over_http() as url,
    ):
        python, node = installed.python_program, installed.node_server
        git = f"+write={repository}", *python("mcp-server-git", "--repository", repository)
        # Its page is on loopback, where no proxy leads.
        fetch = "+open", *python("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips")
        modules = f"+read={installed.MODULES}"
        files = modules, f"+write={folder}", *node("server-filesystem", folder)
        everything = modules, *node("server-everything", "stdio")
        plan: list[tuple[McpEndpoint, Steps]] = [
            (McpEndpoint(1, "mcp-server-time", words=python("mcp-server-time")), drives.time),
            (
                McpEndpoint(1, "mcp-server-git", words=git),
                partial(drives.git, place=repository),
            ),
            (
                McpEndpoint(1, "mcp-server-fetch", words=fetch),
                partial(drives.fetch, page=page),
            ),
            (
                McpEndpoint(1, "server-filesystem", words=files),
                partial(drives.files, place=folder),
            ),
            (McpEndpoint(1, "server-everything", words=everything), drives.everything),
            (McpEndpoint(1, "server-everything", url=url), drives.everything),
        ]
        return [driven(endpoint, steps) for endpoint, steps in plan]


def driven(endpoint: McpEndpoint, steps: Steps) -> dict[str, Any]:
    """Drive a server."""
    over = "http" if endpoint.url else "stdio"
    row = {"client": f"{endpoint.name} over {over}", "version": installed.version(endpoint.name)}
    row = asyncio.run(drives.driven(endpoint, steps)) | row
    rows.write(row)
    return row


def conformance(scenario: str) -> dict[str, Any]:
    """Let the conformance suite drive our client through a scenario."""
    module = "conformance_auth" if scenario in SIGN_INS else "conformance"
    client = f"{sys.executable} -m tests.interop.servers.{module}"
    suite = installed.node_server("conformance", "client", "--command", client)
    done = subprocess.run(
        [*suite, "--scenario", scenario, "--timeout", LIMIT],
        cwd=ROOT,
        env={**os.environ, "HEARTBIT_HTTP_ALLOWLIST": "127.0.0.1:*"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout + done.stderr
    checks = re.search(r"(\d+)/(\d+) passed|Passed: (\d+)", told)
    row = {
        "client": f"conformance {scenario}",
        "version": installed.version("conformance"),
        "calls": 1,
        "pass": done.returncode == 0,
        "said": checks.group(0) if checks else told[-300:],
    }
    rows.write(row)
    return row


def overhead_row() -> dict[str, Any]:
    """Measure the time that the client adds to a call."""
    row = {"client": "overhead over http", "version": "sdk"} | asyncio.run(overhead.measured())
    rows.write(row)
    return row


def main() -> int:
    """Run the command; 1 when a server was not driven."""
    installed.install()
    scenarios = (*SCENARIOS, *SIGN_INS)
    found = [*of_servers(), *(conformance(scenario) for scenario in scenarios), overhead_row()]
    return 0 if all(row["pass"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
