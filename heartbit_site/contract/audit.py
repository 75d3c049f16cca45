"""The audit: changes and decisions in the workspace."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import OPERATE, READ_AUDIT, Noun


class EntryOut(View):
    """One change or decision."""

    number: int = Field(description="1, 2, ... in the workspace.")
    at: Time
    actor: str
    via: str = Field(description="admin, web, api, terminal, email or system.")
    action: str = Field(description="A verb in dotted form, such as member.add.")
    target: str
    label: str
    details: dict[str, Any]
    hash: str = Field(description="Hash of this entry and all before it.")


class EntriesOut(Page):
    """The audit of the workspace, the newest first."""

    entries: list[EntryOut]


class ChainHeadOut(View):
    """Head of an audit chain, and its first broken entry."""

    last_number: int = Field(
        description="Hash of the last entry. Keep a copy elsewhere: only "
        "that reveals removed entries at the end."
    )
    last_hash: str
    broken_at: int | None = Field(description="The first entry that does not verify.")
    problem: str | None


class VerifiedOut(ChainHeadOut):
    """Result of a check of the workspace's audit chain."""

    valid: bool


class ChainOut(ChainHeadOut):
    """Head of one audit chain, and the result of its check."""

    workspace: str | None = Field(
        description="Slug of the workspace; null for the installation, or a deleted workspace."
    )
    chain: int = Field(description="Number of the workspace; 0 for the installation.")


class ChainsOut(View):
    """All audit chains of the installation."""

    valid: bool = Field(description="True if every chain is valid.")
    chains: list[ChainOut]


NOUN = Noun("audit", read=READ_AUDIT)

LIST_AUDIT_ENTRIES = NOUN.get("list_audit_entries", "/audit", EntriesOut)
VERIFY_AUDIT = NOUN.get("verify_audit", "/audit/verify", VerifiedOut, "Verify the audit")
VERIFY_ALL_AUDITS = NOUN.get(
    "verify_all_audits", "/fleet/audit", ChainsOut, "Verify every audit", needs=OPERATE
)
