"""The admin of agents and runs; one file a model."""

from __future__ import annotations

from agents.admin import (  # noqa: F401  importing a module registers its classes
    agent,
    approvals,
    budget,
    channel,
    conversation,
    decision,
    delivery,
    grant,
    mcp_server,
    message,
    provider_account,
    run,
    skill,
    tool,
    usage,
    version,
    webhook,
    worker,
)
