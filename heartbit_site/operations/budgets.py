"""Budgets: limits on what the workspace, or a part of its runs, spends in a day or a month."""

from __future__ import annotations

from typing import Any

from agents.actions import quotas
from agents.models import Budget
from agents.reads.agents import find_editable
from agents.reads.usage import tokens_used, usd_used, with_spending
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.contract.budgets import BudgetChangeIn, BudgetIn, BudgetOut, BudgetsOut
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.members import find_member
from heartbit_site.operations.paging import find_row, list_page, row_id


class BudgetNotFoundError(NotFoundError):
    """The workspace has no such budget."""


def list_budgets(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> BudgetsOut:
    """Return the workspace's budgets with what was spent of them, the tier's included."""
    return list_page(BudgetsOut, _budgets(access.workspace), "pk", cursor, limit, _view)


def create_budget(access: Access, body: BudgetIn) -> BudgetOut:
    """Set a budget: a model call that would begin above it is refused until the next period."""
    given = body.model_dump(exclude={"agent", "person"})
    agent = find_editable(access.workspace, body.agent) if body.agent else None
    person = find_member(access.workspace, body.person).user if body.person else None
    row = Budget(workspace=access.workspace, agent=agent, person=person, **given)
    quotas.save_budget(row, by=actor_of(access))
    return _view(_find(access.workspace, str(row.pk)))


def change_budget(access: Access, budget_id: Word, body: BudgetChangeIn) -> BudgetOut:
    """Change the given limits, also of the current period."""
    row = _find(access.workspace, budget_id)
    for name, value in body.model_dump(exclude_unset=True).items():
        setattr(row, name, value)
    quotas.save_budget(row, by=actor_of(access))
    return _view(_find(access.workspace, budget_id))


def remove_budget(access: Access, budget_id: Word) -> None:
    """End a budget; what was spent stays in the usage."""
    quotas.remove_budget(_find(access.workspace, budget_id), by=actor_of(access))


def _budgets(workspace: Workspace) -> Any:
    return with_spending(Budget.objects.filter(workspace=workspace))


def _find(workspace: Workspace, budget_id: str) -> Budget:
    missing = BudgetNotFoundError(
        "The workspace has no such budget.", remedy=Remedy("budgets.list_budgets")
    )
    found: Budget = find_row(_budgets(workspace).filter(pk=row_id(budget_id)), missing)
    return found


def _view(row: Any) -> BudgetOut:
    return BudgetOut.of(
        row,
        agent=row.agent.name if row.agent is not None else None,
        person=row.person.get_username() if row.person is not None else None,
        schedule=row.schedule or None,
        tokens=tokens_used(row) if row.max_tokens is not None else None,
        usd=usd_used(row) if row.max_usd is not None else None,
    )
