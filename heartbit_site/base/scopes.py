"""Scopes and default lifetime of API keys. No Django."""

from __future__ import annotations

from typing import Literal

SCOPES = {
    "runs:read": "See runs and their results",
    "runs:write": "Start and cancel runs",
    "approvals:decide": "Approve and refuse tool calls",
    "agents:read": "See agents",
    "agents:write": "Start, stop, restart and roll back agents",
    "workspace:manage": "Manage members, keys, webhooks and settings of the workspace",
    "audit:read": "Read who changed and decided what",
    "fleet:manage": "See and steer the workers of the whole installation",
}
#: Default scopes of a key: it starts runs and sees them.
USUAL_SCOPES: tuple[Literal["runs:read", "runs:write"], ...] = ("runs:read", "runs:write")
#: Reaches beyond the key's workspace: never a default, and void unless the key's owner is a
#: superuser, or a command created it.
OPERATORS_SCOPE = "fleet:manage"
USUAL_DAYS = 90
