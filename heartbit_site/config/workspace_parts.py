"""Memory settings, knowledge bases, webhooks, channels and budgets of a workspace as sections.

Usage::

    stored = read_parts(workspace)             # {"webhooks": {"tickets": (row, WebhookSection)}}
    changes, notes = write_parts(workspace, configuration.parts, ("webhooks",), prune=..., by=actor)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from django.contrib.auth import get_user_model

from agents.actions.channels import save_channel
from agents.actions.quotas import save_budget
from agents.actions.webhooks import save_webhook
from agents.delivery.targets import target_of
from agents.models import Agent, Budget, Channel, WebhookEndpoint
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.base.spec import Spec
from heartbit_site.config.workspace_sections import (
    BudgetSection,
    ChannelSection,
    KnowledgeBaseSection,
    MailboxSection,
    MemorySection,
    WebhookSection,
)
from memory.actions.bases import save_base
from memory.actions.follow_folders import follow_folder
from memory.actions.policy import save_policy
from memory.models import KnowledgeBase, MemoryPolicy

_LIMITS: Final = ("max_tokens", "max_usd", "warn_at", "ask_at")
_MAILBOX: Final = tuple(MailboxSection.model_fields)
_SERVER: Final = ("host", "port", "security")
_PRUNED: Final = ("webhooks", "channels")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChanges:
    """Result of an import of one section, by the names of its entries, in the file's order.

    Attributes:
        created: New rows.
        updated: Rows with changes.
        fields: Settings that changed, by the names of the updated rows.
        unchanged: Rows without changes.
        disabled: Rows that the file does not have; only when pruning webhooks and channels.
    """

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


def read_memory(workspace: Workspace) -> MemorySection:
    """Return the settings of the workspace's memories."""
    row = MemoryPolicy.objects.filter(workspace=workspace).first() or MemoryPolicy()
    values: dict[str, Any] = {name: getattr(row, name) for name in MemorySection.model_fields}
    return MemorySection.model_construct(**values)


def write_memory(workspace: Workspace, wanted: MemorySection, *, by: Actor) -> tuple[str, ...]:
    """Save the settings of the workspace's memories if they differ; return what changed.

    A new embedding model is asked for one vector.

    Raises:
        ConfigurationError: The model does not answer.
    """
    before = read_memory(workspace)
    changed = _differences(before, wanted)
    if changed:
        with _named("[memory]"):
            save_policy(workspace, by=by, **wanted.model_dump())
    return changed


def read_parts(workspace: Workspace) -> dict[str, dict[str, tuple[Any, Spec]]]:
    """Return the rows of each section with their settings, by name, in order of their names.

    Of several webhooks of one name it has the oldest.
    """
    bases = KnowledgeBase.objects.filter(workspace=workspace)
    hooks = WebhookEndpoint.objects.filter(workspace=workspace).order_by("-pk")
    channels = Channel.objects.filter(workspace=workspace).select_related("workspace")
    budgets = Budget.objects.filter(workspace=workspace, from_tier=False)
    named: dict[str, dict[str, tuple[Any, Spec]]] = {
        "knowledge_bases": {row.name: (row, _base(row)) for row in bases},
        "webhooks": {row.name: (row, _webhook(row)) for row in hooks},
        "channels": {row.name: (row, _channel(row)) for row in channels},
        "budgets": {
            spec.name: (row, spec)
            for row in budgets.select_related("agent", "person")
            for spec in (_budget(row),)
        },
    }
    return {section: dict(sorted(rows.items())) for section, rows in named.items()}


def write_parts(
    workspace: Workspace,
    parts: Mapping[str, Sequence[Any]],
    sections: Sequence[str],
    *,
    prune: bool,
    by: Actor,
) -> tuple[dict[str, PartChanges], list[str]]:
    """Create and update the rows of some sections; the caller holds the workspace's row lock.

    Args:
        workspace: The workspace to change.
        parts: The file's entries by their section.
        sections: The sections to write; agents are written in between.
        prune: Also disable webhooks and channels that are not named.
        by: Author, for the audit.

    Returns:
        The changes of the sections that have any entry, and sentences about what is left to do.

    Raises:
        ConfigurationError: A row cannot be stored.
    """
    stored = read_parts(workspace)
    changes: dict[str, PartChanges] = {}
    notes: list[str] = []
    for section in sections:
        rows, wanted = stored[section], parts.get(section, ())
        done: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": []}
        fields = {}
        for spec in wanted:
            row, before = rows.get(spec.name, (None, None))
            changed = () if before is None else _differences(before, spec)
            outcome = "created" if before is None else "updated" if changed else "unchanged"
            if outcome != "unchanged":
                with _named(f"{section}, {spec.name!r}"):
                    said = _WRITERS[section](workspace, row, spec, by)
                notes += [said] if said else []
            done[outcome].append(spec.name)
            if changed:
                fields[spec.name] = changed
        gone = (
            _disable(rows, {spec.name for spec in wanted}, by)
            if prune and section in _PRUNED
            else []
        )
        found = PartChanges(
            **{name: tuple(names) for name, names in done.items()},
            fields=fields,
            disabled=tuple(gone),
        )
        if found != PartChanges():
            changes[section] = found
    return changes, notes


