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
#: Of a key for which nobody names any: it starts runs and sees them.
USUAL_SCOPES: tuple[Literal["runs:read", "runs:write"], ...] = ("runs:read", "runs:write")
#: Beyond the key's workspace: given only when it is named, and void in the hands of anybody but
#: whoever operates the installation (the command line) or a superuser.
OPERATORS_SCOPE = "fleet:manage"
USUAL_DAYS = 90
