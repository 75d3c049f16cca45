"""Skills, documents and artifacts as resources."""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import BlobResourceContents, TextResourceContents

from tests.api.server import key_for
from tests.conftest import new_workspace
from tests.doors.mcp.conftest import Mcp

if TYPE_CHECKING:
    from mcp.client import Client

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller

TEXT, PICTURE = b"Owls see at night.", b"\x89PNG\xff"


@pytest.fixture
def documents(caller: Caller) -> list[str]:
    """Addresses of a text and of something that is no text."""
    assert caller.post("/knowledge-bases", {"name": "birds"}).status_code in (200, 201)
    found = []
    for name, content in (("owls.txt", TEXT), ("owl.pdf", PICTURE)):
        body = {"name": name, "content": base64.b64encode(content).decode()}
        saved = caller.post("/knowledge-bases/birds/documents", body)
        assert saved.status_code in (200, 201), saved.text
        found.append(f"heartbit://knowledge/birds/{saved.json()['id']}")
    return found


def read(mcp: Mcp, uri: str) -> Any:
    async def use(client: Client) -> Any:
        [content] = (await client.read_resource(uri)).contents
        return content

    return mcp.run(use)


def refused(mcp: Mcp, uri: str) -> str:
    async def use(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        return caught.value.message

    return mcp.run(use)


def test_skills_and_documents_are_listed_with_their_digests(
    mcp: Mcp, documents: list[str], workspace: Workspace
) -> None:
    async def use(client: Client) -> Any:
        templates = (await client.list_resource_templates()).resource_templates
        return {one.uri: one for one in (await client.list_resources()).resources}, templates

    found, templates = mcp.run(use)
    assert found[documents[0]].meta["heartbit/sha256"] == sha256(TEXT).hexdigest()
    assert "heartbit://runs/{run_id}/artifacts/{name}" in [one.uri_template for one in templates]
    [skill, *_] = [uri for uri in found if uri.startswith("skill://")]
    assert "---" in read(mcp, skill).text
    lesser = Mcp(mcp.address, key_for(workspace, ["runs:read", "runs:write"]))
    assert documents[0] in (less := lesser.run(use)[0])
    assert skill not in less
    assert "agents:read" in refused(lesser, skill)


def test_a_document_is_read_as_text_or_as_bytes(mcp: Mcp, documents: list[str]) -> None:
    text, picture = (read(mcp, uri) for uri in documents)
    assert isinstance(text, TextResourceContents)
    assert text.text == TEXT.decode()
    assert isinstance(picture, BlobResourceContents)
    assert base64.b64decode(picture.blob) == PICTURE


def test_an_artifact_of_a_run_is_read(mcp: Mcp, caller: Caller) -> None:
    run = caller.submit("[[text: ```python\nprint(7)\n```]]", agent="writer")
    caller.ended(run["id"])
    [artifact] = caller.get(f"/runs/{run['id']}/artifacts").json()["artifacts"]
    found = read(mcp, f"heartbit://runs/{run['id']}/artifacts/{artifact['name']}")
    assert found.text.strip() == "print(7)"


def test_what_is_elsewhere_is_not_found(mcp: Mcp, documents: list[str], caller: Caller) -> None:
    stranger = Mcp(mcp.address, key_for(new_workspace()))
    assert "no resource" in refused(stranger, documents[0])
    run = caller.submit("[[text: Done.]]", agent="writer")
    assert "no run begins" in refused(stranger, f"heartbit://runs/{run['id']}/artifacts/code-1")
    for uri in ("heartbit://knowledge/birds/x", "file:///etc/passwd", "skill://", "http://[", "x"):
        assert refused(mcp, uri)


def test_what_is_not_there_is_named_in_the_error(mcp: Mcp) -> None:
    async def use(client: Client) -> Any:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("test://nothing")
        return caught.value.error

    error = mcp.run(use)
    assert (error.code, error.data) == (-32602, {"uri": "test://nothing"})
