"""`heartbit mcp` for an API with an OpenAPI document, here and against a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from heartbit_site.cli.terminal.errors import FAILED, USAGE
from tests.openapi.server import DOCUMENTS
from tools.models import McpServer

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place

ISSUES = str(DOCUMENTS / "issues.yaml")


@pytest.fixture
def place(place: Place) -> Place:
    return place.of("mcp")


def test_an_api_is_added_looked_at_picked_from_and_changed(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    done = place("add", "tracker", "--document", ISSUES)
    assert (done.code, done.out.count("0 of 5 operations are tools.")) == (0, 1), done.err
    assert "  address      an OpenAPI document\n" in done.out
    assert "  asks for     a bearer token\n" in done.out
    shown = place("show", "tracker").out
    assert "Other operations, for --operation of `heartbit mcp change tracker`:\n" in shown
    assert "  createIssue: POST /repos/{owner}/{repo}/issues  Open an issue\n" in shown
    assert "  GET /repos/{owner}/{repo}/issues/{number}  Show an issue\n" in shown
    picked = place(
        *("change", "tracker", "--operation", "createIssue", "--operation", "uploadLogo"),
        *("--effects", '{"createIssue": "idempotent"}', "--idempotency-header", "X-Request-Id"),
    )
    assert picked.code == 0, picked.err
    assert (
        "1 of 5 operations is a tool. Left out: uploadLogo, because it takes a body" in picked.out
    )
    shown = place("show", "tracker").out
    assert "\ntracker_create_issue (idempotent): Open an issue\n" in shown
    assert "  createIssue:" not in shown

    changed = tmp_path / "issues.yaml"
    changed.write_text((DOCUMENTS / "issues.yaml").read_text().replace("Opens an", "Pays for an"))
    assert "Changed, and not called" in place("change", "tracker", "--document", str(changed)).out
    shown = place("show", "tracker").out
    assert "  +Pays for an issue, and notifies those who watch the repository.\n" in shown
    assert place("accept", "tracker", "--yes").code == 0
    row = McpServer.objects.get(workspace=workspace)
    assert row.effects == {"createIssue": "idempotent"}
    assert json.loads(row.document)["openapi"] == "3.0.3"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--document", "nowhere.yaml"), "The document nowhere.yaml cannot be read: "),
        (("--document", __file__), "is neither JSON nor YAML"),
        (("--document", ISSUES, "--openapi", "https://x.example"), "together with openapi"),
        (("--document", ISSUES, "--program", "x"), "is given together with document"),
        (("--openapi", "ftp://x.example"), "is not an http or https URL"),
        (("--document", ISSUES, "--sign-in"), "is for MCP servers: give an API a credential"),
        (("--document", ISSUES, "--effects", '{"a": "often"}'), "effects"),
        (("--document", ISSUES, "--idempotency-header", "Host"), "is not a header that can be set"),
    ],
)
def test_what_cannot_be_added_has_one_sentence(
    place: Place, workspace: Workspace, arguments: tuple[str, ...], sentence: str
) -> None:
    done = place("add", "tracker", *arguments)
    assert done.code in (FAILED, USAGE)
    assert sentence in done.err.replace("\n", " "), done.err
    assert not McpServer.objects.filter(workspace=workspace).exists()
