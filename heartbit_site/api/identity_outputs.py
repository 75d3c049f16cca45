"""What responses about the audit hold."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field

from heartbit_site.contract.model import Next  # noqa: TC001


class EntryOut(Schema):
    """One change or decision."""

    number: int = Field(description="1, 2, ... in the workspace.")
    at: str
    actor: str
    via: str = Field(description="admin, web, api, terminal, email or system.")
    action: str = Field(description="A verb in dotted form, such as member.add.")
    target: str
    label: str
    details: dict[str, Any]
    hash: str = Field(description="Covers this entry and all before it.")


class EntriesOut(Schema):
    """The audit of the workspace, the newest first."""

    entries: list[EntryOut]
    next: Next


class VerifiedOut(Schema):
    """Whether the workspace's audit is as it was written."""

    holds: bool
    last_number: int = Field(description="Keep it elsewhere: a cut end shows only there.")
    last_hash: str
    broken_at: int | None = Field(description="The first entry that does not fit.")
    problem: str | None
