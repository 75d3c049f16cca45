"""Each page, socket and list of the admin, and what each asker gets: cells of the matrix."""

from __future__ import annotations

from dataclasses import dataclass

from tests.web.matrix_askers import MAY


@dataclass(frozen=True, slots=True)
class Page:
    """A page below ``/w/<workspace>/``, and the scope it takes.

    Attributes:
        foreign: Status with an id of another workspace.
        found: Status for those who may open it; 301 leads to a newer address.
    """

    path: str
    needs: str
    foreign: int = 404  # with an id of another workspace
    found: int = 200


PAGES = (
    Page("runs/", "runs:read"),
    Page("find/", "runs:read"),
    Page("pictures/<uuid:run>/<str:name>", "runs:read", found=404),  # the run has none
    Page("runs/<uuid:run>/", "runs:read"),
    Page("runs/<uuid:run>/drawing/", "runs:read"),
    Page("runs/<uuid:run>/inspector/", "runs:read"),
    Page("runs/<uuid:run>/turns/<int:turn>/", "runs:read"),
    Page("runs/<uuid:run>/nodes/", "runs:read"),
    Page("runs/<uuid:run>/fork/", "runs:write"),
    Page("runs/<uuid:run>/compare/<uuid:other>/", "runs:read"),
    Page("approvals/", "runs:read", found=302),  # to the inbox
    Page("inbox/", "runs:read"),
    Page("inbox/decide/", "approvals:decide", found=302),  # to the inbox: forms are posted
    Page("inbox/notify/", "approvals:decide", found=302),  # to the inbox: scripts post here
    Page("chat/", "runs:read"),
    Page("chat/<slug:agent>/", "runs:read", foreign=200),  # an empty shell, for any name
    Page("chat/<slug:agent>/<uuid:conversation>/", "runs:read"),
    Page("usage/", "runs:read", found=301),
    Page("fleet/", "fleet:manage", found=301),
    Page("health/", "runs:read"),
    Page("health/fleet/", "fleet:manage"),
    Page("health/usage/", "runs:read"),
    Page("health/alerts/", "runs:read"),
    Page("schedules/", "agents:read"),
    Page("schedules/new/", "agents:write"),
    Page("schedules/preview/", "agents:write"),
    Page("schedules/<int:schedule>/", "agents:read"),
    Page("connect/<slug:server>/", "runs:write"),
    Page("account/", "runs:read"),
    Page("credentials/", "runs:write"),
    Page("passages/<int:passage>/", "runs:read"),
    Page("agents/", "agents:read"),
    Page("new-agent/", "agents:write"),
    Page("agents/<slug:agent>/", "agents:read"),
    Page("agents/<slug:agent>/<uuid:test>/", "agents:read"),
    Page("agents/<slug:agent>/publish/", "agents:write"),
    Page("agents/<slug:agent>/versions/", "agents:read"),
    Page("agents/<slug:agent>/versions/<int:version>/", "agents:read"),
)
#: Pages of no workspace: what an unknown visitor gets, and each person who is logged in.
ALONE = {
    "": (302, 302),
    "login/": (200, 302),
    "logout/": (405, 405),
    "password/": (200, 200),
    "password/<uidb64>/<token>/": (200, 200),
    "oauth/callback/": (403, 409),
    "oauth/client.json": (200, 200),
    "approve/<str:token>/": (409, 409),
}

#: Sockets below ``/ws/<workspace>/``, with the scope they take.
SOCKETS = {"": "runs:read", "events/": "runs:read", "runs/<uuid:run>/": "runs:read"}
#: The admin's socket, of all workspaces of a person.
REACH_SOCKET = "ws/"
#: How a socket is closed for whom it is not; None: it stays open.
UNKNOWN, FORBIDDEN, NOT_FOUND = 4401, 4403, 4404


#: Who enters the admin without being made staff: editors and admins.
ENTERS = "agents:write"
#: What the lists of the admin take, by the beginning of their address; None: superusers alone.
LISTS: dict[str, str | None] = {
    "agents/agent/": "agents:read",
    "agents/agentversion/": "agents:read",
    "agents/budget/": "runs:read",
    "agents/channel/": "workspace:manage",
    "agents/chatapp/": "workspace:manage",
    "agents/conversation/": "runs:read",
    "agents/decision/": "runs:read",
    "agents/delivery/": "runs:read",
    "agents/grant/": "runs:read",
    "agents/inboundmessage/": "workspace:manage",
    "agents/message/": "runs:read",
    "agents/modelprice/": "runs:read",
    "agents/run/": "runs:read",
    "agents/toolcall/": "runs:read",
    "agents/webhookdelivery/": "workspace:manage",
    "agents/webhookendpoint/": "workspace:manage",
    "agents/workerheartbeat/": None,
    "agents/workspacealert/": "runs:read",
    "auth/group/": None,
    "auth/user/": None,
    "axes/accessattempt/": None,
    "base/apikey/": "workspace:manage",
    "base/auditentry/": "audit:read",
    "base/membership/": "runs:read",
    "base/provideraccount/": "runs:read",
    "base/tier/": None,
    "base/usageentry/": "runs:read",
    "base/workspace/": "runs:read",
    "memory/document/": "runs:read",
    "memory/knowledgebase/": "runs:read",
    "memory/memoryitem/": "workspace:manage",
    "memory/memorypolicy/": "workspace:manage",
    "tools/cataloguetool/": "agents:read",
    "tools/credential/": "workspace:manage",
    "django_celery_beat/clockedschedule/": None,
    "django_celery_beat/crontabschedule/": None,
    "django_celery_beat/intervalschedule/": None,
    "django_celery_beat/periodictask/": None,
    "django_celery_beat/solarschedule/": None,
    "scheduling/firing/": "agents:read",
    "scheduling/schedule/": "agents:read",
    "tools/mcpserver/": "agents:read",
    "agents/skill/": "agents:read",
    "agents/workflow/": "agents:read",
}
#: Those of rows as they are stored: who enters the admin is led to a work page from there.
RAW = frozenset(
    (
        *("agents/conversation/", "agents/message/", "agents/run/", "agents/toolcall/"),
        *("agents/workerheartbeat/", "base/usageentry/", "scheduling/firing/"),
    )
)


def of_list(path: str, asker: str) -> int:
    """The status of a list of the admin; of a visitor, and of members who are not staff."""
    if asker == "anonymous":
        return 302
    if ENTERS not in MAY[asker]:
        return 403
    if path in RAW and asker != "superuser":
        return 302
    scope = LISTS[path]
    return 200 if asker == "superuser" or (scope is not None and scope in MAY[asker]) else 403


def of_page(page: Page, asker: str) -> int:
    """The status of a page."""
    if asker == "anonymous":
        return 302
    if asker.startswith("stranger"):
        return 404
    return page.found if page.needs in MAY[asker] else 403


def of_reach_socket(asker: str) -> int | None:
    """How the admin's socket is closed; None: it stays open, for what is theirs."""
    if asker in ("anonymous", "wrong key", "revoked key"):
        return UNKNOWN
    return NOT_FOUND if asker.endswith("key") else None


def of_socket(scope: str, asker: str) -> int | None:
    """How a socket is closed; None: it stays open."""
    if asker in ("anonymous", "wrong key", "revoked key"):
        return UNKNOWN
    if asker.startswith(("stranger", "foreign")):
        return NOT_FOUND
    if asker == "narrow key":
        return FORBIDDEN
    return None if asker == "right key" or scope in MAY[asker] else FORBIDDEN
