"""Resources: skills, documents of knowledge bases, and artifacts of runs, each with its digest."""

from __future__ import annotations

import base64
from functools import partial
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.rights import forbidden
from heartbit_site.contract.model import MOST_ROWS, USUAL
from heartbit_site.doors.mcp.answering import Context, caller_of
from heartbit_site.operations.artifacts import fetch_artifact
from heartbit_site.operations.paging import find_row, page, row_id
from heartbit_site.operations.skills import list_skills, show_skill_file
from memory.models import Document

DIGEST: Final = "heartbit/sha256"  # member of a resource's ``_meta``
_SKILLS: Final = "agents:read"


class ResourceNotFoundError(NotFoundError):
    """There is no resource at that address."""


async def list_resources(ctx: Context, params: PaginatedRequestParams) -> ListResourcesResult:
    """Return the skills, then the documents in pages."""
    access = caller_of(ctx).access
    return await orm.run_in_thread(partial(_list, access, params.cursor))


async def list_templates(
    ctx: Context, params: PaginatedRequestParams
) -> ListResourceTemplatesResult:
    """Return the forms of addresses that are not listed."""
    artifact = ResourceTemplate(
        name="artifact",
        title="Artifact of a run",
        uri_template="heartbit://runs/{run_id}/artifacts/{name}",
    )
    file = ResourceTemplate(
        name="skill-file", title="File of a skill", uri_template="skill://{skill}/{+path}"
    )
    return ListResourceTemplatesResult(resource_templates=[artifact, file])


async def read_resource(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Return the content at an address."""
    access = caller_of(ctx).access
    try:
        content = await orm.run_in_thread(partial(_read, access, params.uri))
    except NotFoundError as error:
        raise MCPError(INVALID_PARAMS, str(error), {"uri": params.uri}) from error
    return ReadResourceResult(contents=[_contents(params.uri, content)])


def _list(access: Access, cursor: str | None) -> ListResourcesResult:
    found: list[Resource] = []
    if cursor is None and access.allows(_SKILLS):
        found += [
            Resource(
                name=skill.name,
                description=skill.description,
                uri=f"skill://{skill.name}/SKILL.md",
                mime_type="text/markdown",
                _meta={DIGEST: skill.hash},
            )
            for skill in list_skills(access, limit=MOST_ROWS).skills
        ]
    rows = Document.objects.filter(base__workspace=access.workspace).select_related("base")
    documents, following = page(rows, "pk", cursor, USUAL)
    found += [
        Resource(
            name=one.name,
            uri=f"heartbit://knowledge/{quote(one.base.name)}/{one.pk}",
            size=one.size,
            _meta={DIGEST: one.hash},
        )
        for one in documents
    ]
    return ListResourcesResult(resources=found, next_cursor=following)


def _read(access: Access, uri: str) -> str | bytes:
    """Return a resource's content.

    Raises:
        NotFoundError: The workspace has nothing at the address.
        ForbiddenError: The key may not read skills.
    """
    missing = ResourceNotFoundError(f"There is no resource {uri[:200]!r}.")
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise missing from None
    steps = [unquote(step) for step in parts.path.removeprefix("/").split("/")]
    match (parts.scheme, parts.netloc, steps):
        case ("skill", skill, _):
            if not access.allows(_SKILLS):
                raise forbidden(access, _SKILLS)
            file = show_skill_file(access, skill, path="/".join(steps))
            return file.content if file.encoding == "utf-8" else base64.b64decode(file.content)
        case ("heartbit", "knowledge", [base, number]):
            rows = Document.objects.filter(base__workspace=access.workspace, base__name=base)
            row = find_row(rows.filter(pk=row_id(number)).select_related("content"), missing)
            return bytes(row.content.data)
        case ("heartbit", "runs", [run_id, "artifacts", name]):
            return fetch_artifact(access, run_id, name).content
    raise missing


def _contents(uri: str, content: str | bytes) -> TextResourceContents | BlobResourceContents:
    if isinstance(content, str):
        return TextResourceContents(uri=uri, text=content)
    try:
        return TextResourceContents(uri=uri, text=content.decode())
    except UnicodeDecodeError:
        return BlobResourceContents(uri=uri, blob=base64.b64encode(content).decode())
