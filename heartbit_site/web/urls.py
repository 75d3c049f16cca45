"""URL patterns of a workspace's pages."""

from __future__ import annotations

from typing import Any

from django.urls import path

from heartbit_site.web import (
    agent_new,
    agents,
    fleet,
    health,
    inbox,
    pages,
    run_compare,
    run_fork,
    run_node,
    run_page,
    schedules,
    studio,
    usage,
)
from heartbit_site.web.account import account, credentials
from heartbit_site.web.connect import connect
from heartbit_site.web.find import find
from heartbit_site.web.pictures import picture
from heartbit_site.web.runs import runs

app_name = "web"

urlpatterns: list[Any] = [
    path("account/", account, name="account"),
    path("chat/", pages.chat, name="chat"),
    path("chat/<slug:agent>/", pages.chat, name="chat-agent"),
    path("chat/<slug:agent>/<uuid:conversation>/", pages.conversation, name="conversation"),
    path("connect/<slug:server>/", connect, name="connect"),
    path("credentials/", credentials, name="credentials"),
    path("fleet/", pages.fleet, name="fleet"),
    path("usage/", pages.usage, name="usage"),
    path("passages/<int:passage>/", pages.passage, name="passage"),
    path("health/", health.health, name="health"),
    path("health/fleet/", fleet.fleet, name="health-fleet"),
    path("health/usage/", usage.usage, name="health-usage"),
    path("health/alerts/", health.alerts, name="health-alerts"),
    path("schedules/", schedules.schedules, name="schedules"),
    path("schedules/new/", schedules.new_schedule, name="schedule-new"),
    path("schedules/preview/", schedules.preview, name="schedule-preview"),
    path("schedules/<int:schedule>/", schedules.schedule, name="schedule"),
    path("agents/", agents.agents, name="agents"),
    path("new-agent/", agent_new.new_agent, name="agent-new"),
    path("agents/<slug:agent>/", studio.studio, name="agent"),
    path("agents/<slug:agent>/<uuid:test>/", studio.studio, name="agent-test"),
    path("agents/<slug:agent>/publish/", studio.publish, name="agent-publish"),
    path("agents/<slug:agent>/versions/", agents.versions, name="agent-versions"),
    path("agents/<slug:agent>/versions/<int:version>/", agents.version, name="agent-version"),
    path("runs/<uuid:run>/", run_page.run, name="run"),
    path("runs/<uuid:run>/drawing/", run_page.drawing, name="drawing"),
    path("runs/<uuid:run>/inspector/", run_page.inspector, name="run-inspector"),
    path("runs/<uuid:run>/turns/<int:turn>/", run_page.turn, name="run-turn"),
    path("runs/<uuid:run>/nodes/", run_node.node, name="run-node"),
    path("runs/<uuid:run>/fork/", run_fork.fork, name="run-fork"),
    path("runs/<uuid:run>/compare/<uuid:other>/", run_compare.compare, name="run-compare"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/decide/", inbox.decide_several, name="inbox-decide"),
    path("inbox/notify/", inbox.notify, name="inbox-notify"),
    path("approvals/", inbox.approvals_moved, name="approvals"),
    path("runs/", runs, name="runs"),
    path("find/", find, name="find"),
    path("pictures/<uuid:run>/<str:name>", picture, name="picture"),
]
