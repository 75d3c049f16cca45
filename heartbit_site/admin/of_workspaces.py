"""Lists whose rows are of several workspaces say so, while the frame names one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin

from heartbit_site.admin.workspace_scoped import WorkspaceScopedAdmin
from heartbit_site.shell.frame import frame_of

if TYPE_CHECKING:
    from django.http import HttpRequest

    from heartbit_site.base.models import Workspace


@dataclass(frozen=True, slots=True)
class Reach:
    """The workspaces whose rows a list shows.

    Attributes:
        here: The frame's workspace.
        is_here_alone: True if the list is filtered by it.
        query: The query of that filter.
    """

    here: Workspace
    is_here_alone: bool
    query: str


class RowsOfWorkspaces(WorkspaceScopedAdmin):
    """A list with the workspace of each row, for those who see several.

    Attributes:
        names_workspace: True if a column says it, of rows that may be of all workspaces.
    """

    names_workspace: ClassVar[bool] = False

    def reach_of(self, request: HttpRequest) -> Reach | None:
        """Return what the list says of workspaces; None: there is nothing to say."""
        frame = frame_of(request)
        is_of_one = self.workspace_path in (None, "pk") or not frame.workspaces[1:]
        # Rows that are of all workspaces cannot be narrowed to one.
        if is_of_one or self.names_workspace or frame.access is None:
            return None
        here, name = frame.access.workspace, f"{self.workspace_path}__id__exact"
        return Reach(here, request.GET.get(name) == str(here.pk), f"{name}={here.pk}")

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Return the filters, that by workspace among them."""
        found = super().get_list_filter(request)
        path = None if self.names_workspace else self.workspace_path
        return found if path in (None, "pk", *found) else (*found, path)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns, with the workspace where none says it and there are several."""
        shown = super().get_list_display(request)
        is_shown = self.names_workspace or {"workspace", "of_workspace"} & {*shown}
        return shown if is_shown or self.reach_of(request) is None else (*shown, "of_workspace")

    def get_list_select_related(self, request: HttpRequest) -> Any:
        """Return what is read with the rows: their workspace too."""
        found = super().get_list_select_related(request)
        if self.workspace_path in (None, "pk") or found is True:
            return found
        return (*(found or ()), self.workspace_path)

    @admin.display(description="workspace")
    def of_workspace(self, row: Any) -> object:
        """Return the name of a row's workspace."""
        return self.workspace_of(row)
