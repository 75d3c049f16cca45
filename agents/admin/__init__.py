"""The admin of agents and runs; one file a subject."""

from __future__ import annotations

from agents.admin import (  # noqa: F401  importing a module registers its classes
    agent,
    approvals,
    channel,
    conversation,
    decision,
    delivery,
    mcp_server,
    provider_account,
    run,
    skill,
    tool,
    usage,
    version,
    webhook,
    worker,
)
