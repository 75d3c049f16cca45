"""Who asks in the authorization matrix (S7), and what each role may do. Data alone.

It says again, by hand, what roles may do; so a changed role shows here.
"""

from __future__ import annotations

#: What each role may do.
MAY: dict[str, set[str]] = {
    "viewer": {"runs:read", "agents:read"},
    "operator": {"runs:read", "agents:read", "runs:write", "approvals:decide"},
    "editor": {"runs:read", "agents:read", "runs:write", "approvals:decide", "agents:write"},
    "admin": {
        *("runs:read", "agents:read", "runs:write", "approvals:decide", "agents:write"),
        *("workspace:manage", "audit:read"),
    },
    "superuser": {
        *("runs:read", "agents:read", "runs:write", "approvals:decide", "agents:write"),
        *("workspace:manage", "audit:read", "fleet:manage"),
    },
}
#: Of the API, a scope that each key and session has; None: no one is asked.
ANY = ""

#: Sessions, by what they name as their workspace, and keys.
ASKERS = (
    *("anonymous", "viewer", "operator", "editor", "admin", "superuser"),
    *("stranger who names mine", "stranger in their own"),
    *("wrong key", "revoked key", "foreign key", "narrow key", "right key"),
)
