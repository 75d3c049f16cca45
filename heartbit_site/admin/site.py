"""The admin's site: open to members whose role changes agents, not only to Django's staff.

The site decides who enters. Roles decide what they see and may do, per model, page and action
(``heartbit_site.admin.workspace_scoped``).
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from django.contrib.auth.forms import AuthenticationForm as PlainAuthenticationForm
from django.template.response import TemplateResponse

from heartbit_site.admin.contents import contents_for
from heartbit_site.base.access import enters_admin
from heartbit_site.base.rights import RefusedError, describe_closed_admin

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.admin import AdminSite
    from django.contrib.admin.forms import AdminAuthenticationForm as AuthenticationForm
    from django.http import HttpRequest, HttpResponse
else:
    from unfold.forms import AuthenticationForm
    from unfold.sites import UnfoldAdminSite as AdminSite


class LoginForm(AuthenticationForm):
    """The theme's login form, open to every active account; the site refuses those without role."""

    def confirm_login_allowed(self, user: Any) -> None:
        """Check the account alone, not Django's staff flag."""
        PlainAuthenticationForm.confirm_login_allowed(self, user)


class HeartbitAdminSite(AdminSite):
    """The site of every admin class."""

    login_form = LoginForm

    def has_permission(self, request: HttpRequest) -> bool:
        """Return True if the user may enter the admin; computed once per request."""
        known: tuple[Any, bool] | None = getattr(request, "heartbit_enters_admin", None)
        if known is None or known[0] is not request.user:
            known = (request.user, enters_admin(request.user))
            request.heartbit_enters_admin = known  # type: ignore[attr-defined]
        return known[1]

    def get_urls(self) -> list[Any]:
        """Leave out "view on site": it would reveal the existence of any row of any workspace."""
        return [one for one in super().get_urls() if getattr(one, "name", "") != "view_on_site"]

    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        """Show the contents of Settings."""
        context = {
            **self.each_context(request),
            "title": "Settings",
            "contents": list(contents_for(request)),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/settings.html", context)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002  Django's signature
        """Wrap a view: a user who is logged in and may not enter gets the reason, not a login form.

        Raises:
            RefusedError: The user may not enter.
        """
        entered = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            self._refuse_others(request)
            return entered(request, *args, **kwargs)

        return update_wrapper(guarded, entered)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Log a user in.

        Raises:
            RefusedError: The user is logged in already and may not enter.
        """
        self._refuse_others(request)
        return super().login(request, extra_context)

    def _refuse_others(self, request: HttpRequest) -> None:
        if request.user.is_authenticated and not self.has_permission(request):
            raise RefusedError(describe_closed_admin(request.user))
