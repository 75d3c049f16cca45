"""Choice of an agent in a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models import Agent
from heartbit_site.base.admin.saved_by_verb import VerbAdmin
from heartbit_site.base.admin.themed import M

if TYPE_CHECKING:
    from django.http import HttpRequest


class AgentChoice(VerbAdmin[M]):
    """Offers the agents that people edit; those of files and programs differ each time."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the form's field, bounded to these agents."""
        if db_field.name == "agent":
            kwargs["queryset"] = Agent.objects.filter(origin="").order_by("workspace", "name")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)
