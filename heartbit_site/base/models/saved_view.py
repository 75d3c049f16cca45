"""Lists that people look at again: the query of a page's address under a name."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from heartbit_site.base.models.constraints import unique
from heartbit_site.base.models.workspace import Workspace


class SavedView(models.Model):
    """A list of runs under a name; written through ``base.actions.saved_views``.

    Attributes:
        query: Query of the address, without its question mark; empty: all.
        is_shared: True if all members of the workspace see it.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000, blank=True)
    is_shared = models.BooleanField(default=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [unique("saved_view_name", "workspace", "user", "name")]

    def __str__(self) -> str:
        return self.name
