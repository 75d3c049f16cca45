"""Each operation of the API, and the status that each asker gets: cells of the matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.skills.folders import in_base64, skill_files
from tests.web.matrix_askers import ANY, MAY


@dataclass(frozen=True, slots=True)
class Route:
    """A row of the API: what a request needs, and what it gives.

    Attributes:
        also: A second scope that it needs; empty: none.
        either: A second scope that is enough as well; empty: none.
        own: A scope that is enough for what is one's own; empty: none.
        right: The status for whoever may.
        no_person: For a key that is no person's; 0: as for others.
        foreign: For a key of another workspace with every scope, which names what is in mine.
    """

    method: str
    path: str
    scope: str | None
    body: dict[str, Any] | None = None
    query: dict[str, Any] = field(default_factory=dict)
    right: int = 200
    foreign: int = 404
    also: str = ""
    either: str = ""
    own: str = ""
    no_person: int = 0

    def is_for(self, scopes: set[str]) -> bool:
        """Return True if a caller with these scopes may ask."""
        return self.scope in scopes | {ANY} or self.either in scopes


DIGEST = "0" * 64
WORKFLOW = {"name": "{newcomer}", "steps": {"a": {"set": {}}}}
ROUTES = (
    Route("POST", "/runs", "runs:write", {"task": "x", "agent": "parked"}, right=201),
    Route("GET", "/runs", "runs:read", foreign=200),
    Route("GET", "/runs/{run_id}", "runs:read"),
    Route("GET", "/runs/{run_id}/result", "runs:read", right=202),
    Route("GET", "/runs/{run_id}/events", "runs:read", query={"follow": "false"}),
    Route("GET", "/events", "runs:read", query={"follow": "false"}, foreign=200),
    Route("GET", "/runs/{run_id}/artifacts", "runs:read"),
    Route("GET", "/runs/{run_id}/artifacts/{artifact}", "runs:read", right=409),  # it is live
    Route("GET", "/runs/{run_id}/files", "runs:read"),
    Route("GET", "/runs/{run_id}/files/content", "runs:read", query={"path": "kept.txt"}),
    Route("GET", "/deliveries", "runs:read", foreign=200),
    Route("POST", "/deliveries/{delivery}/redeliver", "runs:write"),
    Route("GET", "/runs/{run_id}/blackboard", "runs:read"),
    Route("GET", "/runs/{run_id}/blackboard/entry", "runs:read", query={"key": "target"}),
    Route("POST", "/runs/{run_id}/steer", "runs:write", {"text": "hurry"}),
    Route("POST", "/runs/{run_id}/retry", "runs:write", right=409),  # it is live
    Route("POST", "/runs/{run_id}/unquarantine", "runs:write", right=409),
    Route("POST", "/runs/{run_id}/discard", "runs:write", right=409),
    Route("POST", "/runs/{run_id}/release", "runs:write", right=409),
    Route("POST", "/runs/{run_id}/cancel", "runs:write"),
    Route("GET", "/runs/{run_id}/calls", "runs:read"),
    Route("GET", "/runs/{run_id}/calls/{call_id}", "runs:read"),
    Route("GET", "/runs/{run_id}/turns", "runs:read"),
    Route("GET", "/runs/{run_id}/turns/{number}", "runs:read"),
    Route("POST", "/runs/{run_id}/fork", "runs:write", {"turn": 0}, right=201),
    Route("GET", "/approvals", "runs:read", foreign=200, either="approvals:decide"),
    Route("GET", "/runs/{run_id}/decisions", "runs:read", either="approvals:decide"),
    Route(
        "POST",
        "/runs/{run_id}/calls/{call_id}/decision",
        "approvals:decide",
        {"digest": DIGEST, "verdict": "deny"},
        right=409,  # it does not wait: the matrix is about who may ask
    ),
    Route(
        "GET",
        "/runs/{run_id}/calls/{call_id}/decision",
        "runs:read",
        either="approvals:decide",
    ),
    Route(
        "POST",
        "/runs/{run_id}/calls/{call_id}/dry-run",
        "approvals:decide",
        {"digest": DIGEST},
        right=409,  # the same
    ),
    Route("GET", "/waits", "runs:read", foreign=200, either="approvals:decide"),
    Route("POST", "/runs/{run_id}/waits/{key}", "approvals:decide", {"answer": 1}, right=404),
    Route("GET", "/uncertain-calls", "runs:read", foreign=200, either="approvals:decide"),
    Route(
        "POST",
        "/runs/{run_id}/calls/{call_id}/outcome",
        "approvals:decide",
        {"outcome": "skip"},
        right=409,  # it is not in doubt
    ),
    Route("POST", "/conversations", "runs:write", {"agent": "parked"}, right=201),
    Route("GET", "/conversations", "runs:read", foreign=200),
    Route("GET", "/private-conversations", "workspace:manage", foreign=200),
    Route("GET", "/conversations/{conversation_id}", "runs:read"),
    Route("PATCH", "/conversations/{conversation_id}", "runs:write", {"title": "x"}),
    Route("DELETE", "/conversations/{conversation_id}", "runs:write", right=204),
    Route(
        "POST", "/conversations/{conversation_id}/messages", "runs:write", {"text": "x"}, right=201
    ),
    Route("GET", "/messages", "runs:read", foreign=200),
    Route("GET", "/messages/{message_id}", "runs:read"),
    Route("POST", "/messages", "runs:write", {"text": "x", "to": "parked"}, right=201),
    Route("GET", "/agents", "agents:read", foreign=200),
    Route(
        "POST",
        "/agents",
        "agents:write",
        {"name": "{newcomer}", "description": "x", "system_prompt": "x"},
        right=201,
    ),
    Route("GET", "/agents/{name}", "agents:read"),
    Route("PATCH", "/agents/{name}", "agents:write", {"description": "x"}),
    Route("GET", "/agents/{name}/uses", "agents:read"),
    Route("DELETE", "/agents/{name}", "agents:write", right=204),
    Route("GET", "/agents/{name}/versions", "agents:read"),
    Route("GET", "/agents/{name}/versions/diff", "agents:read"),
    Route("GET", "/agents/{name}/versions/{number}", "agents:read"),
    Route("POST", "/agents/{name}/versions/{number}/rollback", "agents:write", {}),
    Route("GET", "/agent-statuses", "agents:read", foreign=200),
    Route("GET", "/agent-templates", "agents:read", foreign=200),
    Route("GET", "/agents/{name}/status", "agents:read"),
    Route("POST", "/agents/{name}/stop", "agents:write"),
    Route("POST", "/agents/{name}/start", "agents:write"),
    Route("POST", "/agents/{name}/restart", "agents:write"),
    Route("GET", "/workflows", "agents:read", foreign=200),
    Route("POST", "/workflows", "agents:write", WORKFLOW, right=201),
    Route("GET", "/workflows/{workflow}", "agents:read"),
    Route("PATCH", "/workflows/{workflow}", "agents:write", {"description": "x"}),
    Route("GET", "/workflows/{workflow}/faults", "agents:read"),
    Route("POST", "/workflows/{workflow}/move", "runs:write", {"dry_run": True}),
    Route("GET", "/workflow-statistics", "agents:read", foreign=200),
    Route("GET", "/tools", "agents:read", foreign=200),  # the installation's
    Route("GET", "/schedules", "agents:read", foreign=200),
    Route(
        "POST",
        "/schedules",
        "agents:write",
        {"name": "{newcomer}", "agent": "parked", "task": "x", "cron": "0 0 1 1 *"},
        right=201,
        also="runs:write",
    ),
    Route("POST", "/schedules/preview", "agents:read", {"every_seconds": 60}, foreign=200),
    Route("GET", "/schedules/{schedule}", "agents:read"),
    Route("PATCH", "/schedules/{schedule}", "agents:write", {"enabled": False}, also="runs:write"),
    Route("DELETE", "/schedules/{schedule}", "agents:write", right=204),
    Route("POST", "/schedules/{schedule}/run", "runs:write", right=201),
    Route(
        "POST",
        "/schedules/{schedule}/backfill",
        "runs:write",
        {"from": "2019-12-31T00:00:00Z", "to": "2020-01-02T00:00:00Z"},
    ),
    Route("GET", "/schedules/{schedule}/firings", "agents:read"),
    Route("GET", "/fleet", "fleet:manage", foreign=200),
    Route("POST", "/fleet/workers/{worker_id}/stop", "fleet:manage", right=404),  # nobody's
    Route("POST", "/fleet/workers/{worker_id}/restart", "fleet:manage", right=404),
    Route("POST", "/fleet/queues/{queue}/pause", "fleet:manage", {}, foreign=200),
    Route("POST", "/fleet/queues/{queue}/resume", "fleet:manage", foreign=200),
    Route("POST", "/fleet/halt", "fleet:manage", {}, foreign=200),
    Route("POST", "/fleet/resume", "fleet:manage", foreign=200),  # it ends what was before
    Route("POST", "/fleet/workspaces/{slug}/halt", "fleet:manage", {}, foreign=200),
    Route("POST", "/fleet/workspaces/{slug}/resume", "fleet:manage", foreign=200),
    Route("POST", "/fleet/tools/{tool}/disable", "fleet:manage", {}, foreign=200),
    Route("POST", "/fleet/tools/{tool}/enable", "fleet:manage", foreign=200),
    Route("POST", "/fleet/workspaces/{slug}/tools/{tool}/disable", "fleet:manage", {}, foreign=200),
    Route("POST", "/fleet/workspaces/{slug}/tools/{tool}/enable", "fleet:manage", foreign=200),
    Route("POST", "/workspace/tools/{tool}/disable", "workspace:manage", {}, foreign=200),
    Route("POST", "/workspace/tools/{tool}/enable", "workspace:manage", foreign=200),
    Route("POST", "/workspace/halt", "workspace:manage", {}, foreign=200),  # of whoever asks
    Route("POST", "/workspace/resume", "workspace:manage", foreign=200),
    Route("GET", "/me", ANY, foreign=200),
    Route("GET", "/workspaces", ANY, foreign=200),
    Route("GET", "/members", "workspace:manage", foreign=200),
    Route("POST", "/members", "workspace:manage", {"username": "{newcomer}"}, right=201),
    Route("PATCH", "/members/{username}", "workspace:manage", {"role": "editor"}),
    Route("DELETE", "/members/{username}", "workspace:manage", right=204),
    Route("GET", "/keys", "workspace:manage", foreign=200),
    Route("POST", "/keys", "workspace:manage", {"name": "x", "scopes": ["runs:read"]}, right=201),
    Route("POST", "/keys/{prefix}/revoke", "workspace:manage"),
    Route("GET", "/me/keys", ANY, foreign=200, no_person=409),
    Route(
        "POST",
        "/me/keys",
        ANY,
        {"name": "x", "scopes": ["runs:read"]},
        right=201,
        foreign=201,
        no_person=409,
    ),
    Route("POST", "/me/keys/{prefix}/revoke", ANY, right=404, no_person=409),  # another's
    Route("GET", "/usage", "runs:read", foreign=200),
    Route("GET", "/budgets", "runs:read", foreign=200),
    Route(
        "POST",
        "/budgets",
        "agents:write",
        {"agent": "parked", "max_tokens": 9},
        right=409,  # there is one
    ),
    Route("PATCH", "/budgets/{budget_id}", "agents:write", {"max_tokens": 8}),
    Route("DELETE", "/budgets/{budget_id}", "agents:write", right=204),
    Route("GET", "/provider-accounts", "runs:read", foreign=200),
    Route(
        "POST",
        "/provider-accounts",
        "workspace:manage",
        {"provider": "openai", "key": "sk-x", "enabled": False},
        right=201,
    ),
    Route("PATCH", "/provider-accounts/{account_id}", "workspace:manage", {"label": "x"}),
    Route("POST", "/provider-accounts/{account_id}/check", "workspace:manage"),
    Route("DELETE", "/provider-accounts/{account_id}", "workspace:manage", right=204),
    Route("GET", "/grants", "runs:read", foreign=200),
    Route("POST", "/grants/{grant_id}/revoke", "workspace:manage", own="approvals:decide"),
    Route("GET", "/drive", "runs:read", foreign=200),
    Route("GET", "/drive/content", "runs:read", query={"name": "kept.txt"}, foreign=200),
    Route("POST", "/drive", "runs:write", {"name": "kept.txt", "content": "eA=="}, right=201),
    Route("DELETE", "/drive", "runs:write", query={"name": "none.txt"}, right=404),
    Route("GET", "/configuration", "agents:read", foreign=200),
    Route(
        "POST",
        "/configuration",
        "workspace:manage",
        {"toml": "[provider]\nname = 'openai'\nmodel = 'x'", "dry_run": True},
        also="agents:write",
        foreign=200,
    ),
    Route("GET", "/workspace", ANY, foreign=200),
    Route("PATCH", "/workspace", "workspace:manage", {"name": "mine"}, foreign=200),
    Route("GET", "/fleet/workspaces", "fleet:manage", also="workspace:manage", foreign=200),
    Route(
        "POST",
        "/fleet/workspaces",
        "fleet:manage",
        {"slug": "{newcomer}"},
        right=201,
        also="workspace:manage",
        foreign=201,
    ),
    Route("GET", "/fleet/users", "fleet:manage", also="workspace:manage", foreign=200),
    Route(
        "POST",
        "/fleet/users",
        "fleet:manage",
        {"name": "x-{newcomer}", "password": "correct horse battery"},
        right=201,
        also="workspace:manage",
        foreign=201,
    ),
    Route(
        "POST",
        "/fleet/users/{account}/password",
        "fleet:manage",
        {"password": "correct horse battery"},
        also="workspace:manage",
        foreign=200,
    ),
    Route("GET", "/webhooks", "workspace:manage", foreign=200),
    Route(
        "POST",
        "/webhooks",
        "workspace:manage",
        {"name": "x", "url": "https://127.0.0.1/", "events": ["run.failed"]},
        right=201,
    ),
    Route("PATCH", "/webhooks/{webhook_id}", "workspace:manage", {"name": "y"}),
    Route("DELETE", "/webhooks/{webhook_id}", "workspace:manage", right=204),
    Route("POST", "/webhooks/{webhook_id}/rotate-secret", "workspace:manage"),
    Route("POST", "/webhooks/{webhook_id}/ping", "workspace:manage", right=201),
    Route("GET", "/webhooks/{webhook_id}/deliveries", "workspace:manage"),
    Route("GET", "/webhooks/{webhook_id}/deliveries/{delivery_id}", "workspace:manage"),
    Route("POST", "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", "workspace:manage"),
    Route("GET", "/tools/{tool}", "agents:read", foreign=200),
    Route("POST", "/tools/{tool}/try", "runs:write", {"agent": "parked"}, right=201, foreign=201),
    Route("GET", "/credential-types", "agents:read", foreign=200),
    Route("GET", "/credentials", "runs:read", foreign=200),
    Route(
        "POST",
        "/credentials",
        "workspace:manage",
        {"name": "{newcomer}", "kind": "signing", "fields": {"secret": "x"}},
        right=201,
        own="runs:write",
    ),
    Route("PATCH", "/credentials/{credential_id}", "workspace:manage", {}, own="runs:write"),
    Route(
        "DELETE", "/credentials/{credential_id}", "workspace:manage", right=204, own="runs:write"
    ),
    Route("POST", "/credentials/{credential_id}/check", "workspace:manage", own="runs:write"),
    Route("GET", "/prices", "runs:read", foreign=200),
    Route(
        "POST",
        "/prices",
        "agents:write",
        {"model": "compatible:{newcomer}", "input_usd": "1", "output_usd": "2"},
        foreign=200,
    ),
    Route("DELETE", "/prices/{price_id}", "agents:write", right=204),
    Route("GET", "/collections", "runs:read", foreign=200),
    Route("POST", "/collections", "agents:write", {"name": "{word}"}),
    Route("GET", "/collections/{collection}", "runs:read"),
    Route("DELETE", "/collections/{collection}", "agents:write", right=204),
    Route(
        "POST",
        "/collections/{collection}/items",
        "agents:write",
        {"items": [{"key": "a", "text": "tea"}]},
    ),
    Route("POST", "/collections/{collection}/items/delete", "agents:write", {"keys": ["a"]}),
    Route("POST", "/collections/{collection}/search", "runs:read", {"query": "tea"}),
    Route("GET", "/state", "runs:read", foreign=200),
    Route("POST", "/state", "runs:write", {"key": "k", "value": 1}),
    Route("GET", "/state/entry", "runs:read", query={"key": "none"}, right=404),
    Route("GET", "/state/exists", "runs:read", query={"key": "none"}, foreign=200),
    Route("DELETE", "/state/entry", "runs:write", query={"key": "none"}, right=404),
    Route("GET", "/memories", "runs:read", foreign=200),
    Route("GET", "/memories/search", "runs:read", foreign=200),
    Route(
        "POST",
        "/memories",
        "workspace:manage",
        {"text": "{newcomer}", "scope": "agent", "agent": "parked"},
        right=201,
        own="runs:write",
    ),
    Route("GET", "/memories/settings", "runs:read", foreign=200),
    Route("PATCH", "/memories/settings", "workspace:manage", {}, foreign=200),
    Route("DELETE", "/memories/persons/{username}", "workspace:manage", own="runs:write"),
    Route("POST", "/memories/persons/{username}/export", "workspace:manage"),
    Route("GET", "/memories/{memory_id}", "runs:read"),
    Route("PATCH", "/memories/{memory_id}", "workspace:manage", {}, own="runs:write"),
    Route("POST", "/memories/{memory_id}/forget", "workspace:manage", {}, own="runs:write"),
    Route("POST", "/memories/{memory_id}/undo", "workspace:manage", own="runs:write"),
    Route("GET", "/knowledge-bases", "runs:read", foreign=200),
    Route("POST", "/knowledge-bases", "agents:write", {"name": "{word}"}),
    Route("GET", "/knowledge-bases/{base}", "runs:read"),
    Route("DELETE", "/knowledge-bases/{base}", "agents:write", right=204),
    Route("POST", "/knowledge-bases/{base}/refresh", "agents:write", right=422),
    Route("GET", "/knowledge-bases/{base}/documents", "runs:read"),
    Route(
        "POST",
        "/knowledge-bases/{base}/documents",
        "agents:write",
        {"name": "new.md", "text": "x"},
    ),
    Route("GET", "/knowledge-bases/{base}/documents/{document_id}", "runs:read"),
    Route("DELETE", "/knowledge-bases/{base}/documents/{document_id}", "agents:write", right=204),
    Route("GET", "/passages/search", "runs:read", query={"query": "passage"}, foreign=200),
    Route("GET", "/passages/{passage_id}", "runs:read"),
    Route("GET", "/skills", "agents:read", foreign=200),
    Route("POST", "/skills", "agents:write", {"archive": in_base64(skill_files())}),
    Route("GET", "/skills/{skill}", "agents:read"),
    Route("GET", "/skills/{skill}/file", "agents:read", query={"path": "SKILL.md"}),
    Route("DELETE", "/skills/{skill}", "agents:write", right=204),
    Route("GET", "/skills/{skill}/versions", "agents:read"),
    Route("GET", "/skills/{skill}/versions/diff", "agents:read"),
    Route("POST", "/skills/{skill}/versions/{number}/rollback", "agents:write"),
    Route("GET", "/mcp-servers", "agents:read", foreign=200),
    Route(
        "POST",
        "/mcp-servers",
        "workspace:manage",
        {"name": "{word}", "url": "http://127.0.0.1:1/mcp"},
        right=201,
    ),
    Route("GET", "/mcp-servers/{server}", "agents:read"),
    Route("PATCH", "/mcp-servers/{server}", "workspace:manage", {"trusted": True}),
    Route("DELETE", "/mcp-servers/{server}", "workspace:manage", right=204),
    Route("POST", "/mcp-servers/{server}/refresh", "workspace:manage", right=202),
    Route(
        "POST",
        "/mcp-servers/{server}/accept",
        "workspace:manage",
        {"changes": {"x": DIGEST}},
        right=409,  # it changed nothing
    ),
    Route("GET", "/channels", "workspace:manage", foreign=200),
    Route(
        "POST",
        "/channels",
        "workspace:manage",
        {"name": "{newcomer}", "kind": "webhook", "agent": "parked"},
        right=201,
    ),
    Route("PATCH", "/channels/{channel_id}", "workspace:manage", {"require_approval": True}),
    Route("DELETE", "/channels/{channel_id}", "workspace:manage", right=204),
    Route("POST", "/channels/{channel_id}/rotate-secret", "workspace:manage"),
    Route("GET", "/channels/{channel_id}/messages", "workspace:manage"),
    Route("POST", "/inbound/{endpoint}", None, {}, right=401),  # who has its secret, signs
    Route("POST", "/chat-apps/{events_token}/events", None, {}, right=401),  # Slack signs
    Route("GET", "/chat-apps", "runs:read", foreign=200),
    Route(
        "POST",
        "/chat-apps",
        "workspace:manage",
        {"name": "{newcomer}", "bot_token": "xoxb-1"},
        right=201,
    ),
    Route("PATCH", "/chat-apps/{chat_app_id}", "workspace:manage", {"channel": "C0"}),
    # Nothing answers at its URL.
    Route("POST", "/chat-apps/{chat_app_id}/check", "workspace:manage", right=422),
    Route("DELETE", "/chat-apps/{chat_app_id}", "workspace:manage", right=204),
    Route("POST", "/chat-apps/{chat_app_id}/link", "approvals:decide", right=201, no_person=409),
    Route("DELETE", "/chat-apps/{chat_app_id}/link", "approvals:decide", right=404, no_person=409),
    Route("GET", "/fleet/audit", "fleet:manage", foreign=200),
    Route("GET", "/audit", "audit:read", foreign=200),
    Route("GET", "/audit/verify", "audit:read", foreign=200),
    Route("GET", "/health", None, foreign=200),
)
#: What makes something new: elsewhere it is made elsewhere.
MADE_THERE = {
    *("/agents", "/conversations", "/messages", "/runs", "/schedules"),
    *("/budgets", "/provider-accounts", "/drive"),
    *(
        "/members",
        "/keys",
        "/webhooks",
        "/channels",
        "/chat-apps",
        "/credentials",
        "/tools/{tool}/try",
    ),
    *(
        "/mcp-servers",
        "/memories",
        "/state",
        "/collections",
        "/skills",
        "/knowledge-bases",
        "/workflows",
    ),
}
#: Addresses that describe the API and hold nothing of anybody.
OPEN = {"openapi.json", "docs", ""}
#: Places of an address that name nothing of a workspace.
NOBODYS = {
    "number",
    "worker_id",
    "queue",
    "slug",
    "tool",
    "artifact",
    "endpoint",
    "events_token",
    "account",
}


@dataclass(frozen=True, slots=True)
class Borrowed:
    """An id outside of the path, taken from the other workspace by a caller with every scope."""

    method: str
    path: str
    where: str
    name: str
    kind: str
    status: int = 404


BORROWED = (
    Borrowed("POST", "/runs", "body", "conversation_id", "conversation_id"),
    Borrowed("GET", "/conversations/{conversation_id}", "query", "before", "run_id"),
    Borrowed("POST", "/messages", "body", "reply_to", "message_id"),
)
#: What goes with such an id in a body: it names the agent already.
BESIDE = {"/runs": {"agent": ""}, "/messages": {"to": ""}}


def of_api(route: Route, asker: str) -> int | None:
    """The status that a request gives; None: there is no such cell."""
    if route.scope is None:
        return route.right
    if asker in ("anonymous", "wrong key", "revoked key"):
        return 401
    if asker in MAY:
        return route.right if route.is_for(MAY[asker]) else 403
    if asker == "narrow key":
        return 403 if route.scope and not route.either else None
    if asker == "stranger who names mine":
        return route.right if route.path == "/workspaces" else 404
    if route.no_person and asker in ("foreign key", "right key"):
        return route.no_person
    if asker in ("foreign key", "stranger in their own"):
        if asker.startswith("stranger") and route.scope == "fleet:manage":
            return 403
        return _elsewhere(route)
    return route.right


def _elsewhere(route: Route) -> int:
    return route.right if route.method == "POST" and route.path in MADE_THERE else route.foreign
