"""Admin classes bounded by the user's roles: rows, choices, filters, actions, rights.

An admin class names the way to the workspace and the scope of each thing one can do with its rows::

    class ThingAdmin(ModelAdmin[Thing]):
        workspace_path = "run__workspace"
        needs = {"view": "runs:read", "change": "runs:write", "revoke": "workspace:manage"}

What it does not name, only superusers may; a class without a path is theirs altogether.
"""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, cast

import django_stubs_ext
from django.contrib.admin import FieldListFilter, RelatedFieldListFilter
from django.db import transaction
from django.db.models import Model, Q

from heartbit_site.admin.permissions import INSTALLATION, permissions_for
from heartbit_site.base.models import Workspace
from heartbit_site.shell.frame import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from django.contrib.admin import AdminSite, ModelAdmin
    from django.contrib.admin.options import BaseModelAdmin
    from django.db.models import QuerySet
    from django.http import HttpRequest

    _Base = ModelAdmin[Any]
    _AnyAdmin = BaseModelAdmin[Any]
else:
    _Base = _AnyAdmin = object

django_stubs_ext.monkeypatch()  # admin classes say of which model they are: ``ModelAdmin[Agent]``


class VisibleRelatedFilter(RelatedFieldListFilter):
    """A filter by related rows that offers only rows that the user may see; the usual one here."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        """Return Django's choices, bounded as the related model's own list is."""
        related = model_admin.admin_site._registry.get(field.remote_field.model)
        if not isinstance(related, WorkspaceScopedAdmin) or permissions_for(request).everywhere:
            return list(super().field_choices(field, request, model_admin))
        choices = field.get_choices(
            include_blank=False,
            ordering=self.field_admin_ordering(field, request, model_admin),
            limit_choices_to={"pk__in": related.get_queryset(request).values("pk")},
        )
        return list(choices)


FieldListFilter.register(
    lambda field: bool(field.remote_field), VisibleRelatedFilter, take_priority=True
)


class ScopedChoicesMixin(_AnyAdmin):
    """Bounded choices of foreign keys, on pages and inlines."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the rows of the related list; of workspaces, those where one may add such a row."""
        return self._bounded(super().formfield_for_foreignkey(db_field, request, **kwargs), request)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the field, bounded to the rows of the related list."""
        return self._bounded(super().formfield_for_manytomany(db_field, request, **kwargs), request)

    def _bounded(self, field: Any, request: HttpRequest) -> Any:
        rows = getattr(field, "queryset", None)
        if rows is None:
            return field
        if rows.model is Workspace and isinstance(self, WorkspaceScopedAdmin):
            field.queryset = permissions_for(request).rows(rows, "pk", self.scope_of("add"))
            return field
        related = self.admin_site._registry.get(rows.model)
        if isinstance(related, WorkspaceScopedAdmin):
            field.queryset = rows.filter(pk__in=related.get_queryset(request).values("pk"))
        return field


class WorkspaceScopedAdmin(ScopedChoicesMixin, _Base):
    """An admin class bounded by roles; a base of the theme's ``ModelAdmin``.

    Attributes:
        workspace_path: The field that leads to the workspace, e.g. ``run__workspace``; ``pk`` on
            workspaces themselves; None for rows of the installation, which only superusers see.
        private_path: The field that leads to the person who alone reads a row, e.g.
            ``run__private_to``; None: no row is private. Superusers see all.
        needs: The scope of each operation: view, add, change, delete, and the class's own actions.
    """

    workspace_path: ClassVar[str | None] = None
    private_path: ClassVar[str | None] = None
    needs: ClassVar[Mapping[str, str]] = {}

    def __init__(self, model: type[Model], admin_site: AdminSite) -> None:
        super().__init__(model, admin_site)
        unbounded = self.get_queryset
        # Outermost, over whatever subclasses do: a class cannot forget it.
        self.get_queryset = lambda request: self.reached(request, unbounded(request))  # type: ignore[method-assign]
        for what in self.needs.keys() - {"view", "add", "change", "delete"}:
            # Django and the theme ask such a method for the right to an action.
            setattr(self, f"has_{what}_permission", partial(self._may_act, what))

    def scope_of(self, what: str) -> str:
        """Return the scope that an action needs."""
        return self.needs.get(what, INSTALLATION)

    def reached(
        self, request: HttpRequest, rows: QuerySet[Any], what: str = "view"
    ) -> QuerySet[Any]:
        """Return the rows on which the user may perform an action."""
        found = permissions_for(request)
        if self.private_path is not None and not found.everywhere:
            mine = Q(**{self.private_path: request.user.pk})
            rows = rows.filter(Q(**{self.private_path: None}) | mine)
        return found.rows(rows, self.workspace_path, self.scope_of(what))

    def may(self, request: HttpRequest, what: str, row: object = None) -> bool:
        """Return True if the user may perform an action on a row, or on any row at all.

        Args:
            request: Theirs.
            what: A key of ``needs``.
            row: The row or its id; None: some row, of whichever workspace.
        """
        reach = permissions_for(request)
        if reach.everywhere:
            return True
        if self.workspace_path is None:
            return False
        if row is None:
            return reach.allows(self.scope_of(what))
        if isinstance(row, Model) and not isinstance(row, self.model):
            return False
        workspace = self._workspace_id(row)
        return workspace is not None and reach.allows(self.scope_of(what), workspace)

    def _may_act(self, what: str, request: HttpRequest, row: object = None) -> bool:
        return self.may(request, what, row)

    def workspace_of(self, row: Any) -> Workspace | None:
        """Return the workspace that a row belongs to; None: it is the installation's."""
        if self.workspace_path is None:
            return None
        if self.workspace_path == "pk":
            return cast("Workspace", row)
        for name in self.workspace_path.split("__"):
            row = getattr(row, name)
        return cast("Workspace | None", row)

    def _workspace_id(self, row: object) -> int | None:
        if isinstance(row, Model):
            found = self.workspace_of(row)
            return found.pk if found is not None else None
        try:
            rows = self.model._default_manager.filter(pk=row)
            ids = rows.order_by().values_list(self.workspace_path, flat=True)
            return cast("int | None", ids.first())
        except (ValueError, TypeError, OverflowError):  # no id at all: so nothing is there
            return None

    # ------------------------------------------------------------------------------------- Django's

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the defaults: a new row goes to the frame's workspace, or the first possible."""
        initial: dict[str, Any] = {**super().get_changeform_initial_data(request)}
        if self.workspace_path == "workspace" and "workspace" not in initial:
            spaces = Workspace.objects.order_by("pk")
            possible = permissions_for(request).rows(spaces, "pk", self.scope_of("add"))
            access = frame_of(request).access
            here = possible.filter(pk=access.workspace.pk).first() if access is not None else None
            chosen = here or possible.first()
            initial["workspace"] = chosen.pk if chosen is not None else None
        return initial

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return True if the model is shown at all."""
        return self.may(request, "view")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the user's role allows to view the row."""
        return self.may(request, "view", obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return True if the user's role allows to add rows."""
        return self.may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the user's role allows to change the row."""
        return self.may(request, "change", obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the user's role allows to delete the row."""
        return self.may(request, "delete", obj)

    def get_actions(self, request: HttpRequest) -> Any:
        """Limit actions on chosen rows to the rows where the role allows them."""
        offered: Any = super().get_actions(request)
        return {
            name: (self._reaching(function), name, said)
            for name, (function, _, said) in offered.items()
        }

    def get_actions_row(self, request: HttpRequest) -> list[Any]:
        """Return the actions that the role allows on all listed rows; pages offer more."""
        offered: list[Any] = super().get_actions_row(request)  # type: ignore[misc]
        reach, seen = permissions_for(request), self.scope_of("view")
        return [
            one
            for one in offered
            if all(
                reach.allows_wherever(seen, self.scope_of(what))
                for what in getattr(one.method, "allowed_permissions", ())
            )
        ]

    def _reaching(self, function: Callable[..., Any]) -> Callable[..., Any]:
        wanted = getattr(function, "allowed_permissions", ())

        @wraps(function)
        def bounded(page: Any, request: HttpRequest, rows: QuerySet[Any]) -> Any:
            for what in wanted:
                rows = self.reached(request, rows, what)
            return function(page, request, rows)

        return bounded

    def response_action(self, request: HttpRequest, queryset: Any, *place: Any) -> Any:
        """Run the action and its audit entries in one transaction."""
        with transaction.atomic():
            return super().response_action(request, queryset, *place)


class ScopedInline(ScopedChoicesMixin):
    """Rows on the page of another row, whose editors may change them."""

    def _may(self, request: HttpRequest, what: str, parent: Any) -> bool:
        owner = self.admin_site._registry.get(self.parent_model)  # type: ignore[attr-defined]
        return isinstance(owner, WorkspaceScopedAdmin) and owner.may(request, what, parent)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the user may view the page."""
        return self._may(request, "view", obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the user may change the page."""
        return self._may(request, "add" if obj is None else "change", obj)

    has_add_permission = has_change_permission

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the user may change the page."""
        return self._may(request, "change", obj)
