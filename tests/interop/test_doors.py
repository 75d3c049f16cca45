"""The rows of ``make interop``: each client once, what is declined said, and documents that agree.

Those whose client is in Heartbit's own environment are driven here as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.interop import installed
from tests.interop.doors import session
from tests.interop.doors.conformance import DECLINED
from tests.interop.doors.heartbit import furnish
from tests.interop.doors.plan import CLIENTS, Client
from tests.server_process import ROOT

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker

OWN = [one for one in CLIENTS if one.package.startswith("pypi:") and not one.declines]
NAMED = {
    "openai.md": ("openai", "openresponses-types"),
    "mcp-server.md": (
        *("mcp", "@modelcontextprotocol/inspector", "@modelcontextprotocol/conformance"),
        "@modelcontextprotocol/ext-tasks",
    ),
    "a2a.md": ("a2a-sdk", "a2aops", "a2a-lint"),
    "ag-ui.md": ("@ag-ui/client", "ag-ui-protocol", "ag-ui-validate"),
}


def test_each_client_is_one_row_of_a_package_that_is_pinned() -> None:
    names = [client.name for client in CLIENTS]
    assert len(names) == len(set(names))
    pinned = {one.partition("==")[0] for one in installed.PYTHON} | {
        one.rpartition("@")[0] for one in installed.NODE
    }
    locked = re.findall(r"^([^ =\[]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    for client in CLIENTS:
        registry, _, name = client.package.partition(":")
        if registry == "npm":
            assert any(each.partition("@npm:")[0] == name for each in pinned), client
        else:
            assert name in pinned or name in locked, client


def test_the_documents_name_the_clients_that_are_driven() -> None:
    driven = {client.package.partition(":")[2] for client in CLIENTS}
    driven.discard("conformance-next")  # the same package, of another version
    driven.add("@modelcontextprotocol/conformance")
    assert driven == {name for names in NAMED.values() for name in names}
    for document, names in NAMED.items():
        text = (ROOT / "docs" / "howto" / document).read_text()
        table = text.partition("## Clients that are driven")[2]
        assert re.findall(r"^\| `([^`]+)`", table, re.MULTILINE) == [*names], document


def test_what_is_declined_has_a_reason() -> None:
    reasons = [dict(client.declines) for client in CLIENTS] + [
        dict(one) for one in DECLINED.values()
    ]
    assert all(reason for declined in reasons for reason in declined.values())


@pytest.mark.parametrize("name", [one.name for one in OWN if "ag-ui-validate" not in one.name])
def test_the_clients_in_our_own_environment_are_driven(
    web: WebServer, worker: Worker, workspace: Workspace, name: str
) -> None:
    [client] = [one for one in CLIENTS if one.name == name]
    row = session.driven(client, furnish(web, workspace))
    assert row["pass"], row
    assert row["calls"] > 5


def test_a_client_that_fails_says_why(web: WebServer, worker: Worker, workspace: Workspace) -> None:
    def drive(_: object) -> int:
        raise AssertionError("it says nothing")

    row = session.driven(Client("odd", "pypi:openai", drive), furnish(web, workspace))
    assert (row["pass"], row["why"]) == (False, "AssertionError: it says nothing")
