"""What the shop may use: a tier of which some is nearly used up, and a budget of one agent."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from agents.actions.quotas import save_budget
from agents.models import Agent, Budget
from agents.reads.usage import usage_of
from heartbit_site.base.models import Tier

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


def limit(workspace: Workspace) -> None:
    """Give it the tier *starter*, with limits that fit what its agents have used so far."""
    usage = usage_of(workspace)
    spent = Decimal(usage.usd_this_month.used)
    tier = Tier.objects.get(name="starter")
    tier.runs_per_day, tier.runs_at_once = 40, 5
    tier.tokens_per_month = int(usage.tokens_this_month.used * Decimal("1.18"))
    tier.usd_per_month = round(spent * 3, 2)
    tier.save()
    workspace.tier = tier
    workspace.save(update_fields=["tier"])
    analyst = Agent.objects.get(workspace=workspace, name="analyst")
    save_budget(Budget(workspace=workspace, agent=analyst, period="day", max_tokens=4_000))
    save_budget(
        Budget(workspace=workspace, period="month", max_usd=round(spent * 5, 2), max_tokens=None)
    )