@contextmanager
def _named(entry: str) -> Iterator[None]:
    """Turn any refusal of the block into a ConfigurationError that names the entry."""
    try:
        yield
    except HeartbitError as error:
        raise ConfigurationError(f"{entry}: {error}") from error


def _differences(before: Spec, after: Spec) -> tuple[str, ...]:
    old, new = before.model_dump(), after.model_dump()
    return tuple(name for name in new if old[name] != new[name])


def _disable(rows: Mapping[str, tuple[Any, Spec]], named: set[str], by: Actor) -> list[str]:
    others = [row for name, (row, _) in rows.items() if name not in named and row.enabled]
    for row in others:
        row.enabled = False
        if isinstance(row, Channel):
            save_channel(row, by=by)
        else:
            save_webhook(row, by=by)
    return [row.name for row in others]


# ------------------------------------------------------------------------------------ each section


def _base(row: KnowledgeBase) -> KnowledgeBaseSection:
    return KnowledgeBaseSection.model_construct(
        name=row.name, description=row.description, drive_folder=row.drive_folder
    )


def _write_base(
    workspace: Workspace, _row: KnowledgeBase | None, spec: KnowledgeBaseSection, by: Actor
) -> str:
    base, _ = save_base(workspace, spec.name, description=spec.description, by=by)
    follow_folder(base, spec.drive_folder, by=by)
    return ""


def _webhook(row: WebhookEndpoint) -> WebhookSection:
    return WebhookSection.model_construct(
        name=row.name, url=row.url, events=sorted(row.events), enabled=row.enabled
    )


def _write_webhook(
    workspace: Workspace, row: WebhookEndpoint | None, spec: WebhookSection, by: Actor
) -> str:
    endpoint = row or WebhookEndpoint(workspace=workspace)
    for name, value in spec.model_dump().items():
        setattr(endpoint, name, value)
    if save_webhook(endpoint, by=by) is None:
        return ""
    return f"The webhook {spec.name} has a new secret: rotate it to read one."


def _channel(row: Channel) -> ChannelSection:
    own = set(ChannelSection.model_fields) - {"require_approval", "mailbox", "deliver"}
    values = {name: getattr(row, name) for name in own}
    mailbox = {name: getattr(row, f"imap_{name}") for name in _MAILBOX}
    return ChannelSection.model_construct(
        **values,
        require_approval=row.approve,
        deliver=[target_of(target) for target in row.deliver],
        mailbox=MailboxSection.model_construct(**mailbox) if row.imap_host else None,
    )


def _write_channel(
    workspace: Workspace, row: Channel | None, spec: ChannelSection, by: Actor
) -> str:
    """Write a channel; a mailbox without its stored password is left to a person."""
    channel = row or Channel(workspace=workspace)
    own = spec.model_dump(exclude={"require_approval", "mailbox"})
    for name, value in {**own, "approve": spec.require_approval}.items():
        setattr(channel, name, value)
    left = ""
    if spec.mailbox is None:
        channel.imap_host = ""
    elif channel.imap_password and all(
        getattr(channel, f"imap_{name}") == getattr(spec.mailbox, name) for name in _SERVER
    ):
        channel.imap_user, channel.imap_folder = spec.mailbox.user, spec.mailbox.folder
    else:
        left = (
            f"The channel {spec.name} does not read {spec.mailbox.user} at {spec.mailbox.host} "
            "yet: enter that mailbox with its password, which no file holds."
        )
    if save_channel(channel, by=by) is None:
        return left
    return left or f"The channel {spec.name} has a new secret: rotate it to read one."


def _budget(row: Budget) -> BudgetSection:
    values: dict[str, Any] = {name: getattr(row, name) for name in ("period", *_LIMITS)}
    return BudgetSection.model_construct(
        agent=row.agent.name if row.agent is not None else "",
        person=row.person.get_username() if row.person is not None else "",
        schedule=row.schedule,
        **values,
    )


def _write_budget(workspace: Workspace, row: Budget | None, spec: BudgetSection, by: Actor) -> str:
    if row is None:
        row = Budget(workspace=workspace, period=spec.period, schedule=spec.schedule)
        if spec.agent:
            row.agent = Agent.objects.filter(
                workspace=workspace, origin="", name=spec.agent
            ).first() or _missing(f"agent {spec.agent}")
        if spec.person:
            people = get_user_model().objects.filter(
                username=spec.person, memberships__workspace=workspace
            )
            row.person = people.first() or _missing(f"member {spec.person}")
    for name in _LIMITS:
        setattr(row, name, getattr(spec, name))
    save_budget(row, by=by)
    return ""


def _missing(what: str) -> Any:
    raise ConfigurationError(f"The workspace has no {what}.")


_WRITERS: Final[dict[str, Callable[[Workspace, Any, Any, Actor], str]]] = {
    "knowledge_bases": _write_base,
    "webhooks": _write_webhook,
    "channels": _write_channel,
    "budgets": _write_budget,
}
