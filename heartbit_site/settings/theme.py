"""The admin's theme (django-unfold): name, colours, dashboard and sidebar. All assets are local."""

from __future__ import annotations

from typing import Any

from django.utils.functional import lazy
from django.utils.module_loading import import_string


def _reverse(name: str) -> str:
    """Return a page's path."""
    from django.urls import reverse  # noqa: PLC0415  every process reads the settings

    return reverse(name)


def _static(path: str) -> str:
    """Return a static file's URL."""
    from django.templatetags.static import static  # noqa: PLC0415  likewise: templates are slow

    return static(path)


_path_of = lazy(_reverse, str)


def _page(title: str, icon: str, model: str) -> dict[str, Any]:
    """Return a sidebar entry: a link to a model's list, for users who may see it."""
    app, name = model.split(".")
    sees = "heartbit_site.admin.site.sees"  # imported once the apps are loaded
    return {
        "title": title,
        "icon": icon,
        "link": _path_of(f"admin:{app}_{name}_changelist"),
        "permission": lambda request: import_string(sees)(request, model),
    }


def _section(title: str, *items: dict[str, Any], **options: bool) -> dict[str, Any]:
    """Return a part of the sidebar under a heading."""
    return {"title": title, "separator": True, "items": list(items), **options}


_DASHBOARD = {"title": "Dashboard", "icon": "space_dashboard", "link": _path_of("admin:index")}
_WORK = {
    "title": "Back to the work pages",
    "icon": "arrow_back",
    "link": _path_of("home"),
    "active": False,  # every path of the admin begins with its path
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Heartbit",
    "SITE_HEADER": "Heartbit",
    "SITE_SUBHEADER": "Durable multi-agent runtime",
    "SITE_SYMBOL": "ecg_heart",
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "agents.admin.dashboard.context",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda _: _static("heartbit/icon.svg")}
    ],
    "STYLES": [
        lambda request: _static("heartbit/admin.css"),
        lambda request: _static("heartbit/web/drawing.css"),
    ],
    "COLORS": {
        "primary": {
            "50": "oklch(96.9% .016 293.756)",
            "100": "oklch(94.3% .029 294.588)",
            "200": "oklch(89.4% .057 293.283)",
            "300": "oklch(81.1% .111 293.571)",
            "400": "oklch(70.2% .183 293.541)",
            "500": "oklch(60.6% .25 292.717)",
            "600": "oklch(54.1% .281 293.009)",
            "700": "oklch(49.1% .27 292.581)",
            "800": "oklch(43.2% .232 292.759)",
            "900": "oklch(38% .189 293.745)",
            "950": "oklch(28.3% .141 291.089)",
        }
    },
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {"items": [_WORK, _DASHBOARD]},
            _section(
                "Agents",
                _page("Agents", "smart_toy", "agents.agent"),
                _page("Workflows", "account_tree", "agents.workflow"),
                _page("Versions", "history", "agents.agentversion"),
                _page("Skills", "school", "agents.skill"),
                _page("Tools", "construction", "tools.cataloguetool"),
                _page("MCP servers and APIs", "hub", "tools.mcpserver"),
                _page("Memories", "psychology", "memory.memoryitem"),
                _page("Memory settings", "tune", "memory.memorypolicy"),
                _page("Knowledge bases", "menu_book", "memory.knowledgebase"),
                _page("Documents", "description", "memory.document"),
            ),
            _section(
                "Execution",
                _page("Runs", "play_circle", "agents.run"),
                _page("Waiting for a person", "back_hand", "agents.toolcall")
                | {"badge": "agents.admin.approvals.badge", "badge_variant": "warning"},
                _page("Conversations", "forum", "agents.conversation"),
                _page("Messages", "sms", "agents.message"),
                _page("Deliveries", "forward_to_inbox", "agents.delivery"),
                _page("Model calls", "receipt_long", "base.usageentry"),
                _page("Workers", "memory", "agents.workerheartbeat"),
            ),
            _section(
                "Approval",
                _page("Decisions", "gavel", "agents.decision"),
                _page("Grants", "verified_user", "agents.grant"),
            ),
            _section(
                "Schedules",
                _page("Schedules", "event_repeat", "scheduling.schedule"),
                _page("Firings", "event_available", "scheduling.firing"),
            ),
            _section(
                "Channels",
                _page("Channels", "move_to_inbox", "agents.channel"),
                _page("Inbound messages", "mark_email_read", "agents.inboundmessage"),
            ),
            _section(
                "Celery Beat",
                _page("Periodic tasks", "event_repeat", "django_celery_beat.periodictask"),
                _page("Intervals", "timer", "django_celery_beat.intervalschedule"),
                _page("Crontabs", "calendar_month", "django_celery_beat.crontabschedule"),
                _page("Clocked", "alarm", "django_celery_beat.clockedschedule"),
                _page("Solar", "wb_twilight", "django_celery_beat.solarschedule"),
                collapsible=True,
            ),
            _section(
                "Administration",
                _page("Workspaces", "domain", "base.workspace"),
                _page("Tiers", "layers", "base.tier"),
                _page("Members", "badge", "base.membership"),
                _page("Provider accounts", "account_balance_wallet", "base.provideraccount"),
                _page("Credentials", "passkey", "tools.credential"),
                _page("Budgets", "savings", "agents.budget"),
                _page("API keys", "key", "base.apikey"),
                _page("Webhooks", "webhook", "agents.webhookendpoint"),
                _page("Webhook deliveries", "outgoing_mail", "agents.webhookdelivery"),
                _page("Audit", "fact_check", "base.auditentry"),
                _page("Users", "person", "auth.user"),
                _page("Groups", "group", "auth.group"),
                _page("Failed logins", "gpp_bad", "axes.accessattempt"),
            ),
        ],
    },
}
