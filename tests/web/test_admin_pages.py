"""The admin's pages: accessible; those of an agent's author in both colours, also on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.provider_accounts import save_provider_account
from agents.models import Agent, AgentVersion
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.models import AuditEntry, ProviderAccount
from tests.admin import rows
from tests.versions.conftest import keeper
from tests.web.axe import Violation, serious
from tests.web.matrix_world import MAKERS
from tests.web.people import person
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

__all__ = ["keeper"]

#: What is not ours and breaks a rule: the rule, a piece of the element, and why it stays.
THEME = (
    ("aria-prohibited-attr", 'class="help-tooltip', "Django's SelectFilter2.js makes the tooltip"),
)
PAGES = {
    "settings": "/admin/",
    "agents": "/admin/agents/agent/",
    "templates": "/admin/agents/agent/add_from_template/",
    "new agent": "/admin/agents/agent/add/?template=support",
    "agent": "/admin/agents/agent/{agent}/change/",
    "workflows": "/admin/agents/workflow/",
    "new workflow": "/admin/agents/workflow/add/",
    "runs": "/admin/agents/run/",
}
#: Those that are seen in the other colours as well: the parts of all others are on them.
DARK = ("settings", "agents", "agent")
#: Pages for operating a workspace, one of each kind.
OPERATING = {
    "compare versions": "/admin/agents/agentversion/{version}/compare/",
    "waiting calls": "/admin/agents/toolcall/",
    "provider": "/admin/base/provideraccount/{provider}/change/",
    "audit entry": "/admin/base/auditentry/{entry}/change/",
    "new key": "/admin/base/apikey/add/",
    "webhooks": "/admin/agents/webhookendpoint/",
    "webhook": "/admin/agents/webhookendpoint/{webhook}/change/",
}
#: All parts of a form at once, which the theme shows one at a time.
UNFOLDED = """
for (const part of document.querySelectorAll(".tab-wrapper, [data-inline-type], details")) {
  part.style.display = "";
  part.open = true;
}"""


@pytest.mark.parametrize(
    ("names", "width", "dark"), [(tuple(PAGES), 1280, False), (DARK, 390, True)]
)
def test_given_a_page_of_the_admin_then_what_can_be_mended_on_it_is_accessible(
    visitors: Visitors, workspace: Workspace, names: tuple[str, ...], width: int, *, dark: bool
) -> None:
    # For a queue that nobody serves: the rows are made by hand.
    Agent.objects.filter(workspace=workspace).update(queue="by-hand")
    rows.tree(workspace)
    agent = Agent.objects.get(workspace=workspace, name="writer")
    visitor = visitors(user=person(operator=True), dark=dark, width=width)
    assert _found(visitor, {name: PAGES[name] for name in names}, agent=agent.pk) == {}


def test_given_a_page_for_operating_then_what_can_be_mended_on_it_is_accessible(
    visitors: Visitors, workspace: Workspace, keeper: Agent
) -> None:
    unserved(workspace)
    account = ProviderAccount(workspace=workspace, provider="openai")
    save_provider_account(account, key="sk-1")
    create_api_key(workspace, "nightly", scopes=["runs:read"])
    webhook = MAKERS["webhook_id"](workspace)
    MAKERS["delivery_id"](workspace)
    version = AgentVersion.objects.get(agent=keeper, number=1)
    entry = AuditEntry.objects.filter(workspace=workspace).latest("pk")
    named = {"version": version.pk, "provider": account.pk, "entry": entry.pk, "webhook": webhook}
    assert _found(visitors(user=person(operator=True)), OPERATING, **named) == {}


def _found(visitor: Visitor, pages: dict[str, str], **named: object) -> dict[str, list[str]]:
    """What is wrong with each page of which something is."""
    found = {}
    for name, path in pages.items():
        answer = visitor.go(path.format(**named))
        assert answer is not None
        assert answer.status == 200, name
        visitor.page.evaluate(UNFOLDED)
        found[name] = [str(one) for one in serious(visitor.page) if not _is_the_themes(one)]
    return {name: problems for name, problems in found.items() if problems}


def _is_the_themes(found: Violation) -> bool:
    return any(found.rule == rule and piece in found.html for rule, piece, _ in THEME)
