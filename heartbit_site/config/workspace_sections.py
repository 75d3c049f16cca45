"""Sections of ``heartbit.toml`` about a workspace beside its agents; nothing here queries.

Memory settings, knowledge bases, webhooks, channels and budgets. Secrets stay out: the password of
a mailbox and the secrets that sign messages are set in the installation.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, JsonValue

from agents.definitions import validators
from agents.definitions.setting_types import Money
from agents.definitions.validation_messages import Complaint
from agents.delivery.targets import MOST_TARGETS, Target
from agents.system_events.types import MOST_PATTERNS, check_pattern
from heartbit_site.base.budget_scope import describe_scope
from heartbit_site.base.spec import Spec
from heartbit_site.config.positions import Path
from heartbit_site.config.sections import PARTS

_Text = Annotated[str, AfterValidator(validators.storable)]
_Required = Annotated[_Text, Field(min_length=1, max_length=100)]
_Percent = Annotated[int, Field(ge=1, le=100)]


def _sorted(events: list[str]) -> list[str]:
    return sorted(set(events))


def _lower(senders: list[str]) -> list[str]:
    return list(dict.fromkeys(sender.strip().lower() for sender in senders))


class MemorySection(Spec):
    """`[memory]`: settings of the workspace's memories."""

    embedding_model: Annotated[_Text, Field(max_length=200)] = ""
    kept_days: Literal[7, 30, 90] | None = None


class KnowledgeBaseSection(Spec):
    """One of `[[knowledge_bases]]`; its documents are not part of a file."""

    name: Annotated[_Text, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    description: Annotated[_Text, Field(max_length=300)] = ""
    drive_folder: Annotated[_Text, Field(max_length=500)] = ""


class WebhookSection(Spec):
    """One of `[[webhooks]]`."""

    name: _Required
    url: Annotated[_Text, Field(min_length=1, max_length=500), AfterValidator(validators.url)]
    events: Annotated[
        list[Annotated[str, AfterValidator(check_pattern)]],
        Field(max_length=MOST_PATTERNS),
        AfterValidator(_sorted),
    ] = Field(default_factory=list)
    enabled: bool = True


class MailboxSection(Spec):
    """`mailbox` of a channel: the mailbox that it reads, without its password."""

    host: Annotated[_Text, Field(min_length=1, max_length=253)]
    port: Annotated[int, Field(ge=1, le=65_535)] = 993
    security: Literal["tls", "starttls", "none"] = "tls"
    user: Annotated[_Text, Field(min_length=1, max_length=254)]
    folder: Annotated[_Text, Field(min_length=1, max_length=200)] = "INBOX"


class ChannelSection(Spec):
    """One of `[[channels]]`."""

    name: _Required
    kind: Literal["email", "webhook"]
    agent: Annotated[_Text, Field(min_length=1, max_length=64)]
    enabled: bool = True
    require_approval: bool = False
    hourly_limit: Annotated[int, Field(ge=1, le=10_000)] = 60
    deliver: Annotated[list[Target], Field(max_length=MOST_TARGETS - 1)] = Field(
        default_factory=list
    )
    mapping: dict[str, JsonValue] = Field(default_factory=dict)
    senders: Annotated[list[_Text], Field(max_length=1_000), AfterValidator(_lower)] = Field(
        default_factory=list
    )
    reply: bool = True
    mailbox: MailboxSection | None = None


class BudgetSection(Spec):
    """One of `[[budgets]]`; its scope and its period identify it."""

    agent: Annotated[_Text, Field(max_length=64)] = ""
    person: Annotated[_Text, Field(max_length=150)] = ""
    schedule: Annotated[_Text, Field(max_length=100)] = ""
    period: Literal["day", "month"]
    max_tokens: Annotated[int, Field(ge=1, le=9_223_372_036_854_775_807)] | None = None
    max_usd: Money | None = None
    warn_at: _Percent = 80
    ask_at: _Percent | None = None

    @property
    def name(self) -> str:
        """Whose runs it counts, and its period, such as ``agent writer a day``."""
        scope = describe_scope(self.agent, self.person, self.schedule)
        return f"{scope or 'all runs'} a {self.period}"


_SPECS: Final[tuple[type[Spec], ...]] = (
    *(KnowledgeBaseSection, WebhookSection),
    *(ChannelSection, BudgetSection),
)
#: The sections that may be written several times.
ARRAYS: Final[dict[str, type[Spec]]] = dict(zip(PARTS, _SPECS, strict=True))


def check_parts(content: dict[str, Any], agents: set[str]) -> list[Complaint]:
    """Return the inconsistencies of these sections, with each other and with the agents.

    Args:
        content: The file.
        agents: Names of its agents; empty for a file that refers to the workspace's.
    """
    found: list[Complaint] = []
    for section in ARRAYS:
        tables = content.get(section)
        named: dict[object, int] = {}
        for index, table in enumerate(tables if isinstance(tables, list) else ()):
            if not isinstance(table, dict):
                continue
            path: Path = (section, index)
            agent = table.get("agent")
            if agents and isinstance(agent, str) and agent and agent not in agents:
                found.append(((*path, "agent"), f'names "{agent}", not an agent of this file'))
            if section == "budgets":
                found += _budget(path, table)
            elif section == "channels":
                found += _channel(path, table)
            keys = ("agent", "person", "schedule", "period") if section == "budgets" else ("name",)
            identity = tuple(str(table.get(key, "")) for key in keys)
            if named.setdefault(identity, index) != index:
                where = path if section == "budgets" else (*path, "name")
                found.append((where, f"repeats entry {named[identity] + 1}: keep one of them"))
    return found


def _budget(path: Path, table: dict[str, Any]) -> list[Complaint]:
    if "max_tokens" not in table and "max_usd" not in table:
        return [(path, "needs max_tokens, max_usd, or both")]
    warn, ask = table.get("warn_at", 80), table.get("ask_at")
    if isinstance(warn, int) and isinstance(ask, int) and ask < warn:
        return [((*path, "ask_at"), "is below warn_at: ask later, or warn sooner")]
    return []


def _channel(path: Path, table: dict[str, Any]) -> list[Complaint]:
    kind = table.get("kind")
    if kind == "email" and not table.get("senders"):
        return [((*path, "senders"), 'is missing: addresses, "@example.org", or "*" for everyone')]
    own = {"email": ("mapping",), "webhook": ("senders", "mailbox")}.get(str(kind), ())
    other = "webhook" if kind == "email" else "email"
    return [
        ((*path, key), f'is only accepted with kind = "{other}"') for key in own if key in table
    ]
